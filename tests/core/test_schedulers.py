"""Schedulers over 200 steps against PyTorch's: the same rates and momenta, to the bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.optim.lr_scheduler as theirs
from schedules import CASES, optimizer_of, run, seen

import tenora
import tenora.optim.lr_scheduler as ours

BOTH = ((tenora, ours), (torch, theirs))
pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("case", CASES)
def test_200_steps(case: str) -> None:
    told = []
    for f, s in BOTH:
        scheduler = CASES[case](s, optimizer_of(f))
        told.append([seen(scheduler), *run(scheduler)])
    assert told[0] == told[1]
    rates = {(0.125, 0.5), *(tuple(step["last_lr"]) for step in told[0])}
    assert len(rates) > 1, "the case shows nothing"


@pytest.mark.parametrize("case", [name for name in CASES if "cycl" in name])
def test_betas_are_cycled(case: str) -> None:
    told = []
    for f, s in BOTH:
        scheduler = CASES[case](s, optimizer_of(f, "Adam"))
        told.append([seen(scheduler), *run(scheduler)])
    assert told[0] == told[1]


@pytest.mark.parametrize("case", ["cyclic", "one cycle", "one cycle phases", "sequential", "restarts"])
def test_training_follows(case: str) -> None:
    """Weights after 200 steps with momentum; each step's gradient depends on the weights."""
    weights = []
    for f, s in BOTH:
        optimizer = optimizer_of(f)
        scheduler = CASES[case](s, optimizer)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for step in range(200):
            for number, parameter in enumerate(parameters):
                parameter.grad = parameter.detach() * (0.3 + 0.1 * number) - 0.01 * step
            optimizer.step()
            scheduler.step()
        weights.append([np.asarray(p.detach()) for p in parameters])
    for a, b in zip(*weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "pair",
    [
        ("exponential", "step"),
        ("cosine periods", "multistep"),
        ("linear", "multiplicative"),
        ("polynomial power", "constant"),
        ("one cycle", "exponential"),
    ],
    ids=" and ".join,
)
def test_two_of_one_optimizer(pair: tuple[str, str]) -> None:
    """Stepped one after the other without a ChainedScheduler, as PyTorch allows: the factors multiply."""
    told: list[list[Any]] = [[], []]
    for (f, s), log in zip(BOTH, told, strict=True):
        optimizer = optimizer_of(f)
        schedulers = [CASES[case](s, optimizer) for case in pair]
        for _ in range(100):
            optimizer.step()
            for scheduler in schedulers:
                scheduler.step()
                log.append(seen(scheduler))
    assert told[0] == told[1]


@pytest.mark.parametrize("case", [name for name in CASES if not name.startswith(("sequential", "chained"))])
def test_jumps_to_an_epoch(case: str) -> None:
    """The deprecated argument: the closed form where there is one."""
    told: list[list[Any]] = [[], []]
    for (f, s), log in zip(BOTH, told, strict=True):
        scheduler = CASES[case](s, optimizer_of(f))
        scheduler.optimizer.step()
        for epoch in (1, 5, 17, 3, None, None, 140, None, 0, 150):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scheduler.step(epoch)
            log.append((seen(scheduler), [w.category for w in caught], [w.filename for w in caught]))
    assert told[0] == told[1]
    if not case.startswith("restarts"):
        assert told[0][0][1] == [UserWarning] and told[0][4][1] == []


def test_restarts_take_fractions() -> None:
    told: list[list[Any]] = [[], []]
    for (f, s), log in zip(BOTH, told, strict=True):
        for mult in (1, 2):
            scheduler = s.CosineAnnealingWarmRestarts(optimizer_of(f), 5, mult, 0.001)
            for i in range(90):
                scheduler.step(i / 3)
                log.append((seen(scheduler), scheduler.T_cur, scheduler.T_i))
    assert told[0] == told[1]


