"""Reductions, positions of extremes, running sums, products and extremes.

The output keeps the rank of the input, with size 1 in the reduced dimensions; an empty `dim` reduces nothing.
Half types are reduced in float32 and rounded once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenora_reference.dtypes import Array, is_floating, is_half
from tenora_reference.quiet import quiet

Kernel = Callable[..., Any]


def _reduce(ufunc: np.ufunc, input: Array, dim: Sequence[int], out: Array) -> None:
    axes = tuple(dim)
    reduce: Callable[..., Any] = ufunc.reduce
    if is_half(input.dtype):
        wide = quiet.run(reduce, input.astype(np.float32), axis=axes, keepdims=True)
        np.copyto(out, wide, casting="unsafe")
    else:
        quiet.run(reduce, input, axis=axes, dtype=out.dtype, out=out, keepdims=True)


def sum(input: Array, *, dim: Sequence[int], keepdim: bool = False, dtype: Any = None, out: Array) -> None:
    """Sum over `dim`; pairwise along contiguous rows."""
    _reduce(np.add, input, dim, out)


def prod(input: Array, *, dim: Sequence[int], keepdim: bool = False, dtype: Any = None, out: Array) -> None:
    """Product over `dim`."""
    _reduce(np.multiply, input, dim, out)


def amax(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Largest element over `dim`; NaN wins."""
    _reduce(np.maximum, input, dim, out)


def amin(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Smallest element over `dim`; NaN wins."""
    _reduce(np.minimum, input, dim, out)


def any(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Whether any element over `dim` is non-zero."""
    np.logical_or.reduce(input != 0, axis=tuple(dim), out=out, keepdims=True)


def all(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Whether every element over `dim` is non-zero."""
    np.logical_and.reduce(input != 0, axis=tuple(dim), out=out, keepdims=True)


def _position(input: Array, dim: Sequence[int], out: Array, find: Callable[..., Any]) -> None:
    (axis,) = dim
    # NaN is found first by argmax and argmin alike: the rule of the op.
    wide = input.astype(np.float32) if is_half(input.dtype) else input
    np.copyto(out, find(wide, axis=axis, keepdims=True))


def argmax(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Position of the first largest element along the one dimension of `dim`."""
    _position(input, dim, out, np.argmax)


def argmin(input: Array, *, dim: Sequence[int], keepdim: bool = False, out: Array) -> None:
    """Position of the first smallest element along the one dimension of `dim`."""
    _position(input, dim, out, np.argmin)


def cumsum(input: Array, *, dim: int, dtype: Any = None, out: Array) -> None:
    """Running sum along `dim`; float32 runs in float64, so that a long row keeps its last digits."""
    if input.ndim == 0:
        np.copyto(out, input)
        return
    wide = np.float64 if is_floating(input.dtype) else input.dtype
    np.copyto(out, quiet.run(np.add.accumulate, input, dim, wide), casting="unsafe")


def cumprod(input: Array, *, dim: int, dtype: Any = None, out: Array) -> None:
    """Running product along `dim`; float32 runs in float64."""
    if input.ndim == 0:
        np.copyto(out, input)
        return
    wide = np.float64 if is_floating(input.dtype) else input.dtype
    np.copyto(out, quiet.run(np.multiply.accumulate, input, dim, wide), casting="unsafe")


def _running_extreme(input: Array, dim: int, out: tuple[Array, Array], extreme: np.ufunc) -> None:
    """The place of the last element so far that equals the running extreme, or is NaN as it is."""
    values, positions = out
    if input.ndim == 0:
        np.copyto(values, input)
        np.copyto(positions, 0)
        return
    wide = input.astype(np.float32) if is_half(input.dtype) else input
    running = quiet.run(extreme.accumulate, wide, dim)
    reached = (wide == running) | (wide != wide)
    sizes = [1] * input.ndim
    sizes[dim] = -1
    places = np.where(reached, np.arange(input.shape[dim]).reshape(sizes), 0)
    np.maximum.accumulate(places, dim, out=positions)
    np.copyto(values, running, casting="unsafe")


def cummax(input: Array, *, dim: int, out: tuple[Array, Array]) -> None:
    """Running maximum along `dim` and where it is: of equal ones the last, NaN wins."""
    _running_extreme(input, dim, out, np.maximum)


def cummin(input: Array, *, dim: int, out: tuple[Array, Array]) -> None:
    """Running minimum along `dim` and where it is: of equal ones the last, NaN wins."""
    _running_extreme(input, dim, out, np.minimum)
