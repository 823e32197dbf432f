"""Numbers that are written into a tensor: what its dtype cannot hold is refused wherever PyTorch refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


def assigned(index: Any) -> Callable[[Any, Any, Any], Any]:
    def write(lib: Any, dtype: Any, value: Any) -> Any:
        x = lib.zeros(3, dtype=dtype)
        x[index(lib)] = value
        return x

    return write


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x[0] =": assigned(lambda lib: 0),
    "x[:2] =": assigned(lambda lib: slice(2)),
    "x[mask] =": assigned(lambda lib: lib.tensor([True, False, True])),
    "x[list] =": assigned(lambda lib: [0, 1]),
    "fill_": lambda lib, dtype, value: lib.zeros(2, dtype=dtype).fill_(value),
    "full": lambda lib, dtype, value: lib.full((2,), value, dtype=dtype),
    "full_like": lambda lib, dtype, value: lib.full_like(lib.zeros(2, dtype=dtype), value),
    "tensor": lambda lib, dtype, value: lib.tensor(value, dtype=dtype),
    "tensor of a list": lambda lib, dtype, value: lib.tensor([value, value], dtype=dtype),
}
INF, NAN = float("inf"), float("nan")
NUMBERS: list[tuple[str, Any]] = [
    *[("int64", v) for v in (NAN, INF, -INF, 1e30, -1e30, 2.7, -2.7, 2**62, -(2**63))],
    *[("int32", v) for v in (NAN, 2.0**31, -(2.0**31), 2.0**31 - 1, 2**31, 2**40)],
    *[("int8", v) for v in (127.0, 127.5, 128.0, -128.0, -129.0, 200, True)],
    *[("uint8", v) for v in (255.0, 255.5, 256.0, 300, -1, -128, -300, -0.0, -0.5, -1.5)],
    *[("bool", v) for v in (NAN, INF, 5, -1.5, 0.0, 300)],
    *[("float32", v) for v in (NAN, INF, 2**40, -0.0)],
    *[("complex64", v) for v in (NAN, INF, 3, 2.5)],
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("dtype", "value"), NUMBERS)
def test_numbers(way: str, dtype: str, value: Any, backend: str) -> None:
    found = []
    for lib in (tenora, torch):
        try:
            found.append(repr(WAYS[way](lib, getattr(lib, dtype), value).tolist()))
        except (RuntimeError, OverflowError):
            found.append("refused")
    assert found[0] == found[1]


@pytest.mark.parametrize("way", ["x[0] =", "x[:2] =", "x[mask] =", "x[list] ="])
def test_an_imaginary_part_must_find_room(way: str, backend: str) -> None:
    for lib in (tenora, torch):
        with pytest.raises(RuntimeError):
            WAYS[way](lib, lib.float32, 1j)
    assert WAYS[way](tenora, tenora.complex64, 1j)[0].item() == 1j
