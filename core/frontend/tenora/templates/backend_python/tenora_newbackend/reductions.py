"""Sums, extremes, running sums, sorting and matrix products.

A reduced dimension has size 1 in `out`; `dim` lists them, and without any nothing is reduced.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import EVERY, Array, Kernel, Table, is_float, silent


def wide(array: Array) -> Any:
    """The dtype to add up in: a long sum in float32 loses digits."""
    return np.float64 if is_float(array) else array.dtype


def reduction(function: np.ufunc) -> Kernel:
    """A kernel that combines elements with a function of two, in the dtype of the result or a wider one."""

    def kernel(input: Array, *, out: Array, dim: Sequence[int], **attributes: Any) -> None:
        total = function.reduce(input, axis=tuple(dim), keepdims=True, dtype=wide(out))
        np.copyto(out, total, casting="unsafe")

    return silent(kernel)


def extreme(function: np.ufunc) -> Kernel:
    """A kernel for the largest or smallest element; one that is no number wins."""

    def kernel(input: Array, *, out: Array, dim: Sequence[int], keepdim: bool = False) -> None:
        function.reduce(input, axis=tuple(dim), keepdims=True, out=out)

    return silent(kernel)


def truth(function: np.ufunc) -> Kernel:
    """A kernel that asks whether any, or all, elements are other than zero."""

    def kernel(input: Array, *, out: Array, dim: Sequence[int], keepdim: bool = False) -> None:
        function.reduce(input != 0, axis=tuple(dim), keepdims=True, out=out)

    return silent(kernel)


def argmax(input: Array, *, out: Array, dim: Sequence[int], keepdim: bool = False) -> None:
    """The first place of the largest element along the one dimension of `dim`."""
    np.copyto(out, np.argmax(input, axis=dim[0], keepdims=True))


def argmin(input: Array, *, out: Array, dim: Sequence[int], keepdim: bool = False) -> None:
    """The first place of the smallest element along the one dimension of `dim`."""
    np.copyto(out, np.argmin(input, axis=dim[0], keepdims=True))


@silent
def cumsum(input: Array, *, out: Array, dim: int, dtype: Any = None) -> None:
    """Running sums along `dim`."""
    running = np.add.accumulate(input, dim, wide(out)) if input.ndim else input
    np.copyto(out, running, casting="unsafe")


def sort(
    input: Array, *, out: tuple[Array, Array], dim: int, descending: bool = False, stable: bool = False
) -> None:
    """Values in order and where they were, equal ones as they came; what is no number counts as largest."""
    values, places = out
    if not input.ndim:
        np.copyto(values, input)
        np.copyto(places, 0)
        return
    if descending:  # the ascending order of the row read backwards, read backwards
        backwards = np.argsort(np.flip(input, dim), axis=dim, kind="stable")
        order = input.shape[dim] - 1 - np.flip(backwards, dim)
    else:
        order = np.argsort(input, axis=dim, kind="stable")
    np.copyto(places, order)
    np.copyto(values, np.take_along_axis(input, order, axis=dim))


@silent
def matmul(input: Array, other: Array, *, out: Array) -> None:
    """Products of matrices, (..., M, K) x (..., K, N)."""
    np.matmul(input, other, out=out)


KERNELS: Table = {
    "sum": (reduction(np.add), EVERY),
    "prod": (reduction(np.multiply), EVERY),
    "amax": (extreme(np.maximum), EVERY),
    "amin": (extreme(np.minimum), EVERY),
    "any": (truth(np.logical_or), EVERY),
    "all": (truth(np.logical_and), EVERY),
    "argmax": (argmax, EVERY),
    "argmin": (argmin, EVERY),
    "cumsum": (cumsum, EVERY),
    "sort": (sort, EVERY),
    "matmul": (matmul, EVERY),
}
