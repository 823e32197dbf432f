"""Inputs in every memory layout, each inside a larger room whose other bytes must stay as they were.

- A layout is a window on a flat room: shape, strides and offset in elements. The room is filled with `GUARD` bytes, so
  that a kernel which reads beside its operand computes nonsense, and one which writes there is found.
- `host_only` layouts need memory that NumPy can share: negative steps have no other way in.
- An address is always a multiple of the element's size (the engine sees to that); `unaligned` is one that is no
  multiple of a vector's.
- On a device the room is a tensor of its own and the window `as_strided`; the room is fetched to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenora
from tenora_conformance.model import Failed
from tenora_conformance.subject import Subject

GUARD = 0xA5
#: Bytes in front of and behind every window: a cache line, and what a vector kernel may wrongly touch.
MARGIN = 64
Strides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """`strides` of a shape, in elements; `shift` elements from an aligned start; `stored`: a storage offset, where
    the tensor is a window on a larger tensor and not on memory of its own."""

    name: str
    strides: Callable[[tuple[int, ...]], Strides]
    shift: int = 0
    stored: bool = False
    host_only: bool = False


def _dense(shape: tuple[int, ...]) -> Strides:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def _transposed(shape: tuple[int, ...]) -> Strides:
    return tuple(math.prod(shape[:d]) for d in range(len(shape)))


def _strided(shape: tuple[int, ...]) -> Strides:
    return tuple(2 * math.prod(2 * n for n in shape[d + 1 :]) for d in range(len(shape)))


def _negative(shape: tuple[int, ...]) -> Strides:
    return tuple(-stride for stride in _dense(shape))


LAYOUTS = {
    row.name: row
    for row in (
        Layout("contiguous", _dense),
        Layout("transposed", _transposed),
        Layout("strided", _strided),
        Layout("negative", _negative, host_only=True),
        Layout("offset", _dense, stored=True),
        Layout("unaligned", _dense, shift=1),
    )
}

#: Ops whose meaning is tied to the memory layout of their input.
LAYOUT_BOUND = frozenset(
    {"view", "view_dtype", "view_as", "view_as_complex", "as_strided", "as_strided_scatter", "empty_like"}
)


class Placed:
    """A tensor of the backend's device that holds `array` in some layout, and the room around it.

    `first`: its storage begins with it, also on a device, where the room is the storage: for ops that count from there.
    """

    def __init__(self, array: np.ndarray, layout: Layout, subject: Subject, *, first: bool = False) -> None:
        size = array.dtype.itemsize
        strides = layout.strides(array.shape)
        reach = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)] if array.size else []
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        margin = -(-MARGIN // size) + layout.shift
        begin = -low if first and not subject.host_memory else margin - low
        raw = _aligned_bytes((begin + high + 1 + margin) * size)
        self.room = raw.view(array.dtype)
        self.begin, self.strides = begin, tuple(s * size for s in strides)
        self.shape = array.shape
        window = self.window(self.room)
        window[...] = array
        self.before = self.room.tobytes()
        self.flat: Any = None
        if layout.stored or not subject.host_memory:
            self.flat = tenora.from_numpy(self.room).to(subject.device)
            self.tensor: Any = self.flat.as_strided(array.shape, strides, begin)
        else:
            self.tensor = tenora.from_numpy(window)
        self.on_host = subject.host_memory

    def window(self, room: np.ndarray) -> np.ndarray:
        """The tensor's elements in a room like its own."""
        return np.lib.stride_tricks.as_strided(room[self.begin :], self.shape, self.strides)

    def _room(self) -> np.ndarray:
        return np.asarray(self.room if self.on_host else self.flat.to("cpu").numpy())

    def check(self, what: str) -> None:
        """Raises: Failed where a byte of the room has changed."""
        self._compare(self._room(), what)

    def check_around(self, what: str) -> None:
        """Raises: Failed where a byte beside the tensor, which may have been written to, has changed."""
        after = self._room().copy()
        self.window(after)[...] = self.window(np.frombuffer(self.before, after.dtype))
        self._compare(after, f"what lies beside {what}")

    def _compare(self, after: np.ndarray, what: str) -> None:
        if after.tobytes() != self.before:
            old = np.frombuffer(self.before, np.uint8)
            new = np.frombuffer(after.tobytes(), np.uint8)
            at = int(np.flatnonzero(old != new)[0])
            raise Failed(
                f"{what} was written to: byte {at} of the memory around it is {new[at]}, expected {old[at]}, although"
                " a kernel writes into its outputs only"
            )


def _aligned_bytes(count: int) -> np.ndarray:
    """Guard bytes whose first lies at a multiple of MARGIN."""
    raw = np.full(count + MARGIN, GUARD, np.uint8)
    begin = -raw.ctypes.data % MARGIN
    return raw[begin : begin + count]
