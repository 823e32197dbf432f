"""Files that `torch.save` writes: zip archives, and the older stream of pickles.

- A zip archive holds `data.pkl`, which describes the objects, and a record for each storage. Records are stored, not
  deflated, and their sizes add up to less than the file: no record is larger in memory than on disk. What a pickle
  makes of them is bounded by a `Ledger`. Each record's CRC-32 is checked unless it is only mapped.
- The older form is three pickles of preliminaries, the objects' pickle, the storages' keys, then the storages one
  after another: their places are found in a first run over the objects' pickle, in which nothing is built.
- The device is named by PyTorch's tag, `cpu` or `cuda:0`.
"""

from __future__ import annotations

import io
import pickle
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

import tenora_engine
from tenora_engine import Storage

from .allowed import ADVICE, NAMES, Allowed, Lent, StorageKind
from .bounds import Ledger
from .errors import foreign, refused, shown, unreadable
from .locations import Places
from .numpy_pickles import Kind
from .safe_globals import find_added, is_added
from .source import Source, all_bytes
from .unpickler import Scout, Unpickler

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_LOCAL_HEADER = 30
_COMPLEX_HALF = ("torch.complex32", "torch.chalf", "torch.ComplexHalfStorage")
_DTYPE = re.compile(r"torch\.(?:float[48]_\w{1,20}|u?int[1-7]|bits\d\w{0,4})")
Storages = Callable[[str, int], Storage]  # by key and bytes


def read_archive(source: Source, places: Places, weights_only: bool, options: dict[str, Any]) -> Any:
    """The value of a zip archive."""
    archive = _Archive(source)
    pickled = archive.content("data.pkl")
    ledger = Ledger(source.end - source.start, len(pickled))
    lend = _Lender(lambda key, count: archive.storage(f"data/{key}"), places, ledger)
    return _unpickle(io.BytesIO(pickled), lend, weights_only, options)


class _Archive:
    """The records of a zip file, found and checked before any is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        source.file.seek(source.start)
        with zipfile.ZipFile(source.file) as found:
            records = found.infolist()
        self._records = {record.filename: record for record in records}
        if len(self._records) != len(records):
            raise unreadable("an archive with two records of one name", "names of their own")
        if any(record.compress_type != zipfile.ZIP_STORED or record.flag_bits & 1 for record in records):
            raise unreadable(
                "an archive whose records are compressed or encrypted",
                "stored ones, as torch.save writes them",
                "Unpack it, or save it again.",
            )
        if sum(record.file_size for record in records) > source.end:
            raise unreadable("an archive whose records are larger than itself", "records that lie within it")
        self._prefix = self._find_prefix()
        if f"{self._prefix}byteorder" in self._records and self.content("byteorder") != b"little":
            raise unreadable(
                "numbers that begin with their high bytes", "little-endian ones", "Save it elsewhere."
            )

    def _find_prefix(self) -> str:
        names = [name for name in self._records if name.count("/") <= 1 and name.endswith("data.pkl")]
        if len(names) != 1:
            raise unreadable(
                "a zip file without a data.pkl", "one that torch.save wrote", "Use its own reader."
            )
        prefix = names[0].removesuffix("data.pkl")
        if f"{prefix}constants.pkl" in self._records:
            raise unreadable(
                "a TorchScript archive", "a checkpoint", "Save the module's state_dict() instead."
            )
        return prefix

    def content(self, name: str) -> bytes:
        """A record's bytes, checked even where the file is mapped."""
        return bytes(memoryview(all_bytes(self.storage(name, mapped=False))))

    def storage(self, name: str, mapped: bool = True) -> Storage:
        """A record's bytes as a storage; where it may be mapped, its checksum is not looked at."""
        record = self._records.get(self._prefix + name)
        if record is None:
            raise unreadable(f"no record {shown(name)}", "one for every storage")
        size, at = record.file_size, record.header_offset
        if record.compress_size != size:
            raise unreadable(f"a record {shown(name)} of two sizes", "one size")
        head = self._source.read(at, _LOCAL_HEADER, "a record's header")
        if head[:4] != b"PK\x03\x04":
            raise unreadable(f"no header of the record {shown(name)}", "one at its place")
        start = (
            at + _LOCAL_HEADER + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        )
        storage, crc = self._source.storage(start, size, f"record {shown(name)}")
        if crc is None and not mapped:
            crc = zlib.crc32(memoryview(all_bytes(storage)))
        if crc is not None and crc != record.CRC:
            raise unreadable(f"a record {shown(name)} whose checksum is wrong", "the bytes that were written")
        return storage


