"""Checks of arguments that several ops in Python make, with PyTorch's exception types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_engine import _engine


def wrap_dim(op: str, dim: int, rank: int) -> int:
    """A dimension counted from the front; a 0-d tensor counts as one dimension.

    Raises:
        IndexError: the tensor has no such dimension.
    """
    room = max(rank, 1)
    if not -room <= dim < room:
        raise IndexError(
            f"[{op}] dimension out of range: got {dim}, expected {-room} to {room - 1} for a tensor of rank {rank}. "
            "Pass a dimension the tensor has."
        )
    return dim % room


def wrap_dims(op: str, dims: Any, rank: int) -> tuple[int, ...]:
    """Several dimensions, each once.

    Raises:
        IndexError: the tensor lacks one of them.
        RuntimeError: one is named twice.
    """
    found = tuple(wrap_dim(op, dim, rank) for dim in ints(dims))
    if len(set(found)) < len(found):
        raise RuntimeError(
            f"[{op}] dimension appears twice: got {ints(dims)}, expected distinct dimensions. Name each dimension once."
        )
    return found


def ints(value: int | Iterable[int]) -> tuple[int, ...]:
    """One integer or several, as a tuple."""
    return (value,) if isinstance(value, int) else tuple(value)


def need_rank(op: str, tensor: Any, least: int, most: int | None = None) -> None:
    """Refuses a tensor of fewer than `least` or more than `most` dimensions.

    Raises:
        RuntimeError: the rank does not fit.
    """
    if tensor.ndim < least or (most is not None and tensor.ndim > most):
        wanted = (
            f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
        )
        raise RuntimeError(
            f"[{op}] wrong number of dimensions: got {tensor.ndim} (shape {tuple(tensor.shape)}), expected {wanted}. "
            "Reshape the tensor."
        )


def broadcast_shape(op: str, shapes: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """The shape that all shapes broadcast to.

    Raises:
        RuntimeError: sizes differ and neither is 1.
    """
    given = [tuple(shape) for shape in shapes]
    rank = max(map(len, given), default=0)
    result = [1] * rank
    for shape in given:
        for place, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[place] not in (1, size):
                raise RuntimeError(
                    f"[{op}] shapes do not broadcast: got {given}, expected sizes that are equal or 1. "
                    "Reshape one of the tensors."
                )
            result[place] = size if size != 1 else result[place]
    return tuple(result)


def need_indices(op: str, index: Any, most: int | None = None) -> None:
    """Refuses an index tensor that holds no integers, or has more than `most` dimensions.

    Raises:
        RuntimeError: the dtype is wrong.
        IndexError: there are too many dimensions.
    """
    if index.dtype.is_floating_point or index.dtype.is_complex or index.dtype == _engine.bool:
        raise RuntimeError(
            f"[{op}] index has the wrong dtype: got {index.dtype}, expected integers. Cast it."
        )
    if most is not None and index.ndim > most:
        raise IndexError(
            f"[{op}] index has too many dimensions: got shape {tuple(index.shape)}, expected at most {most}. "
            "Reshape it."
        )
