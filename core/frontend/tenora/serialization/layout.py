"""Tensors as entries of a container.

- A tensor that shares its storage with no other is an entry of its name, dtype and shape, which every reader of the
  format understands. Elements of its storage that it does not show are left out.
- Tensors that share a storage share an entry: that of the tensor which shows all of the bytes in use, or else a
  vector of them; the others are windows on it.
- A complex128 tensor is an entry of float64 with a last dim of 2, as the format has no code for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import tenora_engine
from tenora_engine import Storage, Tensor

from .container import NAMES, Entry
from .source import window

Node = dict[str, Any]


@dataclass
class Saved:
    """A tensor to be written, and its node of the structure, which is filled in."""

    tensor: Tensor
    storage: Storage
    name: str
    node: Node

    def bounds(self) -> tuple[int, int]:
        """The bytes of the storage between which its elements lie."""
        low = high = self.tensor.storage_offset()
        for size, stride in zip(self.tensor.shape, self.tensor.stride(), strict=True):
            low += min(0, (size - 1) * stride)
            high += max(0, (size - 1) * stride)
        each = self.tensor.element_size()
        return low * each, (high + 1) * each

    def window(self) -> tuple[Any, ...]:
        """What two tensors have in common that show the same."""
        tensor = self.tensor
        return (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


@dataclass
class Piece:
    """An entry and the tensor whose elements, in order of rows, are its bytes."""

    entry: Entry
    tensor: Tensor


def separate(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two elements are seen to lie at one place."""
    reach = 1
    for stride, size in sorted((abs(t), n) for n, t in zip(shape, strides, strict=True) if n != 1):
        if stride < reach:
            return False
        reach = stride * size
    return True


def dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements fill their memory without a gap, in whatever order of the dims."""
    room = 1 + sum((n - 1) * t for n, t in zip(shape, strides, strict=True))
    return all(t > 0 for t in strides) and separate(shape, strides) and room == prod(shape)


class Layout:
    """Collects tensors, then decides on the entries."""

    def __init__(self) -> None:
        self._groups: dict[int, list[Saved]] = {}
        self._names = {"", "__metadata__", "tenora.structure"}

    def add(self, tensor: Tensor, name: str, node: Node) -> None:
        """Notes a tensor; its node is complete after `pieces()`."""
        plain = tensor.detach()
        saved = Saved(plain, plain.untyped_storage(), name, node)
        self._groups.setdefault(id(saved.storage) if plain.numel() else id(saved), []).append(saved)

    def pieces(self) -> list[Piece]:
        """The entries, in the order of their bytes, with offsets."""
        found = [piece for group in self._groups.values() for piece in self._of_group(group)]
        found.sort(key=lambda piece: -piece.tensor.element_size())
        at = 0
        for piece in found:
            piece.entry.begin, piece.entry.end = at, at + piece.tensor.numel() * piece.tensor.element_size()
            at = piece.entry.end
        return found

    def _of_group(self, group: list[Saved]) -> Iterator[Piece]:
        first = group[0]
        shape, strides = tuple(first.tensor.shape), first.tensor.stride()
        if len({saved.window() for saved in group}) == 1 and (not prod(shape) or separate(shape, strides)):
            yield (piece := self._piece(first.name, first.tensor))
            order = list(strides) if prod(shape) and dense(shape, strides) else None
            for saved in group:
                saved.node["entry"] = piece.entry.name
                if order is not None and not first.tensor.is_contiguous():
                    saved.node["layout"] = order
            return
        bounds = [saved.bounds() for saved in group]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        if any(low % saved.tensor.element_size() for saved in group):
            low = 0  # where every dtype's elements can begin
        whole = [
            s for s, b in zip(group, bounds, strict=True) if b == (low, high) and s.tensor.is_contiguous()
        ]
        yield (piece := self._shared(whole[0] if whole else group[0], bool(whole), group, low, high))
        for saved in group:
            if not whole or saved.window() != whole[0].window():
                tensor = saved.tensor
                saved.node.update(
                    dtype=tensor.dtype.name,
                    shape=list(tensor.shape),
                    strides=list(tensor.stride()),
                    offset=tensor.storage_offset() - low // tensor.element_size(),
                )
            saved.node["entry"] = piece.entry.name

    def _shared(self, base: Saved, whole: bool, group: list[Saved], low: int, high: int) -> Piece:
        if whole:
            return self._piece(base.name, base.tensor)
        kinds = {saved.tensor.dtype.name for saved in group}
        kind = base.tensor.dtype if len(kinds) == 1 else tenora_engine.uint8
        size = kind.itemsize
        vector = window(base.storage, ((high - low) // size,), (1,), low // size, kind)
        return self._piece(f"{base.name}.storage", vector)

    def _piece(self, name: str, tensor: Tensor) -> Piece:
        name = name.encode("utf-8", "replace").decode()
        free, count = name, 1
        while free in self._names:
            count += 1
            free = f"{name}#{count}"
        self._names.add(free)
        shape = tuple(tensor.shape)
        if tensor.dtype == tenora_engine.complex128:
            return Piece(Entry(free, "F64", (*shape, 2)), tensor)
        return Piece(Entry(free, NAMES[tensor.dtype.name], shape), tensor)


def content(tensor: Tensor) -> memoryview:
    """The bytes of a tensor's elements in order of rows; of a contiguous one on the host without a copy."""
    rows = tensor.contiguous()
    start, count = rows.storage_offset() * rows.element_size(), rows.numel() * rows.element_size()
    if not count:
        return memoryview(b"")
    return memoryview(window(rows.untyped_storage(), (count,), (1,), start, tenora_engine.uint8).cpu())


def checksum(pieces: list[Piece]) -> int:
    """CRC-32 of the data."""
    crc = 0
    for piece in pieces:
        crc = zlib.crc32(content(piece.tensor), crc)
    return crc
