"""Starting values for parameters. Every function writes into its tensor, without history, and returns it.

- What is drawn depends on the seed and the shape alone, on every backend: no function draws until something fits.
- A truncated normal is the inverse of its distribution function at one float64 uniform for each element.
- Names without the underscore are PyTorch's old ones: they warn.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec

import tenora_ops
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Generator, Tensor, float64

from .. import creation_random
from ..lazy_names import refused

P = ParamSpec("P")

_LINEAR = ("linear", *(f"conv{way}{n}d" for way in ("", "_transpose") for n in (1, 2, 3)), "sigmoid")
_GAINS = {**dict.fromkeys(_LINEAR, 1.0), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}

_skipping: ContextVar[bool] = ContextVar("skipping", default=False)


@contextmanager
def skipped() -> Iterator[None]:
    """Inside, the functions of this module leave their tensors as they are: what `nn.utils.skip_init` needs.

    >>> import tenora
    >>> with skipped():
    ...     zeros_(tenora.ones(2))
    tensor([1., 1.])
    """
    token = _skipping.set(True)
    try:
        yield
    finally:
        _skipping.reset(token)


def _writes(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """`function` without history, and without effect where starting values are skipped."""

    @functools.wraps(function)
    def write(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        if _skipping.get():
            tensor: Any = args[0] if args else kwargs["tensor"]
            return tensor  # the first parameter of each of these functions
        with no_grad():
            return function(*args, **kwargs)

    return write


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through `nonlinearity` (He et al. 2015, https://arxiv.org/abs/1502.01852).

    `param` is the negative slope of `leaky_relu`, default 0.01. Raises ValueError for a name that it does not know.

    >>> round(calculate_gain("leaky_relu", 0.2), 4)
    1.3868
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise errors.ArgumentValueError(
                f"[calculate_gain] param: got {param!r}, expected the negative slope as a number. Pass a float."
            )
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise errors.ArgumentValueError(
            f"[calculate_gain] nonlinearity: got {nonlinearity!r}, expected one of {[*_GAINS, 'leaky_relu']}."
            " Choose one of them."
        )
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor, who: str = "init") -> tuple[int, int]:
    if tensor.ndim < 2:
        raise errors.ArgumentValueError(
            f"[{who}] tensor: got {tensor.ndim} dimensions, expected at least 2 (fan in and fan out)."
            " Pass a weight matrix, or initialise it with another function."
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str, who: str = "init") -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise errors.ArgumentValueError(
            f"[{who}] mode: got {mode!r}, expected 'fan_in' or 'fan_out'. Choose one of them."
        )
    return _calculate_fan_in_and_fan_out(tensor, who)[mode == "fan_out"]


def _nothing_to_do(tensor: Tensor, who: str) -> bool:
    if tensor.numel():
        return False
    warnings.warn(f"[{who}] the tensor has no elements: nothing is initialised.", stacklevel=4)
    return True


@_writes
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draws from the uniform distribution on [a, b).

    Any shape and a floating dtype. RuntimeError where `a` exceeds `b` and for whole numbers.

    >>> import tenora
    >>> weight = uniform_(tenora.empty(100), 2.0, 3.0)
    >>> bool((weight >= 2).all() and (weight < 3).all())
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@_writes
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draws from the normal distribution.

    Any shape and a floating dtype. RuntimeError for a negative `std` and for whole numbers.

    >>> import tenora
    >>> normal_(tenora.empty(3), mean=5.0, std=0.0)
    tensor([5., 5., 5.])
    """
    return tensor.normal_(mean, std, generator=generator)


