"""LBFGS and Muon against PyTorch: they have no op of their own, and states that are not the parameter's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from optim_training import CASES, MATRICES, assert_same, carried, parameters

import tenora
from tenora.optim import muon
from tenora.optim.line_search import Point, cubic_minimum


def problem(f: Any, params: list[Any]) -> Any:
    """A smooth loss with a narrow valley, the same for both."""
    target = [
        f.tensor(np.random.default_rng(9 + i).standard_normal(tuple(p.shape))) for i, p in enumerate(params)
    ]
    total = 0
    for i, (p, t) in enumerate(zip(params, target, strict=True)):
        difference = p - t
        total = total + (i + 1) * (difference * difference.conj()).abs().sum() + 0.3 * (p.abs() ** 4).sum()
    return total + 5 * (params[0].sum().abs() - params[1].sum().abs()) ** 2


def minimise(f: Any, optimizer: Any, params: list[Any], steps: int, skip: int | None = None) -> list[float]:
    losses = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = problem(f, params)
        loss.backward()
        if skip is not None:
            params[skip].grad = None
        return loss

    for _ in range(steps):
        losses.append(float(optimizer.step(closure).detach()))
    return losses


OPTIONS: dict[str, dict[str, Any]] = {
    "fixed rate": {"lr": 0.01, "max_iter": 2, "history_size": 3},
    "larger fixed rate": {"lr": 0.02, "max_iter": 4, "history_size": 3},
    "one iteration": {"lr": 0.01, "max_iter": 1},
    "strong wolfe": {
        "line_search_fn": "strong_wolfe",
        "max_iter": 3,
        "history_size": 4,
        "tolerance_grad": 0.1,
    },
    "few evaluations": {"line_search_fn": "strong_wolfe", "max_eval": 4, "max_iter": 10},
    "long first step": {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 2},
    "to the end": {"line_search_fn": "strong_wolfe", "max_iter": 60, "tolerance_grad": 1e-5},
}
#: 50, where they say something. Without a line search steps of this size scatter: two runs of PyTorch's own whose
#: starts differ by 1e-15 of their size are 4e-12 apart after 8 steps, 1e-6 after 20 and 3e-4 after 50.
STEPS = {"larger fixed rate": 8}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", OPTIONS)
def test_lbfgs(name: str, dtype: str, backend: str) -> None:
    results = []
    for f in (tenora, torch):
        params = parameters(f, dtype)
        optimizer = f.optim.LBFGS(params, **OPTIONS[name])
        losses = minimise(f, optimizer, params, STEPS.get(name, 50))
        state = optimizer.state_dict()["state"][0]
        results.append((params, losses, {key: state[key] for key in ("n_iter", "func_evals")}))
    assert_same(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
    assert results[0][2] == results[1][2]


def test_lbfgs_with_a_parameter_without_gradient() -> None:
    results = []
    for f in (tenora, torch):
        params = parameters(f)
        minimise(f, f.optim.LBFGS(params, line_search_fn="strong_wolfe", max_iter=3), params, 3, skip=2)
        results.append(params)
    assert_same(*results)


@pytest.mark.parametrize("frameworks", [(tenora, torch), (torch, tenora)], ids=["to torch", "from torch"])
def test_lbfgs_state_goes_on_elsewhere(frameworks: tuple[Any, Any]) -> None:
    first, second = frameworks
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    params, others = parameters(first), parameters(second)
    optimizer, other = first.optim.LBFGS(params, **options), second.optim.LBFGS(others, **options)
    minimise(first, optimizer, params, 2)
    for p, value in zip(others, carried(second, params), strict=True):
        p.data.copy_(value)
    other.load_state_dict(carried(second, optimizer.state_dict()))
    minimise(first, optimizer, params, 2)
    minimise(second, other, others, 2)
    assert_same(*((params, others) if first is tenora else (others, params)))


def test_lbfgs_copies_go_on() -> None:
    params = parameters(tenora)
    optimizer = tenora.optim.LBFGS(params, max_iter=3, line_search_fn="strong_wolfe")
    minimise(tenora, optimizer, params, 2)
    others, other = copy.deepcopy((params, optimizer))
    assert minimise(tenora, optimizer, params, 2) == minimise(tenora, other, others, 2)


def test_lbfgs_refusals() -> None:
    parameter = tenora.ones(1, requires_grad=True)
    with pytest.raises(TypeError, match="closure"):
        tenora.optim.LBFGS([parameter]).step()
    with pytest.raises(RuntimeError, match="expected 'strong_wolfe'"):
        tenora.optim.LBFGS([parameter], line_search_fn="armijo").step(lambda: parameter.sum())
    with pytest.raises(ValueError, match="one group"):
        tenora.optim.LBFGS([{"params": [parameter]}, {"params": [tenora.ones(1, requires_grad=True)]}])


def test_a_cubic_without_minimum_is_halved() -> None:
    gradient = tenora.zeros(1)
    a, b = Point(0.0, 0.0, gradient, -1.0), Point(1.0, -1.0, gradient, -1.0)
    assert cubic_minimum(a, Point(1.0, -5.0, gradient, -2.0), 0.0, 1.0) == 1.0
    assert cubic_minimum(a._replace(loss=float("nan")), b, 0.0, 1.0) == 0.5
    flat = a._replace(slope=0.0)
    assert cubic_minimum(flat, flat, 0.0, 1.0) == 0.5
    assert np.isnan(cubic_minimum(flat, flat._replace(t=1.0), 0.0, 1.0))  # 0 / 0, as in PyTorch


@pytest.mark.parametrize("case", [case for case, (method, _) in CASES.items() if method == "Muon"])
def test_muon_in_bfloat16(case: str, backend: str) -> None:
    """The orthogonal directions are made in it, in both: single ones agree to some of its roundings, 2^-8."""
    results = []
    options = CASES[case][1]
    for f in (tenora, torch):
        params = parameters(f, shapes=MATRICES)
        optimizer = f.optim.Muon(params, **options)
        for step in range(10):
            for i, p in enumerate(params):
                p.grad = f.tensor(np.random.default_rng(50 * step + i).standard_normal(tuple(p.shape)))
            optimizer.step()
        results.append((params, [optimizer.state[p]["momentum_buffer"] for p in params]))
    assert_same(results[0][1], results[1][1], 1e-12)
    start = parameters(tenora, shapes=MATRICES)
    for ours, theirs, old in zip(*(r[0] for r in results), start, strict=True):
        moved = np.abs(theirs.detach().numpy() - old.detach().numpy()).max()
        assert np.abs(ours.detach().numpy() - theirs.detach().numpy()).max() <= 2**-6 * moved
    direction = muon.orthogonalised(start[0].detach(), (2.0, -1.5, 0.5), 5, 1e-7)
    assert direction.dtype == tenora.bfloat16


def test_muon_goes_on_from_a_state() -> None:
    params = parameters(tenora, shapes=((3, 2),))
    optimizer, other = (tenora.optim.Muon(params, lr=0.1) for _ in range(2))
    params[0].grad = tenora.ones(3, 2, dtype=tenora.float64)
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert other.state[params[0]]["momentum_buffer"].equal(optimizer.state[params[0]]["momentum_buffer"])
    with pytest.raises(ValueError, match="fewer than 100 steps"):
        tenora.optim.Muon(params, ns_steps=100).step()
