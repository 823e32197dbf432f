"""Layers, losses and optimizers against PyTorch: same weights, same input, same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from engine_fixtures import installed

import tenora


def arrays(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(shape) for shape in shapes]


def mlp(f: Any, weights: list[np.ndarray[Any, Any]]) -> Any:
    net = f.nn.Sequential(
        f.nn.Linear(6, 8), f.nn.Tanh(), f.nn.Linear(8, 8), f.nn.ReLU(), f.nn.Linear(8, 4)
    ).double()
    with f.no_grad():
        for parameter, value in zip(net.parameters(), weights, strict=True):
            parameter.copy_(f.tensor(value))
    return net


def train(f: Any, make_optimizer: Any, steps: int = 50) -> tuple[list[float], list[np.ndarray[Any, Any]]]:
    weights = arrays((8, 6), (8,), (8, 8), (8,), (4, 8), (4,))
    net = mlp(f, [w * 0.3 for w in weights])
    optimizer = make_optimizer(f, net)
    x = f.tensor(arrays((10, 6), seed=1)[0])
    y = f.tensor(np.arange(10) % 4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = f.nn.CrossEntropyLoss()(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().numpy().copy() for p in net.parameters()]


OPTIMIZERS = {
    "sgd": lambda f, net: f.optim.SGD(net.parameters(), lr=0.1),
    "sgd momentum": lambda f, net: f.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-2),
    "sgd dampening": lambda f, net: f.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, dampening=0.3),
    "sgd nesterov": lambda f, net: f.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True),
    "sgd maximize": lambda f, net: f.optim.SGD(net.parameters(), lr=0.01, maximize=True),
    "adam": lambda f, net: f.optim.Adam(net.parameters(), lr=0.01),
    "adam amsgrad": lambda f, net: f.optim.Adam(net.parameters(), lr=0.01, amsgrad=True, weight_decay=1e-2),
    "adamw": lambda f, net: f.optim.AdamW(net.parameters(), lr=0.01),
    "adam maximize": lambda f, net: f.optim.Adam(net.parameters(), lr=0.001, maximize=True),
    "groups": lambda f, net: f.optim.SGD(
        [
            {"params": net[0].parameters(), "lr": 0.2},
            {"params": [*net[2].parameters(), *net[4].parameters()]},
        ],
        lr=0.05,
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_over_50_steps(name: str, backend: str) -> None:
    ours, our_weights = train(tenora, OPTIMIZERS[name])
    theirs, their_weights = train(torch, OPTIMIZERS[name])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    for a, b in zip(our_weights, their_weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["sgd momentum", "adam", "adamw"])
def test_optimizer_state_resumes_to_the_bit(name: str, backend: str) -> None:
    def run(interrupted: bool) -> list[list[float]]:
        net = mlp(tenora, [w * 0.3 for w in arrays((8, 6), (8,), (8, 8), (8,), (4, 8), (4,))])
        optimizer = OPTIMIZERS[name](tenora, net)
        x = tenora.tensor(arrays((10, 6), seed=1)[0])
        for step in range(6):
            if interrupted and step == 3:
                state = optimizer.state_dict()
                optimizer = OPTIMIZERS[name](tenora, net)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
        return [p.flatten().tolist() for p in net.parameters()]

    assert run(False) == run(True)


WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])
LOSSES: dict[str, Any] = {
    "cross_entropy": lambda f, x, y, r: f.nn.functional.cross_entropy(x, y, reduction=r),
    "cross_entropy ignore": lambda f, x, y, r: f.nn.functional.cross_entropy(
        x, y, ignore_index=1, reduction=r
    ),
    "nll": lambda f, x, y, r: f.nn.functional.nll_loss(f.nn.functional.log_softmax(x, 1), y, reduction=r),
    "mse": lambda f, x, y, r: f.nn.functional.mse_loss(x, x.detach() * 2 + 1, reduction=r),
    "module with weights": lambda f, x, y, r: f.nn.CrossEntropyLoss(f.tensor(WEIGHTS), reduction=r)(x, y),
    "module with smoothing": lambda f, x, y, r: f.nn.CrossEntropyLoss(
        f.tensor(WEIGHTS), ignore_index=1, reduction=r, label_smoothing=0.1
    )(x, y),
    "module on probabilities": lambda f, x, y, r: f.nn.CrossEntropyLoss(reduction=r)(
        x, f.nn.functional.softmax(x.detach() * 2, 1)
    ),
    "nll module with weights": lambda f, x, y, r: f.nn.NLLLoss(f.tensor(WEIGHTS), reduction=r)(x, y),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str, backend: str) -> None:
    results = []
    for f in (tenora, torch):
        x = f.tensor(arrays((5, 4))[0], requires_grad=True)
        loss = LOSSES[name](f, x, f.tensor(np.array([0, 1, 2, 3, 1])), reduction)
        loss.sum().backward()
        results.append((loss.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_initial_distributions() -> None:
    tenora.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = tenora.nn.Linear(100, 500), torch.nn.Linear(100, 500)
    for a, b in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        x, y = a.detach().numpy(), b.detach().numpy()
        assert abs(x).max() <= abs(y).max() * 1.01
        np.testing.assert_allclose(x.std(), y.std(), rtol=0.08)
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.skipif(
    "cpu_mkl" not in installed("cpu"), reason="needs a native backend: install tenora-cpu-mkl"
)
@pytest.mark.parametrize("name", ["sgd momentum", "adam", "adam amsgrad"])
def test_one_fused_call_takes_parameters_of_all_shapes(name: str) -> None:
    """The native backend's step kernel runs once for the whole list, and no composite runs beside it."""
    with tenora.use_backend("cpu_mkl"):
        net = mlp(tenora, arrays((8, 6), (8,), (8, 8), (8,), (4, 8), (4,)))
        optimizer = OPTIMIZERS[name](tenora, net)
        for _ in range(2):
            optimizer.zero_grad()
            net(tenora.tensor(arrays((10, 6))[0])).square().sum().backward()
            with tenora.profiler.profile() as recorded:
                optimizer.step()
    kernels = [event["op"] for event in recorded.events if event["kind"].lower() == "kernel"]
    assert kernels in (["sgd_step"], ["adam_update"], ["amsgrad_update"])


LINEAR_SHAPES = {
    "rows": ((5, 3), (4, 3), (4,)),
    "one row": ((3,), (4, 3), (4,)),
    "stacks of rows": ((2, 3, 5, 3), (4, 3), (4,)),
    "no row": ((2, 0, 3), (4, 3), (4,)),
    "no input features": ((2, 2, 0), (4, 0), (4,)),
    "no output features": ((2, 2, 3), (0, 3), (0,)),
    "weight of rank 1": ((2, 5, 3), (3,), ()),
    "row and weight of rank 1": ((3,), (3,), ()),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("through_sum", [False, True], ids=["dense gradient", "expanded gradient"])
@pytest.mark.parametrize("shapes", LINEAR_SHAPES)
def test_linear_gradients(shapes: str, through_sum: bool, dtype: str) -> None:
    results = []
    for f in (tenora, torch):
        operands = [
            f.tensor(x, dtype=getattr(f, dtype)).requires_grad_() for x in arrays(*LINEAR_SHAPES[shapes])
        ]
        y = f.nn.functional.linear(*operands)
        (y.sum() if through_sum else (y * y * y).sum()).abs().backward()
        results.append([y.detach().numpy(), *(x.grad.numpy() for x in operands)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
