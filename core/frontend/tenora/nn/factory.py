"""`factory_kwargs`: the arguments of a layer that say where and of which dtype its parameters are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenora_dispatch import errors

_TAKEN = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those keyword arguments of a layer that creation functions take.

    They may come one by one or as a dict under `factory_kwargs`. Raises TypeError for others, and for one that comes
    both ways.

    >>> factory_kwargs({"dtype": "float64", "factory_kwargs": {"device": "cpu"}})
    {'dtype': 'float64', 'device': 'cpu'}
    """
    given = dict(kwargs or {})
    inner = dict(given.pop("factory_kwargs", {}))
    unknown = [name for name in (*given, *inner) if name not in _TAKEN]
    twice = [name for name in given if name in inner]
    if unknown or twice:
        raise errors.ArgumentTypeError(
            f"[factory_kwargs] arguments: got {unknown or twice}, expected each of {list(_TAKEN)} at most once. "
            "Take the others out first."
        )
    return given | inner


__all__ = ["factory_kwargs"]
