"""A backend's fused step gives the numbers of the op's composite: every method, dtype, layout of states, and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from engine_fixtures import installed
from optim_training import CASES, ELEMENTWISE, give_gradients, parameters, train

import tenora
from tenora_engine import _engine

pytestmark = pytest.mark.skipif(
    "cpu_mkl" not in installed("cpu"), reason="needs a native backend: install tenora-cpu-mkl"
)

# Roundings in float64 and float32; half types are rounded once by kernels, and after each op by composites.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 0.1}


def trained(case: str, dtype: str) -> list[np.ndarray[Any, Any]]:
    """Parameters and states after some steps."""
    method, options = CASES[case]
    params = parameters(tenora, dtype, ((5,), (33, 7), (), (0, 3)))
    optimizer = getattr(tenora.optim, method)(params, **options)
    with tenora.use_backend("cpu_mkl"):
        train(tenora, optimizer, params, 8)
    tensors = [*params, *(v for state in optimizer.state.values() for v in state.values())]
    return [t.detach().double().numpy().copy() for t in tensors if isinstance(t, tenora.Tensor)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", ELEMENTWISE)
def test_the_same_numbers_either_way(case: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fused = trained(case, dtype)
    monkeypatch.setattr(_engine, "run_step", lambda *arguments: False)
    composite = trained(case, dtype)
    for a, b in zip(fused, composite, strict=True):
        scale = max(np.abs(b).max(initial=0), 1e-30)
        assert np.abs(a - b).max(initial=0) <= TOLERANCE[dtype] * scale


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_one_call_takes_all_parameters(case: str) -> None:
    """Of all shapes, and no composite runs beside it."""
    method, options = CASES[case]
    params = parameters(tenora, "float32")
    optimizer = getattr(tenora.optim, method)(params, **options)
    with tenora.use_backend("cpu_mkl"):
        train(tenora, optimizer, params, 7)
        give_gradients(tenora, params, 7)
        with tenora.profiler.profile() as recorded:
            optimizer.step()
    kernels = [event["op"] for event in recorded.events if event["kind"].lower() == "kernel"]
    assert len(kernels) == 1 and kernels[0].endswith(("_update", "_step"))


@pytest.mark.oracle
@pytest.mark.parametrize("case", ELEMENTWISE)
def test_nan_reaches_what_it_reaches_in_pytorch(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One element, and for Rprop, which reads signs, none."""
    method, options = CASES[case]
    found = []
    for f, fused in ((tenora, True), (tenora, False), (torch, False)):
        if not fused:
            monkeypatch.setattr(_engine, "run_step", lambda *arguments: False)
        parameter = f.nn.Parameter(f.ones(5))
        optimizer = getattr(f.optim, method)([parameter], **options)
        with tenora.use_backend("cpu_mkl"):
            for bad in (1.0, float("nan"), 1.0):
                parameter.grad = f.tensor([1.0, -1.0, bad, 0.5, 0.0])
                optimizer.step()
        found.append([bool(np.isnan(x)) for x in parameter.tolist()])
    assert found == [[False, False, method != "Rprop", False, False]] * 3


def test_gradients_that_are_not_dense_take_the_kernel() -> None:
    """A transposed or expanded gradient is made dense: its parameter needs no composite."""
    parameter = tenora.nn.Parameter(tenora.ones(3, 2))
    optimizer = tenora.optim.Adamax([parameter])
    parameter.grad = tenora.ones(2, 3).t()
    with tenora.use_backend("cpu_mkl"):
        optimizer.step()
        with tenora.profiler.profile() as recorded:
            optimizer.step()
    kernels = [event["op"] for event in recorded.events if event["kind"].lower() == "kernel"]
    assert kernels[-1] == "adamax_update" and len(kernels) <= 2


@pytest.mark.parametrize(
    ("method", "options", "mean"),
    [("Adam", {}, "exp_avg"), ("SGD", {"lr": 0.1, "momentum": 0.9}, "momentum_buffer")],
)
def test_a_mean_that_only_fades_ends_at_zero(method: str, options: dict[str, float], mean: str) -> None:
    """A dead unit's stayed at the smallest subnormal number, which some processors take a hundred cycles for."""
    with tenora.use_backend("cpu_mkl"):
        weight = tenora.ones(4, requires_grad=True)
        optimizer = getattr(tenora.optim, method)([weight], **options)
        weight.grad = tenora.ones(4)
        optimizer.step()
        weight.grad = tenora.zeros(4)
        for _ in range(1200):
            optimizer.step()
    assert optimizer.state[weight][mean].tolist() == [0.0] * 4
