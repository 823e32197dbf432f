"""Tensor.view(dtype): the same bytes read as another dtype, by PyTorch's rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda x: x,
    "0-d": lambda x: x[0, 0],
    "1-d": lambda x: x[1],
    "transposed": lambda x: x.t(),
    "window of pairs": lambda x: x[:, 2:4],
    "window at 1": lambda x: x[:, 1:5],
    "three columns": lambda x: x[:, :3],
    "one row of three": lambda x: x[:1, :3],
    "one column": lambda x: x[:, :1],
    "every second": lambda x: x[:, ::2],
    "every second row": lambda x: x[::2],
    "expanded rows": lambda x: x[:1].expand(3, 8),
    "expanded columns": lambda x: x[:, :1].expand(4, 8),
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "3-d": lambda x: x.reshape(2, 2, 8),
}


def seen(lib: Any, layout: str, source: str, target: str) -> Any:
    memory = np.arange(4 * 8 * 16, dtype=np.uint8) % 2  # bools stay bools
    # Made of bytes by view itself, whose result is checked below against NumPy.
    x = lib.from_numpy(memory).view(getattr(lib, source))[: 4 * 8].reshape(4, 8)
    try:
        y = LAYOUTS[layout](x).view(getattr(lib, target))
    except RuntimeError:
        return "refused"
    place = y.data_ptr() - x.data_ptr() if y.numel() else None
    raw = y.contiguous().reshape(-1).view(lib.uint8).numpy().tobytes()
    return tuple(y.shape), y.stride(), y.storage_offset(), str(y.dtype).split(".")[1], place, raw


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shapes_strides_and_refusals_are_pytorchs(layout: str) -> None:
    answers = 0
    for source, target in itertools.product(DTYPES, DTYPES):
        ours, theirs = seen(tenora, layout, source, target), seen(torch, layout, source, target)
        assert ours == theirs, (source, target)
        answers += ours != "refused"
    assert answers >= len(DTYPES)


@pytest.mark.parametrize("target", [d for d in DTYPES if d != "bfloat16"])
def test_bytes_are_numpys(target: str) -> None:
    array = np.linspace(1, 2, 32).reshape(4, 8)
    found = tenora.from_numpy(array).view(getattr(tenora, target)).numpy()
    assert found.tobytes() == array.tobytes() and found.dtype == np.dtype(target)


def test_forms() -> None:
    x = tenora.ones(2, 4)
    for same in (x.view(tenora.int32), x.view(dtype=tenora.int32)):
        assert same.tolist() == [[0x3F800000] * 4] * 2
    assert x.view(float).dtype == tenora.float64  # as PyTorch reads Python's types
    assert tuple(x.view(8).shape) == tuple(x.view(-1).shape) == (8,)
    with pytest.raises(TypeError):
        x.view("int32")
    with pytest.raises(RuntimeError, match=r"^\[view\] .*: got float32\[3\] .*, expected .* 2 divides"):
        tenora.ones(3).view(tenora.float64)


def test_writes_are_seen_on_both_sides(backend: str) -> None:
    for lib in (tenora, torch):
        x = lib.zeros(2)
        x.view(lib.int32)[1] = 0x3F800000
        assert x.tolist() == [0.0, 1.0] and x._version == 1


def test_gradients(backend: str) -> None:
    """None passes, as in PyTorch; what backward saved is protected all the same."""
    for lib in (tenora, torch):
        x = lib.ones(4, requires_grad=True)
        for dtype in (lib.float32, lib.int32, lib.complex64):
            assert not x.view(dtype).requires_grad and x.view(dtype)._base is None
            assert not (x * 2).view(dtype).requires_grad
        x.view(lib.int32).fill_(0)
        assert x.tolist() == [0.0] * 4
        y = x * 1
        z = y * y
        y.view(lib.int32).fill_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
