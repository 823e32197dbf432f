"""Padding under PyTorch's name: a constant, or elements of the input by mode."""

from __future__ import annotations

from collections.abc import Sequence

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Adds elements around the last dims: (before, after) pairs from the last dim backwards; negative amounts crop.

    `mode`: 'constant' fills with `value` (0), 'reflect' mirrors without repeating the edge, 'replicate' repeats the
    edge, 'circular' wraps around; all but the first take the last one to three dims of (N, C, ...) or (C, ...).

    RuntimeError for padding that does not fit, and for a `value` in other modes than 'constant'; NotImplementedError
    for an unknown mode.

    >>> import tenora
    >>> pad(tenora.tensor([[1, 2, 3]]), (2, 1), mode="reflect").tolist()
    [[3, 2, 1, 2, 3, 2]]
    """
    if mode == "constant":
        result: Tensor = tenora_ops.pad(input, pad, "constant", value)
        return result
    if value:
        raise errors.OperationError(
            f"[pad] value: got {value} in mode {mode!r}, expected none. Only mode 'constant' takes one."
        )
    result = tenora_ops.pad_by(input, pad, mode)
    return result


__all__ = ["pad"]
