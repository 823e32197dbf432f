"""Infinities and NaN of parameters and gradients go where they go in PyTorch, by fused steps and by composites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from optim_training import CASES, ELEMENTWISE

import tenora
from tenora_engine import _engine

INF = float("inf")
#: States that keep an infinity where PyTorch has NaN: its means with weights from 0.5 on go back from the new end.
KEPT = {"adam amsgrad": "exp_avg"}


def endless(tensor: Any) -> str:
    """The infinities and NaN of a tensor with their places; finite numbers are told by a dot."""
    return " ".join("." if np.isfinite(x) else str(x) for x in tensor.tolist())


def after_each_step(f: Any, case: str) -> list[dict[str, str]]:
    """Of the parameter and of its states. Gradients turn, from and to infinities."""
    method, options = CASES[case]
    parameter = f.nn.Parameter(f.tensor([-INF, INF, 1.0, 1.0, 1.0, -1.0, INF]))
    optimizer = getattr(f.optim, method)([parameter], **options)
    seen = []
    for bad in (1.0, -INF, 1.0, INF, -1.0, 1.0):
        parameter.grad = f.tensor([0.0, 1.0, bad, -bad, 0.5, 0.0, bad])
        optimizer.step()
        states = {k: v for k, v in optimizer.state[parameter].items() if f.is_tensor(v) and v.ndim}
        states.pop(KEPT.get(case, ""), None)
        seen.append({name: endless(t) for name, t in {**states, "parameter": parameter}.items()})
    return seen


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_by_the_backend(case: str, backend: str) -> None:
    assert after_each_step(tenora, case) == after_each_step(torch, case)


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_by_composites(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "run_step", lambda *arguments: False)
    assert after_each_step(tenora, case) == after_each_step(torch, case)