class _Lender:
    """Answers a pickle's persistent ids with storages, each read and placed once."""

    def __init__(self, storages: Storages, places: Places, ledger: Ledger) -> None:
        self._storages, self._places, self.ledger = storages, places, ledger
        self._placed: dict[str, Storage] = {}

    def __call__(self, ident: Any) -> Any:
        if _names_module(ident):
            return ident[1]
        kind, key, location, count = parse_ident(ident)
        dtype = getattr(tenora_engine, kind.name)
        if key not in self._placed:
            storage = self._storages(key, count * dtype.itemsize)
            if storage.nbytes() < count * dtype.itemsize:
                raise unreadable(
                    f"a storage {shown(key)} of {storage.nbytes()} bytes", f"{count} elements of {kind.name}"
                )
            self._placed[key] = self._places.place(storage, location)
        return Lent(self._placed[key], dtype, self.ledger)


def parse_ident(ident: Any) -> tuple[StorageKind, str, str, int]:
    """The fields of a persistent id, checked."""
    if type(ident) is not tuple or len(ident) not in (5, 6) or ident[0] != "storage":
        raise refused(f"a persistent id of {type(ident).__name__}", "Save a state_dict instead.")
    _, kind, key, location, count = ident[:5]
    if len(ident) == 6 and ident[5] is not None:
        raise refused("a storage that is a part of another", "Save it with a newer PyTorch.")
    if not isinstance(kind, StorageKind) or type(key) is not str or type(location) is not str:
        raise unreadable("a storage without kind, key and device", "these three")
    if type(count) is not int or not 0 <= count < 2**60:
        raise unreadable(f"{shown(count)} elements in a storage", "a whole number from 0 on")
    return kind, key, location, count


def _advice(name: str) -> str:
    if name in _COMPLEX_HALF:
        return "tenora has no such dtype: save tensor.to(torch.complex64)."
    if _DTYPE.fullmatch(name):
        return "tenora has no such dtype: save tensor.to(torch.float32), or of another dtype that both have."
    if name.startswith("torch."):
        return "Save the state_dict() of what it belongs to, or tensors and numbers."
    return (
        "If you trust the file, pass weights_only=False, which may run code from it, or allow the name with "
        "tenora.serialization.add_safe_globals."
    )


def find(name: str) -> Any:
    """What a name of the file means; nothing is imported."""
    found = NAMES.get(name)
    if found is None:
        found = find_added(name)
    if found is None:
        raise refused(f"the name '{name:.200}'", ADVICE.get(name) or _advice(name))
    return found


class _Trusting(pickle.Unpickler):
    """For `weights_only=False`: names that are not PyTorch's are imported, NumPy's too."""

    def __init__(self, file: BinaryIO, lend: _Lender, options: dict[str, Any]) -> None:
        super().__init__(file, **options)
        self._lend = lend

    def find_class(self, module: str, name: str) -> Any:
        whole = f"{module}.{name}"
        library = module.partition(".")[0]
        if library == "torch" or (whole in NAMES and library != "numpy"):
            return find(whole)
        return super().find_class(module, name)

    def persistent_load(self, ident: Any) -> Any:
        return self._lend(ident)


