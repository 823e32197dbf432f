"""Files between PyTorch, safetensors and tenora: what one writes, the other reads."""

from __future__ import annotations

import inspect
import io
import pathlib
import pickle
from collections import Counter, OrderedDict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from saved_values import DTYPES

import tenora
from tenora.serialization import FileError, UnsafeFileError

FORMS = pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])


def written(value: Any, archive: bool = True, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=archive, **options)
    file.seek(0)
    return file


def same(ours: Any, theirs: Any) -> None:
    assert type(ours).__name__ == type(theirs).__name__
    assert str(ours.dtype).removeprefix("tenora.") == str(theirs.dtype).removeprefix("torch.")
    assert tuple(ours.shape) == tuple(theirs.shape) and ours.stride() == theirs.stride()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.detach().tolist() == theirs.detach().tolist()


@FORMS
def test_every_dtype(archive: bool, tmp_path: pathlib.Path) -> None:
    for dtype in DTYPES.split():
        check_dtype(dtype, archive, tmp_path / "x.pt")


def check_dtype(dtype: str, archive: bool, path: pathlib.Path) -> None:
    x = (torch.arange(6).reshape(2, 3) % 2).to(getattr(torch, dtype))
    values = [x, x.t(), x[1], x[:, ::2], torch.zeros(0, dtype=x.dtype), x[0, 0], x[:1].expand(4, 3)]
    found = tenora.load(written(values, archive))
    for ours, theirs in zip(found, values, strict=True):
        same(ours, theirs)
    found[0][1, 0] = 0
    assert found[2][0].item() == found[1][0, 1].item() == 0, "views share the storage"
    if archive:
        path.write_bytes(written(values).getvalue())
        for ours, theirs in zip(tenora.load(path, mmap=True), values, strict=True):
            same(ours, theirs)


@FORMS
def test_values(archive: bool) -> None:
    for protocol in (2, 3, 4, 5):
        check_values(archive, protocol)


def check_values(archive: bool, protocol: int) -> None:
    shared = [1]
    value = {
        "numbers": [1, -1, 255, 256, 65536, 2**40, 2**70, -(2**63), 1.5, float("inf"), 1j, True, None],
        "texts": ["", "a", "ü" * 300, b"", b"\xff" * 300, bytearray(b"ab")],
        ("a", 1): (set(), {1, "b"}, frozenset([2]), slice(1, None), range(4)),
        3: OrderedDict([("b", 1), ("a", ())]),
        "count": Counter("aab"),
        "twice": [shared, shared],
    }
    found = tenora.load(written(value, archive, pickle_protocol=protocol))
    assert repr(found) == repr(value)
    assert found["twice"][0] is found["twice"][1]
    own = [torch.Size([2, 3]), torch.float16, torch.device("cuda", 1), torch.device("cpu")]
    expected = [tenora.Size([2, 3]), tenora.float16, tenora.device("cuda", 1), tenora.device("cpu")]
    assert tenora.load(written(own, archive, pickle_protocol=protocol)) == expected


@FORMS
def test_tensors_with_more_to_them(archive: bool) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    weight.mark = "kept"
    plain = torch.arange(3.0)
    plain.note = {"a": 1}
    values = [weight, torch.nn.Parameter(torch.ones(1), requires_grad=False), weight * 2, plain]
    found = tenora.load(written(values, archive))
    for ours, theirs in zip(found, values, strict=True):
        same(ours, theirs)
    assert found[0].mark == "kept" and found[3].note == {"a": 1}
    assert (
        type(tenora.load(written(torch.nn.Buffer(torch.ones(2)), archive))) is tenora.Tensor
    )  # as in PyTorch


def test_conjugates_and_negatives() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    for value in (x.conj(), x.conj().imag, torch._neg_view(torch.arange(3.0))):
        assert tenora.load(written(value)).tolist() == value.tolist()


