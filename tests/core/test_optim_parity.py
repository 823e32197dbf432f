"""Every optimizer over 50 steps against PyTorch in float64, to 1e-6 relative, on every backend."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from optim_training import (
    CASES,
    ELEMENTWISE,
    assert_same,
    double_directions,
    give_gradients,
    parameters,
    shapes_for,
    train,
)

import tenora

__all__ = ["double_directions"]
pytestmark = pytest.mark.usefixtures("double_directions")


def pair(case: str, dtype: str = "float64", **more: Any) -> list[tuple[Any, list[Any], Any]]:
    """Framework, parameters and optimizer of both sides."""
    method, options = CASES[case]
    found = []
    for f in (tenora, torch):
        params = parameters(f, dtype, shapes_for(method))
        own = {name: value(f) if callable(value) else value for name, value in more.items()}
        found.append((f, params, getattr(f.optim, method)(params, **{**options, **own})))
    return found


@pytest.mark.parametrize("case", CASES)
def test_50_steps(case: str, backend: str) -> None:
    (_, ours, _), (_, theirs, _) = both = pair(case)
    for f, params, optimizer in both:
        train(f, optimizer, params)
    assert_same(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_float32(case: str) -> None:
    """The same numbers at the precision of float32, over few steps."""
    (_, ours, _), (_, theirs, _) = both = pair(case, "float32")
    for f, params, optimizer in both:
        train(f, optimizer, params, 5)
    assert_same(ours, theirs, 1e-4)


PLAIN = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD"]


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("decay", [0, 0.5])
def test_infinite_parameters(method: str, decay: float, backend: str) -> None:
    """Without decay they stay what they are, and their gradient's mean is no NaN: 0 * inf would be."""
    found = []
    for f in (tenora, torch):
        p = f.nn.Parameter(f.tensor([float("inf"), -float("inf"), 1.0] * 4))
        optimizer = getattr(f.optim, method)([p], lr=0.5, weight_decay=decay)
        for _ in range(2):
            p.grad = f.ones(12)
            optimizer.step()
        states = {k: v for k, v in optimizer.state[p].items() if f.is_tensor(v) and v.ndim and k != "ax"}
        found.append([p.detach(), *(states[name] for name in sorted(states))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(torch.tensor(ours.tolist()), theirs, equal_nan=True)
    assert decay or not found[0][0].isnan().any()


@pytest.mark.parametrize("nesterov", [False, True])
def test_infinite_gradients_with_momentum(nesterov: bool, backend: str) -> None:
    found = []
    for f in (tenora, torch):
        p = f.nn.Parameter(f.ones(9))
        optimizer = f.optim.SGD([p], lr=0.5, momentum=0.9, nesterov=nesterov)
        p.grad = f.tensor([float("inf"), -float("inf"), 1.0] * 3)
        optimizer.step()
        found.append(p.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_complex_parameters(case: str, backend: str) -> None:
    """Both parts are parameters of their own, as in PyTorch."""
    (_, ours, _), (_, theirs, _) = both = pair(case, "complex128")
    for f, params, optimizer in both:
        train(f, optimizer, params, 20)
    assert_same(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_lr_as_a_tensor(case: str) -> None:
    """It is read at each step, so that a scheduler may fill it."""
    (_, ours, _), (_, theirs, _) = both = pair(case, lr=lambda f: f.tensor(0.02, dtype=f.float64))
    for f, params, optimizer in both:
        train(f, optimizer, params, 5)
        optimizer.param_groups[0]["lr"].fill_(0.004)
        train(f, optimizer, params, 5, start=5)
    assert_same(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_parameters_without_gradient_are_skipped(case: str, backend: str) -> None:
    """Each counts its own steps from the first gradient on."""
    (_, ours, _), (_, theirs, _) = both = pair(case)
    for f, params, optimizer in both:
        params[2].requires_grad_(False)
        for step in range(12):
            give_gradients(f, params, step, skip=step % 5 if step < 6 else None)
            if step < 9:
                params[2].grad = None
            optimizer.step()
    assert_same(ours, theirs)


@pytest.mark.parametrize("method", dict.fromkeys(method for method, _ in CASES.values()))
def test_groups_have_options_of_their_own(method: str) -> None:
    results = []
    for f in (tenora, torch):
        params = parameters(f, shapes=shapes_for(method))
        groups = [{"params": params[:2]}, {"params": params[2:4], "lr": 0.05}]
        optimizer = getattr(f.optim, method)(groups, lr=0.01)
        train(f, optimizer, params[:4], 5)
        optimizer.add_param_group({"params": params[4], "lr": 0.002})
        train(f, optimizer, params, 5, start=5)
        results.append(params)
    assert_same(*results)


@pytest.mark.parametrize("case", ["sgd momentum", "adam", "rmsprop both", "nadam"])
def test_mixed_dtypes_and_layouts(case: str, backend: str) -> None:
    """A list that no one kernel call takes: float32 and float64, transposed, complex."""
    method, options = CASES[case]
    results = []
    for f in (tenora, torch):
        params = [
            *parameters(f)[:2],
            *parameters(f, "float32", ((3, 2), ()))[:2],
            *parameters(f, "complex64", ((2, 2),)),
        ]
        params.append(f.nn.Parameter(parameters(f)[0].detach().t()))
        optimizer = getattr(f.optim, method)(params, **options)
        train(f, optimizer, params, 5)
        results.append(params)
    assert_same(*results, tolerance=1e-4)


def test_betas_as_tensors() -> None:
    (_, ours, _), (_, theirs, _) = both = pair("adam", betas=lambda f: (f.tensor(0.7), f.tensor(0.8)))
    for f, params, optimizer in both:
        train(f, optimizer, params, 5)
    assert_same(ours, theirs)


def test_weight_decay_of_sgd_as_a_tensor() -> None:
    (_, ours, _), (_, theirs, _) = both = pair("sgd momentum", weight_decay=lambda f: f.tensor(0.1))
    for f, params, optimizer in both:
        train(f, optimizer, params, 5)
    assert_same(ours, theirs)
