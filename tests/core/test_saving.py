"""What `save` writes, `load` gives back: values, dtypes, layouts, and what shares memory."""

from __future__ import annotations

import argparse
import datetime
import doctest
import enum
import importlib
import io
import math
import pathlib
import pickle
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from saved_values import DTYPES

import tenora
from tenora.serialization import FileError, RefusedValueError, own, structure


def bytes_of(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    tenora.save(value, file, **options)
    return file.getvalue()


def again(value: Any, **options: Any) -> Any:
    return tenora.load(io.BytesIO(bytes_of(value)), **options)


@pytest.mark.parametrize("dtype", DTYPES.split())
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_tensors_of_every_dtype(dtype: str, shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    count = math.prod(shape)
    x = (tenora.arange(count, dtype=tenora.float32) % 2).reshape(shape).to(tenora.dtype(dtype))
    tenora.save({"x": x, "y": x.clone()}, tmp_path / "x")
    for found in (tenora.load(tmp_path / "x"), tenora.load(tmp_path / "x", mmap=True), again({"x": x})):
        assert found["x"].dtype == x.dtype and found["x"].shape == x.shape
        assert type(found["x"]) is tenora.Tensor and not found["x"].requires_grad
        assert found["x"].tolist() == x.tolist()


VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**63 - 1,
    2**63,
    -(10**50),
    0.1,
    -0.0,
    5e-324,
    math.inf,
    -math.inf,
    1 - 2j,
    complex(math.inf, -0.0),
    "",
    "a\0ü\U0001f600\ud800",
    b"",
    bytes(range(256)),
    bytearray(b"ab"),
    [],
    (),
    {},
    set(),
    [1, [2, (3, {"a": [4.0]})]],
    {"a": 1, "$": 2, "": 3, "\ud800": 4},
    {1: "int", "1": "text", None: 0, 2.5: 1, (1, ("a", None)): 2, b"k": 3},
    {1, "a", (2, 3), None},
    frozenset([frozenset([1]), 2]),
    OrderedDict([("b", 1), ("a", 2)]),
    Counter("abca"),
    slice(1, None, -2),
    range(2, 10, 3),
    tenora.Size([2, 3]),
    tenora.Size([]),
    tenora.bfloat16,
    tenora.device("cpu"),
    {"$": "tensor", "entry": "x"},
]


@pytest.mark.parametrize("value", VALUES)
def test_values(value: Any) -> None:
    found = again(value)
    assert type(found) is type(value)
    assert found == value
    if not isinstance(value, set | frozenset):
        assert repr(found) == repr(value)  # -0.0 and order too
    if isinstance(value, list | dict | tuple):
        assert repr(again({"in": [value]})) == repr({"in": [value]})


def test_an_int_longer_than_python_prints() -> None:
    assert again(-(10**5000)) == -(10**5000)


def test_nan_comes_back() -> None:
    assert math.isnan(again([math.nan])[0])
    assert math.isnan(again(complex(0, math.nan)).imag)


def test_views_of_one_storage_share_it_again() -> None:
    x = tenora.arange(12).float().reshape(3, 4)
    found = again({"row": x[1], "whole": x, "turned": x.t(), "some": x[::2, 1:3], "back": x.flip(0)})
    found["whole"][1, 2] = 50.0
    assert found["row"].tolist() == [4.0, 5.0, 50.0, 7.0]
    assert found["turned"][2, 1].item() == 50.0 and found["turned"].stride() == (1, 4)
    assert found["some"].tolist() == [[1.0, 2.0], [9.0, 10.0]] and found["some"].stride() == (8, 1)
    parts = again([x[0], x[2]])
    assert parts[0].untyped_storage() is parts[1].untyped_storage()
    assert [part.tolist() for part in parts] == [x[0].tolist(), x[2].tolist()]


def test_views_of_several_dtypes_share_too() -> None:
    x = tenora.zeros(8, dtype=tenora.int32)
    found = again([x[1:], x.view(tenora.int16)[3:9], x.view(tenora.float64)[1:]])
    found[0][2] = 7
    assert found[1].tolist() == [0, 0, 0, 7, 0, 0]
    assert found[2].view(tenora.int32).tolist() == [0, 7, 0, 0, 0, 0]


def test_layouts() -> None:
    x = tenora.randn(2, 3, 4, 5)
    nhwc = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    one = tenora.ones(1).expand(1000, 1000)
    found = again([nhwc, one, x[0, :, 1], tenora.arange(6)[1::2]])
    assert found[0].stride() == nhwc.stride() and found[0].equal(x)
    assert found[1].stride() == (0, 0) and found[1].shape == (1000, 1000)
    assert found[2].equal(x[0, :, 1]) and found[3].tolist() == [1, 3, 5]
    assert len(bytes_of(one)) < 1000, "repeated elements are written once"
    assert len(bytes_of(tenora.zeros(10000)[:2])) < 1000, "what is not shown is not written"


def test_parameters_buffers_and_grad() -> None:
    weight = tenora.nn.Parameter(tenora.ones(2))
    weight.mark = {"kept": [1]}
    buffer = tenora.nn.Buffer(tenora.zeros(2), persistent=False)
    result = tenora.nn.Parameter(tenora.ones(2)) * 3
    found = again([weight, tenora.nn.Parameter(tenora.ones(1), requires_grad=False), buffer, result, weight])
    assert type(found[0]) is tenora.nn.Parameter and found[0].requires_grad and found[0].is_leaf
    assert found[0].mark == {"kept": [1]} and found[4] is found[0]
    assert type(found[1]) is tenora.nn.Parameter and not found[1].requires_grad
    assert type(found[2]) is tenora.nn.Buffer and not found[2].persistent
    assert found[3].requires_grad and found[3].is_leaf and found[3].tolist() == [3.0, 3.0]


def test_objects_met_twice_are_one_object_again() -> None:
    inner: list[Any] = [1]
    inner.append(inner)
    pair = (inner, {"k": inner})
    found = again([pair, pair, {"a": pair}])
    assert found[0] is found[1] is found[2]["a"]
    assert found[0][0] is found[0][1]["k"] is found[0][0][1]
    around: tuple[list[Any]] = ([],)
    around[0].append(around)
    with pytest.raises(RefusedValueError, match="holds itself"):
        bytes_of(around)


def test_states_of_modules_and_optimizers() -> None:
    def made() -> tuple[Any, Any]:
        net = tenora.nn.Sequential(tenora.nn.Linear(3, 4), tenora.nn.BatchNorm1d(4))
        return net, tenora.optim.Adam(net.parameters(), lr=0.01)

    def step(net: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (net(tenora.arange(15).float().reshape(5, 3)) ** 2).sum().backward()
        optimizer.step()

    one, other = made(), made()
    step(*one)
    state = again({"net": one[0].state_dict(), "optimizer": one[1].state_dict(), "epoch": 3})
    assert list(state["net"]) == list(one[0].state_dict()) and state["epoch"] == 3
    other[0].load_state_dict(state["net"])
    other[1].load_state_dict(state["optimizer"])
    for pair in (one, other):
        step(*pair)
    for a, b in zip(one[0].state_dict().values(), other[0].state_dict().values(), strict=True):
        assert a.equal(b)


def test_a_generators_state_continues() -> None:
    tenora.manual_seed(3)
    tenora.randn(5)
    state = again(tenora.get_rng_state())
    expected = tenora.randn(4)
    tenora.set_rng_state(state)
    assert tenora.randn(4).equal(expected)


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Point(1, 2), r"Point.*Convert it to tuple"),
        (defaultdict(list), r"collections\.defaultdict.*Convert it to dict"),
        (lambda: 1, r"builtins\.function.*pickle_module=pickle"),
        (tenora.optim.SGD([tenora.nn.Parameter(tenora.ones(1))], lr=1), r"SGD.*state_dict\(\)"),
        (argparse.Namespace(lr=0.1), r"argparse\.Namespace.*vars\(value\)"),
        (datetime.datetime(2024, 2, 29), r"datetime\.datetime.*isoformat\(\)"),
        (deque([1]), r"collections\.deque.*list\(value\)"),
        (tenora.nn.Linear(1, 1).parameters(), r"generator.*state_dict"),
        (pathlib.PurePosixPath("x"), r"PurePosixPath.*str\(value\)"),
        (enum.Enum("Mode", "train").train, r"Mode.*value\.name"),
        ({tenora.ones(1): 1}, "a key or element of type Tensor"),
        (tenora.ones(1).untyped_storage(), r"Storage"),
    ],
)
def test_other_types_are_refused_by_name_and_place(value: Any, says: str) -> None:
    with pytest.raises(RefusedValueError, match=rf"(?s)^\[save\] obj\['a'\]\[1\]: got .*{says}"):
        bytes_of({"a": [0, value]})
    with pytest.raises(TypeError):
        bytes_of(value)


