"""The same small training run under tenora and PyTorch, and optimizer states carried from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tenora
from tenora.optim import muon

SHAPES = ((8, 6), (8,), (4, 8), (4,), ())
#: For Muon, which takes no others.
MATRICES = ((6, 4), (3, 5), (4, 4), (1, 3), (2, 1))

#: Name, method, options: what every optimizer is tried with.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd momentum": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}),
    "sgd nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": ("Adam", {"lr": 0.01, "weight_decay": 0.02}),
    "adam amsgrad": ("Adam", {"lr": 0.01, "amsgrad": True, "betas": (0.5, 0.9)}),
    "adam maximize": ("Adam", {"maximize": True, "eps": 1e-3}),
    "adamw": ("AdamW", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop momentum": ("RMSprop", {"lr": 0.005, "momentum": 0.9, "weight_decay": 0.02, "alpha": 0.9}),
    "rmsprop centered": ("RMSprop", {"lr": 0.005, "centered": True, "maximize": True, "eps": 1e-3}),
    "rmsprop both": ("RMSprop", {"lr": 0.002, "centered": True, "momentum": 0.5, "eps": 1e-4}),
    "adagrad": ("Adagrad", {"lr": 0.05}),
    "adagrad decay": (
        "Adagrad",
        {
            "lr": 0.05,
            "lr_decay": 0.1,
            "weight_decay": 0.1,
            "initial_accumulator_value": 0.1,
            "maximize": True,
        },
    ),
    "adadelta": ("Adadelta", {}),
    "adadelta decay": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    "adamax": ("Adamax", {}),
    "adamax decay": ("Adamax", {"lr": 0.01, "betas": (0.8, 0.99), "weight_decay": 0.1, "maximize": True}),
    "nadam": ("NAdam", {}),
    "nadam decay": ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.01, "maximize": True}),
    "nadam decoupled": ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.01}),
    "radam decay": ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.9), "maximize": True}),
    "radam decoupled": ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "asgd": ("ASGD", {}),
    "asgd averaging": ("ASGD", {"lr": 0.05, "lambd": 0.01, "t0": 10, "weight_decay": 0.1, "maximize": True}),
    "rprop": ("Rprop", {}),
    "rprop bounds": (
        "Rprop",
        {"lr": 0.05, "etas": (0.4, 1.3), "step_sizes": (1e-3, 0.1), "maximize": True},
    ),
    "adafactor": ("Adafactor", {}),
    "adafactor decay": ("Adafactor", {"lr": 0.05, "weight_decay": 0.1, "d": 2.0, "maximize": True}),
    "adafactor eps": ("Adafactor", {"lr": 0.5, "eps": (1e-3, 0.1), "beta2_decay": -0.5}),
    "muon": ("Muon", {"lr": 0.01}),
    "muon plain": (
        "Muon",
        {"lr": 0.01, "nesterov": False, "momentum": 0.5, "weight_decay": 0.0, "ns_steps": 3},
    ),
    "muon rms": (
        "Muon",
        {"lr": 0.01, "adjust_lr_fn": "match_rms_adamw", "ns_coefficients": (2.0, -1.5, 0.5)},
    ),
    "muon original": ("Muon", {"lr": 0.01, "adjust_lr_fn": "original", "eps": 1e-3}),
}
#: Those whose step is an op of its own, which takes complex parameters and may be fused.
ELEMENTWISE = [case for case, (method, _) in CASES.items() if method not in ("Adafactor", "Muon")]


def shapes_for(method: str) -> tuple[tuple[int, ...], ...]:
    return MATRICES if method == "Muon" else SHAPES


@pytest.fixture
def double_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets both make Muon's directions in double precision.

    In bfloat16 a rounding that falls the other way is no small number.
    """
    monkeypatch.setattr(muon, "NARROW", tenora.float64)
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda x: x.double().clone())


def parameters(f: Any, dtype: str = "float64", shapes: tuple[tuple[int, ...], ...] = SHAPES) -> list[Any]:
    """Parameters of framework `f`, the same for both."""
    draw = np.random.default_rng(3)
    values = [draw.standard_normal(shape) * 0.5 for shape in shapes]
    if dtype.startswith("complex"):
        values = [value + 1j * draw.standard_normal(value.shape) for value in values]
    return [f.nn.Parameter(f.tensor(value, dtype=getattr(f, dtype))) for value in values]


def give_gradients(f: Any, params: list[Any], step: int, skip: int | None = None) -> None:
    """Gradients that depend on the parameters, the same for both; the one numbered `skip` has none."""
    for i, p in enumerate(params):
        if i == skip:
            p.grad = None
            continue
        draw = np.random.default_rng(100 * step + i)
        noise = draw.standard_normal(tuple(p.shape))
        value = p.detach()
        p.grad = value / (1 + value.abs()) + 0.3 * value + f.tensor(noise, dtype=value.dtype) * 0.3


def train(f: Any, optimizer: Any, params: list[Any], steps: int = 50, start: int = 0) -> None:
    for step in range(start, start + steps):
        give_gradients(f, params, step)
        optimizer.step()


def assert_same(ours: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    """Within `tolerance`, relative to the largest element."""
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        x, y = np.asarray(a.detach()), np.asarray(b.detach())
        assert x.shape == y.shape and x.dtype == y.dtype
        scale = np.abs(y).max(initial=1e-300)
        assert np.abs(x - y).max(initial=0) <= tolerance * scale, f"parameter {number}"


def carried(f: Any, value: Any) -> Any:
    """A state with all tensors made anew in framework `f`."""
    if isinstance(value, dict):
        return {key: carried(f, v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(carried(f, v) for v in value)
    if hasattr(value, "detach"):
        return f.from_numpy(np.asarray(value.detach()).copy())
    return value
