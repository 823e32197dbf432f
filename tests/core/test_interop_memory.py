"""Memory of others: asarray, frombuffer and DLPack in and out, against PyTorch."""

from __future__ import annotations

import array
from typing import Any

import both
import numpy as np
import pytest
import torch

import tenora


def eight() -> bytearray:
    return bytearray(range(8))


BUFFERS: dict[str, Any] = {
    "all": lambda f: f.frombuffer(eight(), dtype=f.int16),
    "offset": lambda f: f.frombuffer(eight(), dtype=f.int32, offset=4),
    "count": lambda f: f.frombuffer(eight(), dtype=f.uint8, count=3, offset=2),
    "any negative count is all": lambda f: f.frombuffer(eight(), dtype=f.uint8, count=-3),
    "bytes": lambda f: f.frombuffer(b"abcd", dtype=f.uint8),
    "an array": lambda f: f.frombuffer(array.array("d", [1.0, 2.0]), dtype=f.float64),
    "grad": lambda f: f.frombuffer(bytearray(8), dtype=f.float32, requires_grad=True).requires_grad,
    "grad of whole numbers": lambda f: f.frombuffer(eight(), dtype=f.int32, requires_grad=True),
    "offset at the end": lambda f: f.frombuffer(eight(), dtype=f.uint8, offset=8),
    "negative offset": lambda f: f.frombuffer(eight(), dtype=f.uint8, offset=-1),
    "not whole elements": lambda f: f.frombuffer(bytearray(7), dtype=f.int32),
    "too many": lambda f: f.frombuffer(eight(), dtype=f.int32, count=3),
    "none": lambda f: f.frombuffer(eight(), dtype=f.int32, count=0),
    "empty": lambda f: f.frombuffer(bytearray(), dtype=f.uint8),
    "no buffer": lambda f: f.frombuffer([1], dtype=f.uint8),
    "no dtype": lambda f: f.frombuffer(eight()),
}

ARRAYS: dict[str, Any] = {
    "number": lambda f: f.asarray(3),
    "list": lambda f: f.asarray([1, 2.5]),
    "range": lambda f: f.asarray(range(3)),
    "bytes": lambda f: f.asarray(b"abcd", dtype=f.uint8),
    "bytes by default": lambda f: f.asarray(bytearray(8)),
    "memoryview": lambda f: f.asarray(memoryview(eight()), dtype=f.int32),
    "bytes without a copy": lambda f: f.asarray(eight(), dtype=f.int32, copy=False),
    "grad": lambda f: f.asarray([1.0], requires_grad=True).requires_grad,
    "grad of whole numbers": lambda f: f.asarray([1], requires_grad=True),
    "keeps grad": lambda f: f.asarray(f.ones(2, requires_grad=True)).requires_grad,
    "detaches": lambda f: f.asarray(f.ones(2, requires_grad=True), requires_grad=False).requires_grad,
    "dtype": lambda f: f.asarray(np.ones(2, np.float32), dtype=f.float64),
    "dtype without a copy": lambda f: f.asarray(np.ones(2, np.float32), dtype=f.float64, copy=False),
    "tensor's dtype without a copy": lambda f: f.asarray(f.ones(2), dtype=f.float64, copy=False),
    "list without a copy": lambda f: f.asarray([1], copy=False),
    "number without a copy": lambda f: f.asarray(3, copy=False),
    "device": lambda f: f.asarray([1], device="cpu"),
    "capsule": lambda f: f.asarray(f.ones(2).__dlpack__()),
    "capsule without a copy": lambda f: f.asarray(f.ones(2).__dlpack__(), copy=False),
    "capsule's dtype without a copy": lambda f: f.asarray(
        f.ones(2).__dlpack__(), dtype=f.float64, copy=False
    ),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_frombuffer(name: str) -> None:
    both.agree(BUFFERS[name])


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_asarray(name: str) -> None:
    both.agree(ARRAYS[name])


def test_asarray_shares_unless_told() -> None:
    source = np.arange(3.0)
    assert np.shares_memory(tenora.asarray(source).numpy(), source)
    assert np.shares_memory(tenora.asarray(source, copy=False).numpy(), source)
    assert not np.shares_memory(tenora.asarray(source, copy=True).numpy(), source)
    x = tenora.ones(2)
    assert tenora.asarray(x) is x
    assert tenora.asarray(x, copy=True).data_ptr() != x.data_ptr()
    grown = tenora.asarray(x, requires_grad=True)
    assert grown.data_ptr() == x.data_ptr() and not x.requires_grad
    data = eight()
    tenora.frombuffer(data, dtype=tenora.uint8)[0] = 77
    assert data[0] == 77


class Producer:
    """An object of another library, which counts how often its memory is taken."""

    def __init__(self) -> None:
        self.array, self.taken = np.arange(3.0), 0

    def __dlpack__(self, **options: Any) -> Any:
        self.taken += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("copy", [None, False, True])
def test_asarray_takes_memory_once(copy: bool | None) -> None:
    source = Producer()
    taken = tenora.asarray(source, copy=copy)
    assert taken.tolist() == [0, 1, 2] and source.taken == 1
    assert np.shares_memory(taken.numpy(), source.array) != bool(copy)


def test_asarray_without_a_copy_minds_the_default_device() -> None:
    tenora.set_default_device("elsewhere")
    try:
        with pytest.raises(
            ValueError, match=r"copy=False cannot be kept: .* on cpu, expected .* on elsewhere"
        ):
            tenora.asarray(np.ones(2), copy=False)
    finally:
        tenora.set_default_device(None)


def test_typed_buffers_keep_their_dtype() -> None:
    assert tenora.asarray(array.array("d", [1.0, 2.0])).dtype is tenora.float64


def test_read_only_memory_stays_read_only() -> None:
    x = tenora.frombuffer(b"abcd", dtype=tenora.uint8)
    with pytest.raises(RuntimeError, match="read"):
        x[0] = 1
    shown = np.from_dlpack(x)
    assert not shown.flags.writeable
    back = tenora.from_dlpack(shown)
    with pytest.raises(RuntimeError, match="read"):
        back.zero_()


DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
]


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_with_pytorch_both_ways(name: str) -> None:
    theirs = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, name)).t()
    ours = tenora.from_dlpack(theirs)
    assert ours.data_ptr() == theirs.data_ptr() and ours.stride() == theirs.stride()
    assert ours.dtype is getattr(tenora, name) and ours.tolist() == theirs.tolist()
    back = torch.from_dlpack(ours)
    assert (
        back.data_ptr() == ours.data_ptr() and back.dtype == theirs.dtype and back.tolist() == ours.tolist()
    )


