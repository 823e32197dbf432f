"""Sizes as layers take them: whole numbers, or one number for all dims or one for each; and what is refused as one."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors

Sizes = int | tuple[int, ...]


def per_dim(value: int | Iterable[int], dims: int) -> tuple[int, ...]:
    """One number for each of `dims` dimensions.

    >>> per_dim(3, 2), per_dim((1, 2), 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * dims


def is_empty(sizes: object) -> bool:
    """A list or tuple without numbers: the stride of a pool that is its kernel size, as None is."""
    return isinstance(sizes, list | tuple) and not sizes


def _is_whole(value: Any) -> bool:
    """What has an `__index__`, NumPy's integers among them; a bool in the place of a size is a mistake."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _refuse(layer: object, name: str, value: Any, expected: str, numbers: bool) -> None:
    """The exception types are those of PyTorch, some of which come from the layer's first call there."""
    kind = errors.OperationError if numbers else errors.ArgumentTypeError
    raise kind(
        f"[{type(layer).__name__}] {name}: got {value!r}, expected {expected}. "
        + ("Choose another size." if numbers else "Pass whole numbers.")
    )


def need_sizes(layer: object, least: int | None = 0, **sizes: Any) -> None:
    """Refuses arguments of a layer that are no whole numbers of at least `least`, by name; None sets no least number.

    Raises:
        TypeError: one is no whole number.
        RuntimeError: one is less.
    """
    for name, value in sizes.items():
        whole = _is_whole(value)
        if not whole or (least is not None and value < least):
            _refuse(
                layer,
                name,
                value,
                "a whole number" + ("" if least is None else f" of at least {least}"),
                whole,
            )


def need_windows(layer: object, dims: int, least: int | None, **sizes: Any) -> None:
    """The same for one number for all of `dims` dims or one for each.

    Raises:
        TypeError: one is no whole number or sequence of them.
        RuntimeError: one is less, or there are too many or too few.
    """
    for name, value in sizes.items():
        numbers = tuple(value) if isinstance(value, Iterable) else (value,)
        whole = all(map(_is_whole, numbers))
        if whole and len(numbers) in (1, dims) and (least is None or min(numbers) >= least):
            continue
        what = "whole numbers" if least is None else f"whole numbers of at least {least}"
        _refuse(layer, name, value, f"one or {dims} {what}" if dims > 1 else f"one of {what}", whole)
