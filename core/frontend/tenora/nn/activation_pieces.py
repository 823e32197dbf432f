"""Activation functions as modules: those made of pieces, and softmin, softplus and gates."""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import functional, init
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes


class _Inplace(Module):
    """An activation that may write into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return "inplace=True" if self.inplace else ""

    def _and_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


class LeakyReLU(_Inplace):
    """x where positive, `negative_slope` x elsewhere (Maas et al. 2013).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.LeakyReLU(0.25)(tenora.tensor([2.0, -2.0])).tolist()
    [2.0, -0.5]
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"negative_slope={self.negative_slope}")


class _WithAlpha(_Inplace):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"alpha={self.alpha}")


class ELU(_WithAlpha):
    """x where positive, `alpha` (e^x - 1) elsewhere (Clevert et al. 2016).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.ELU()(tenora.tensor([2.0, -1.0]))
    tensor([ 2.0000, -0.6321])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.elu(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """max(x, 0) + min(0, `alpha` (e^(x / `alpha`) - 1)) (Barron 2017).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input. RuntimeError, when
    called, for an `alpha` of 0.

    >>> import tenora
    >>> tenora.nn.CELU(alpha=2.0)(tenora.tensor([2.0, -1.0]))
    tensor([ 2.0000, -0.7869])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.celu(input, self.alpha, self.inplace)