METRICS = [*np.linspace(3, 1, 15), *[1.0] * 25, *np.linspace(1, 0.5, 10), *[0.499999] * 30, np.nan, 5.0, -2.0]
METRICS += [*[-2.0] * 20, *np.linspace(-2, 4, 40), *np.linspace(4, -4, 30), *[-4.0, 4.0] * 10, *[-4.1] * 7]
PLATEAU: dict[str, dict[str, Any]] = {
    "defaults": {},
    "max": {"mode": "max", "patience": 3, "factor": 0.5},
    "abs": {"threshold_mode": "abs", "threshold": 0.05, "patience": 2, "cooldown": 4},
    "max abs": {"mode": "max", "threshold_mode": "abs", "threshold": 0.1, "patience": 1, "min_lr": 0.003},
    "bounds": {"patience": 0, "factor": 0.3, "min_lr": [0.01, 0.2], "eps": 1e-3},
    "no patience": {"patience": 0, "factor": 0.0, "cooldown": 1},
}


@pytest.mark.parametrize("case", PLATEAU)
def test_plateau(case: str) -> None:
    told: list[list[Any]] = [[], []]
    for (f, s), log in zip(BOTH, told, strict=True):
        scheduler = s.ReduceLROnPlateau(optimizer_of(f), **PLATEAU[case])
        for number, metric in enumerate(METRICS):
            scheduler.step(float(metric) if number % 2 else f.tensor(float(metric), dtype=f.float64))
            log.append((seen(scheduler), scheduler.num_bad_epochs, scheduler.in_cooldown, scheduler.best))
    assert len(told[0]) == 200
    assert repr(told[0]) == repr(told[1])  # NaN is the same as NaN here
    assert len({tuple(step[0]["last_lr"]) for step in told[0]}) > 1


@pytest.mark.parametrize("case", [*CASES, "plateau"])
def test_a_rate_that_is_a_tensor(case: str) -> None:
    """It stays the same tensor and is filled; what the scheduler remembers are copies."""
    make = CASES.get(case, lambda s, o: s.ReduceLROnPlateau(o, patience=1))
    told: list[list[Any]] = [[], []]
    for (f, s), log in zip(BOTH, told, strict=True):
        parameter = f.nn.Parameter(f.ones(1))
        rates = [f.tensor(0.25), f.tensor(0.5)]
        groups = [{"params": [parameter], "lr": rates[0]}, {"params": [f.nn.Parameter(f.ones(1))]}]
        scheduler = make(s, f.optim.Adam(groups, lr=rates[1], foreach=False))
        for _ in range(30):
            scheduler.optimizer.step()
            scheduler.step(*((1.0,) if case == "plateau" else ()))
            assert all(
                group["lr"] is rate
                for group, rate in zip(scheduler.optimizer.param_groups, rates, strict=True)
            )
            assert not any(a is b for a, b in zip(scheduler.get_last_lr(), rates, strict=True))
            log.append([rate.item() for rate in rates] + [lr.item() for lr in scheduler.get_last_lr()])
    np.testing.assert_allclose(told[0], told[1], rtol=3e-7, atol=1e-12)  # an ulp or two of float32


def test_an_own_schedule() -> None:
    """A subclass says get_lr alone, with the names that PyTorch's programs use."""
    told = []
    for f, s in BOTH:

        class Warm(s.LRScheduler):  # type: ignore[name-defined,misc]
            def get_lr(self) -> list[float]:
                assert self._get_lr_called_within_step and self._is_initial == (self.last_epoch == 0)
                return [lr * min(1.0, (self.last_epoch + 1) / 50) for lr in self.base_lrs]

        first = Warm(optimizer_of(f))
        told.append(run(first))
        optimizer = optimizer_of(f)
        told[-1] += run(s.SequentialLR(optimizer, [Warm(optimizer), s.StepLR(optimizer, 9)], [60]))
    assert told[0] == told[1]
