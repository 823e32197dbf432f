"""The safetensors container: eight bytes of length, a JSON header, the tensors' bytes.

- Any file of the format is read; what its rules forbid (holes, overlaps, sizes that do not fit) is refused.
- A file of ours begins with checksums of header and data, which the format has not: a flipped bit is an error. The
  first bytes are always the same, so that a flip among them is seen too.
- Tensors lie in order of falling alignment and the data begins at a multiple of 64 bytes, so that a mapped file
  needs no copy.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tenora_engine

from .errors import shown, unreadable
from .source import MOST_DIMS, Source

DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "F16": "float16",
    "BF16": "bfloat16",
    "U32": "uint32",
    "I32": "int32",
    "F32": "float32",
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "C64": "complex64",
}
NAMES = {name: code for code, name in DTYPES.items()}
OURS = "tenora."  # the metadata of our files: check, format, structure
_CHECK = '{"__metadata__":{"tenora.check":"'
_BLANK = "0" * 8
_ALIGNMENT = 64
_MOST_BYTES = 2**63


@dataclass
class Entry:
    """A named tensor of the file: dtype (the format's code), shape and, within the data, its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int = 0
    end: int = 0


@dataclass
class Header:
    """What the header says, checked."""

    entries: dict[str, Entry]
    metadata: dict[str, str]
    data: int  # where the tensors' bytes begin in the file
    data_crc: int | None  # of files of ours


def header_bytes(entries: Sequence[Entry], metadata: dict[str, str], data_crc: int) -> bytes:
    """Length and header of a file of ours; entries in the order of their bytes."""
    rest = json.dumps(metadata)[1:-1]
    tensors = [
        f"{json.dumps(entry.name)}:"
        + json.dumps(
            {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [entry.begin, entry.end]},
            separators=(",", ":"),
        )
        for entry in entries
    ]
    body = ",".join([f"{rest}}}", *tensors]) + "}"
    text = f'{_CHECK}{_BLANK}-{data_crc:08x}",{body}'.encode("ascii")
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    head = len(text).to_bytes(8, "little") + text
    at = 8 + len(_CHECK)
    return head[:at] + b"%08x" % zlib.crc32(head) + head[at + len(_BLANK) :]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a safetensors container."""
    return len(head) >= 9 and head[8:9] == b"{"


def read_header(source: Source) -> Header:
    """Reads and checks the header."""
    head = source.read(source.start, 8, "the header's length")
    length = int.from_bytes(head, "little")
    text = source.read(source.start + 8, length, "the header")
    data = source.start + 8 + length
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise unreadable(f"a header that is no JSON ({error})", "a JSON header") from error
    if not isinstance(found, dict):
        raise unreadable(f"a header that is a {type(found).__name__}", "a JSON object")
    metadata = found.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise unreadable("metadata other than texts", "texts by name")
    crc = _checked(head + text, metadata) if any(key.startswith(OURS) for key in metadata) else None
    entries = {name: _entry(name, fields) for name, fields in found.items()}
    _check_bounds(entries, source, data)
    return Header(entries, metadata, data, crc)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise unreadable("a name that stands twice in the header", "names of their own")
    return names


def _checked(head: bytes, metadata: dict[str, str]) -> int:
    """The data's checksum, once the header's own is found right."""
    at = 8 + len(_CHECK)
    own, _, data = metadata.get("tenora.check", "").partition("-")
    blank = head[:at] + _BLANK.encode() + head[at + len(_BLANK) :]
    if not head.startswith(_CHECK.encode(), 8) or own != f"{zlib.crc32(blank):08x}":
        raise unreadable("a header whose checksum is wrong", "the bytes that were written")
    return int(data, 16)


def _entry(name: str, fields: Any) -> Entry:
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise unreadable(f"a tensor {shown(name)} without dtype, shape and data_offsets", "these three")
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if type(dtype) is not str or dtype not in DTYPES:
        raise unreadable(
            f"the dtype {shown(dtype)} of {shown(name)}",
            f"one of {', '.join(DTYPES)}",
            "Convert the tensor before.",
        )
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
    if len(offsets) != 2 or not all(type(n) is int and 0 <= n < _MOST_BYTES for n in numbers):
        raise unreadable(
            f"shape {shown(shape)} and offsets {shown(offsets)} of {shown(name)}", "whole numbers from 0 on"
        )
    if len(shape) > MOST_DIMS:
        raise unreadable(f"{len(shape)} dims of {shown(name)}", f"at most {MOST_DIMS}")
    begin, end = offsets
    count = prod(shape) * itemsize(dtype)
    if end - begin != count:
        raise unreadable(
            f"{end - begin} bytes for {shown(name)} of shape {shown(shape)}, {dtype}", f"{count}"
        )
    return Entry(name, dtype, tuple(shape), begin, end)


def itemsize(code: str) -> int:
    """Bytes of an element."""
    size: int = getattr(tenora_engine, DTYPES[code]).itemsize
    return size


def _check_bounds(entries: dict[str, Entry], source: Source, data: int) -> None:
    """The tensors follow each other without holes and fill the data."""
    at = 0
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != at:
            raise unreadable(f"the bytes of {shown(entry.name)} from {entry.begin} on", f"from {at} on")
        at = entry.end
    left = source.end - data
    if at > left or (source.whole and at != left):
        raise unreadable(f"{left} bytes of tensors", f"{at}, as the header says")
