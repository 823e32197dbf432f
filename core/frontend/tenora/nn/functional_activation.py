"""Activations under PyTorch's names, with their `inplace` arguments: the op, written over its input where asked."""

from __future__ import annotations

import math
import warnings
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_engine import bool as bool_

from ..creation_steps import need_tensor


def _written(name: str, input: Tensor, *arguments: Any) -> Tensor:
    """The activation written into its input; TypeError for what is no tensor."""
    need_tensor(name, input)
    result: Tensor = getattr(input, f"{name}_" if name == "relu" else f"_{name}_")(*arguments)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), element by element.

    Any shape and real dtype but bool, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> relu(tenora.tensor([1.0, -2.0])).tolist()
    [1.0, 0.0]
    """
    return _written("relu", input) if inplace else tenora_ops.relu(input)


def relu_(input: Tensor) -> Tensor:
    """max(x, 0), written into x, which is returned. Any shape, any real dtype but bool.

    >>> import tenora
    >>> x = tenora.tensor([1.0, -2.0])
    >>> relu_(x) is x, x.tolist()
    (True, [1.0, 0.0])
    """
    return _written("relu", input)


def _whole(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """What a function made of whole numbers, which have no gradient."""
    return input.copy_(result) if inplace else result


def is_whole(input: Tensor) -> bool:
    """Whether the elements are integers; False for what is no tensor, which the op then refuses."""
    if not isinstance(input, Tensor):
        return False
    return not (input.dtype.is_floating_point or input.dtype.is_complex or input.dtype == bool_)


def _without_zero_imaginary(number: Any) -> Any:
    """2 + 0j as the 2.0 that it can be compared as; anything else as it is, for the op to judge."""
    return number.real if isinstance(number, complex) and not number.imag else number


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6), element by element (Krizhevsky 2010).

    `input` has any shape and a floating or whole dtype; the result has the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> relu6(tenora.tensor([-1.0, 3.0, 8.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    if is_whole(input):
        return _whole(input, tenora_ops.clamp(input, 0, 6), inplace)
    return _written("relu6", input) if inplace else tenora_ops.relu6(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha (e^x - 1) elsewhere (Clevert et al. 2016).

    `input` has any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> elu(tenora.tensor([2.0, -1.0]))
    tensor([ 2.0000, -0.6321])
    """
    arguments = (alpha,)
    return _written("elu", input, *arguments) if inplace else tenora_ops.elu(input, *arguments)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([2.0, -1.0])
    >>> elu_(x, alpha=2.0) is x, x
    (True, tensor([ 2.0000, -1.2642]))
    """
    return elu(input, alpha, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(x, 0) + min(0, alpha (e^(x / alpha) - 1)) (Barron 2017).

    `input` has any shape and a floating dtype, the result the same. RuntimeError for an `alpha` of 0.

    >>> import tenora
    >>> celu(tenora.tensor([2.0, -1.0]), alpha=2.0)
    tensor([ 2.0000, -0.7869])
    """
    if alpha == 0:
        raise errors.OperationError(
            "[celu] alpha is wrong: got 0, expected a number other than 0. Use relu for the limit."
        )
    arguments = (alpha,)
    return _written("celu", input, *arguments) if inplace else tenora_ops.celu(input, *arguments)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([2.0, -1.0])
    >>> celu_(x) is x, x
    (True, tensor([ 2.0000, -0.6321]))
    """
    return celu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled elu whose fixed point is mean 0 and variance 1 (Klambauer et al. 2017).

    1.0507 x where positive, 1.7581 (e^x - 1) elsewhere. `input` has any shape and a floating dtype, the result the
    same.

    >>> import tenora
    >>> selu(tenora.tensor([1.0, -1.0]))
    tensor([ 1.0507, -1.1113])
    """
    return _written("selu", input) if inplace else tenora_ops.selu(input)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([1.0, -1.0])
    >>> selu_(x) is x, x
    (True, tensor([ 1.0507, -1.1113]))
    """
    return selu(input, True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope x elsewhere (Maas et al. 2013).

    `input` has any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> leaky_relu(tenora.tensor([2.0, -2.0]), 0.25).tolist()
    [2.0, -0.5]
    """
    arguments = (negative_slope,)
    return input._leaky_relu_(*arguments) if inplace else tenora_ops.leaky_relu(input, *arguments)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([2.0, -2.0])
    >>> leaky_relu_(x, 0.25) is x, x.tolist()
    (True, [2.0, -0.5])
    """
    return leaky_relu(input, negative_slope, True)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """x where positive, elsewhere x times a random slope (Xu et al. 2015), the mean slope without `training`.

    Slopes are drawn from [lower, upper), one for each element. `input` has any shape and a floating dtype, the
    result the same. RuntimeError where `lower` exceeds `upper`.

    >>> import tenora
    >>> rrelu(tenora.tensor([2.0, -2.0]), 0.25, 0.75).tolist()
    [2.0, -1.0]
    >>> y = rrelu(tenora.full((100,), -1.0), 0.25, 0.75, training=True)
    >>> bool(((y > -0.75) & (y <= -0.25)).all())
    True
    """
    lower, upper = _without_zero_imaginary(lower), _without_zero_imaginary(upper)
    if lower > upper:
        raise errors.OperationError(
            f"[rrelu] bounds: got lower {lower} above upper {upper}, expected lower <= upper."
            " Exchange the bounds."
        )
    if isinstance(input, Tensor) and not (input.dtype.is_floating_point or input.dtype.is_complex):
        name = str(input.dtype).rsplit(".", 1)[-1]
        raise errors.NotImplementedOperationError(
            f"[rrelu] dtype not supported: got {name}, expected a floating type. Cast with .to(tenora.float32)."
        )
    arguments = (lower, upper, training)
    return _written("rrelu", input, *arguments) if inplace else tenora_ops.rrelu(input, *arguments)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([2.0, -2.0])
    >>> rrelu_(x, 0.25, 0.75) is x, x.tolist()
    (True, [2.0, -1.0])
    """
    return rrelu(input, lower, upper, training, True)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """min(max(x, min_val), max_val), element by element (Collobert 2004).

    `input` has any shape and a floating or whole dtype; the result has the same. ValueError where `min_val` exceeds
    `max_val`; RuntimeError for a negative `min_val` with an unsigned dtype.

    >>> import tenora
    >>> hardtanh(tenora.tensor([-3.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    if min_val > max_val:
        raise errors.ArgumentValueError(
            f"[hardtanh] bounds: got min_val {min_val} above max_val {max_val}, expected min_val <= max_val. Swap them."
        )
    if is_whole(input):
        if not (math.isfinite(min_val) and math.isfinite(max_val)):
            raise errors.OperationError(
                f"[hardtanh] bounds: got {min_val} and {max_val} for {input.dtype}, expected finite numbers. Cast the "
                "input."
            )
        if not input.dtype.is_signed and int(min_val) < 0:
            raise errors.OperationError(
                f"[hardtanh] bounds: got min_val {min_val} for {input.dtype}, expected 0 or more. Cast the input."
            )
        return _whole(input, tenora_ops.clamp(input, int(min_val), int(max_val)), inplace)
    arguments = (min_val, max_val)
    return _written("hardtanh", input, *arguments) if inplace else tenora_ops.hardtanh(input, *arguments)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([-3.0, 0.5, 3.0])
    >>> hardtanh_(x, 0.0, 2.0) is x, x.tolist()
    (True, [0.0, 0.5, 2.0])
    """
    return hardtanh(input, min_val, max_val, True)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6, element by element (Howard et al. 2019).

    `input` has any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> hardsigmoid(tenora.tensor([-3.0, 0.0, 1.5, 4.0])).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """
    return _written("hardsigmoid", input) if inplace else tenora_ops.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x min(max(x + 3, 0), 6) / 6, element by element (Howard et al. 2019).

    `input` has any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> hardswish(tenora.tensor([-3.0, 1.5, 4.0])).tolist()
    [-0.0, 1.125, 4.0]
    """
    return _written("hardswish", input) if inplace else tenora_ops.hardswish(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(log(1 + e^x)), element by element (Misra 2019).

    `input` has any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> mish(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return _written("mish", input) if inplace else tenora_ops.mish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), element by element, also called swish (Hendrycks and Gimpel 2016; Ramachandran et al. 2017).

    `input` has any shape and a floating or complex dtype, the result the same.

    >>> import tenora
    >>> silu(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return _written("silu", input) if inplace else tenora_ops.silu(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, value elsewhere.

    `input` has any shape and a floating or whole dtype; the result has the same, and numbers are cut to whole ones
    for it.

    >>> import tenora
    >>> threshold(tenora.tensor([1.0, 2.0, 3.0]), 1.5, -1.0).tolist()
    [-1.0, 2.0, 3.0]
    """
    threshold, value = _without_zero_imaginary(threshold), _without_zero_imaginary(value)
    if is_whole(input):
        kept = tenora_ops.gt(input, int(threshold))
        return _whole(input, tenora_ops.where(kept, input, int(value)), inplace)
    arguments = (threshold, value)
    return _written("threshold", input, *arguments) if inplace else tenora_ops.threshold(input, *arguments)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, written into x, which is returned.

    >>> import tenora
    >>> x = tenora.tensor([1.0, 2.0, 3.0])
    >>> threshold_(x, 1.5, -1.0) is x, x.tolist()
    (True, [-1.0, 2.0, 3.0])
    """
    return _written("threshold", input, threshold, value)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards zero, and 0 where it would cross it (Donoho 1995).

    `input` has any shape and a floating dtype, the result the same. RuntimeError where `lambd` is negative.

    >>> import tenora
    >>> softshrink(tenora.tensor([-2.0, 0.25, 1.0])).tolist()
    [-1.5, 0.0, 0.5]
    """
    lambd = _without_zero_imaginary(lambd)
    if lambd < 0:
        raise errors.OperationError(
            f"[softshrink] lambd: got {lambd}, expected 0 or more. Pass its absolute value."
        )
    return tenora_ops.softshrink(input, lambd)


def _implied_dim(op: str, input: Tensor, stacklevel: int) -> int:
    """Dim 0 of tensors of 0, 1 and 3 dimensions, else 1, with a warning, as in PyTorch."""
    if not isinstance(input, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] input is wrong: got {errors.type_name(input)}, expected Tensor. Convert it first."
        )
    dim = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(
        f"[{op}] no dim: got None, expected a number. Dim {dim} is taken, as PyTorch chooses for {input.ndim} "
        "dimensions. Pass dim.",
        stacklevel=stacklevel,
    )
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) over its sum along `dim`, computed in `dtype` where one is given.

    Without `dim`: a warning, and dim 0 for tensors of 0, 1 and 3 dimensions, else 1, as in PyTorch.

    >>> import tenora
    >>> softmax(tenora.zeros(4), 0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if dim is None:
        dim = _implied_dim("softmax", input, _stacklevel)
    return tenora_ops.softmax(input, dim) if dtype is None else tenora_ops.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)) without overflow; `dim` and `dtype` as in `softmax`.

    `input` has any shape, the result the same. IndexError for a `dim` that is not there.

    >>> import tenora
    >>> log_softmax(tenora.tensor([0.0, 1000.0]), 0).tolist()
    [-1000.0, 0.0]
    """
    if dim is None:
        dim = _implied_dim("log_softmax", input, _stacklevel)
    return tenora_ops.log_softmax(input, dim) if dtype is None else tenora_ops.log_softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x); `dim` and `dtype` as in `softmax`.

    `input` has any shape, the result the same. IndexError for a `dim` that is not there.

    >>> import tenora
    >>> softmin(tenora.tensor([1.0, 2.0, 3.0]), 0)
    tensor([0.6652, 0.2447, 0.0900])
    """
    if dim is None:
        dim = _implied_dim("softmin", input, _stacklevel)
    return tenora_ops.softmin(input if dtype is None else tenora_ops.cast(input, dtype), dim)


__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "silu",
    "softmax",
    "softmin",
    "softshrink",
    "threshold",
    "threshold_",
]