class SELU(_Inplace):
    """Scaled elu whose fixed point is mean 0 and variance 1 (Klambauer et al. 2017).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.SELU()(tenora.tensor([1.0, -1.0]))
    tensor([ 1.0507, -1.1113])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.selu(input, self.inplace)


class SiLU(_Inplace):
    """x sigmoid(x), also called swish (Hendrycks and Gimpel 2016; Ramachandran et al. 2017).

    Any shape and a floating or complex dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.SiLU()(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.silu(input, self.inplace)


class Mish(_Inplace):
    """x tanh(log(1 + e^x)) (Misra 2019).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.Mish()(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.mish(input, self.inplace)


class Hardtanh(_Inplace):
    """min(max(x, `min_val`), `max_val`) (Collobert 2004).

    Any shape and a floating or whole dtype, the result the same; `inplace` writes it into the input. ValueError unless
    `min_val` is below `max_val`.

    >>> import tenora
    >>> tenora.nn.Hardtanh(0.0, 2.0)(tenora.tensor([-3.0, 0.5, 3.0])).tolist()
    [0.0, 0.5, 2.0]
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if not self.max_val > self.min_val:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] bounds: got {self.min_val} to {self.max_val}, expected min_val < max_val."
                " Exchange the bounds."
            )

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6) (Krizhevsky 2010).

    Any shape and a floating or whole dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.ReLU6()(tenora.tensor([-1.0, 3.0, 8.0])).tolist()
    [0.0, 3.0, 6.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return "inplace=True" if self.inplace else ""


class _Silent(_Inplace):
    def extra_repr(self) -> str:
        """Arguments for the repr: none, as in PyTorch."""
        return ""


class Hardsigmoid(_Silent):
    """min(max(x + 3, 0), 6) / 6 (Howard et al. 2019).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.Hardsigmoid()(tenora.tensor([-3.0, 0.0, 1.5])).tolist()
    [0.0, 0.5, 0.75]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardsigmoid(input, self.inplace)


class Hardswish(_Silent):
    """x min(max(x + 3, 0), 6) / 6 (Howard et al. 2019).

    Any shape and a floating dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.Hardswish()(tenora.tensor([1.5, 4.0])).tolist()
    [1.125, 4.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardswish(input, self.inplace)


class Threshold(_Inplace):
    """x where x > `threshold`, `value` elsewhere.

    Any shape and a floating or whole dtype, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> tenora.nn.Threshold(1.5, -1.0)(tenora.tensor([1.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"threshold={self.threshold}, value={self.value}")


class RReLU(_Inplace):
    """x where positive, elsewhere x times a slope drawn from [`lower`, `upper`) in training (Xu et al. 2015).

    Otherwise the slope is their mean. Any shape and a floating dtype, the result the same; `inplace` writes it into the
    input. RuntimeError, when called, where `lower` exceeds `upper`.

    >>> import tenora
    >>> layer = tenora.nn.RReLU(0.25, 0.75)
    >>> layer.eval()(tenora.tensor([2.0, -2.0])).tolist()
    [2.0, -1.0]
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"lower={self.lower}, upper={self.upper}")


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > `lambd`, 0 elsewhere.

    Any shape and a floating dtype, the result the same.

    >>> import tenora
    >>> tenora.nn.Hardshrink()(tenora.tensor([-2.0, 0.25, 1.0])).tolist()
    [-2.0, 0.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved by `lambd` towards zero, and 0 where it would cross it (Donoho 1995).

    Any shape and a floating dtype, the result the same. RuntimeError, when called, for a negative `lambd`.

    >>> import tenora
    >>> tenora.nn.Softshrink()(tenora.tensor([-2.0, 0.25, 1.0])).tolist()
    [-1.5, 0.0, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softshrink(input, self.lambd)


class Softsign(Module):
    """x / (1 + |x|).

    Any shape, the result the same; whole numbers give the default floating dtype.

    >>> import tenora
    >>> tenora.nn.Softsign()(tenora.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    Any shape, the result the same; whole numbers give the default floating dtype.

    >>> import tenora
    >>> tenora.nn.Tanhshrink()(tenora.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.tanhshrink(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow.

    Any shape and a floating dtype, the result the same.

    >>> import tenora
    >>> tenora.nn.LogSigmoid()(tenora.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.logsigmoid(input)


class Softplus(Module):
    """log(1 + e^(`beta` x)) / `beta`, and x itself where `beta` x > `threshold`.

    Any shape, the result the same; whole numbers give the default floating dtype.

    >>> import tenora
    >>> tenora.nn.Softplus()(tenora.tensor([0.0, 100.0]))
    tensor([  0.6931, 100.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2017).

    The size along `dim` is halved. RuntimeError where it is odd.

    >>> import tenora
    >>> tenora.nn.GLU()(tenora.tensor([[1.0, 2.0, 0.0, 0.0]])).tolist()
    [[0.5, 1.0]]
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"


class Softmin(Module):
    """softmax(-x) along `dim`; without one, `functional.softmin` chooses it and warns.

    Any shape and a floating dtype, the result the same. IndexError for a `dim` that is not there.

    >>> import tenora
    >>> tenora.nn.Softmin(dim=0)(tenora.tensor([1.0, 2.0, 3.0]))
    tensor([0.6652, 0.2447, 0.0900])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    The result has the shape of the input. ValueError for other numbers of dimensions.

    >>> import tenora
    >>> tenora.nn.Softmax2d()(tenora.zeros(1, 4, 2, 2))[0, :, 0, 0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        if input.ndim not in (3, 4):
            raise errors.ArgumentValueError(
                f"[Softmax2d] input: got {input.ndim} dimensions, expected 3 or 4, (N, C, H, W). Reshape it."
            )
        return tenora_ops.softmax(input, -3)


class PReLU(Module):
    """x where positive, elsewhere x times a learnt slope, one for all or one for each channel (He et al. 2015).

    (N, C, ...) with `num_parameters` C or 1, the result the same. RuntimeError for another number of channels.

    >>> import tenora
    >>> tenora.nn.PReLU()(tenora.tensor([2.0, -2.0])).tolist()
    [2.0, -0.5]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        need_sizes(self, num_parameters=num_parameters)
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(creation.empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all slopes to `init`.

        >>> import tenora
        >>> layer = tenora.nn.PReLU(2, init=0.5)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist()
        [0.5, 0.5]
        """
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"num_parameters={self.num_parameters}"
