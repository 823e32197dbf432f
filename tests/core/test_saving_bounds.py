"""Small files that would take much memory or time, crash or never end: refused with the memory that they may have.

Values that share themselves and nest deep, values that are copied for each use, sizes and ranks that multiply; and
beside each the honest file that looks like it, which loads.
"""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import random
import struct
import subprocess
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_files import archive, safetensors

import tenora
from tenora.serialization import FileError, RefusedValueError, bounds, container

MEGABYTES = 1 << 20
ROOM = 320 * MEGABYTES  # the constant, and 40 times the largest of these files
LOADER = """
import os, resource, sys, time
import numpy
import tenora
from tenora.serialization import FileError
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), -1))
for name in sorted(os.listdir(".")):
    print(name, end=" ", flush=True)
    try:
        tenora.load(name)
        print("loaded")
    except FileError as error:
        print("refused" if len(str(error)) < 600 else "text")
    except BaseException as error:
        print(type(error).__name__, str(error)[:300])
"""
SHARES_ITSELF = b")" + b"2\x86" * 60  # 2**60 parts
DEEP = b")" + b"\x85" * 150_000
PAIRS = [(n, n) for n in range(50_000)]


def put(value: Any) -> bytes:
    """The opcodes that make a value."""
    return pickletools.optimize(pickle.dumps(value, 2))[2:-1]


def name(module: str, last: str) -> bytes:
    return f"c{module}\n{last}\n".encode()


def legacy(pickled: bytes) -> bytes:
    """A file of the older form without storages."""
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(each, 2) for each in head) + pickled + pickle.dumps([], 2)


def own(tree: Any, entries: tuple[container.Entry, ...] = (), data: bytes = b"") -> bytes:
    """A file of ours with sound checksums."""
    metadata = {"tenora.format": "1", "tenora.structure": json.dumps(tree)}
    return container.header_bytes(list(entries), metadata, container.zlib.crc32(data)) + data


def nested(levels: int) -> Any:
    """A list of 2**levels parts, each list twice in the next."""
    node: Any = {"$": "shared", "number": 0, "value": []}
    for number in range(1, levels):
        node = {"$": "shared", "number": number, "value": [node, {"$": "same", "number": number - 1}]}
    return node


FLOAT, KIND = b"(" + put("f4") + b"tR", name("numpy", "dtype")
FRAME = name("numpy.core.numeric", "_frombuffer")
REBUILD = name("torch._utils", "_rebuild_tensor_v2")


def storage(kind: str, count: int) -> bytes:
    ident = put("storage") + name("torch", kind) + put("0") + put("cpu") + put(count)
    return b"(" + ident + b"tQ"


def window(kind: str, count: int, shape: Any, strides: Any, rest: bytes = b"\x89N") -> bytes:
    """The arguments of a tensor."""
    return b"(" + storage(kind, count) + put(0) + put(shape) + put(strides) + rest + b"t"


