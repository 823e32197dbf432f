"""Numbers that PyTorch also takes as complex ones without an imaginary part: taken as it does, refused with one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "histc max": lambda m, z: m.histc(m.tensor([1.0, 2.0, 1.0]), 4, 0, z),
    "histc min": lambda m, z: m.histc(m.tensor([1.0, 2.0, 1.0]), 4, min=z, max=5),
    "cond": lambda m, z: m.linalg.cond(m.tensor([[2.0, 1.0], [0.0, 1.0]]), z),
    "multi_margin_loss": lambda m, z: m.nn.functional.multi_margin_loss(
        m.tensor([[0.5, 0.25, 1.0]]), m.tensor([2]), p=z
    ),
    "hardshrink": lambda m, z: m.nn.functional.hardshrink(m.tensor([1.0, 3.0]), z),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_imaginary_part_of_zero_is_none(name: str, backend: str) -> None:
    call = CALLS[name]
    assert call(tenora, 2 + 0j).tolist() == pytest.approx(call(torch, 2 + 0j).tolist(), rel=1e-6)
    for module in (tenora, torch):
        with pytest.raises((TypeError, RuntimeError, ValueError)):
            call(module, 2 + 1j)


@pytest.mark.parametrize("step", [2 + 0j, 2 + 1j])
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [1 + 1j, 2.0, 4.0]])
@pytest.mark.parametrize("form", ["number", "list", "coordinates"])
def test_slopes_of_complex_steps(backend: str, form: str, values: list[Any], step: complex) -> None:
    found = []
    for module in (tenora, torch):
        spacing: Any = {"number": step, "list": [step]}.get(form) or [module.tensor([0.0, step, step * 3])]
        (slope,) = module.gradient(module.tensor(values), spacing=spacing)
        found.append((str(slope.dtype).rsplit(".", 1)[-1], slope.tolist()))
    assert found[0][0] == found[1][0] == "complex64"
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-6)
