"""Files made to harm whoever loads them: names to run, sizes that lie, structures that do not end."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import tenora
from tenora.serialization import FileError, container

MARK = "executed"
FLOATS = struct.pack("<6f", *range(6))


def archive(
    pickled: bytes, records: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED
) -> bytes:
    """An archive as torch.save writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr("x/data.pkl", pickled)
        for name, data in ({"data/0": FLOATS} if records is None else records).items():
            made.writestr(f"x/{name}", data)
    return file.getvalue()


def tensor(
    offset: int = 0, size: Any = (6,), stride: Any = (1,), count: int = 6, kind: str = "FloatStorage"
) -> bytes:
    """The pickle of a tensor on storage 0, whatever its fields say."""

    def put(value: Any) -> bytes:
        return pickle.dumps(value, 2)[2:-1]

    ident = (
        b"("
        + put("storage")
        + b"ctorch\n"
        + kind.encode()
        + b"\n"
        + put("0")
        + put("cpu")
        + put(count)
        + b"tQ"
    )
    fields = put(offset) + put(size) + put(stride) + b"\x89ccollections\nOrderedDict\n)R"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + ident + fields + b"tR."


def pickles() -> Iterator[tuple[str, bytes]]:
    """Pickles that call, reserve, nest or lie."""
    touch = f"open({MARK!r}, 'w')".encode()
    yield "eval", b"\x80\x02cbuiltins\neval\nX" + struct.pack("<I", len(touch)) + touch + b"\x85R."
    yield "eval by instance", b"(S'" + touch.replace(b"'", b'"') + b"'\nibuiltins\neval\n."
    yield "eval by object", b"\x80\x02(cbuiltins\neval\nX" + struct.pack("<I", len(touch)) + touch + b"o."
    yield "system", b"cposix\nsystem\n(S'touch executed'\ntR."
    yield "stack global", b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0etouch executed\x85R."
    yield "dotted", b"\x80\x04\x8c\x08builtins\x8c\x0ceval.__call__\x93\x8c\x011\x85R."
    yield "getattr", b"cbuiltins\ngetattr\n(cbuiltins\neval\nS'__call__'\ntR."
    yield "inside of torch", b"ctorch.storage\n_load_from_bytes\n(C\x01atR."
    yield "attribute of a name", b"ctorch._utils\n_rebuild_tensor_v2.__globals__\n."
    yield "state for a name", b"ctorch._utils\n_rebuild_tensor_v2\n}X\x04\x00\x00\x00callNsb."
    yield "state for a list", b"]}b."
    yield "class of a list", b"\x80\x02cbuiltins\nlist\n)\x81."
    yield "extension", b"\x80\x02\x82\x01."
    yield "buffer", b"\x80\x05\x97."
    yield "bytearray of a size", b"cbuiltins\nbytearray\n(J\xff\xff\xff\x7ftR."
    yield "bytes of a size", b"cbuiltins\nbytes\n(J\xff\xff\xff\x7ftR."
    yield "encode elsewhere", b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x06\x00\x00\x00rot_13tR."
    yield "memo far away", b"\x80\x02Nr\xff\xff\xff\x7fr\xfe\xff\xff\xff" + b"h\x07."
    yield "long bytes", b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"a."
    yield "long text", b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"a."
    yield "long number", b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"a."
    yield "negative number", b"\x80\x02\x8b" + struct.pack("<i", -1) + b"a."
    yield "long frame", b"\x80\x04\x95" + struct.pack("<Q", 2**62)
    yield "long decimal", b"I" + b"9" * 5000 + b"\n."
    yield "empty stack", b"."
    yield "no mark", b"\x80\x02t."
    yield "no end", b"\x80\x02]"
    yield "odd items", b"\x80\x02}(Nu."
    yield "key of a list", b"\x80\x02}]Ns."
    yield "key that hashes for ever", b"\x80\x02})" + b"2\x86" * 60 + b"Ns."
    yield "key as deep as the stack", b"\x80\x02})" + b"\x85" * 150_000 + b"Ns."
    yield "set of deep tuples", b"\x80\x04\x8f()" + b"\x85" * 2000 + b"\x90."
    yield "ident of a text", b"\x80\x02X\x01\x00\x00\x00aQ."
    yield "ident by line", b"Pstorage\n."
    yield "window beyond", tensor(size=(7,))
    yield "offset beyond", tensor(offset=1)
    yield "negative offset", tensor(offset=-1, size=(3,))
    yield "huge offset", tensor(offset=2**62, size=(1,))
    yield "offset of no bits", tensor(offset=2**64, size=(1,))
    yield "stride beyond", tensor(size=(2, 3), stride=(4, 1))
    yield "huge stride", tensor(size=(3,), stride=(2**62,))
    yield "negative stride", tensor(size=(3,), stride=(-1,))
    yield "negative size", tensor(size=(-3,))
    yield "huge shape", tensor(size=(2**40, 2**40), stride=(0, 0))
    yield "size of no bits", tensor(size=(2**70,), stride=(0,))
    yield "many dims", tensor(size=(1,) * 5000, stride=(1,) * 5000)
    yield "sizes and strides", tensor(size=(2, 3), stride=(1,))
    yield "size of texts", tensor(size=("a",))
    yield "storage beyond", tensor(count=7)
    yield "huge storage", tensor(count=2**50, size=(2**50,))
    yield "negative storage", tensor(count=-1)
    yield "bools of other bytes", tensor(kind="BoolStorage", count=24, size=(24,))
    yield "quantized", tensor(kind="QInt8Storage")
    yield "no storage", b"ctorch._utils\n_rebuild_tensor\n(NI0\n(I1\nt(I1\nttR."
    yield "parameter of a list", b"ctorch._utils\n_rebuild_parameter\n(]I01\n}tR."


