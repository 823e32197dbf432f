"""Rebuilding containers of samples: what `collate`, `default_convert` and `pin_memory` do alike.

A container keeps its type where the type allows it. A mutable one is copied and then filled, as it may have more
to it than its elements; a type that can neither be copied nor made of its elements becomes a dict or a list.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def is_namedtuple(data: object) -> bool:
    """Whether `data` is a tuple with names."""
    return isinstance(data, tuple) and hasattr(data, "_fields")


def like_mapping(pattern: Mapping[Any, Any], value_of: Callable[[Any], Any]) -> Any:
    """A mapping of the type and keys of `pattern` with the values that `value_of(key)` gives."""
    values = {key: value_of(key) for key in pattern}
    try:
        if isinstance(pattern, MutableMapping):
            clone = copy.copy(pattern)
            clone.update(values)
            return clone
        make: Callable[[Any], Any] = type(pattern)
        return make(values)
    except TypeError:
        return values


def like_sequence(pattern: Sequence[Any], values: list[Any]) -> Any:
    """A sequence of the type of `pattern` with other elements; as many as it has."""
    try:
        if isinstance(pattern, MutableSequence):
            clone = copy.copy(pattern)
            for position, value in enumerate(values):
                clone[position] = value
            return clone
        make: Callable[[Any], Any] = type(pattern)
        return make(values)
    except TypeError:
        return values
