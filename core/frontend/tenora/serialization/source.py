"""`Source`: the file that `load` reads, with its bounds known, so that nothing asks for more than there is."""

from __future__ import annotations

import mmap
import os
import zlib
from typing import Any, BinaryIO

import tenora_engine
from tenora_engine import Storage, Tensor

from .errors import shown, unreadable

_CHUNK = 1 << 22
_ALIGNED = 16  # bytes: the largest element
MOST_DIMS = 64  # of a tensor, here as in NumPy and PyTorch


class Source:
    """A seekable file: `start` is where the content begins, `end` where the file ends."""

    def __init__(self, file: BinaryIO, name: str, whole: bool, mapped: bool = False) -> None:
        self.file, self.name = file, name
        self.whole = whole  # a file of its own, so nothing may follow the content
        self.start = file.tell()
        file.seek(0, os.SEEK_END)
        self.end = file.tell()
        file.seek(self.start)
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped and self.end else None

    def need(self, start: int, count: int, what: str) -> None:
        """Refuses a piece that the file has no room for."""
        if start < 0 or count < 0 or start + count > self.end:
            raise unreadable(
                f"{what} of {count} bytes at {start} in a file of {self.end} bytes",
                "a piece that lies within the file",
            )

    def read(self, start: int, count: int, what: str) -> bytes:
        """`count` bytes from `start` on."""
        self.need(start, count, what)
        self.file.seek(start)
        data = self.file.read(count)
        while len(data) < count and (more := self.file.read(count - len(data))):
            data += more  # an unbuffered file may give a part
        if len(data) != count:
            raise unreadable(f"{len(data)} bytes of {what}", f"{count}")
        return data

    def storage(self, start: int, count: int, what: str, crc: int = 0) -> tuple[Storage, int | None]:
        """The bytes as a storage on the host, and `crc` continued over them (None where they are only mapped)."""
        self.need(start, count, what)
        if self._map is not None and count and start % _ALIGNED == 0:
            mapped = tenora_engine.from_buffer(self._map, tenora_engine.uint8, count, start)
            return mapped.untyped_storage(), None
        memory = tenora_engine.empty((count,), dtype=tenora_engine.uint8, device="cpu")
        if count:
            view = memoryview(memory)
            self._fill(view, start, what)
            crc = zlib.crc32(view, crc)
        return memory.untyped_storage(), crc

    def _fill(self, view: memoryview, start: int, what: str) -> None:
        self.file.seek(start)
        readinto: Any = getattr(self.file, "readinto", None)
        done = 0
        while done < len(view):
            piece = view[done : done + _CHUNK]
            if readinto is not None:
                count = readinto(piece)
            else:
                data = self.file.read(len(piece))
                count = len(data)
                if count <= len(piece):
                    piece[:count] = data
            if not isinstance(count, int) or not 0 <= count <= len(piece):
                raise unreadable(
                    f"a file object that answers {shown(count)} when {len(piece)} bytes of {what} are read",
                    "how many it gave",
                    "Read the file into io.BytesIO first.",
                )
            if not count:
                raise unreadable(f"{done} bytes of {what}", f"{len(view)}")
            done += count


def window(
    storage: Storage, shape: Any, strides: Any, offset: int, dtype: Any, requires_grad: bool = False
) -> Tensor:
    """A tensor on a storage; the engine refuses what lies outside of it."""
    return tenora_engine._rebuild_tensor(
        Tensor, storage, tuple(shape), tuple(strides), offset, dtype, storage.device, requires_grad, None
    )


def all_bytes(storage: Storage) -> Tensor:
    """The whole storage as a vector of bytes."""
    return window(storage, (storage.nbytes(),), (1,), 0, tenora_engine.uint8)
