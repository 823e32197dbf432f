"""The programs that are timed: one source for every framework.

A case is a function of the framework module (`tenora`, `torch` or `numpy`) that returns a Case: `run(n)` repeats the
work n times, `result()` gives numbers that must agree between the frameworks. Data comes from one NumPy generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Framework = Any


@dataclass
class Case:
    """One program, prepared."""

    run: Callable[[int], None]
    result: Callable[[], list[float]]


def _data(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _tensor(f: Framework, array: np.ndarray[Any, Any], grad: bool = False) -> Any:
    if f.__name__ == "numpy":
        return array
    tensor = f.tensor(array)
    return tensor.requires_grad_() if grad else tensor


def _flat(value: Any) -> list[float]:
    return [float(x) for x in np.asarray(value.detach() if hasattr(value, "detach") else value).ravel()]


def add(f: Framework) -> Case:
    """`a + b`, 16 floats, nothing recorded."""
    a, b = _tensor(f, _data(16)), _tensor(f, _data(16, seed=1))

    def run(n: int) -> None:
        for _ in range(n):
            a + b

    return Case(run, lambda: _flat(a + b))


def add_taped(f: Framework) -> Case:
    """`a + b`, 16 floats, one operand needs a gradient."""
    a, b = _tensor(f, _data(16), grad=True), _tensor(f, _data(16, seed=1))

    def run(n: int) -> None:
        for _ in range(n):
            a + b

    return Case(run, lambda: _flat(a + b))


def chain(f: Framework) -> Case:
    """20 pointwise operations on 16 floats, forward and backward."""
    x, w = _tensor(f, _data(16), grad=True), _tensor(f, _data(16, seed=1))

    def step() -> None:
        x.grad = None
        y = x
        for _ in range(10):
            y = y * w
            y = y + w
        y.sum().backward()

    def run(n: int) -> None:
        for _ in range(n):
            step()

    def result() -> list[float]:
        step()
        return _flat(x.grad)

    return Case(run, result)


def matmul_chain(f: Framework) -> Case:
    """31 operations matmul, add, relu on 8 x 8, forward and backward."""
    x = _tensor(f, _data(8, 8) / 4, grad=True)
    w = _tensor(f, _data(8, 8, seed=1) / 4, grad=True)
    b = _tensor(f, _data(8, seed=2) / 4, grad=True)

    def step() -> None:
        x.grad = w.grad = b.grad = None
        y = x
        for _ in range(10):
            y = y @ w
            y = y + b
            y = y.relu()
        y.sum().backward()

    def run(n: int) -> None:
        for _ in range(n):
            step()

    def result() -> list[float]:
        step()
        return _flat(x.grad) + _flat(w.grad) + _flat(b.grad)

    return Case(run, result)


def _mlp(f: Framework, batch: int) -> Case:
    net = f.nn.Sequential(
        f.nn.Linear(64, 64), f.nn.ReLU(), f.nn.Linear(64, 64), f.nn.ReLU(), f.nn.Linear(64, 10)
    )
    with f.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(f.tensor(_data(*parameter.shape, seed=number) * 0.1))
    optimizer = f.optim.Adam(net.parameters(), lr=1e-3)
    loss_function = f.nn.CrossEntropyLoss()
    x = f.tensor(_data(batch, 64, seed=9))
    y = f.tensor(np.arange(batch) % 10)
    losses: list[float] = []

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        losses.append(step().item())
    # Timed on the same numbers however many steps a side takes: a batch learnt by heart, and moments of gradients that
    # have become 0, end in denormals, and the faster side would get there sooner.
    optimizer = f.optim.Adam(net.parameters(), lr=0.0)

    def run(n: int) -> None:
        for _ in range(n):
            step()

    return Case(run, lambda: losses)


def mlp_1(f: Framework) -> Case:
    """MLP 64-64-64-10, training step with Adam, batch 1."""
    return _mlp(f, 1)


def mlp_32(f: Framework) -> Case:
    """MLP 64-64-64-10, training step with Adam, batch 32."""
    return _mlp(f, 32)


def lstm(f: Framework) -> Case:
    """An LSTM cell written in Python over 20 steps (batch 4, hidden 16), forward and backward."""
    hidden = 16
    w = _tensor(f, _data(2 * hidden, 4 * hidden) * 0.2, grad=True)
    b = _tensor(f, _data(4 * hidden, seed=1) * 0.2, grad=True)
    inputs = [_tensor(f, _data(4, hidden, seed=10 + t)) for t in range(20)]

    def step() -> None:
        w.grad = b.grad = None
        h, c = f.zeros(4, hidden), f.zeros(4, hidden)
        for x in inputs:
            gates = f.cat([x, h], 1) @ w + b
            i, forget, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
            c = forget.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        h.sum().backward()

    def run(n: int) -> None:
        for _ in range(n):
            step()

    def result() -> list[float]:
        step()
        return _flat(w.grad) + _flat(b.grad)

    return Case(run, result)


def _steps(f: Framework, method: str) -> Case:
    """An optimizer's fused step on twenty parameters of 50,000 floats."""
    parameters = [_tensor(f, _data(50_000, seed=number), grad=True) for number in range(20)]
    optimizer = getattr(f.optim, method)(parameters, lr=1e-3, fused=True)
    for number, parameter in enumerate(parameters):
        parameter.grad = _tensor(f, _data(50_000, seed=100 + number))
    for _ in range(3):
        optimizer.step()
    values = _flat(parameters[7])[:100]

    def run(n: int) -> None:
        for _ in range(n):
            optimizer.step()

    return Case(run, lambda: values)


def step_sgd(f: Framework) -> Case:
    """A fused step of SGD on a million floats."""
    return _steps(f, "SGD")


def step_adam(f: Framework) -> Case:
    """A fused step of Adam on a million floats."""
    return _steps(f, "Adam")


def step_adagrad(f: Framework) -> Case:
    """A fused step of Adagrad on a million floats."""
    return _steps(f, "Adagrad")


CASES: dict[str, Callable[[Framework], Case]] = {
    "add": add,
    "add_taped": add_taped,
    "chain": chain,
    "matmul_chain": matmul_chain,
    "mlp_1": mlp_1,
    "mlp_32": mlp_32,
    "lstm": lstm,
    "step_sgd": step_sgd,
    "step_adam": step_adam,
    "step_adagrad": step_adagrad,
}
