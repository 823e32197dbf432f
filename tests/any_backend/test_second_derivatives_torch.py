"""Second derivatives of functions of straight pieces: zeros as PyTorch has them, where none would be an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora
import tenora.nn.functional as F

pytestmark = pytest.mark.oracle

#: Name -> a function of piecewise slope, whose second derivative is 0 wherever it is asked for.
STRAIGHT: dict[str, Callable[[Any, Any], Any]] = {
    "leaky_relu": lambda f, x: f.leaky_relu(x),
    "leaky_relu in place": lambda f, x: f.leaky_relu(x * 1, inplace=True),
    "hardtanh": lambda f, x: f.hardtanh(x),
    "relu6": lambda f, x: f.relu6(x),
    "softshrink": lambda f, x: f.softshrink(x),
    "hardshrink": lambda f, x: f.hardshrink(x),
    "threshold": lambda f, x: f.threshold(x, 0.5, 2.0),
    "rrelu": lambda f, x: f.rrelu(x),
    "max_pool1d": lambda f, x: f.max_pool1d(x, 2),
    "avg_pool1d of a result": lambda f, x: f.avg_pool1d(x * 2, 2),
    "adaptive_max_pool1d": lambda f, x: f.adaptive_max_pool1d(x, 2),
    "max_pool2d": lambda f, x: f.max_pool2d(x.reshape(1, 1, 2, 2), 2),
    "avg_pool2d": lambda f, x: f.avg_pool2d(x.reshape(1, 1, 2, 2), 2),
    "adaptive_avg_pool1d": lambda f, x: f.adaptive_avg_pool1d(x, 2),
    "prelu": lambda f, x: f.prelu(x, x[0, 0, :1].detach()),
    "nll_loss": lambda f, x: f.nll_loss(x.reshape(2, 2), x.reshape(2, 2).detach().argmax(1)),
    "reflected": lambda f, x: f.pad(x, (1, 1), mode="reflect"),
    "repeated": lambda f, x: f.pad(x, (1, 1), mode="replicate"),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_second_derivatives_of_lines_are_zeros(name: str, backend: str) -> None:
    found = []
    for module, functional in ((tenora, F), (torch, torch.nn.functional)):
        x: Any = module.tensor([[[1.0, -1.0, 0.0, 7.0]]], requires_grad=True)
        result = STRAIGHT[name](functional, x)
        (slope,) = module.autograd.grad(result.sum(), x, create_graph=True)
        found.append([slope.tolist(), module.autograd.grad(slope.sum(), x)[0].tolist()])
    assert found[0] == found[1]


def test_a_penalty_on_gradients_reaches_what_made_the_operand(backend: str) -> None:
    """Through the history of an operand of which only the shape is kept."""
    found = []
    for module, functional in ((tenora, F), (torch, torch.nn.functional)):
        x: Any = module.tensor([[[1.0, 2.0, -3.0, 4.0]]], requires_grad=True)
        (slope,) = module.autograd.grad(functional.avg_pool1d(x * x, 2).sum() * x.sum(), x, create_graph=True)
        slope.pow(2).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]
