"""Gather, scatter and integer indexing; every index is checked before anything is written, by NumPy or here.

NumPy takes negative indices, counted from the end, which gather, scatter and index_select refuse.
"""

from typing import Any

import numpy as np

from tenora_reference.dtypes import Array, is_half
from tenora_reference.quiet import silent


def _check(index: Array, size: int, dim: int) -> None:
    """Raise IndexError naming the first index outside 0 .. size - 1."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        value = int(index[wrong][0]) if index.ndim else int(index)
        raise IndexError(f"index {value} is out of bounds for dimension {dim} with size {size}")


def _grid(index: Array, dim: int) -> tuple[Any, ...]:
    """Coordinates that take `index` along `dim` and every other dimension in place."""
    grid: list[Any] = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _lifted(*arrays: Array) -> list[Array]:
    """The arrays, 0-d ones as windows of one element: in gather and scatter both mean the same."""
    return [a.reshape(1) if a.ndim == 0 else a for a in arrays]


def gather(input: Array, index: Array, *, dim: int, out: Array) -> None:
    """out[i][j] = input[index[i][j]][j] for dim 0; `out` has the shape of `index`."""
    if not index.size:
        return  # an index without elements may have any rank
    input, index, out = _lifted(input, index, out)
    _check(index, input.shape[dim], dim)
    np.copyto(out, input[_grid(index, dim)])


def scatter(input: Array, index: Array, src: Array, *, dim: int, out: Array) -> None:
    """out[index[i][j]][j] = src[i][j] for dim 0; `out` already holds `input`. The last write wins."""
    if not index.size:
        return
    index, src, out = _lifted(index, src, out)
    _check(index, out.shape[dim], dim)
    out[_grid(index, dim)] = src[tuple(slice(size) for size in index.shape)]


@silent
def scatter_add(input: Array, index: Array, src: Array, *, dim: int, out: Array) -> None:
    """out[index[i][j]][j] += src[i][j] for dim 0; `out` already holds `input`."""
    if not index.size:
        return
    index, src, out = _lifted(index, src, out)
    _check(index, out.shape[dim], dim)
    _add_at(out, _grid(index, dim), src[tuple(slice(size) for size in index.shape)])


def _add_at(out: Array, where: tuple[Any, ...], values: Array) -> None:
    """Unbuffered addition; half types are summed in float32 and rounded once."""
    if is_half(out.dtype):
        wide = out.astype(np.float32)
        np.add.at(wide, where, values)
        np.copyto(out, wide, casting="unsafe")
    else:
        np.add.at(out, where, values)


def _in_our_words(error: IndexError) -> IndexError:
    """NumPy's error, which calls a dimension an axis."""
    return IndexError(str(error).replace(" for axis ", " for dimension "))


def index(input: Array, *indices: Array, out: Array) -> None:
    """input[indices...]: the indexed dimensions come first; `out` has the indices' shape, then the rest."""
    try:
        taken = input[indices]
    except IndexError as error:
        raise _in_our_words(error) from None
    np.copyto(out, taken)


def index_select(input: Array, index: Array, *, out: Array) -> None:
    """input[index]: as `index` with one dimension, and places from 0 on."""
    _check(index, input.shape[0], 0)
    np.copyto(out, input[index])


@silent
def index_put(input: Array, values: Array, *indices: Array, accumulate: bool = False, out: Array) -> None:
    """out[indices...] = values, or += with `accumulate`; `out` already holds `input`."""
    try:
        if accumulate:
            _add_at(out, indices, values)
        else:
            out[indices] = values
    except IndexError as error:
        raise _in_our_words(error) from None
