"""Integers at the edges of their dtypes: 64 bits without a sign, and what does not fit."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import tenora

TOP = 2**64 - 1


@pytest.mark.parametrize("value", [2**63, 2**63 + 5, TOP])
def test_uint64_takes_and_gives_numbers_of_64_bits(backend: str, value: int) -> None:
    made = [
        tenora.tensor([value], dtype=tenora.uint64),
        tenora.tensor([[value]], dtype=tenora.uint64).reshape(1),
        tenora.full((1,), value, dtype=tenora.uint64),
        tenora.full_like(tenora.zeros(1, dtype=tenora.uint64), value),
        tenora.zeros(1, dtype=tenora.uint64).fill_(value),
        tenora.zeros(1, dtype=tenora.uint64) + value,
        tenora.tensor(np.uint64(value), dtype=tenora.uint64).reshape(1),
    ]
    written = tenora.zeros(3, dtype=tenora.uint64)
    written[1] = value
    written[2:] = value
    assert written.tolist() == [0, value, value]
    for t in made:
        assert t.dtype == tenora.uint64
        assert t.tolist() == [value]
        assert t.item() == int(t) == operator.index(t[0]) == value
        assert bool((t == value).all())


def test_numbers_of_64_bits_beside_floats_are_floats(backend: str) -> None:
    assert (tenora.ones(1) * 2**63).item() == 2.0**63
    assert (tenora.ones(1, dtype=tenora.float64) + TOP).item() == 2.0**64
    assert tenora.full((1,), 2**63, dtype=tenora.float32).item() == 2.0**63
    assert tenora.tensor(2**70, dtype=tenora.float32).item() == 2.0**70
    x = tenora.ones(1, requires_grad=True)
    (x * 2**63).sum().backward()
    assert x.grad is not None and x.grad.item() == 2.0**63


CALLS: dict[str, Any] = {
    "tensor": lambda: tenora.tensor([300], dtype=tenora.int8),
    "tensor of one": lambda: tenora.tensor(2**63),
    "tensor of 70 bits": lambda: tenora.tensor(2**70),
    "full": lambda: tenora.full((1,), 300, dtype=tenora.uint8),
    "fill": lambda: tenora.zeros(1, dtype=tenora.int8).fill_(-129),
    "setitem": lambda: operator.setitem(tenora.zeros(2, dtype=tenora.int16), 0, 40000),
    "add": lambda: tenora.zeros(1) + 2**70,
    "radd": lambda: -(2**70) + tenora.zeros(1),
    "mul": lambda: tenora.zeros(1).mul_(2**64),
    "add to int64": lambda: tenora.zeros(1, dtype=tenora.int64) + 2**63,
    "sum": lambda: tenora.zeros(1).sum(2**70),
    "reshape": lambda: tenora.zeros(1).reshape(2**70),
    "getitem": lambda: tenora.zeros(1)[2**70],
    "getitem of two": lambda: tenora.zeros(1, 1)[0, 2**70],
}


@pytest.mark.parametrize("name", CALLS)
def test_what_does_not_fit_is_an_error_that_names_the_op(name: str) -> None:
    op = {"radd": "add"}.get(name, name.partition(" ")[0])
    with pytest.raises(RuntimeError, match=rf"^\[{op}\] .*(overflow|out of range)"):
        CALLS[name]()


def test_negative_numbers_wrap_in_unsigned_dtypes_as_in_pytorch() -> None:
    assert tenora.tensor([-1], dtype=tenora.uint8).item() == 255
    assert tenora.zeros(1, dtype=tenora.uint8).fill_(-1).item() == 255
    assert tenora.full((1,), -128, dtype=tenora.int8).item() == -128


@pytest.mark.parametrize("arguments", [{"max_version": "a"}, {"max_version": (1, "a")}, {"max_version": (1,)},
                                       {"dl_device": "cpu"}, {"copy": "yes"}])  # fmt: skip
def test_dlpack_refuses_arguments_of_other_types(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=rf"\[__dlpack__\] {next(iter(arguments))} is wrong"):
        tenora.ones(2).__dlpack__(**arguments)
    assert tenora.from_dlpack(tenora.ones(2)).tolist() == [1, 1]


def test_arange_counts_in_exact_integers(backend: str) -> None:
    top = [2**63, 2**63 + 1, 2**63 + 2]
    assert tenora.arange(2**63, 2**63 + 3, dtype=tenora.uint64).tolist() == top
    assert tenora.arange(2**63, 2**64 - 1, 2**62, dtype=tenora.float64).tolist() == [2.0**63, 1.5 * 2**63]
    assert tenora.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert tenora.arange(2**63 - 1, -(2**63), -(2**63)).tolist() == [2**63 - 1, -1]
    with pytest.raises(RuntimeError, match=r"^\[arange\] too many elements"):
        tenora.arange(-(2**63), 2**63 - 1)
    with pytest.raises(RuntimeError, match=r"^\[arange\] value cannot be converted to int64"):
        tenora.arange(2**63, 2**63 + 3)
