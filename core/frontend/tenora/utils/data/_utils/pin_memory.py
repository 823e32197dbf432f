"""Pinned memory for everything in a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .containers import is_namedtuple, like_mapping, like_sequence


def pin_memory(data: Any, device: str | None = None) -> Any:
    """`data` with each tensor, and each object that has a method `pin_memory`, replaced by what that method gives.

    RuntimeError for a tensor where there is no accelerator.

    >>> from tenora.utils.data._utils.pin_memory import pin_memory
    >>> pin_memory({"x": [1, 2], "name": "a"})
    {'x': [1, 2], 'name': 'a'}
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, lambda key: pin_memory(data[key], device))
    if is_namedtuple(data):
        return type(data)(*(pin_memory(part, device) for part in data))
    if isinstance(data, Sequence):
        return like_sequence(data, [pin_memory(part, device) for part in data])
    return data
