"""NumPy and tensors in one expression, and numbers of NumPy as data, against PyTorch."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import torch

import tenora

WHOLE = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
]  # PyTorch refuses np.uint64(1)
NUMBERS = [*WHOLE, "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("maker", ["tensor", "as_tensor", "asarray"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_keep_their_dtype(name: str, maker: str) -> None:
    number = getattr(np, name)(1)
    for data in (number, [number, number], [[number]], (number,), [np.array([1, 0], name)] * 2):
        ours, theirs = getattr(tenora, maker)(data), getattr(torch, maker)(data)
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1] == name
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("other", [1, 1.5, np.float32(2), np.int64(3)])
@pytest.mark.parametrize(
    "name", ["int8", "int16", "int32", "int64", "uint8", "float16", "float64", "complex64"]
)
def test_numbers_promote_among_each_other(name: str, other: Any) -> None:
    both.agree(lambda f: f.as_tensor([getattr(np, name)(2), other]))
    both.agree(lambda f: f.as_tensor([other, getattr(np, name)(2)]))


def test_extreme_whole_numbers_arrive() -> None:
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        for value in (np.iinfo(kind).min, np.iinfo(kind).max):
            x = tenora.as_tensor(kind(value))
            assert x.item() == value and x.dtype is getattr(tenora, kind.__name__)


def square(f: Any) -> Any:
    return f.tensor([[1.0, 2.0], [3.0, 4.0]])


EXPRESSIONS: dict[str, Any] = {
    "tensor + array": lambda f: square(f) + np.ones((2, 2), np.float32),
    "array + tensor": lambda f: np.ones((2, 2), np.float32) + square(f),
    "array - tensor": lambda f: np.ones((2, 2), np.float32) - square(f),
    "array @ tensor": lambda f: np.ones((2, 2), np.float32) @ square(f),
    "array < tensor": lambda f: np.ones((2, 2)) < square(f),
    "tensor == array": lambda f: square(f) == np.array([[1.0, 5.0], [3.0, 0.0]]),
    "array == tensor": lambda f: np.array([[1.0, 5.0], [3.0, 0.0]]) == square(f),
    "number * tensor": lambda f: np.float64(2) * square(f),
    "float32 * tensor": lambda f: np.float32(2) * square(f),
    "tensor * number": lambda f: square(f) * np.float64(2),
    "add": lambda f: np.add(square(f), square(f)),
    "add an array": lambda f: np.add(np.ones((2, 2), np.float32), square(f)),
    "sin": lambda f: np.sin(square(f)),
    "sin of whole numbers": lambda f: np.sin(f.tensor([1, 2])),
    "add.reduce": lambda f: np.add.reduce(square(f)),
    "concatenate": lambda f: f.from_numpy(np.concatenate([square(f), square(f)])),
    "stack": lambda f: f.from_numpy(np.stack([square(f), square(f)])),
    "array of tensors": lambda f: f.from_numpy(np.array([square(f), square(f)])),
    "array of numbers": lambda f: f.from_numpy(np.array([f.tensor(1.0), f.tensor(2.0)])),
    "linalg.inv": lambda f: np.linalg.inv(square(f)),
    "einsum": lambda f: f.from_numpy(np.einsum("ij->i", square(f))),
    "cumsum": lambda f: np.cumsum(square(f)),
    "sum": lambda f: np.sum(square(f)),
    "where": lambda f: f.from_numpy(np.where(square(f) > 2, square(f), 0)),
    "array[tensor]": lambda f: f.from_numpy(np.arange(10)[f.tensor([1, 2])]),
    "array[mask]": lambda f: f.from_numpy(np.arange(2)[f.tensor([True, False])]),
    "array[number]": lambda f: int(np.arange(10)[f.tensor(3)]),
    "tensor[array]": lambda f: square(f)[np.array([1, 0])],
    "tensor[number]": lambda f: square(f)[np.int64(1)],
    "out=array": lambda f: np.add(square(f), 1, out=np.zeros((2, 2), np.float32)),
    "out=tensor": lambda f: np.add(square(f), 1, out=square(f)),
    "with grad": lambda f: np.exp(f.ones(2, requires_grad=True)),
    "float": lambda f: float(np.float64(f.tensor(2.0))),
    "permutation": lambda f: f.from_numpy(np.random.default_rng(0).permutation(f.arange(4))),
    "pad": lambda f: f.from_numpy(np.pad(square(f), 1)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_with_arrays(name: str) -> None:
    both.agree(EXPRESSIONS[name])


def test_unequal_is_elementwise_too() -> None:
    """PyTorch answers True here, for two objects of which one is the other's."""
    x, array = tenora.tensor([1.0, 2.0]), np.array([1.0, 5.0])
    assert (x != array).tolist() == (array != x).tolist() == [False, True]


def test_gradients_are_refused_by_name() -> None:
    x = tenora.ones(2, requires_grad=True)
    for take in (np.asarray, np.sin, lambda t: t.numpy(), lambda t: t.to_numpy(), np.array):
        with pytest.raises(RuntimeError, match=r"\.detach\(\)"):
            take(x)
    assert not hasattr(x, "__array_interface__")
    assert np.asarray(x.detach()).tolist() == x.numpy(force=True).tolist() == [1.0, 1.0]


def test_interface_shares_memory() -> None:
    x = tenora.arange(6.0).view(2, 3)
    assert x.__array_interface__["data"][0] == x.data_ptr()
    assert x.t().__array_interface__["strides"] == (4, 12)
    assert np.shares_memory(x.to_numpy(), x.numpy())
    assert x.t().tobytes() == np.arange(6, dtype=np.float32).reshape(2, 3).T.tobytes()


def test_bfloat16_comes_as_float32_where_libraries_ask() -> None:
    """They know NumPy's dtypes only; `numpy()` is exact, shares the memory, and asks for no library's consent."""
    x = tenora.tensor([1.5, 2.0], dtype=tenora.bfloat16)
    assert np.asarray(x).dtype == np.array(x).dtype == np.float32 and np.asarray(x).tolist() == [1.5, 2.0]
    assert np.asarray(x, dtype="f8").dtype == np.float64
    assert np.asarray(x, dtype=ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    assert x.numpy().dtype == ml_dtypes.bfloat16
    x.numpy()[0] = 3.0
    assert x.tolist() == [3.0, 2.0]
    with pytest.raises(
        ValueError, match=r"^\[__array__\] .*: got copy=False, expected None or True.*numpy\(\)"
    ):
        np.asarray(x, copy=False)
    with pytest.raises(AttributeError, match=r"\.float\(\)"):
        _ = x.__array_interface__


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        ([1, 2], TypeError, "array is wrong: got list, expected a numpy.ndarray. Use tenora.tensor"),
        (np.float32(1), TypeError, "array is wrong: got float32"),
        (np.array([None]), TypeError, r"got dtype object, expected bool, ints.*astype\('float32'\)"),
        (np.array(["a"]), TypeError, "got dtype <U1"),
        (np.ones(2, ">f4"), ValueError, "got a foreign byte order or alignment, expected.*newbyteorder"),
    ],
    ids=["list", "number", "objects", "texts", "byte order"],
)
def test_arrays_that_are_none(value: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=rf"^\[from_numpy\] .*{says}"):
        tenora.from_numpy(value)


def test_the_advice_for_a_foreign_byte_order_works() -> None:
    array = np.arange(3, dtype=">f4")
    assert tenora.from_numpy(array.astype(array.dtype.newbyteorder("="))).tolist() == [0.0, 1.0, 2.0]
