"""What a file may have made of it: no file takes much more memory, or much longer, than its size asks for.

- A `Ledger` counts the bytes that are made, or looked at again, beyond those that stand in the file: one value that a
  file names a thousand times must not be copied a thousand times.
- What a file holds once is always within the bounds, as every element takes some bytes of a pickle.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Any

import tenora_engine
from tenora_engine import Size, Storage, Tensor

from .errors import unreadable
from .source import MOST_DIMS, window

_FREE = 1 << 26
_TIMES = 4  # for each byte of the file
_TIMES_DESCRIBED = 32  # for each byte of the pickle or the structure: objects take more than their bytes
_ELEMENT = 64  # about what an element of a set or a dict takes
_PART = 1 << 20


class Ledger:
    """How much may still be made for one file of `size` bytes, `described` of which are its pickle or structure."""

    def __init__(self, size: int, described: int) -> None:
        self._most = self._left = _FREE + _TIMES * size + _TIMES_DESCRIBED * described
        self._sound: dict[int, tuple[Storage, bool]] = {}

    def spend(self, count: int) -> None:
        """Notes bytes before they are made or looked at."""
        self._left -= count
        if self._left < 0:
            raise unreadable(
                "values that are many times as large as the file",
                f"at most {self._most} bytes for a file of this size",
                "It was made to fill the memory, or copies its values: save each of them once.",
            )

    def bools(self, storage: Storage, low: int, high: int) -> bool:
        """Whether the bytes from `low` to `high` are 0 and 1; a storage that is so as a whole is looked at once."""
        if id(storage) not in self._sound:
            self._sound[id(storage)] = (storage, _bools(storage, 0, storage.nbytes()))
        if self._sound[id(storage)][1]:
            return True
        self.spend(high - low)
        return _bools(storage, low, high)


def _bools(storage: Storage, low: int, high: int) -> bool:
    for at in range(low, high, _PART):
        part = window(storage, (min(_PART, high - at),), (1,), at, tenora_engine.uint8).cpu()
        if bytes(memoryview(part)).translate(None, b"\0\1"):
            return False
    return True


def loaded(
    storage: Storage,
    shape: Any,
    strides: Any,
    offset: int,
    dtype: Any,
    ledger: Ledger,
    requires_grad: bool = False,
) -> Tensor:
    """`window` on bytes from a file. Bools are 0 and 1: what computes with them may rely on it."""
    if dtype == tenora_engine.bool:
        # Dims that repeat their elements are looked at once.
        sizes = [min(n, 1) if t == 0 else n for n, t in zip(shape, strides, strict=True)]
        seen = window(storage, sizes, strides, offset, tenora_engine.uint8)
        if seen.numel() and not _sound(seen, storage, ledger):
            raise unreadable("a tensor of bools with other bytes than 0 and 1", "0 and 1 only")
    return window(storage, shape, strides, offset, dtype, requires_grad)


def _sound(seen: Tensor, storage: Storage, ledger: Ledger) -> bool:
    """By the bytes that the window spans: of elements there may be more than bytes. Gaps may hold anything."""
    steps = [(n - 1) * t for n, t in zip(seen.shape, seen.stride(), strict=True)]
    low = seen.storage_offset() + sum(min(step, 0) for step in steps)
    high = seen.storage_offset() + sum(max(step, 0) for step in steps) + 1
    if ledger.bools(storage, low, high):
        return True
    if seen.numel() >= high - low:  # they lie over each other or have no gaps
        return False
    ledger.spend(seen.numel())
    rows = seen.cpu().contiguous()
    return _bools(rows.untyped_storage(), rows.storage_offset(), rows.storage_offset() + rows.numel())


_BYTES = (bytes, bytearray, str)
_CONTAINERS = (list, tuple, dict, set, frozenset, OrderedDict, Counter, Size)
_FEW = 16


def weight(parts: Iterable[Any], depth: int = 3) -> int:
    """About how many bytes a copy of these values takes; of what a container holds, only the parts of short tuples."""
    total = 0
    for part in parts:
        kind = type(part)
        if kind in _BYTES:
            total += len(part)
        elif kind in _CONTAINERS:
            total += _ELEMENT * len(part)
            if (
                depth and kind is tuple and len(part) <= _FEW
            ):  # arguments, in them a state, in that attributes
                total += weight(part, depth - 1)
    return total


def dims(values: Any) -> list[int]:
    """A pickle's sizes or strides of a tensor: numbers, and not too many of them."""
    if type(values) not in (list, tuple, Size):
        raise unreadable(f"sizes in a {type(values).__name__}", "a tuple of them")
    if len(values) > MOST_DIMS:
        raise unreadable(f"a tensor of {len(values)} dims", f"at most {MOST_DIMS}")
    return list(values)
