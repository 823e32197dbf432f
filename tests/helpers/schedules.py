"""Every scheduler with the options it is tried with, and runs of it that tell what happened to the optimizer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any


class Decay:
    """A callable object: its attributes are part of a scheduler's state."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, x: float) -> float:
        return float(self.rate**x)


def sequential(s: Any, o: Any) -> Any:
    parts = [s.LinearLR(o, 0.1, total_iters=9), s.StepLR(o, 20, 0.5), s.CosineAnnealingLR(o, 40)]
    return s.SequentialLR(o, parts, milestones=[10, 60])


def sequential_mixed(s: Any, o: Any) -> Any:
    parts = [
        s.ChainedScheduler([s.ConstantLR(o, 0.25, 6), s.ExponentialLR(o, 0.99)]),
        s.CosineAnnealingWarmRestarts(o, 7, 2, 1e-3),
        s.LambdaLR(o, [lambda e: 0.97**e, lambda e: 1 / (1 + e)]),
        s.PolynomialLR(o, 50, 2.0),
    ]
    with warnings.catch_warnings():
        # The first part's parts are stepped where no optimizer step can have been: both sides warn of it.
        warnings.simplefilter("ignore")
        return s.SequentialLR(o, parts, milestones=[15, 70, 120])


def chained(s: Any, o: Any) -> Any:
    parts = [
        s.ConstantLR(o, 0.5, 11),
        s.ExponentialLR(o, 0.98),
        s.MultiStepLR(o, [30, 90], 0.5),
        s.LinearLR(o, 0.2, 0.9, 17),
        s.MultiplicativeLR(o, lambda e: 1.01),
    ]
    return s.ChainedScheduler(parts)


Make = Callable[[Any, Any], Any]

# Name -> the scheduler of module `s` for optimizer `o`, which has two groups.
CASES: dict[str, Make] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "lambda each": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), Decay(0.9)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.95),
    "multiplicative each": lambda s, o: s.MultiplicativeLR(o, (lambda e: 1 - 1 / (e + 1), Decay(0.99))),
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.7),
    "step defaults": lambda s, o: s.StepLR(o, 30),
    "multistep": lambda s, o: s.MultiStepLR(o, [3, 50, 50, 170], gamma=0.3),
    "multistep zero": lambda s, o: s.MultiStepLR(o, [0, 5]),
    "constant": lambda s, o: s.ConstantLR(o),
    "constant none": lambda s, o: s.ConstantLR(o, factor=0.7, total_iters=0),
    "linear": lambda s, o: s.LinearLR(o),
    "linear down": lambda s, o: s.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=130),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.93),
    "polynomial": lambda s, o: s.PolynomialLR(o),
    "polynomial power": lambda s, o: s.PolynomialLR(o, total_iters=150, power=1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 200),
    "cosine periods": lambda s, o: s.CosineAnnealingLR(o, T_max=13, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 17),
    "restarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=5, T_mult=3, eta_min=1e-3),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.3, step_size_up=13),
    "cyclic uneven": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.3, 0.1], 5, 12, "triangular2"),
    "cyclic exp": lambda s, o: s.CyclicLR(
        o, 0.01, 0.3, 20, mode="exp_range", gamma=0.99, base_momentum=[0.1, 0.7], max_momentum=(0.95, 0.8)
    ),
    "cyclic own": lambda s, o: s.CyclicLR(o, 0.01, 0.3, 9, scale_fn=lambda x: math.sin(x) ** 2),
    "cyclic own steps": lambda s, o: s.CyclicLR(
        o, 0.01, 0.3, 9, scale_fn=Decay(0.99), scale_mode="iterations", cycle_momentum=False
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.4, total_steps=200),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, [0.4, 0.2], epochs=10, steps_per_epoch=21, anneal_strategy="linear", pct_start=0.45
    ),
    "one cycle phases": lambda s, o: s.OneCycleLR(
        o, 1.0, 201, three_phase=True, div_factor=10.0, final_div_factor=50.0, base_momentum=[0.5, 0.6]
    ),
    "one cycle rates": lambda s, o: s.OneCycleLR(o, 0.4, 200, pct_start=0.0, cycle_momentum=False),
    "sequential": sequential,
    "sequential mixed": sequential_mixed,
    "chained": chained,
}


def optimizer_of(f: Any, method: str = "SGD", **options: Any) -> Any:
    """An optimizer of framework `f` with two groups, the second with a rate of its own."""
    parameters = [f.nn.Parameter(f.ones(2, dtype=f.float64)) for _ in range(3)]
    options = {"lr": 0.125, **({"momentum": 0.9} if method == "SGD" else {}), **options}
    groups = [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.5}]
    return getattr(f.optim, method)(groups, **options)


def seen(scheduler: Any) -> dict[str, Any]:
    """What a step leaves: options of every group, and what the scheduler says."""
    groups = [{k: v for k, v in g.items() if k != "params"} for g in scheduler.optimizer.param_groups]
    said = {"last_lr": list(scheduler.get_last_lr()), "epoch": getattr(scheduler, "last_epoch", None)}
    return {"groups": groups, **said}


def run(scheduler: Any, steps: int = 200) -> list[dict[str, Any]]:
    """What every one of `steps` steps leaves."""
    told = []
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        told.append(seen(scheduler))
    return told