def numpy_pickles() -> Iterator[tuple[str, bytes]]:
    """Pickles of NumPy's arrays that hold objects, reserve or lie."""
    array = b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntC\x01btR"
    yield "numpy: objects", array + b"(I1\n(I1\ntcnumpy\ndtype\n(S'O8'\ntRI00\n]Natb."
    yield "numpy: huge texts", array + b"(I1\n(I0\ntcnumpy\ndtype\n(S'U999999999'\ntRI00\nC\x00tb."
    yield "numpy: huge shape", array + b"(I1\n(I99999999999\ntcnumpy\ndtype\n(S'f8'\ntRI00\nC\x00tb."
    yield "numpy: no state", array + b"]b."
    yield "numpy: array of a size", b"cnumpy\nndarray\n((I99999999999\nttR."
    yield "numpy: from a file", b"cnumpy\nload\n(S'x'\ntR."


def archives() -> Iterator[tuple[str, bytes]]:
    """Archives that are no archives of PyTorch, or lie about their records."""
    for name, pickled in (*pickles(), *numpy_pickles()):
        yield f"archive: {name}", archive(pickled)
    good = archive(tensor())
    yield "archive: bomb", archive(tensor(count=2**25), {"data/0": bytes(2**27)}, zipfile.ZIP_DEFLATED)
    yield "archive: big-endian", archive(tensor(), {"data/0": FLOATS, "byteorder": b"big"})
    yield "archive: TorchScript", archive(tensor(), {"data/0": FLOATS, "constants.pkl": b"."})
    yield "archive: record missing", archive(tensor(), {})
    yield "archive: empty", b"PK\x05\x06" + bytes(18)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("other", "x")
    yield "archive: another", file.getvalue()
    twice = archive(tensor(), {"data/0": FLOATS, "data/1": FLOATS}).replace(b"data/1", b"data/0")
    yield "archive: one name twice", twice
    central = good.rindex(b"PK\x01\x02")
    for field, at, size in (("size", 24, 4), ("stored size", 20, 4), ("both", 20, 8), ("place", 42, 4)):
        lie = bytearray(good)
        lie[central + at : central + at + size] = (b"\xf0\xff\xff\x7f" * 2)[:size]
        yield f"archive: lies about {field}", bytes(lie)


