"""NumPy arrays, buffers and DLPack, in and out."""

from __future__ import annotations

import gc
import hashlib
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tenora
from tenora_engine import _engine

DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_round_trip_shares_memory(name: str) -> None:
    array = np.array([[0, 1], [2, 3]]).astype(name)
    x = tenora.from_numpy(array)
    assert x.dtype is getattr(tenora, name)
    back = x.numpy()
    assert back.dtype == array.dtype and np.shares_memory(array, back)
    np.testing.assert_array_equal(back, array)
    back[0, 0] = 1
    assert array[0, 0] == 1


def test_bfloat16_is_ml_dtypes() -> None:
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    x = tenora.from_numpy(array)
    assert x.dtype is tenora.bfloat16 and x.tolist() == [1.5, -2.0]
    assert x.numpy().dtype == ml_dtypes.bfloat16
    assert np.asarray(x).dtype == np.float32


@pytest.mark.parametrize("key", [np.s_[::-1], np.s_[:, ::-1], np.s_[::-2, 1::2], np.s_[1:1], np.s_[..., 0]])
def test_any_strides_are_views(key: Any) -> None:
    array = np.arange(24.0).reshape(4, 6)[key]
    x = tenora.from_numpy(array)
    np.testing.assert_array_equal(x.numpy(), array)
    if array.size:
        assert np.shares_memory(x.numpy(), array)


def test_read_only_array_stays_read_only() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    x = tenora.from_numpy(array)
    assert not x.numpy().flags.writeable
    with pytest.raises(RuntimeError, match="read"):
        x.add_(1)
    assert array.tolist() == [0.0, 1.0, 2.0]


def test_array_is_released_with_the_tensor() -> None:
    array = np.arange(5.0)
    ref = weakref.ref(array)
    x = tenora.from_numpy(array)
    y = x[1:]
    del array, x
    assert ref() is not None
    del y
    assert ref() is None


def test_tensor_memory_outlives_the_tensor() -> None:
    x = tenora.arange(5.0)
    array = x.numpy()
    del x
    gc.collect()
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([object()], object), np.array([1], "M8[s]"), np.zeros(2, "i4,f4")]
)
def test_foreign_dtypes_are_type_errors(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(TypeError, match="dtype"):
        tenora.from_numpy(array)


def test_swapped_bytes_are_copied_or_refused() -> None:
    array = np.arange(4, dtype=">f4")
    with pytest.raises(ValueError, match="byte order"):
        tenora.from_numpy(array)
    assert tenora.tensor(array).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_array_protocol() -> None:
    x = tenora.arange(3.0)
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype=np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.dtype(np.int64), copy=False)
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(tenora.arange(3.0, requires_grad=True))


def test_numpy_functions_give_tensors_back() -> None:
    x = tenora.arange(3.0)
    assert isinstance(np.add(x, np.ones(3)), tenora.Tensor)
    assert isinstance(x + np.ones(3), tenora.Tensor)


def test_buffer_protocol() -> None:
    x = tenora.arange(6.0).view(2, 3)
    view = memoryview(x)
    assert (view.shape, view.strides, view.format, view.readonly) == ((2, 3), (12, 4), "f", False)
    view[1, 2] = 50.0
    assert x[1, 2].item() == 50.0
    assert memoryview(x.t()).strides == (4, 12)
    with pytest.raises(BufferError, match="detach"):
        memoryview(tenora.zeros(2, requires_grad=True))
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(x.t())


def test_buffer_outlives_a_change_of_data() -> None:
    x = tenora.arange(1000.0)
    view = memoryview(x)
    x.data = tenora.zeros(2)
    gc.collect()
    assert view[999] == 999.0


def test_from_buffer() -> None:
    data = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = _engine.from_buffer(data, _engine.int32, 3, 4)
    assert x.tolist() == [1, 2, 3]
    x[0] = 9
    assert np.frombuffer(data, np.int32)[1] == 9
    with pytest.raises(BufferError):
        data.append(1)  # exported
    del x
    data.append(1)
    for count, offset in [(9, 0), (-1, 3), (1, 100), (-1, -4), (1, 2)]:
        with pytest.raises(ValueError):
            _engine.from_buffer(bytes(16), _engine.int32, count, offset)


@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex64"])
def test_dlpack_round_trip(name: str) -> None:
    x = tenora.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(tenora, name)).t()
    y = _engine.from_dlpack(x)
    assert y.tolist() == x.tolist() and y.data_ptr() == x.data_ptr() and y.stride() == x.stride()
    np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
    array = np.arange(6).reshape(2, 3).astype(name)[:, ::-1]
    z = _engine.from_dlpack(array)
    np.testing.assert_array_equal(z.numpy(), array)
    assert np.shares_memory(z.numpy(), array)


def test_dlpack_capsules_are_used_once_and_freed() -> None:
    x = tenora.arange(3.0)
    for version in (None, (1, 0)):
        capsule = x.__dlpack__(max_version=version)
        y = _engine.from_dlpack(capsule)
        assert y.data_ptr() == x.data_ptr()
        with pytest.raises(ValueError, match="unused"):
            _engine.from_dlpack(capsule)
        unused = x.__dlpack__(max_version=version)
        del unused
    del capsule, y
    assert x.untyped_storage().use_count() == 2  # the tensor and the storage object


def test_dlpack_says_read_only_or_refuses() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    x = tenora.from_numpy(array)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match="detach"):
        tenora.zeros(1, requires_grad=True).__dlpack__()


def test_dlpack_copy_is_a_copy() -> None:
    x = tenora.arange(3.0)
    y = _engine.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert y.data_ptr() != x.data_ptr() and y.tolist() == x.tolist()


def test_data_kinds() -> None:
    assert tenora.tensor(3).dtype is tenora.int64
    assert tenora.tensor(True).dtype is tenora.bool
    assert tenora.tensor(1.5).dtype is tenora.float32
    assert tenora.tensor(1j).dtype is tenora.complex64
    assert tenora.tensor(np.float64(1)).dtype is tenora.float64
    assert tenora.tensor([1, 2.5]).dtype is tenora.float32
    assert tenora.tensor([]).shape == (0,)
    assert tenora.tensor([[], []]).shape == (2, 0)
    assert tenora.tensor([np.ones(2), np.zeros(2)]).shape == (2, 2)
    assert tenora.tensor([tenora.tensor(1), tenora.tensor(2)]).tolist() == [1, 2]
    assert tenora.tensor(range(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1], [2, 3]], ValueError),
        ([[1, 2], 3], (ValueError, TypeError)),
        ("abc", TypeError),
        ([None], TypeError),
        ({1: 2}, TypeError),
        ([2**64], RuntimeError),
        (object(), TypeError),
    ],
)
def test_bad_data(data: Any, error: Any) -> None:
    with pytest.raises(error):
        tenora.tensor(data)


@pytest.mark.parametrize(
    "value", [0.0, 1.0, -2.5, 65504.0, 65520.0, 6e-8, 1e-9, 5.96e-8, float("inf"), float("-inf")]
)
def test_half_conversion_matches_numpy(value: float) -> None:
    x = tenora.tensor(value, dtype=tenora.float16)
    with np.errstate(over="ignore"):
        expected = np.float16(value)
    assert x.item() == float(expected)
