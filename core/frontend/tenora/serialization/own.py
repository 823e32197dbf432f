"""tenora's own files: a safetensors container whose metadata hold the structure as JSON.

- Every reader of safetensors finds the tensors under their paths (`model.0.weight`); the rest is in the metadata
  `tenora.structure`, or in a tensor of that name when it is longer than readers take.
- Reading checks both checksums, except that of data which is only mapped.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import tenora_engine
from tenora_dispatch.errors import OperationError
from tenora_engine import Storage

from .atomic import Written
from .bounds import Ledger, loaded
from .container import DTYPES, Entry, Header, header_bytes, read_header
from .errors import shown, unreadable
from .layout import Layout, Piece, checksum, content
from .locations import Places
from .rebuild import Reader, rows
from .source import Source, all_bytes
from .structure import write_structure

FORMAT = "1"
STRUCTURE = "tenora.structure"
_PART = 1 << 20
_LONGEST_STRUCTURE = 50_000_000  # readers of the format refuse headers of more than 100 MB


def file_pieces(value: Any) -> Iterator[Written]:
    """The bytes of a file that holds `value`; errors come before the first of them."""
    layout = Layout()
    tree = write_structure(value, layout)
    pieces = layout.pieces()  # completes the tree
    structure = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    metadata = {"tenora.format": FORMAT, STRUCTURE: structure}
    if len(structure) > _LONGEST_STRUCTURE:
        del metadata[STRUCTURE]
        begin = pieces[-1].entry.end if pieces else 0
        text = tenora_engine.from_buffer(bytearray(structure, "ascii"), tenora_engine.uint8)
        pieces.append(Piece(Entry(STRUCTURE, "U8", (len(structure),), begin, begin + len(structure)), text))
    crc = checksum(pieces)
    return _each(header_bytes([piece.entry for piece in pieces], metadata, crc), pieces, crc)


def _each(head: bytes, pieces: list[Piece], expected: int) -> Iterator[Written]:
    """The file, from a copy of a part at a time: what is summed is what is written."""
    yield head
    crc = 0
    for piece in pieces:
        view = content(piece.tensor)
        for at in range(0, len(view), _PART):
            part = bytes(view[at : at + _PART])
            crc = zlib.crc32(part, crc)
            yield part
    if crc != expected:
        raise OperationError(
            "[save] a tensor changed while it was written: got another checksum, expected the one taken before. "
            "Save clones, or stop what writes to it meanwhile."
        )


def read_container(source: Source, places: Places) -> Any:
    """The value of a file of ours; of any other safetensors file the tensors by name."""
    header = read_header(source)
    storages = _storages(source, header)
    size = source.end - source.start
    if header.data_crc is None:
        ledger = Ledger(size, 0)
        return {
            name: loaded(
                places.place(storages[name], "cpu"),
                entry.shape,
                rows(entry.shape),
                0,
                getattr(tenora_engine, DTYPES[entry.dtype]),
                ledger,
            )
            for name, entry in header.entries.items()
        }
    if header.metadata.get("tenora.format") != FORMAT:
        raise unreadable(
            f"format {shown(header.metadata.get('tenora.format'))}",
            f"{FORMAT!r}",
            "Read it with a newer tenora.",
        )
    structure: Any = header.metadata.get(STRUCTURE)
    if structure is None:
        structure = bytes(memoryview(all_bytes(storages[STRUCTURE])))
    ledger = Ledger(size, len(structure))
    return Reader(header.entries, storages, places, ledger).value(json.loads(structure))


def _storages(source: Source, header: Header) -> dict[str, Storage]:
    """Each entry's bytes; the file's position is behind them afterwards."""
    storages: dict[str, Storage] = {}
    crc: int | None = 0
    end = header.data
    for name, entry in sorted(header.entries.items(), key=lambda pair: (pair[1].begin, pair[1].end)):
        start, count = header.data + entry.begin, entry.end - entry.begin
        storages[name], now = source.storage(start, count, f"tensor {shown(name)}", crc or 0)
        crc = now if crc is not None else None
        end = header.data + entry.end
    if header.data_crc is not None and crc is not None and crc != header.data_crc:
        raise unreadable("tensors whose checksum is wrong", "the bytes that were written")
    source.file.seek(end)
    return storages
