"""What calls of `utils.data` give or raise, in both frameworks, and a stream of samples for either."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

import tenora

Outcome = tuple[str, Any]


def plain(value: Any) -> Any:
    """A value without its framework."""
    if isinstance(value, tenora.Tensor | torch.Tensor):
        return value.tolist(), str(value.dtype).split(".")[1]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(part) for part in value)
    return value


def outcome(call: Callable[[Any, Any], Any], framework: Any, data: Any) -> Outcome:
    """What a call gives, or which built-in exception it raises, and how often it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = "gives", plain(call(framework, data))
        except Exception as error:
            builtin = (AssertionError, TypeError, ValueError, IndexError, NotImplementedError, RuntimeError)
            result = "raises", next(kind.__name__ for kind in builtin if isinstance(error, kind))
    return result[0], (result[1], len(caught))


def stream(data: Any, *samples: Any, length: int | None = None) -> Any:
    """An IterableDataset of the given samples."""

    class Stream(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(samples)

        if length is not None:

            def __len__(self) -> int:
                return length

    return Stream()