@FORMS
def test_a_training_state_goes_on(archive: bool) -> None:
    """Weights and Adam's state after 3 steps in PyTorch; step 4 agrees."""

    def made(f: Any) -> tuple[Any, Any]:
        layers = f.nn.BatchNorm1d(3), f.nn.Linear(3, 4), f.nn.Tanh(), f.nn.Linear(4, 1)
        net = f.nn.Sequential(*layers).double()
        return net, f.optim.Adam(net.parameters(), lr=0.01)

    def step(f: Any, net: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (net(f.arange(15).double().reshape(5, 3).cos()) ** 2).sum().backward()
        optimizer.step()

    theirs, ours = made(torch), made(tenora)
    for _ in range(3):
        step(torch, *theirs)
    state = tenora.load(
        written({"net": theirs[0].state_dict(), "optimizer": theirs[1].state_dict()}, archive)
    )
    assert state["net"]._metadata == theirs[0].state_dict()._metadata
    ours[0].load_state_dict(state["net"])
    ours[1].load_state_dict(state["optimizer"])
    step(torch, *theirs)
    step(tenora, *ours)
    for a, b in zip(ours[0].state_dict().values(), theirs[0].state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


class Net(torch.nn.Module):
    pass


def refused() -> list[tuple[Any, str]]:
    return [
        (torch.nn.Linear(1, 1), r"'torch\.nn\.modules\.linear\.Linear'.*state_dict"),
        (Net(), r"'[\w.]*test_saving_torch\.Net'"),
        (torch.eye(2).to_sparse(), r"'torch\._utils\._rebuild_sparse_tensor'.*to_dense"),
        (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), "_rebuild_qtensor.*dequantize"),
        (torch.ones(2, device="meta"), "meta"),
        (Fraction(1, 2), r"'fractions\.Fraction'.*add_safe_globals"),
        ([OrderedDict], r"'collections\.OrderedDict' as a value"),
        (torch.ones(2).untyped_storage(), "Storage' as a value.*a tensor"),
        (print, r"'(builtins|__builtin__)\.print'"),
        (pathlib.PurePosixPath("/"), r"'pathlib\.PurePosixPath'"),
    ]


@FORMS
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions:UserWarning")
def test_other_types_are_refused_by_name(archive: bool) -> None:
    for value, says in refused():
        with pytest.raises(UnsafeFileError, match=rf"^\[load\] <BytesIO>: got the name .*{says}"):
            tenora.load(written({"a": [value]}, archive))
        with pytest.raises(pickle.UnpicklingError):  # PyTorch's type
            tenora.load(written(value, archive))


@FORMS
def test_trust_imports_names(archive: bool) -> None:
    value = [Fraction(1, 2), np.float64(3), torch.ones(2), {"a": torch.nn.Parameter(torch.ones(1))}]
    found = tenora.load(written(value, archive), weights_only=False)
    assert found[:2] == value[:2] and type(found[1]) is np.float64
    assert found[2].tolist() == [1.0, 1.0] and type(found[3]["a"]) is tenora.nn.Parameter
    with pytest.raises(UnsafeFileError, match="Linear"):
        tenora.load(written(torch.nn.Linear(1, 1), archive), weights_only=False)


@FORMS
def test_safe_globals(archive: bool) -> None:
    serialization = tenora.serialization
    with serialization.safe_globals([Fraction]):
        assert tenora.load(written([Fraction(1, 2)], archive)) == [Fraction(1, 2)]
        assert serialization.get_safe_globals() == [Fraction]
    assert serialization.get_safe_globals() == []
    with pytest.raises(UnsafeFileError):
        tenora.load(written(Fraction(1, 2), archive))


class Slotted:
    __slots__ = ("a", "b")


class Both(Slotted):
    """Slots of its base, and a dict of its own."""


@FORMS
def test_safe_globals_with_slots_and_of_builtins(archive: bool) -> None:
    """Files of protocol 2 say `__builtin__` for `builtins`."""
    values = [Slotted(), Both()]
    for value in values:
        value.a, value.b = 1, [2]
    values[1].c = 3
    added = [Slotted, Both, len, list]
    for protocol in (2, 4):
        file = written([*values, len, list], archive, pickle_protocol=protocol)
        with tenora.serialization.safe_globals(added):
            loaded = [tenora.load(io.BytesIO(file.getvalue()))]
        if protocol == 2:  # which alone PyTorch reads
            with torch.serialization.safe_globals(added):
                loaded.append(torch.load(file))
        for found in loaded:
            assert [(type(each), each.a, each.b) for each in found[:2]] == [(Slotted, 1, [2]), (Both, 1, [2])]
            assert vars(found[1]) == {"c": 3} and found[2:] == [len, list]
        with (
            pytest.raises(UnsafeFileError, match=r"builtin(s|__)\.len'"),
            tenora.serialization.safe_globals(added[:2]),
        ):
            tenora.load(io.BytesIO(file.getvalue()))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_dtypes_that_are_not_there() -> None:
    """The advice is to convert the tensor."""
    for dtype, target in (
        ("float8_e4m3fn", "float32"),
        ("float8_e5m2", "float32"),
        ("complex32", "complex64"),
    ):
        value = torch.zeros(2, dtype=getattr(torch, dtype))
        for form in (True, False):
            with pytest.raises(
                UnsafeFileError, match=rf"'{value.dtype}'.*save tensor\.to\(torch\.{target}\)"
            ):
                tenora.load(written({"x": value}, form))


def test_places() -> None:
    x = torch.ones(2)
    file = written({"a": x, "b": x[1:]})
    data = file.getvalue().replace(b"cpu", b"sun")
    asked = []
    assert tenora.load(file, map_location=lambda storage, place: asked.append(place)).keys() == {"a", "b"}
    assert asked == ["cpu"]
    with pytest.raises(FileError):  # the checksum tells
        tenora.load(io.BytesIO(data))
    legacy = written(x, archive=False).getvalue().replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    with pytest.raises(FileError, match=r"'cuda:0'.*map_location='cpu'"):
        tenora.load(io.BytesIO(legacy))
    for place in ("cpu", tenora.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage):
        assert tenora.load(io.BytesIO(legacy), map_location=place).tolist() == [1.0, 1.0]


def test_safetensors_readers_read_our_files(tmp_path: pathlib.Path) -> None:
    x = tenora.arange(6).float().reshape(2, 3)
    value = {
        "layer.weight": x,
        "half": x.bfloat16(),
        "mask": x > 2,
        "wave": x.to(tenora.complex64),
        "part": x[1],
        "turned": tenora.arange(6).reshape(2, 3).t(),
        "more": {"deep": [tenora.tensor(3), "text"]},
    }
    tenora.save(value, tmp_path / "x")
    found = safetensors.torch.load_file(tmp_path / "x")
    assert set(found) == {"layer.weight", "half", "mask", "wave", "turned", "more.deep.0"}
    for name in ("layer.weight", "half", "mask", "wave", "turned"):
        assert found[name].tolist() == value[name].tolist()
    assert found["half"].dtype == torch.bfloat16 and found["more.deep.0"].item() == 3
    safetensors.torch.save_file(found, tmp_path / "y")
    back = tenora.load(tmp_path / "y")
    assert back["half"].dtype == tenora.bfloat16 and back["layer.weight"].equal(x)


def test_plain_safetensors_files(tmp_path: pathlib.Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((0, 2), np.int8), "c": np.array(True)}
    safetensors.numpy.save_file(arrays, tmp_path / "x", metadata={"author": "someone"})
    for options in ({}, {"mmap": True}, {"map_location": "cpu"}):
        found = tenora.load(tmp_path / "x", **options)
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            assert found[name].numpy().dtype == array.dtype
            np.testing.assert_array_equal(found[name].numpy(), array)
    narrow = {"x": torch.zeros(2, dtype=torch.float8_e4m3fn)}
    with pytest.raises(FileError, match="dtype 'F8_E4M3' of 'x'"):
        tenora.load(io.BytesIO(safetensors.torch.save(narrow)))


def test_our_arguments_are_pytorchs() -> None:
    for ours, theirs in ((tenora.save, torch.save), (tenora.load, torch.load)):
        names = list(inspect.signature(theirs).parameters)
        assert list(inspect.signature(ours).parameters) == names


def test_a_file_is_what_its_content_says_whatever_its_name(tmp_path: pathlib.Path) -> None:
    contents = {
        "torch": written({"x": torch.ones(2)}).getvalue(),
        "legacy": written({"x": torch.ones(2)}, archive=False).getvalue(),
        "safetensors": safetensors.torch.save({"x": torch.ones(2)}),
    }
    tenora.save({"x": tenora.ones(2)}, tmp_path / "x")
    contents["tenora"] = (tmp_path / "x").read_bytes()
    for name in ("x.pt", "x.safetensors", "x.zip", "x.npy", "x"):
        for content in contents.values():
            (tmp_path / name).write_bytes(content)
            for mapped in (False, True):
                assert tenora.load(tmp_path / name, mmap=mapped)["x"].tolist() == [1.0, 1.0]
