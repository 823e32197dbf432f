"""Checks of arguments that several ops in Python make, with PyTorch's exception types."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor, _engine


def wrap_dim(op: str, dim: int, rank: int) -> int:
    """A dimension counted from the front; a 0-d tensor counts as one dimension.

    Raises:
        IndexError: the tensor has no such dimension.
    """
    room = max(rank, 1)
    if not -room <= dim < room:
        raise errors.IndexRangeError(
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
        raise errors.OperationError(
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
        raise errors.OperationError(
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
                raise errors.OperationError(
                    f"[{op}] shapes do not broadcast: got {given}, expected sizes that are equal or 1. "
                    "Reshape one of the tensors."
                )
            result[place] = size if size != 1 else result[place]
    return tuple(result)


def need_indices(
    op: str,
    index: Any,
    most: int | None = None,
    dtypes: tuple[str, ...] = ("int64",),
    error: type[errors.TenoraError] = errors.OperationError,
) -> None:
    """Refuses an index tensor of another dtype than PyTorch's op takes, or of more than `most` dimensions.

    Raises:
        RuntimeError: the dtype is wrong (or `error`, where PyTorch raises another).
        IndexError: there are too many dimensions.
    """
    if index.dtype.name not in dtypes:
        raise error(
            f"[{op}] index has the wrong dtype: got {index.dtype}, expected {' or '.join(dtypes)}. Cast it with "
            ".to(tenora.int64)."
        )
    if most is not None and index.ndim > most:
        raise errors.IndexRangeError(
            f"[{op}] index has too many dimensions: got shape {tuple(index.shape)}, expected at most {most}. "
            "Reshape it."
        )


def need_device(op: str, input: Any, *tensors: Any) -> None:
    """Refuses tensors of another device than that of `input`; RuntimeError."""
    for tensor in tensors:
        if tensor.device != input.device:
            raise errors.OperationError(
                f"[{op}] operands on different devices: got {input.device} and {tensor.device}, expected one device. "
                "Move one of them with .to(...).",
                code="device",
            )


def need_real(op: str, *tensors: Any) -> None:
    """The formula holds for real numbers only, and a cast would drop imaginary parts.

    Raises:
        RuntimeError: a tensor is complex.
    """
    for tensor in tensors:
        if tensor.dtype.is_complex:
            raise errors.OperationError(
                f"[{op}] dtype not supported: got {tensor.dtype}, expected a real type. Use abs() or real first."
            )


def number_for(op: str, name: str, given: Any, dtype: Any, complex_only: bool = False) -> Any:
    """The number of an argument for a result of this dtype: 2 + 0j is 2.0, or 2 among whole numbers, or True.

    A real number stays as it is; `complex_only` refuses 2 + 0j for a real dtype, too.

    Raises:
        TypeError: it is a tensor that is not one number, or has a history.
        RuntimeError: it is complex and the dtype is real.
    """
    if isinstance(given, Tensor):
        if given.ndim or given.requires_grad:
            raise errors.ArgumentTypeError(
                f"[{op}] {name} is wrong: got Tensor, expected number. Pass a number."
            )
        given = given.item()
    if not isinstance(given, complex) or dtype.is_complex:
        return given
    if dtype == _engine.bool and not complex_only:
        return bool(given)
    if given.imag or complex_only:
        raise errors.OperationError(
            f"[{op}] {name} does not fit: got a complex number for {dtype}, expected a real one. Cast the tensors "
            "first."
        )
    whole = not dtype.is_floating_point and math.isfinite(given.real)
    return int(given.real) if whole else given.real


def need_probability(op: str, p: float) -> None:
    """Refuses what is no probability.

    Raises:
        TypeError: p is no number.
        ValueError: p lies outside 0 to 1, or is NaN.
    """
    try:
        fits = 0.0 <= p <= 1.0
    except TypeError:
        raise errors.ArgumentTypeError(
            f"[{op}] p is no number: got {p!r}, expected a number from 0 to 1. Choose how often to drop."
        ) from None
    if not fits:
        raise errors.ArgumentValueError(
            f"[{op}] p is no probability: got {p}, expected a number from 0 to 1. Choose how often to drop."
        )


def need_size_or_ratio(op: str, output_size: Any, output_ratio: Any) -> None:
    """Refuses sizes of a fractional pooling that are missing, given twice, or no ratios.

    Raises:
        ValueError: not exactly one of the two is given, or a ratio lies outside 0 to 1.
    """
    if (output_size is None) == (output_ratio is None):
        raise errors.ArgumentValueError(
            f"[{op}] the result's size is not told once: got output_size {output_size} and output_ratio {output_ratio},"
            " expected one of them. Leave the other out."
        )
    ratios = output_ratio if isinstance(output_ratio, list | tuple) else [output_ratio]
    if output_ratio is not None and any(not 0 < ratio < 1 for ratio in ratios):
        raise errors.ArgumentValueError(
            f"[{op}] output_ratio is wrong: got {output_ratio}, expected numbers between 0 and 1. Name the share of "
            "the input's size."
        )


def need_fitting(op: str, input: Any, dim: int, index: Any, src: Any) -> None:
    """Refuses an index that names more places than src has elements, or than the other dims of input have.

    Raises:
        RuntimeError: ranks differ or a size is too large.
    """
    sizes = [tuple(t.shape) or (1,) for t in (index, src, input)]  # a number is a vector of one element
    fits = len(set(map(len, sizes))) == 1 and all(
        size <= given and (size <= whole or d == dim)
        for d, (size, given, whole) in enumerate(zip(*sizes, strict=True))
    )
    if not fits:
        raise errors.OperationError(
            f"[{op}] index does not fit: got shape {sizes[0]} with src {sizes[1]} for input {sizes[2]}, expected no "
            f"size beyond src's, nor beyond input's but in dim {dim}. Take a part of index, or a larger src."
        )
