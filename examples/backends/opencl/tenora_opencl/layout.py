"""From operands to what a kernel is launched with: strides in an order, numbers of the program, buffers."""

import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Any

from tenora_dispatch import NotSupportedError

from .device import device
from .memory import Array, Shape
from .source import CALL_NUMBERS, OPERANDS, RANK

# The fields of `layout` in source.py, all of 8 bytes.
FIELDS = struct.Struct(f"@{5 + RANK + OPERANDS * RANK + OPERANDS}q{OPERANDS}Q{CALL_NUMBERS}q")
WORD = 2**64


def dense(shape: Shape, itemsize: int) -> Shape:
    """Strides in bytes of elements in row-major order without gaps."""
    return tuple(itemsize * math.prod(shape[d + 1 :]) for d in range(len(shape)))


def merged(shape: Shape, strides: Sequence[Shape]) -> tuple[list[int], list[list[int]]]:
    """Fewer dimensions that count the same elements in the same order: neighbours without a gap become one."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for size, *inner in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if sizes and all(step[-1] == size * other for step, other in zip(steps, inner, strict=True)):
            sizes[-1] *= size
            for step, other in zip(steps, inner, strict=True):
                step[-1] = other
        else:
            sizes.append(size)
            for step, other in zip(steps, inner, strict=True):
                step.append(other)
    return sizes, steps


def bits(operand: Any) -> int:
    """A number of the program, an array without dimensions, as it lies in memory; 0 for what is no number."""
    return 0 if isinstance(operand, Array) else int.from_bytes(operand.tobytes(), "little")


def signed(number: int) -> int:
    """The number below 2^63 with the same 64 bits."""
    return (number + WORD // 2) % WORD - WORD // 2


class Call:
    """One launch to be, over operands that are device arrays of one shape and numbers of the program.

    The first `outer` dimensions (all, if None) run side by side; along the others each kernel walks by itself.
    """

    def __init__(
        self, *operands: Any, outer: int | None = None, numbers: Sequence[int] = (), times: int = 1
    ) -> None:
        arrays = [operand for operand in operands if isinstance(operand, Array)]
        shape = arrays[-1].shape
        outer = len(shape) if outer is None else outer
        sizes, steps = merged(shape[:outer], [array.strides[:outer] for array in arrays])
        inner, inner_steps = merged(shape[outer:], [array.strides[outer:] for array in arrays])
        rank = len(sizes) + len(inner)
        if rank > RANK:
            raise NotSupportedError(
                f"a layout of {rank} dimensions that do not merge; at most {RANK} are known"
            )
        self.count = math.prod(sizes) * times
        self.operands = operands
        lines = iter(
            [step + more + [0] * (RANK - rank) for step, more in zip(steps, inner_steps, strict=True)]
        )
        unread = [0] * RANK
        present = [isinstance(operand, Array) for operand in operands]
        self.layout = FIELDS.pack(
            self.count,
            math.prod(inner),
            len(sizes),
            rank,
            sum(1 << k for k, on_device in enumerate(present) if not on_device),
            *sizes,
            *inner,
            *unread[rank:],
            *chain.from_iterable(next(lines) if on_device else unread for on_device in present),
            *unread * (OPERANDS - len(operands)),
            *(operand.offset if isinstance(operand, Array) else 0 for operand in operands),
            *unread[: OPERANDS - len(operands)],
            *map(bits, operands),
            *unread[: OPERANDS - len(operands)],
            *map(signed, numbers),
            *unread[: CALL_NUMBERS - len(numbers)],
        )

    @property
    def buffers(self) -> list[Any]:
        """The kernel's arguments after the layout."""
        return [operand.buffer if isinstance(operand, Array) else None for operand in self.operands]

    def run(self, source: str) -> None:
        """Runs the kernel for every element."""
        if self.count:
            device.launch(source, self.count, self.layout, self.buffers)

    def search(self, source: str) -> int | None:
        """Runs the kernel and returns the lowest number that it `found`."""
        return device.search(source, self.count, self.layout, self.buffers) if self.count else None