def _unpickle(file: BinaryIO, lend: _Lender, weights_only: bool, options: dict[str, Any]) -> Any:
    if weights_only:
        value = Unpickler(find, lend, is_added, lend.ledger).load(file)
    else:
        with foreign():
            value = _Trusting(file, lend, options).load()
    check_plain(value)
    return value


def check_plain(value: Any) -> None:
    """Refuses names and storages by themselves, which have no meaning here."""
    seen: set[int] = set()
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, Allowed | StorageKind | Lent | Kind):
            name = each.name if isinstance(each, Allowed) else "torch.UntypedStorage"
            name = "numpy.dtype" if isinstance(each, Kind) else name
            raise refused(f"the name '{name}' as a value", "Save a tensor, or the name as text.")
        if isinstance(each, dict | list | tuple) and id(each) not in seen:
            seen.add(id(each))
            left.extend(each.values() if isinstance(each, dict) else each)


# ---- the older form ----------------------------------------------------------------------------------------------


class _Within(io.RawIOBase):
    """The file from the content on; nobody reads more than there is."""

    def __init__(self, source: Source) -> None:
        self._source = source
        source.file.seek(source.start)

    def read(self, size: int = -1) -> bytes:
        left = self._source.end - self._source.file.tell()
        return self._source.file.read(left if size < 0 else min(size, left))

    def readline(self, size: int | None = -1) -> bytes:
        return self._source.file.readline()

    def tell(self) -> int:
        return self._source.file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._source.file.seek(offset, whence)


def read_legacy(source: Source, places: Places, weights_only: bool, options: dict[str, Any]) -> Any:
    """The value of a file in the older form."""
    file = cast(BinaryIO, _Within(source))
    magic, protocol, system = (Unpickler(find, parse_ident).load(file) for _ in range(3))
    if magic != LEGACY_MAGIC or protocol != _LEGACY_PROTOCOL:
        raise unreadable(
            "a pickle that torch.save did not write", "a checkpoint", "If you trust it, use pickle."
        )
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise unreadable(
            "numbers that begin with their high bytes", "little-endian ones", "Save it elsewhere."
        )
    objects = file.tell()
    scout = Scout(NAMES)
    scout.load(file)
    ledger = Ledger(source.end - source.start, file.tell() - objects)
    if weights_only:
        for name in scout.names:
            find(name)
    storages, end = _legacy_storages(source, file, _sizes(scout.idents))
    file.seek(objects)
    lend = _Lender(lambda key, count: storages[key], places, ledger)
    value = _unpickle(file, lend, weights_only, options)
    file.seek(end)
    return value


def _sizes(idents: list[Any]) -> dict[str, int]:
    """Bytes of each storage, by key."""
    sizes: dict[str, int] = {}
    for ident in idents:
        if not _names_module(ident):
            kind, key, _, count = parse_ident(ident)
            size = count * getattr(tenora_engine, kind.name).itemsize
            sizes[key] = max(size, sizes.get(key, 0))
    return sizes


def _names_module(ident: Any) -> bool:
    """The older form notes a module's class with its source text."""
    return type(ident) is tuple and len(ident) == 4 and ident[0] == "module"


def _legacy_storages(source: Source, file: BinaryIO, sizes: dict[str, int]) -> tuple[dict[str, Storage], int]:
    keys = Unpickler(find, parse_ident).load(file)
    if type(keys) is not list or len(keys) != len(sizes) or not all(type(key) is str for key in keys):
        raise unreadable("keys that do not fit the storages", "one for each")
    at = file.tell()
    storages = {}
    for key in keys:
        count = int.from_bytes(source.read(at, 8, "a storage's size"), "little")
        size = sizes.pop(key)
        if size and (not count or size % count):
            raise unreadable(
                f"{count} elements in {size} bytes of the storage {shown(key)}", "two sizes that agree"
            )
        storages[key], _ = source.storage(at + 8, size, f"storage {shown(key)}")
        at += 8 + size
    return storages, at
