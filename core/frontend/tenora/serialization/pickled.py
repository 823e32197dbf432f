"""Files that hold a pickle: whole modules, as PyTorch saves them, and whatever else the user asks to pickle.

- Reading one runs code that the file names, so `load` does it only for `weights_only=False`.
- Length and checksum come before the pickle: a damaged file is refused before any of it runs.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import zlib
from collections.abc import Iterator
from typing import Any

import tenora_engine
from tenora_engine import Tensor

from .atomic import Written
from .errors import foreign, unreadable
from .locations import Places
from .source import Source, all_bytes
from .unpickler import Scout

MAGIC = b"tenora pickle 1\n"
_HEAD = len(MAGIC) + 12
_LETTERS = 200  # of a name in an error


def file_pieces(value: Any, module: Any, protocol: int) -> Iterator[Written]:
    """The bytes of a file; errors come before the first of them."""
    buffer = io.BytesIO()
    module.dump(value, buffer, protocol=protocol)
    content = buffer.getbuffer()
    head = MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little")
    return iter((head, content))


def read_pickled(
    source: Source, places: Places, weights_only: bool, module: Any, options: dict[str, Any]
) -> Any:
    """The value, if the user trusts the file."""
    head = source.read(source.start, _HEAD, "the head")
    length = int.from_bytes(head[len(MAGIC) : -4], "little")
    storage, crc = source.storage(source.start + _HEAD, length, "the pickle")
    content = memoryview(all_bytes(storage))
    if (crc if crc is not None else zlib.crc32(content)) != int.from_bytes(head[-4:], "little"):
        raise unreadable("a pickle whose checksum is wrong", "the bytes that were written")
    if source.whole and source.end != source.start + _HEAD + length:
        raise unreadable("bytes behind the pickle", "its end")
    source.file.seek(source.start + _HEAD + length)
    if weights_only:
        raise unreadable(
            f"pickled objects ({', '.join(_names(content))})",
            "tensors, containers, numbers and text",
            "Loading them runs code from the file: if you trust it, pass weights_only=False. To need no trust, save "
            "the module's state_dict().",
            unsafe=True,
        )
    with foreign():
        return _unpickler(module, places)(io.BytesIO(content), **options).load()


def _names(content: memoryview) -> list[str]:
    """The first classes and functions that the pickle names, apart from our own tensors'."""
    scout = Scout({})
    with contextlib.suppress(Exception):  # what it uses beyond names does not matter here
        scout.load(bytes(content))
    names = [name[:_LETTERS] for name in scout.names if not name.startswith(_OWN)]
    return names[:3] + ["..."] * (len(names) > 3)


_OWN = (
    "builtins.",
    "collections.",
    "tenora_engine.",
    "tenora.nn.parameter.",
    "tenora.Tensor",
    "tenora.dtype",
)


def _unpickler(module: Any, places: Places) -> type[pickle.Unpickler]:
    """The module's unpickler, whose tensors go where `map_location` says."""
    base: Any = (module or pickle).Unpickler

    def rebuild(kind: Any, storage: Any, *rest: Any) -> Tensor:
        *window, location, requires_grad, attributes = rest
        placed = places.place(storage, str(location))
        return tenora_engine._rebuild_tensor(kind, placed, *window, placed.device, requires_grad, attributes)

    class Placing(base):  # type: ignore[misc]  # the base is the user's
        def find_class(self, module: str, name: str) -> Any:
            if name == "_rebuild_tensor" and module.startswith("tenora_engine"):
                return rebuild
            return super().find_class(module, name)

    return Placing
