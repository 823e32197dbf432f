"""Saving and loading.

- `save` writes a safetensors file whose metadata hold everything around the tensors as JSON: numbers, texts,
  containers, and which tensors share memory. Whole modules are pickled, as in PyTorch.
- `load` reads these, other safetensors files, and what `torch.save` writes. It never runs code from a file unless it
  is told `weights_only=False`; whatever a file says, the answer is its content or an error that names file and reason.
- A file that is saved to a path is replaced at once and whole: a process that dies leaves the old or the new content.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pickle
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO, cast

from tenora_dispatch.errors import ArgumentValueError, OutOfMemoryError

from . import container, own, pickled, torch_file
from .atomic import Written, write_atomically
from .errors import (
    FileError,
    Foreign,
    NotAFileError,
    RefusedValueError,
    Unreadable,
    UnsafeFileError,
    unreadable,
)
from .locations import MapLocation, Places
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .source import Source
from .structure import HoldsModule

Path = str | os.PathLike[str]
_CHUNK = 1 << 24
_SNIFFED = len(pickled.MAGIC)


def save(
    obj: Any,
    f: Path | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = pickle.DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes `obj` to the file `f`.

    `obj` may be or hold tensors, parameters, buffers, None, bools, ints, floats, complex numbers, texts, bytes, lists,
    tuples, dicts, OrderedDicts, Counters, sets, slices, ranges, sizes, dtypes, devices, NumPy's numbers and its arrays
    of numbers, texts and dates. Tensors that share memory, and what is the same object, do so after loading. An object
    that is or holds a module is pickled; with `pickle_module` anything is. `pickle_protocol` counts only then; the last
    two arguments are taken for PyTorch's sake.

    Raises:
        RefusedValueError: (a TypeError) another type; the text says where it lies and what to save instead.
        OSError: as `open(f, "wb")`; the file that was there is untouched.

    >>> import io, tenora
    >>> file = io.BytesIO()
    >>> tenora.save({"weight": tenora.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> tenora.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    pieces = _pieces(obj, pickle_module, pickle_protocol)
    if isinstance(f, str | os.PathLike):
        write_atomically(os.fspath(f), pieces)
        return
    if isinstance(f, io.TextIOBase) or not hasattr(f, "write"):
        raise NotAFileError(
            f"[save] f: got {type(f).__name__}, expected a path or a file opened in binary mode. Open it with 'wb'."
        )
    for piece in pieces:
        view = memoryview(piece)
        for at in range(0, len(view), _CHUNK):
            _write(f, bytes(view[at : at + _CHUNK]))  # a copy: the file may keep what it is given


def _write(f: IO[bytes], data: bytes) -> None:
    """All of `data`: a raw file may take a part of it, and says how much."""
    taken = f.write(data)
    while isinstance(f, io.RawIOBase):
        if not taken:
            raise BlockingIOError(
                errno.EAGAIN,
                "[save] f: got a file that takes nothing now, expected a blocking one. Open it with 'wb'.",
            )
        data = data[taken:]
        if not data:
            return
        taken = f.write(data)


def _pieces(obj: Any, module: Any, protocol: int) -> Iterable[Written]:
    if module is None:
        with contextlib.suppress(HoldsModule):
            return own.file_pieces(obj)
    return pickled.file_pieces(obj, module or pickle, protocol)


def load(
    f: Path | IO[bytes],
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = True,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what `save` or `torch.save` wrote, or a safetensors file (a dict of its tensors).

    `map_location` says where tensors go: a device, a dict from the file's devices to others, or a function
    (storage on the host, device's name) that returns the storage to use or None. With `mmap=True` tensors are pages of
    the file, read when they are touched; writes do not reach it, and their checksums are not looked at. As long as such
    a tensor lives, the file must not be cut or written over in place: touching a page that is gone ends the process
    (SIGBUS). Replacing it by another file, as `save` does, or deleting it is fine.
    `weights_only=False` loads pickled modules and objects, **which may run any code that the file holds**.
    A file object is read from its position, and left behind what was read. The content tells what a file is, never its
    name.

    Raises:
        FileError: (a RuntimeError) damaged, cut off or no such file; or a device that is not there.
        UnsafeFileError: (a FileError and `pickle.UnpicklingError`) it names something that would have to be run.
        OSError: as `open(f, "rb")`.

    >>> import io, tenora
    >>> file = io.BytesIO()
    >>> tenora.save([tenora.zeros(2), (1, 2)], file)
    >>> _ = file.seek(0)
    >>> tenora.load(file, map_location="cpu")
    [tensor([0., 0.]), (1, 2)]
    """
    places = Places(map_location)
    trusting = weights_only is not None and not weights_only
    with _opened(f, bool(mmap)) as source, _named(source.name):
        head = source.read(source.start, min(_SNIFFED, source.end - source.start), "the head")
        if head == pickled.MAGIC:
            return pickled.read_pickled(source, places, not trusting, pickle_module, pickle_load_args)
        if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            found = torch_file.read_archive(source, places, not trusting, pickle_load_args)
            source.file.seek(source.end)
            return found
        if container.looks_like(head):
            return own.read_container(source, places)
        if head[:1] == b"\x80":
            return torch_file.read_legacy(source, places, not trusting, pickle_load_args)
        raise unreadable(
            f"a file that begins with {head!r}",
            "one that tenora.save, torch.save or safetensors wrote",
            "Check the path.",
        )


@contextlib.contextmanager
def _opened(f: Path | IO[bytes], mapped: bool) -> Iterator[Source]:
    if isinstance(f, str | os.PathLike):
        path = os.fspath(f)
        with open(path, "rb") as file:
            yield Source(file, path, whole=True, mapped=mapped)
        return
    if isinstance(f, io.TextIOBase) or not hasattr(f, "read"):
        raise NotAFileError(
            f"[load] f: got {type(f).__name__}, expected a path or a file opened in binary mode. Open it with 'rb'."
        )
    if mapped:
        raise ArgumentValueError(
            f"[load] mmap: got True with a {type(f).__name__}, expected a path. Pass the path of the file."
        )
    seekable = getattr(f, "seekable", None)
    if not hasattr(f, "seek") or (seekable is not None and not seekable()):
        raise ArgumentValueError(
            f"[load] f: got a {type(f).__name__} that cannot seek, expected one that can. "
            "Read it into io.BytesIO first."
        )
    yield Source(cast(BinaryIO, f), str(getattr(f, "name", f"<{type(f).__name__}>")), whole=False)


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Errors about a file name it; what the user's own code raises is left as it is."""
    try:
        yield
    except Foreign as error:
        assert error.__cause__ is not None
        raise error.__cause__ from error.__cause__.__cause__
    except Unreadable as error:
        raise error.named(name) from error.__cause__
    except (OSError, MemoryError, OutOfMemoryError):
        raise
    except zipfile.BadZipFile as error:
        raise unreadable(f"a zip file that is cut off or damaged ({error})", "a whole one").named(
            name
        ) from error
    except Exception as error:
        what = (
            "a nesting that is too deep"
            if isinstance(error, RecursionError)
            else "fields that do not fit together"
        )
        raise unreadable(f"{what} ({type(error).__name__}: {error!s:.200})", "a sound file").named(
            name
        ) from error


__all__ = [
    "FileError",
    "NotAFileError",
    "RefusedValueError",
    "UnsafeFileError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