def _below(z: float) -> float:
    """The probability that a standard normal is below `z`, exact in its small values too."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _truncated(uniform: Any, low: float, high: float) -> Any:
    """Standard normals between `low` and `high`, of which `low` is not above 0, from uniforms in [0, 1)."""
    if not _below(high):  # beyond 38 deviations: an exponential that falls from the bound nearest to the mean
        return high - (uniform * math.expm1(high * (high - low))).log1p() / high
    start = _below(low)
    return tenora_ops.resolve("special.ndtri")(uniform * (_below(high) - start) + start).clamp(
        max(low, -38.5), high
    )


@_writes
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Draws from the normal distribution, given that the value lies in [a, b].

    One uniform number of float64 goes through the inverse of the distribution function, however far [a, b] is from
    the mean. Raises RuntimeError for `a > b`, ValueError for a `std` that is not positive.

    >>> import tenora
    >>> weight = trunc_normal_(tenora.empty(1000), std=0.02, a=-0.03, b=0.03)
    >>> bool(weight.abs().max() <= 0.03)
    True
    """
    if not a <= b:
        raise errors.OperationError(
            f"[trunc_normal_] bounds: got from {a} to {b}, expected a <= b. Swap them."
        )
    if not std > 0:
        raise errors.ArgumentValueError(
            f"[trunc_normal_] std: got {std}, expected a positive number. Use constant_ for a single value."
        )
    if not tensor.is_floating_point():
        raise errors.NotImplementedOperationError(
            f"[trunc_normal_] dtype: got {tensor.dtype}, expected a floating one. Cast the tensor."
        )
    low, high = (a - mean) / std, (b - mean) / std
    sign = 1.0
    if low + high > 0:  # the half in which small probabilities are exact
        low, high, sign = -high, -low, -1.0
    uniform = creation_random.rand(
        tuple(tensor.shape), generator=generator, dtype=float64, device=tensor.device
    )
    values = _truncated(uniform, low, high) * (sign * std) + mean
    return tensor.copy_(values.clamp(a, b))


