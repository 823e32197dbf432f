"""NumPy's numbers and arrays in files: they come back as they were, and what cannot is refused."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import hostile_files
import numpy as np
import pytest
import safetensors.numpy
from saved_values import ARRAYS, NUMBERS, RECORDS

import tenora
from tenora.serialization import FileError, RefusedValueError


def again(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    tenora.save(value, file)
    file.seek(0)
    return tenora.load(file, **options)


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers(value: Any) -> None:
    found = again({"loss": value, value: 1})
    assert type(found["loss"]) is type(value) and found["loss"].dtype == value.dtype
    assert repr(found["loss"]) == repr(value)
    assert [type(key) for key in found] == [str, type(value)] and found[value] == 1


def test_nan_is_a_number_too() -> None:
    found = again([np.float32("nan"), np.datetime64("NaT")])
    assert np.isnan(found[0]) and np.isnat(found[1])


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_arrays(array: Any, tmp_path: pathlib.Path) -> None:
    tenora.save({"x": array, "twice": [array]}, tmp_path / "x")
    for options in ({}, {"mmap": True}, {"map_location": "cpu"}):
        found = tenora.load(tmp_path / "x", **options)
        assert type(found["x"]) is np.ndarray and found["x"] is found["twice"][0]
        assert found["x"].dtype == array.dtype and found["x"].shape == array.shape
        assert found["x"].tobytes() == array.tobytes()
        assert found["x"].flags.f_contiguous or not array.flags.f_contiguous
        if array.size:
            found["x"][...] = found["x"].reshape(-1)[0]


def test_a_checkpoint_as_people_write_it(tmp_path: pathlib.Path) -> None:
    losses = [0.5, 0.25]
    counts = dict(zip(*np.unique(np.array([1, 1, 2]), return_counts=True), strict=True))
    state = np.random.RandomState(3).get_state()
    value = {"loss": np.mean(losses), "best": np.argmin(losses), "counts": counts, "random": state}
    tenora.save(value, tmp_path / "x.pt")
    found = tenora.load(tmp_path / "x.pt")
    assert type(found["loss"]) is np.float64 and found["loss"] == 0.375
    assert found["best"] == 1 and found["counts"] == counts
    other = np.random.RandomState(0)
    other.set_state(found["random"])
    assert other.rand() == np.random.RandomState(3).rand()


def test_arrays_are_entries_that_others_read(tmp_path: pathlib.Path) -> None:
    tenora.save({"x": np.arange(3.0), "names": np.array(["a"])}, tmp_path / "x")
    assert safetensors.numpy.load_file(tmp_path / "x")["x"].tolist() == [0.0, 1.0, 2.0]


def test_arrays_stay_on_the_host() -> None:
    asked = []
    found = again({"x": np.ones(2), "y": tenora.ones(2)}, map_location=lambda s, place: asked.append(place))
    assert asked == ["cpu"] and type(found["x"]) is np.ndarray


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array([None, "a"]), r"numpy\.ndarray of dtype object.*tolist\(\)"),
        (RECORDS, r"numpy\.ndarray of dtype .*tolist\(\)"),
        (RECORDS[0], r"numpy\.void of dtype"),
        (np.ones(2, np.longdouble), r"dtype float128.*tolist\(\)"),
        (np.longdouble(1), r"numpy\.longdouble of dtype float128"),
        (np.ma.masked_array([1, 2], [True, False]), r"MaskedArray of dtype int64.*numpy\.asarray"),
        (np.dtype("f4"), r"numpy\.dtypes\.Float32DType, expected"),
        (np.random.default_rng(0), r"numpy\.random\._generator\.Generator.*that it holds"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_other_values_of_numpy_are_refused(value: Any, says: str) -> None:
    with pytest.raises(RefusedValueError, match=rf"^\[save\] obj\['a'\]\[0\]: got a .*{says}"):
        tenora.save({"a": [value]}, io.BytesIO())


BAD: list[dict[str, Any]] = [
    {"$": "numpy", "dtype": "|O8", "base64": "AAAAAAAAAAA="},
    {"$": "numpy", "dtype": "<f8", "base64": "AAAA"},
    {"$": "numpy", "dtype": "<U999999999", "base64": ""},
    {"$": "numpy", "dtype": ["<f8"], "base64": ""},
    {"$": "numpy", "dtype": "|b1", "base64": "Ag=="},
    {"$": "numpy", "dtype": "<U1", "base64": "/////w=="},
    {"$": "numpy", "dtype": "<M8[0D]", "base64": "AAAAAAAAAAA="},
    {"$": "array", "entry": "x", "code": "|O8", "sizes": [3]},
    {"$": "array", "entry": "x", "code": "<f4", "sizes": [7]},
    {"$": "array", "entry": "x", "code": "<f4", "sizes": [-6]},
    {"$": "array", "entry": "x", "code": "<f4", "sizes": "ab"},
    {"$": "array", "entry": "y", "code": "<f4", "sizes": [6]},
]


@pytest.mark.parametrize("node", BAD, ids=str)
def test_a_file_that_says_something_else_is_refused(node: dict[str, Any]) -> None:
    with pytest.raises(FileError, match=r"^\[load\] <BytesIO>: got "):
        tenora.load(io.BytesIO(hostile_files.ours(node)))