def safetensors(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """A container with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def containers() -> Iterator[tuple[str, bytes]]:
    """Headers that do not fit their data."""

    def one(**fields: Any) -> dict[str, Any]:
        return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **fields}}

    yield "container: length beyond", safetensors(one(), bytes(8), 2**40)
    yield "container: length of all bits", safetensors(one(), bytes(8), 2**64 - 1)
    yield "container: nested", safetensors(b"{" + b'"a":[' * 200_000, bytes(8))
    yield "container: nested well", safetensors(b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}")
    yield "container: a list", struct.pack("<Q", 2) + b"{]"
    yield "container: data missing", safetensors(one(), bytes(7))
    yield "container: data left", safetensors(one(), bytes(9))
    yield "container: hole", safetensors(one(data_offsets=[4, 12]), bytes(12))
    two = {**one(), "y": one()["x"]}
    yield "container: overlap", safetensors(two, bytes(8))
    yield "container: a name twice", safetensors(json.dumps(one()).encode()[:-1] + b',"x":{}}', bytes(8))
    for name, fields in {
        "negative": {"data_offsets": [-8, 0]},
        "backwards": {"data_offsets": [8, 0]},
        "huge shape": {"shape": [2**40, 2**40]},
        "more than 64 bits": {"shape": [2**70]},
        "negative shape": {"shape": [-1, -2]},
        "floats": {"shape": [2.0]},
        "truth": {"shape": [True, 2]},
        "a text": {"shape": "2"},
        "a null": {"data_offsets": None},
        "three offsets": {"data_offsets": [0, 4, 8]},
        "no dtype": {"dtype": "F99"},
        "dtype of a list": {"dtype": ["F32"]},
        "a field more": {"more": 1},
        "bools of other bytes": {"dtype": "BOOL", "shape": [8]},
        "many dims": {"shape": [2] + [1] * 5000},
    }.items():
        yield f"container: {name}", safetensors(one(**fields), b"\x02" * 8)
    yield "container: metadata", safetensors({"__metadata__": {"a": 1}})
    yield (
        "container: no checksum",
        safetensors({"__metadata__": {"tenora.structure": "[]", "tenora.format": "1"}}),
    )


def ours(structure: Any, version: str = "1") -> bytes:
    """A file of ours with sound checksums around any structure, over six float32 named `x`."""
    text = structure if isinstance(structure, str) else json.dumps(structure)
    entry = container.Entry("x", "F32", (6,), 0, 24)
    metadata = {"tenora.format": version, "tenora.structure": text}
    return container.header_bytes([entry], metadata, container.zlib.crc32(FLOATS)) + FLOATS


def view(**fields: Any) -> dict[str, Any]:
    """The node of a tensor that says the truth, with other fields."""
    plain = {"$": "tensor", "entry": "x", "dtype": "float32", "shape": [6], "strides": [1], "offset": 0}
    return {**plain, **fields}


def structures() -> Iterator[tuple[str, bytes]]:
    """Structures that do not end."""
    yield "ours: newer", ours([], "2")
    yield "ours: no JSON", ours("[")
    yield "ours: nested", ours("[" * 100_000 + "]" * 100_000)
    yield "ours: nested less", ours("[" * 700 + "]" * 700)
    deep: Any = 1
    for _ in range(300):
        deep = {"$": "tuple", "items": [deep]}
    yield "ours: tuples nested", ours(deep)


def windows() -> Iterator[tuple[str, bytes]]:
    """Tensors that are not in the file."""
    for name, fields in {
        "no entry": {"entry": "y"},
        "entry of a list": {"entry": []},
        "beyond": {"shape": [7]},
        "offset beyond": {"offset": 1},
        "negative offset": {"offset": -1},
        "offset of a float": {"offset": 0.5},
        "stride beyond": {"shape": [2], "strides": [6]},
        "before the start": {"shape": [2], "strides": [-1]},
        "huge stride": {"shape": [3], "strides": [2**62]},
        "more than 64 bits": {"strides": [2**64]},
        "negative size": {"shape": [-1]},
        "huge shape": {"shape": [2**40, 2**40], "strides": [0, 0]},
        "wider dtype": {"dtype": "float64"},
        "odd dtype": {"dtype": "__class__"},
        "bools of other bytes": {"dtype": "bool", "offset": 4},
        "device": {"device": "nowhere:1"},
        "device of a number": {"device": 1},
        "class": {"class": "Module"},
        "gradient of ints": {"dtype": "int32", "requires_grad": True},
        "attributes of a list": {"attributes": [1]},
        "layout with gaps": {"layout": [2]},
        "layout of the wrong length": {"layout": [1, 1]},
        "layout that is huge": {"layout": [2**40]},
        "layout that repeats": {"layout": [0]},
        "complex": {"complex": True, "shape": None},
    }.items():
        yield f"ours: {name}", ours(view(**fields))


def nodes() -> Iterator[tuple[str, bytes]]:
    """Values that cannot be."""
    for name, node in {
        "kind": {"$": "eval"},
        "kind of a list": {"$": []},
        "same of none": {"$": "same", "number": 0},
        "numbers twice": [{"$": "shared", "number": 0, "value": []}] * 2,
        "tuple in itself": {
            "$": "shared",
            "number": 0,
            "value": {"$": "tuple", "items": [{"$": "same", "number": 0}]},
        },
        "key of a list": {"$": "dict", "items": [[[], 1]]},
        "set of dicts": {"$": "set", "items": [{}]},
        "items of a number": {"$": "tuple", "items": 3},
        "pairs of three": {"$": "dict", "items": [[1, 2, 3]]},
        "hex": {"$": "int", "hex": "zz"},
        "float": {"$": "float", "text": "x"},
        "base64": {"$": "bytes", "base64": "a"},
        "sizes": {"$": "Size", "sizes": ["a"]},
        "slice": {"$": "slice", "parts": [1]},
        "no fields": {"$": "shared"},
    }.items():
        yield f"ours: {name}", ours(node)


def others() -> Iterator[tuple[str, bytes]]:
    """Older files, pickles of modules, and what is nothing."""

    def head(magic: int = 0x1950A86A20F9469CFC6C, protocol: int = 1001, little: Any = True) -> bytes:
        return b"".join(pickle.dumps(each, 2) for each in (magic, protocol, {"little_endian": little}))

    yield "other: empty", b""
    yield "other: text", b"hello, world, this is no checkpoint"
    yield "other: pickle", pickle.dumps([1, 2], 2)
    yield "other: big-endian", head(little=False) + pickle.dumps(1, 2) + pickle.dumps([], 2)
    yield "other: protocol", head(protocol=1) + pickle.dumps(1, 2) + pickle.dumps([], 2)
    yield "other: keys", head() + tensor() + pickle.dumps(["1"], 2) + struct.pack("<q", 6) + FLOATS
    yield "other: sizes", head() + tensor() + pickle.dumps(["0"], 2) + struct.pack("<q", 5) + FLOATS
    yield (
        "other: huge",
        head() + tensor(count=2**40) + pickle.dumps(["0"], 2) + struct.pack("<q", 2**40) + FLOATS,
    )
    for name, pickled in (*pickles(), *numpy_pickles()):
        tail = pickle.dumps(["0"], 2) + struct.pack("<q", 6) + FLOATS
        yield f"older: {name}", head() + pickled + (tail if b"Q" in pickled else pickle.dumps([], 2))
    yield "module: length beyond", b"tenora pickle 1\n" + struct.pack("<QI", 2**50, 0) + b"N."
    yield "module: checksum", b"tenora pickle 1\n" + struct.pack("<QI", 2, 0) + b"N."


def outcome(data: bytes, trusted: bool = False) -> str | None:
    """What is loaded from these bytes, as text; None where they are refused in the form of our errors."""
    try:
        return repr(tenora.load(io.BytesIO(data), weights_only=not trusted))
    except FileError as error:
        assert str(error).startswith("[load] <BytesIO>: got ") and ", expected " in str(error)
        return None


def all_files() -> dict[str, bytes]:
    """Every file, by what is wrong with it."""
    found: dict[str, bytes] = {}
    for group in (archives, containers, structures, windows, nodes, others):
        for name, data in group():
            assert name not in found, name
            found[name] = data
    return found