@_writes
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with `val`.

    >>> import tenora
    >>> constant_(tenora.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with 0.

    >>> import tenora
    >>> zeros_(tenora.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with 1.

    >>> import tenora
    >>> ones_(tenora.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1)


@_writes
def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere: a linear layer passes on what it can.

    ValueError for what is no matrix.

    >>> import tenora
    >>> eye_(tenora.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    _need_dims("eye_", tensor, (2,))
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


def _need_dims(who: str, tensor: Tensor, allowed: tuple[int, ...]) -> None:
    if tensor.ndim not in allowed:
        raise errors.ArgumentValueError(
            f"[{who}] tensor: got {tensor.ndim} dimensions, expected {' or '.join(map(str, allowed))}."
            " Reshape the tensor, or use another function."
        )


@_writes
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel of a convolution that passes on its channels, as many as there are on both sides of a group.

    `tensor`: (out, in / groups, ...) with 1 to 3 spatial dims. Raises ValueError unless `groups` divides `out`.

    >>> import tenora
    >>> dirac_(tenora.empty(2, 1, 3), groups=2).tolist()
    [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]
    """
    _need_dims("dirac_", tensor, (3, 4, 5))
    if groups < 1 or tensor.shape[0] % groups:
        raise errors.ArgumentValueError(
            f"[dirac_] groups: got {groups} for {tensor.shape[0]} output channels, expected a divisor of them."
            " Choose another number of groups."
        )
    tensor.zero_()
    centre = tensor[(..., *(size // 2 for size in tensor.shape[2:]))]  # (out, in / groups), a view
    for part in centre.chunk(groups):
        part.diagonal().fill_(1)
    return tensor


@_writes
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform with variance `2 gain^2 / (fan_in + fan_out)` (Glorot and Bengio 2010).

    `tensor`: (out, in, ...), with fan_in = in times the rest and fan_out = out times the rest. ValueError for fewer
    than two dims.

    >>> import tenora
    >>> bool(xavier_uniform_(tenora.empty(3, 5)).abs().max() <= (6 / 8) ** 0.5)
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor, "xavier_uniform_")
    if fan_in + fan_out == 0:
        return tensor
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return tensor.uniform_(-bound, bound, generator=generator)


@_writes
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance `2 gain^2 / (fan_in + fan_out)` (Glorot and Bengio 2010).

    `tensor`: (out, in, ...), with fans as in `xavier_uniform_`. ValueError for fewer than two dims.

    >>> import tenora
    >>> xavier_normal_(tenora.empty(3, 5)).shape
    tenora.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor, "xavier_normal_")
    if fan_in + fan_out == 0:
        return tensor
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator=generator)


@_writes
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform with variance `gain^2 / fan` (He et al. 2015, https://arxiv.org/abs/1502.01852).

    `a` is the negative slope behind the layer; `mode` says which variance stays, that of activations ("fan_in") or
    that of gradients ("fan_out").

    `tensor`: (out, in, ...), with fans as in `xavier_uniform_`. ValueError for fewer than two dims, another mode or an
    unknown `nonlinearity`.

    >>> import tenora
    >>> bool(kaiming_uniform_(tenora.empty(3, 6), nonlinearity="relu").abs().max() <= 1)
    True
    """
    if _nothing_to_do(tensor, "kaiming_uniform_"):
        return tensor
    fan = _calculate_correct_fan(tensor, mode, "kaiming_uniform_")
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan)
    return tensor.uniform_(-bound, bound, generator=generator)


@_writes
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with variance `gain^2 / fan` (He et al. 2015, https://arxiv.org/abs/1502.01852); see `kaiming_uniform_`.

    `tensor`: (out, in, ...). ValueError for fewer than two dims, another mode or an unknown `nonlinearity`.

    >>> import tenora
    >>> kaiming_normal_(tenora.empty(3, 6), mode="fan_out").shape
    tenora.Size([3, 6])
    """
    if _nothing_to_do(tensor, "kaiming_normal_"):
        return tensor
    fan = _calculate_correct_fan(tensor, mode, "kaiming_normal_")
    return tensor.normal_(0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator=generator)


@_writes
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows or columns, whichever are fewer, times `gain` (Saxe et al. 2013,
    https://arxiv.org/abs/1312.6120). More than two dims count as (first, all others).

    ValueError for fewer than two dims.

    >>> import tenora
    >>> weight = orthogonal_(tenora.empty(2, 3, dtype=tenora.float64))
    >>> tenora.allclose(weight @ weight.T, tenora.eye(2, dtype=tenora.float64))
    True
    """
    if tensor.ndim < 2:
        raise errors.ArgumentValueError(
            f"[orthogonal_] tensor: got {tensor.ndim} dimensions, expected at least 2."
            " Reshape the tensor, or use another function."
        )
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < drawn.shape[1]
    q, r = (drawn.t() if wide else drawn).qr()
    q = q * r.diagonal().sgn()  # a decomposition that is unique, so that the distribution is uniform
    return tensor.copy_((q.t() if wide else q).reshape(tensor.shape)).mul_(gain)


@_writes
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers, with a share `sparsity` of each column set to 0 (Martens 2010).

    Raises ValueError for what is no matrix or a negative share.

    >>> import tenora
    >>> (sparse_(tenora.empty(4, 3), sparsity=0.5) == 0).sum(0)
    tensor([2, 2, 2])
    """
    _need_dims("sparse_", tensor, (2,))
    if sparsity < 0:
        raise errors.ArgumentValueError(
            f"[sparse_] sparsity: got {sparsity}, expected a share from 0 to 1. Pass the share of zeros."
        )
    tensor.normal_(0, std, generator=generator)
    zeros = math.ceil(sparsity * tensor.shape[0])
    order = creation_random.rand(
        tuple(tensor.shape), generator=generator, dtype=float64, device=tensor.device
    )
    return tensor.scatter_(0, order.argsort(0)[:zeros], 0.0)


def _old(new: Callable[P, Tensor], example: str) -> Callable[P, Tensor]:
    """`new` under its old name, without the underscore; `example` are arguments that its docstring shows."""
    name = new.__name__.rstrip("_")

    @functools.wraps(new)
    def old(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        warnings.warn(f"[init.{name}] is the old name: use init.{new.__name__}.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"""The old name of `{new.__name__}`; a FutureWarning says so.

    >>> import tenora, warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     tensor = {name}({example})
    >>> said[0].category.__name__, type(tensor).__name__
    ('FutureWarning', 'Tensor')
    """
    return old


uniform = _old(uniform_, "tenora.empty(2)")
normal = _old(normal_, "tenora.empty(2)")
constant = _old(constant_, "tenora.empty(2), 0.5")
eye = _old(eye_, "tenora.empty(2, 2)")
dirac = _old(dirac_, "tenora.empty(2, 2, 3)")
xavier_uniform = _old(xavier_uniform_, "tenora.empty(2, 2)")
xavier_normal = _old(xavier_normal_, "tenora.empty(2, 2)")
kaiming_uniform = _old(kaiming_uniform_, "tenora.empty(2, 2)")
kaiming_normal = _old(kaiming_normal_, "tenora.empty(2, 2)")
orthogonal = _old(orthogonal_, "tenora.empty(2, 2)")
sparse = _old(sparse_, "tenora.empty(2, 2), 0.5")


def __getattr__(name: str) -> Any:
    raise refused(__name__, name, [known for known in globals() if known.endswith("_")])
