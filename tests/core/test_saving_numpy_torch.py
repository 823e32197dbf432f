"""PyTorch's files that hold NumPy's numbers and arrays: read without NumPy's own functions, or refused by name."""

from __future__ import annotations

import io
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from saved_values import ARRAYS, NUMBERS, RECORDS

import tenora
from tenora.serialization import FileError, UnsafeFileError


def written(value: Any, archive: bool = True, protocol: int = 2) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=archive, pickle_protocol=protocol)
    file.seek(0)
    return file


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pytorchs_files_hold_them_too(archive: bool, protocol: int) -> None:
    arrays = [array for array in ARRAYS if array.dtype != ml_dtypes.bfloat16]
    value = {"numbers": NUMBERS, "arrays": arrays, "keys": {np.int64(1): 2}, "twice": [arrays[0], arrays[0]]}
    for options in ({}, {"weights_only": False}):
        found = tenora.load(written(value, archive, protocol), **options)
        for ours, theirs in zip(found["numbers"], NUMBERS, strict=True):
            assert type(ours) is type(theirs) and repr(ours) == repr(theirs)
        for ours, theirs in zip(found["arrays"], arrays, strict=True):
            # The order of bytes is as NumPy itself reads it.
            plain = pickle.loads(pickle.dumps(theirs, protocol))
            assert ours.dtype == plain.dtype and ours.shape == theirs.shape
            assert ours.tobytes() == plain.tobytes()
            assert ours.flags.f_contiguous or not theirs.flags.f_contiguous
        assert found["keys"] == {1: 2} and found["twice"][0] is found["twice"][1]


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])
def test_what_pytorchs_files_may_not_hold(archive: bool) -> None:
    refused = [
        (np.array([None]), "dtype 'O8'"),
        (RECORDS, "dtype 'V5'"),
        (np.array([1], dtype=np.longdouble), "dtype '<f16'"),
        (np.dtype("f4"), r"numpy\.dtype' as a value"),
        (np.ma.masked_array([1], [True]), r"'numpy\.ma\.core\._mareconstruct'"),
    ]
    for value, says in refused:
        with pytest.raises(FileError, match=rf"^\[load\] <BytesIO>: got .*{says}"):
            tenora.load(written({"a": [value]}, archive))


class Calls:
    """A pickle that calls `function(*args)` and then gives the result `state`."""

    def __init__(self, function: Any, args: tuple[Any, ...], state: Any = None) -> None:
        self.parts = (function, args, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts if self.parts[2] is not None else self.parts[:2]


def test_a_pickle_that_says_something_else_is_refused() -> None:
    make, empty, kind = np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), np.dtype("f4")
    scalar = np._core.multiarray.scalar
    hostile = [
        Calls(make, (np.ndarray, (2**40,), b"b"), (1, (2**40,), kind, False, b"")),
        Calls(make, empty, (1, (2,), kind, False, b"1234")),
        Calls(make, empty, (1, (-1,), kind, False, b"")),
        Calls(make, empty, (1, (2**62, 2**62, 0), kind, False, b"")),
        Calls(make, empty, (1, (1,) * 100, kind, False, b"1234")),
        Calls(make, empty, (1, (1,), "f4", False, b"1234")),
        Calls(make, empty, (1, (1,), kind, False, [print])),
        Calls(make, empty, ("f4",)),
        Calls(make, (dict, (0,), b"b")),
        Calls(np.ndarray, ((2**40,),)),
        Calls(scalar, (kind, b"12")),
        Calls(scalar, (np.dtype("b1"), b"\2")),
        Calls(np.dtype, ("U999999",), (3, "<", None, None, None, 4 * 999999, 4, 8)),
        Calls(np.dtype, ([("a", "f4")],)),
    ]
    for value in hostile:
        with pytest.raises(FileError):
            tenora.load(written({"a": [value]}))
    with pytest.raises(UnsafeFileError, match=r"'numpy\.load'"):
        tenora.load(written(Calls(np.load, ("x",))))
    with pytest.raises(pickle.UnpicklingError):
        tenora.load(written(np.array([None])))
