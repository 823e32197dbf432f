"""Stable sorting with positions."""

import numpy as np

from tenora_reference.dtypes import Array, is_half


def sort(
    input: Array, *, dim: int = -1, descending: bool = False, stable: bool = False, out: tuple[Array, Array]
) -> None:
    """Values and int64 positions in ascending or descending order; always stable; NaN counts as largest."""
    values, positions = out
    if input.ndim == 0:
        np.copyto(values, input)
        np.copyto(positions, 0)
        return
    keys = input.astype(np.float32) if is_half(input.dtype) else input
    if descending:
        # A stable descending order is the ascending order of the reversed row, reversed.
        reverse = np.flip(np.argsort(np.flip(keys, dim), axis=dim, kind="stable"), dim)
        order = input.shape[dim] - 1 - reverse
    else:
        order = np.argsort(keys, axis=dim, kind="stable")
    np.copyto(positions, order)
    np.copyto(values, np.take_along_axis(input, order, axis=dim))
