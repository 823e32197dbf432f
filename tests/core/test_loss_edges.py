"""Losses at the ends of their domains, where a formula may lose its digits or take the difference of two infinities."""

from __future__ import annotations

import math

import pytest

import tenora
from tenora_ops.tolerance import EPSILON

F = tenora.nn.functional


@pytest.mark.parametrize(("x", "y"), [(math.inf, 0.0), (math.inf, 0.5)])
def test_infinite_logits_cost_infinity(x: float, y: float) -> None:
    found = F.binary_cross_entropy_with_logits(tenora.tensor([x]), tenora.tensor([y]), reduction="none")
    assert found.tolist() == [math.inf]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_loss_of_a_small_probability_keeps_its_digits(dtype: str) -> None:
    """-log(1 - x) of a small x, which 1 - x has rounded away; its gradient by the target is log((1 - x) / x)."""
    x = tenora.tensor([2.0**-20], dtype=getattr(tenora, dtype))
    y = tenora.zeros_like(x).requires_grad_()
    loss = F.binary_cross_entropy(x, y)
    loss.backward()
    assert loss.item() == pytest.approx(-math.log1p(-(2.0**-20)), rel=4 * EPSILON[dtype])
    assert y.grad is not None
    assert y.grad.item() == pytest.approx(math.log1p(-(2.0**-20)) + 20 * math.log(2), rel=4 * EPSILON[dtype])
