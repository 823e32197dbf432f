"""Random numbers drawn into a tensor with a history, or from one: the gradient of both is zero, as PyTorch has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "normal_": lambda m, y: y.normal_(),
    "uniform_": lambda m, y: y.uniform_(-1, 1),
    "exponential_": lambda m, y: y.exponential_(),
    "log_normal_": lambda m, y: y.log_normal_(),
    "cauchy_": lambda m, y: y.cauchy_(),
    "geometric_": lambda m, y: y.geometric_(0.5),
    "bernoulli_": lambda m, y: y.bernoulli_(),
    "bernoulli_ of a tensor": lambda m, y: y.bernoulli_(m.tensor(0.5)),
    "random_": lambda m, y: y.random_(),
    "random_ to": lambda m, y: y.random_(5),
    "random_ from and to": lambda m, y: y.random_(2, 5),
}
LIBRARIES = (torch, tenora)


@pytest.mark.parametrize("name", DRAWS)
def test_the_gradient_ends_at_what_was_drawn(backend: str, name: str) -> None:
    for m in LIBRARIES:
        x = m.ones(3, requires_grad=True)
        y = x * 2
        assert DRAWS[name](m, y) is y and y.requires_grad and not y.is_leaf
        (y * 3).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", DRAWS)
def test_through_a_view_the_rest_keeps_its_gradient(backend: str, name: str) -> None:
    for m in LIBRARIES:
        x = m.ones(3, requires_grad=True)
        y = x * 2
        DRAWS[name](m, y[:2])
        (y * 3).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 6.0]


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_numbers_as_without_a_history(backend: str, name: str) -> None:
    drawn = []
    for history in (False, True):
        tenora.manual_seed(3)
        y = tenora.ones(5, requires_grad=history) * 1
        drawn.append(DRAWS[name](tenora, y).tolist())
        assert y._version == 1
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", DRAWS)
def test_leaves_and_parts_of_lists_are_refused(backend: str, name: str) -> None:
    for m in LIBRARIES:
        x = m.ones(4, requires_grad=True)
        for target in (x, x[:2], (x * 1).split(2)[0]):
            with pytest.raises(RuntimeError):
                DRAWS[name](m, target)
        with m.no_grad():
            DRAWS[name](m, x)
        assert x.requires_grad and x.is_leaf
    with pytest.raises(RuntimeError, match=rf"^\[{name.split()[0].rstrip('_')}_?\] a leaf"):
        DRAWS[name](tenora, tenora.ones(4, requires_grad=True))


PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli": lambda m, p: m.bernoulli(p),
    "bernoulli_": lambda m, p: m.zeros(3).bernoulli_(p),
    "bernoulli_ in double precision": lambda m, p: m.zeros(3).bernoulli_(p.double()),
    "bernoulli_ of one number": lambda m, p: m.zeros(3).bernoulli_(p[0]),
    "normal of means": lambda m, p: m.normal(p, 1.0),
    "normal of deviations": lambda m, p: m.normal(0.0, p),
    "normal of both": lambda m, p: m.normal(p, p.double()),
    "normal of infinite means": lambda m, p: m.normal(m.where(p < 1, p, float("inf")), 1.0),
    "poisson": lambda m, p: m.poisson(p),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_gradient_by_the_parameters_is_zero(backend: str, name: str) -> None:
    for m in LIBRARIES:
        p = m.tensor([0.25, 0.5, 1.0], requires_grad=True)
        y = PARAMETERS[name](m, p)
        assert y.requires_grad and not y.is_leaf
        y.backward(m.ones(3, dtype=y.dtype))
        assert p.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_need_gradients_draw_the_same_numbers(backend: str, name: str) -> None:
    drawn = []
    for needs in (False, True):
        tenora.manual_seed(3)
        drawn.append(PARAMETERS[name](tenora, tenora.tensor([0.25, 0.5, 1.0], requires_grad=needs)).tolist())
    assert drawn[0] == drawn[1]


def test_what_was_saved_before_is_missed(backend: str) -> None:
    for m in LIBRARIES:
        y = m.ones(3, requires_grad=True) * 2
        square = y * y
        y.normal_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            square.sum().backward()
