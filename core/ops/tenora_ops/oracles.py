"""Helpers of oracles: element-wise Python mathematics and exact sums.

- Oracles are told floating inputs as float64 or complex128, everything else in its own dtype, and answer in either.
- `each` calls Python's math (the C library, not NumPy's vector loops); sums go through `math.fsum`, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tenora_ops.lazy import np

Function = Callable[..., Any]


def each(real: Function, complex_: Function | None = None) -> Function:
    """Applies a function of Python numbers to broadcast arrays, element by element."""

    def apply(*arrays: Any) -> Any:
        spread = np.broadcast_arrays(*[np.asarray(a) for a in arrays])
        is_complex = any(np.iscomplexobj(a) for a in spread)
        function = complex_ if is_complex and complex_ is not None else real
        out = np.empty(spread[0].shape, dtype=np.complex128 if is_complex else np.float64)
        for index in np.ndindex(out.shape):
            out[index] = _guarded(function, [a[index].item() for a in spread])
        return out

    return apply


def _guarded(function: Function, values: list[Any]) -> Any:
    try:
        return function(*values)
    except ZeroDivisionError:
        return math.nan
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def whole(rounding: Function) -> Function:
    """A function of Python's that makes whole numbers; infinities stay, which it refuses."""
    return lambda x: x if math.isinf(x) else rounding(x)


def divided(real: Function, integral: Function) -> Function:
    """A quotient, or what it leaves, of floats by one function and exactly of whole numbers by another."""

    def apply(a: Any, b: Any) -> Any:
        dtype = np.result_type(a, b)
        if dtype.kind not in "iu":
            return each(real)(a, b)
        bits = 8 * dtype.itemsize
        exact = np.frompyfunc(lambda x, y: integral(int(x), int(y)) % 2**bits, 2, 1)(a, b)
        return np.asarray(exact, object).astype(f"u{dtype.itemsize}").astype(dtype)

    return apply


def quotient(x: float, y: float) -> float:
    """IEEE's: of nothing by zero NaN, of anything else infinite."""
    return x / y if y else x * math.copysign(math.inf, y)


def logarithm(log: Function, pole: float = 0.0) -> Function:
    """One of Python's logarithms; at its pole it is minus infinity, which it refuses."""
    return lambda x: -math.inf if x == pole else log(x)


#: math.log1p, minus infinity at -1.
log1p = logarithm(math.log1p, -1.0)


def stepped(function: Function) -> Function:
    """A function of a float that turns so quickly that a whole number is told as float32 has it, which computes it."""
    return lambda x: function(float(np.float32(x)) if isinstance(x, int) else x)


def times_log(log: Function) -> Function:
    """a log(b), 0 where a is 0 and b no NaN."""
    return lambda a, b: 0.0 if a == 0 and b == b else a * log(b)


def fading(function: Function, both: bool = True) -> Function:
    """A function that vanishes at infinity, of either sign where `both`, which SciPy's loses."""

    def oracle(x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        return np.where(
            np.isinf(x) & (both | (x > 0)), 0.0, function(np.where(np.isinf(x) & (x > 0), 1.0, x))
        )

    return oracle


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """The reduced dims, non-negative and ascending; None means all."""
    if dim is None:
        return tuple(range(ndim))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted(d % ndim for d in given)) if ndim else ()


def rows(array: Any, dim: Any) -> tuple[Any, tuple[int, ...]]:
    """The array as (kept positions, reduced elements), and the shape of what is kept."""
    dims = dims_of(dim, array.ndim)
    kept = [d for d in range(array.ndim) if d not in dims]
    shape = tuple(array.shape[d] for d in kept)
    count = math.prod(array.shape[d] for d in dims)
    return array.transpose([*kept, *dims]).reshape(math.prod(shape), count), shape


def reduced(function: Function, array: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Reduces with a function of one 1-d array of Python-sized length."""
    array = np.asarray(array)
    table, shape = rows(array, dim)
    values = np.array([function(row) for row in table])
    if not values.size:  # nothing is kept: one made-up row tells the dtype
        values = np.array([function(np.ones(max(table.shape[1], 1), array.dtype))])[:0]
    result = values.reshape(shape)
    if not keepdim:
        return result
    dims = dims_of(dim, array.ndim)
    return result.reshape([1 if d in dims else n for d, n in enumerate(array.shape)])


def of_named(of_all: Callable[[list[bool]], bool], holds: Any, dim: Any, keepdim: bool) -> Any:
    """What holds of the elements along dims; of no dims each element answers for itself."""
    return holds if dim == () else reduced(lambda row: of_all(row.tolist()), holds, dim, keepdim)


def total(values: list[float]) -> float:
    """The correctly rounded sum; NaN where it holds infinities of either sign, which fsum refuses."""
    try:
        return math.fsum(values)
    except (ValueError, OverflowError):
        return float(sum(values))


def log_sum(values: list[float]) -> float:
    """The logarithm of a sum of exponentials, from the largest."""
    if any(map(math.isnan, values)):
        return math.nan
    largest = max(values)
    return (
        largest if math.isinf(largest) else largest + math.log(total([math.exp(v - largest) for v in values]))
    )


def exact_sum(row: Any) -> Any:
    """The correctly rounded sum; integers exactly, modulo 2**64."""
    values = row.tolist()
    if any(isinstance(v, complex) for v in values):
        return complex(total([v.real for v in values]), total([v.imag for v in values]))
    if row.dtype.kind in "biu":
        return np.array(sum(values) & (2**64 - 1), dtype=np.uint64).astype(np.int64)
    return total(values)


def exact_mean(row: Any) -> Any:
    return exact_sum(row) / len(row) if len(row) else math.nan


def variance(row: Any, correction: float = 1.0) -> float:
    """The sum of squared distances from the mean over n - correction."""
    mean = exact_mean(row)
    count = max(len(row) - correction, 0.0)
    squares = total([abs(v - mean) ** 2 for v in row.tolist()])
    return squares / count if count else math.nan


def along(function: Function, array: Any, dim: int) -> Any:
    """Maps 1-d arrays along `dim` to 1-d arrays; a 0-d array counts as one row of one element."""
    array = np.asarray(array)
    if array.ndim == 0:
        return np.asarray(function(array.reshape(1))).reshape(())
    if array.size == 0:
        return np.empty(array.shape, dtype=array.dtype)
    moved = np.moveaxis(array, dim, -1)
    table = np.array([function(row) for row in moved.reshape(-1, moved.shape[-1])])
    return np.moveaxis(table.reshape(*moved.shape[:-1], table.shape[-1]), -1, dim)


def contract(a: Any, b: Any) -> Any:
    """The matrix product by its definition, one exact sum per element; 1-d operands as in matmul."""
    a, b = np.asarray(a), np.asarray(b)
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, batch + left.shape[-2:])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    terms = left[..., :, :, None] * right[..., None, :, :]  # (..., M, K, N)
    out = reduced(exact_sum, terms, terms.ndim - 2)
    if terms.shape[-2] == 0 or np.result_type(a, b).kind in "iu":
        out = out.astype(np.result_type(a, b))  # machine integers wrap
    if a.ndim == 1:
        out = out[..., 0, :]
    return out[..., 0] if b.ndim == 1 else out
