"""fill_, full and full_like with values that have a history or are complex, as PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tenora


def gradients(f: Any) -> list[Any]:
    value = f.tensor(2.0, requires_grad=True)
    filled = f.zeros(3)
    filled.fill_(value)
    filled.sum().backward()
    x = f.ones(2, requires_grad=True)
    y = x * 2
    y.fill_(x.sum())
    (y**2).sum().backward()
    return [filled.tolist(), value.grad.item(), x.grad.tolist()]


def test_a_value_keeps_its_history(backend: str) -> None:
    assert gradients(tenora) == gradients(torch)


def test_a_leaf_is_filled_without_recording(backend: str) -> None:
    weight, value = tenora.ones(2, requires_grad=True), tenora.tensor(3.0, requires_grad=True)
    with tenora.no_grad():
        weight.fill_(value)
    assert weight.tolist() == [3.0, 3.0] and weight.is_leaf


def test_complex_values(backend: str) -> None:
    for f in (tenora, torch):
        assert f.zeros(2, dtype=f.complex64).fill_(1j).tolist() == [1j, 1j]
        assert f.full((2,), 2 + 1j).dtype == f.complex64
        assert f.full((2,), 2 + 1j).tolist() == [2 + 1j, 2 + 1j]
        assert f.full_like(f.zeros(2, dtype=f.complex128), 1j).tolist() == [1j, 1j]


def test_what_is_refused(backend: str) -> None:
    value = tenora.tensor(2.0, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"\[fill\] value does not fit: got a complex number for .*float32"
    ):
        tenora.zeros(2).fill_(1j)
    with pytest.raises(RuntimeError, match=r"\[fill\] value: got 1 dimensions, expected a number"):
        tenora.zeros(2).fill_(tenora.zeros(2))
    with pytest.raises(TypeError, match=r"\[full\] fill_value is wrong: got Tensor"):
        tenora.full((2,), value)
    with pytest.raises(TypeError, match=r"alpha is wrong: got Tensor"):
        tenora.add(tenora.ones(2), tenora.ones(2), alpha=value)