DLPACK: dict[str, Any] = {
    "round": lambda f: f.from_dlpack(f.ones(2, 3)),
    "number": lambda f: f.from_dlpack(f.tensor(1.0)),
    "empty": lambda f: f.from_dlpack(f.ones(0, 3)),
    "device": lambda f: f.from_dlpack(np.ones(2), device="cpu"),
    "copy": lambda f: f.from_dlpack(np.ones(2), copy=True),
    "utils": lambda f: f.utils.dlpack.from_dlpack(f.utils.dlpack.to_dlpack(f.ones(2))),
    "to_dlpack": lambda f: f.from_dlpack(f.to_dlpack(f.ones(2))),
    "numpy": lambda f: f.from_numpy(np.from_dlpack(f.ones(2))),
    "numpy on a device": lambda f: f.from_numpy(np.from_dlpack(f.ones(2), device="cpu", copy=True)),
    "where": lambda f: tuple(map(int, f.ones(2).__dlpack_device__())),
    "do not wait": lambda f: type(f.ones(2).__dlpack__(stream=-1)).__name__,
    "stream of another type": lambda f: f.ones(2).__dlpack__(stream="main"),
    "copy of another type": lambda f: f.ones(2).__dlpack__(copy=3),
    "grad": lambda f: f.ones(2, requires_grad=True).__dlpack__(),
    "legacy": lambda f: '"dltensor"' in repr(f.ones(2).__dlpack__()),
    "old consumer": lambda f: '"dltensor"' in repr(f.ones(2).__dlpack__(max_version=(0, 8))),
    "versioned": lambda f: '"dltensor_versioned"' in repr(f.ones(2).__dlpack__(max_version=(1, 0))),
    "newer consumer": lambda f: '"dltensor_versioned"' in repr(f.ones(2).__dlpack__(max_version=(9, 0))),
    "same device": lambda f: type(f.ones(2).__dlpack__(dl_device=(1, 0))).__name__,
}


@pytest.mark.parametrize("name", DLPACK)
def test_dlpack_as_pytorch(name: str) -> None:
    both.agree(DLPACK[name])


def test_dlpack_refusals() -> None:
    x = tenora.ones(2)
    with pytest.raises(BufferError, match="streams"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="asarray"):
        tenora.from_dlpack(3)
    with pytest.raises(BufferError, match=r"\.detach\(\)"):
        np.from_dlpack(tenora.ones(2, requires_grad=True))
    capsule = x.__dlpack__()
    tenora.from_dlpack(capsule)
    with pytest.raises(ValueError, match="unused"):
        tenora.from_dlpack(capsule)


def test_dates_have_no_buffer() -> None:
    """NumPy refuses them with a ValueError of its own, where others raise TypeError."""
    with pytest.raises(ValueError, match=r"\[frombuffer\] buffer is wrong: got ndarray"):
        tenora.frombuffer(np.zeros(2, "datetime64[s]"), dtype=tenora.int64)