def endless() -> Iterator[tuple[str, bytes]]:
    """Values that showing, hashing or multiplying takes for ever, or crashes."""
    for what, part in (("shares itself", SHARES_ITSELF), ("is deep", DEEP)):
        for form in (archive, legacy):
            for where, pickled in {
                "size": name("torch", "Size") + part + b"\x85R",
                "size of a tensor": REBUILD + b"(" + storage("FloatStorage", 6) + put(0) + part + b"))NtR",
                "order of bytes": KIND + FLOAT + b"(" + put(3) + part + b"NNNNNNtb",
                "count": b"(" + put("storage") + name("torch", "FloatStorage") + put("0") * 2 + part + b"tQ",
                "shape": FRAME + b"(C\x00" + KIND + FLOAT + part + b"\x85" + put("C") + b"tR",
                "key": b"}" + part + b"Ns",
                "name": part + put("x") + b"\x93",
            }.items():
                yield f"{where} that {what}, {form.__name__}", form(b"\x80\x04" + pickled + b".")
    digits = "f" * MEGABYTES
    parts = [0, {"$": "int", "hex": digits}, {"$": "int", "hex": digits[::2]}]
    yield "range that divides huge numbers", own({"$": "range", "parts": parts})
    long = [b"\x8b" + struct.pack("<i", n) + b"\x01" * n for n in (MEGABYTES, MEGABYTES // 2)]
    divide = name("builtins", "range") + b"(K\x00" + b"".join(long) + b"t"
    yield "range that divides, pickled", archive(b"\x80\x02" + divide + b"R.")
    for kind in ("slice", "range", "complex"):
        yield f"{kind} of what shares itself", own({"$": kind, "parts": [nested(60), None, None]})
    most = b"(" + (b"\x8a\x08" + b"\xff" * 7 + b"\x7f") + b"2" * 50_000 + b"t"
    yield "shape of huge rank", archive(b"\x80\x04" + FRAME + b"(C\x00" + KIND + FLOAT + most + b"U\x01CtR.")
    header = {"x": {"dtype": "F32", "shape": [2**63 - 1] * 50_000, "data_offsets": [0, 0]}}
    yield "header of huge rank", safetensors(header)
    yield (
        "key of a huge number",
        archive(b"\x80\x02}q\x00\x8b" + struct.pack("<i", MEGABYTES) + b"\x01" * MEGABYTES + b"Ns."),
    )


def repeated(function: bytes, args: bytes, uses: int = 1500, then: bytes = b"R") -> bytes:
    """A list of many calls with the same arguments."""
    return (
        b"\x80\x04"
        + function
        + b"q\xf0"
        + args
        + b"q\xf1"
        + b"]q\xf2("
        + (b"h\xf0h\xf1" + then) * uses
        + b"e."
    )


def copies() -> Iterator[tuple[str, bytes]]:
    """One value of the file, copied for each of many uses."""
    blob = b"B" + struct.pack("<I", MEGABYTES) + bytes(MEGABYTES)
    letters = b"(" + put("U200000") + b"tR(" + put(3) + put("<") + b"NNNNNNtb"
    texts = KIND + letters + b"B" + struct.pack("<I", 800_000) + bytes(800_000) + b"\x86"
    calls: dict[str, tuple[bytes, bytes]] = {
        "bytearray": (name("builtins", "bytearray"), blob + b"\x85"),
        "encoded text": (name("_codecs", "encode"), put(("a" * MEGABYTES,))),
        "set": (name("builtins", "set"), put((list(range(50_000)),))),
        "Size": (name("torch", "Size"), put(([1] * 200_000,))),
        "OrderedDict": (name("collections", "OrderedDict"), put((PAIRS,))),
        "Counter": (name("collections", "Counter"), put((dict(PAIRS),))),
        "NumPy's text": (name("numpy.core.multiarray", "scalar"), texts),
        "NumPy's array": (FRAME, b"(" + blob + KIND + FLOAT + put((MEGABYTES // 4,)) + put("C") + b"t"),
        "Size of a range": (
            name("torch", "Size"),
            name("builtins", "range") + put(10**12) + b"\x85R\x85",
        ),
    }
    for what, (function, args) in calls.items():
        yield what, archive(repeated(function, args))
        yield f"{what}, legacy", legacy(repeated(function, args))
    data = {"data/0": bytes(MEGABYTES)}
    count = MEGABYTES // 8
    for bit in ("conj", "neg"):
        args = window("ComplexFloatStorage", count, (count,), (1,), b"\x89N" + put({bit: True}))
        yield bit, archive(repeated(REBUILD, args), data)
    # Attributes: a state for each of many tensors, or one inside of another's arguments.
    state = put({str(n): n for n in range(50_000)})
    tensor = window("FloatStorage", 6, (1,), (1,))
    held = (
        b"\x80\x04"
        + REBUILD
        + b"q\xf0"
        + tensor
        + b"q\xf1"
        + state
        + b"q\xf2]("
        + b"h\xf0h\xf1Rh\xf2b" * 1500
    )
    yield "state", archive(held + b"e.")
    inner = b"(" + REBUILD + name("torch", "Tensor") + tensor + state + b"t"
    typed = name("torch._tensor", "_rebuild_from_type_v2")
    yield "state of a type", archive(repeated(typed, inner))
    inner = (
        b"(" + name("torch._utils", "_rebuild_parameter_with_state") + name("torch.nn.parameter", "Parameter")
    )
    inner += b"(" + REBUILD + tensor + b"R\x89N" + state + b"N\x86t}t"
    yield "state of a parameter of a type", archive(repeated(typed, inner))
    yield from copies_of_ours()


def copies_of_ours() -> Iterator[tuple[str, bytes]]:
    draw = random.Random(1)
    nodes = []
    for _ in range(600):
        order = list(range(17))
        draw.shuffle(order)
        nodes.append({"$": "tensor", "entry": "a", "layout": [2**at for at in order]})
    whole = container.Entry("a", "F64", (2,) * 17, 0, 8 << 17)
    yield "layouts", own(nodes, (whole,), bytes(8 << 17))
    shared = {"$": "shared", "number": 0, "value": {f"n{n}": n for n in range(30_000)}}
    same = {"$": "same", "number": 0}
    small = container.Entry("a", "F32", (1,), 0, 4)
    nodes = [shared, *({"$": "tensor", "entry": "a", "attributes": same} for _ in range(3000))]
    yield "attributes", own(nodes, (small,), bytes(4))


def outcomes(folder: Path, files: dict[str, bytes]) -> dict[str, str]:
    """What loading says of each file, in a process that has little memory and may crash or hang."""
    keys = {f"{number:03}": what for number, what in enumerate(files)}
    for key, what in keys.items():
        (folder / key).write_bytes(files[what])
    run = subprocess.run(
        [sys.executable, "-c", LOADER, str(ROOM)], cwd=folder, capture_output=True, text=True, timeout=240
    )
    found = dict(line.partition(" ")[::2] for line in run.stdout.splitlines())
    assert run.returncode == 0, (run.returncode, run.stdout[-200:], run.stderr[-2000:])
    return {what: found[key] for key, what in keys.items()}


@pytest.mark.parametrize("group", [endless, copies])
def test_files_that_grow_are_refused(group: Any, tmp_path: Path) -> None:
    files = dict(group())
    found = outcomes(tmp_path, files)
    assert {what: said for what, said in found.items() if said != "refused"} == {}


def test_bools_that_overlap_are_looked_at_by_their_bytes(tmp_path: Path) -> None:
    """900 million elements in 60 thousand bytes; and 3000 looks at a megabyte."""
    count = 60_001
    pickled = b"\x80\x02" + REBUILD + window("BoolStorage", count, (30_000, 30_000), (1, 1)) + b"R."
    wide = window("BoolStorage", MEGABYTES, (MEGABYTES,), (1,))
    entry = container.Entry("a", "U8", (count - 1,), 0, count - 1)
    node = {"$": "tensor", "entry": "a", "dtype": "bool", "offset": 0}
    files = {
        "pickle": archive(pickled, {"data/0": bytes(count)}),
        "other bytes": archive(pickled, {"data/0": b"\2" * count}),
        "again": archive(repeated(REBUILD, wide, 3000), {"data/0": bytes(MEGABYTES)}),
        "ours": own({**node, "shape": [30_000] * 2, "strides": [1, 1]}, (entry,), bytes(count - 1)),
    }
    found = outcomes(tmp_path, files)
    assert found == {"pickle": "loaded", "other bytes": "refused", "again": "loaded", "ours": "loaded"}


def test_what_a_file_holds_once_is_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the constant that small files have to themselves."""
    monkeypatch.setattr(bounds, "_FREE", 0)
    values = [
        {"set": set(range(300, 2300)), "frozen": frozenset(["abc"]), "pairs": OrderedDict(PAIRS[:2000])},
        Counter(range(1000)),
        [bytearray(5000), bytes(5000), "ü" * 500],
        [np.arange(1000.0), np.arange(12).reshape(3, 4).T, np.float32(1), np.array(["ab", "c"])],
        [np.float64(n) for n in range(1000)],
        [OrderedDict() for _ in range(1000)],
        set(range(256)),
    ]
    for protocol in (2, 3, 4, 5):
        for value in values:
            found = tenora.load(io.BytesIO(archive(pickle.dumps(value, protocol))))
            assert repr(found) == repr(value)
    image = tenora.zeros(1, 4, 4, 8).permute(0, 3, 1, 2)
    flags = tenora.arange(1000) > 3
    weight = tenora.nn.Parameter(tenora.zeros(3))
    weight.marks = {str(n): n for n in range(100)}
    for ours in ([image], [flags, flags[::2], flags.reshape(10, 100).t()], [weight] * 3, [np.array("abc")]):
        file = io.BytesIO()
        tenora.save(ours, file)
        file.seek(0)
        assert repr(tenora.load(file)) == repr(ours)


def test_bools_between_other_bytes() -> None:
    """Gaps may hold anything; what is seen may not."""
    data = {"data/0": bytes([1, 7, 0, 7, 1, 7])}
    every = window("BoolStorage", 6, (3,), (2,))
    found = tenora.load(io.BytesIO(archive(b"\x80\x02" + REBUILD + every + b"R.", data)))
    assert found.tolist() == [True, False, True]
    wide = window("BoolStorage", 6, (5, 2**40), (1, 0))
    with pytest.raises(FileError, match="bools"):
        tenora.load(io.BytesIO(archive(b"\x80\x02" + REBUILD + wide + b"R.", data)))
    wide = window("BoolStorage", 6, (1, 2**40), (1, 0))
    assert tenora.load(io.BytesIO(archive(b"\x80\x02" + REBUILD + wide + b"R.", data))).shape == (1, 2**40)


def test_values_that_would_not_come_back_are_not_saved() -> None:
    for bounds_of in (range(2**2000), slice(2**2000)):
        with pytest.raises(RefusedValueError, match="bits"):
            tenora.save(bounds_of, io.BytesIO())
    file = io.BytesIO()
    tenora.save([range(2**1000), slice(-(2**1000))], file)
    file.seek(0)
    assert tenora.load(file) == [range(2**1000), slice(-(2**1000))]
    for key in (2**70_000, tuple(range(2000)), tenora.Size([1] * 2000)):
        with pytest.raises(RefusedValueError, match="too large or deep"):
            tenora.save({key: 1}, io.BytesIO())


STRANGE = """
import io, sys, tenora
class Strange(io.BytesIO):
    def readinto(self, view):
        return eval(sys.argv[1])
file = io.BytesIO()
tenora.save(tenora.ones(3), file)
try:
    tenora.load(Strange(file.getvalue()))
except tenora.serialization.FileError as error:
    print(error)
"""


@pytest.mark.parametrize("answer", ["-1", "None", "len(view) + 1", "0.5"])
def test_file_objects_that_answer_something_else(answer: str) -> None:
    run = subprocess.run([sys.executable, "-c", STRANGE, answer], capture_output=True, text=True, timeout=60)
    assert "got a file object that answers" in run.stdout and run.returncode == 0, run.stderr