def test_nesting_has_an_end() -> None:
    deep: list[Any] = []
    for _ in range(structure.DEEPEST):
        deep = [deep]
    assert again(deep) == deep
    with pytest.raises(RefusedValueError, match="nesting"):
        bytes_of([deep])


class Net(tenora.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = tenora.nn.Linear(2, 3)
        self.tied = self.layer.weight

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_whole_modules_need_trust() -> None:
    net = Net()
    for value in (net, {"net": net, "epoch": 1}):
        data = bytes_of(value)
        with pytest.raises(pickle.UnpicklingError, match=r"pickled objects \(.*Net.*weights_only=False"):
            tenora.load(io.BytesIO(data))
        found = tenora.load(io.BytesIO(data), weights_only=False)
        loaded = found if value is net else found["net"]
        x = tenora.ones(1, 2)
        assert type(loaded) is Net and loaded(x).equal(net(x))
        assert loaded.tied is loaded.layer.weight


def test_a_pickle_module_pickles_anything() -> None:
    x = tenora.arange(4)
    data = bytes_of([Point(1, x), x[1:]], pickle_module=pickle, pickle_protocol=4)
    found = tenora.load(io.BytesIO(data), weights_only=False, map_location="cpu")
    assert type(found[0]) is Point
    found[1][0] = 9
    assert found[0].y.tolist() == [0, 9, 2, 3]


def test_a_structure_too_long_for_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_LONGEST_STRUCTURE", 50)
    value = {"x": tenora.arange(3), "tenora.structure": tenora.ones(1), "text": "a" * 100}
    found = again(value)
    assert found["text"] == "a" * 100 and found["x"].tolist() == [0, 1, 2]
    assert found["tenora.structure"].tolist() == [1.0]
    assert again("b" * 100) == "b" * 100


def test_several_values_in_one_file_object() -> None:
    file = io.BytesIO()
    file.write(b"before")
    for value in ({"x": tenora.ones(3)}, [1, 2]):
        tenora.save(value, file)
    tenora.save(Net(), file)
    file.seek(6)
    assert tenora.load(file)["x"].tolist() == [1.0] * 3
    assert tenora.load(file) == [1, 2]
    assert type(tenora.load(file, weights_only=False)) is Net
    assert file.read() == b""


def test_mapped_tensors_are_written_apart_from_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x"
    tenora.save({"a": tenora.arange(5), "b": tenora.ones(3, dtype=tenora.bool)}, path)
    found = tenora.load(str(path), mmap=True)
    found["a"][0] = 77
    assert found["a"].tolist() == [77, 1, 2, 3, 4]
    assert tenora.load(path)["a"].tolist() == [0, 1, 2, 3, 4]


def test_files_of_the_wrong_kind(tmp_path: pathlib.Path) -> None:
    tenora.save(1, tmp_path / "x")
    with pytest.raises(TypeError, match="binary mode"), open(tmp_path / "t", "w") as text:
        tenora.save(1, text)
    with pytest.raises(TypeError, match="binary mode"), open(tmp_path / "x", encoding="latin1") as text:
        tenora.load(text)
    for kind in (TypeError, AttributeError):  # the second is PyTorch's
        with pytest.raises(kind, match="path"):
            tenora.save(1, 5)
        with pytest.raises(kind, match="path"):
            tenora.load(5)
    with pytest.raises(ValueError, match="mmap"):
        tenora.load(io.BytesIO(bytes_of(1)), mmap=True)
    with pytest.raises(FileNotFoundError):
        tenora.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        tenora.load(tmp_path)

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(ValueError, match="BytesIO first"):
        tenora.load(Pipe(bytes_of(1)))


def test_map_location() -> None:
    x = tenora.arange(3)
    asked = []

    def keep(storage: Any, location: str) -> Any:
        asked.append(location)
        return storage if len(asked) == 1 else None

    for where in ("cpu", tenora.device("cpu"), {"cpu": "cpu"}, {}, keep, keep):
        assert again([x, x[1:]], map_location=where)[1].tolist() == [1, 2]
    assert asked == ["cpu", "cpu"], "once for a storage"
    with pytest.raises(TypeError, match="map_location"):
        again(x, map_location=3)
    with pytest.raises(TypeError, match="returns int"):
        again(x, map_location=lambda storage, location: 1)
    with pytest.raises(ZeroDivisionError):
        again(x, map_location=lambda storage, location: 1 / 0)
    with pytest.raises(FileError, match=r"'cuda'.*map_location='cpu'"):
        again(x, map_location="cuda")


@pytest.mark.parametrize("name", ["", ".errors", ".safe_globals"])
def test_examples_of_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"tenora.serialization{name}"))
    assert found.attempted >= 2 and found.failed == 0
