"""Sizes as layers take them: one number for all dims, or one for each."""

from __future__ import annotations

Sizes = int | tuple[int, ...]


def per_dim(value: Sizes, dims: int) -> tuple[int, ...]:
    """One number for each of `dims` dimensions.

    >>> per_dim(3, 2), per_dim((1, 2), 2)
    ((3, 3), (1, 2))
    """
    return (value,) * dims if isinstance(value, int) else tuple(value)
