"""L3: training follows the reference's loss curve.

- The same program, data and initial parameters, in float32 by the backend and in float64 by the backend whose manifest
  says `reference`: so the reference is judged too, and by more than itself.
- Tolerance in units of float32's epsilon times the loss: `START` for the first forward pass (sums of at most 24 terms,
  then a mean) and `GROWTH` more a step, since errors of the parameters add up while steps are contractions. Measured
  on two backends that share no kernel: at most 0.9 at the first step, 2.7 at the twentieth, so the margin is about 8.
  A gradient that lacks a term is off by 1e4 units within five steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tenora
import tenora_dispatch
from tenora import nn
from tenora.nn import functional as F
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Case, Check, Detail, Failed, Level, Outcome, Unsupported
from tenora_conformance.subject import HOST, Subject, judged_by, watch

STEPS = 20
START, GROWTH = 6.0, 1.0
EPSILON = float(np.finfo(np.float32).eps)
#: Optimizers count their steps in a number of the host.
COUNTERS = frozenset({"fill"})
Losses = list[float]
Optimizers = Callable[[Any], Any]


def _filled(module: Any, seed: int, device: str, dtype: Any) -> Any:
    """A module whose parameters come from NumPy, so that no backend's random numbers matter."""
    rng = np.random.default_rng(seed)
    module = module.to(dtype)
    with tenora.no_grad():
        for parameter in module.parameters():
            bound = 1.0 / np.sqrt(max(int(np.prod(parameter.shape[1:])), 1))
            values = rng.uniform(-bound, bound, tuple(parameter.shape))
            parameter.copy_(tenora.from_numpy(values).to(parameter.device).to(dtype))
    return module.to(device)


def _data(seed: int, *shape: int, device: str, dtype: Any) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)  # exact in both precisions
    return tenora.from_numpy(values).to(device).to(dtype)


def _labels(seed: int, count: int, classes: int, device: str) -> Any:
    return tenora.from_numpy(np.random.default_rng(seed).integers(0, classes, count)).to(device)


def _fit(module: Any, x: Any, labels: Any, make: Optimizers) -> Losses:
    optimizer = make(module.parameters())
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(module(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(float(fetched(loss)))
    return losses


def _mlp(device: str, dtype: Any, make: Optimizers) -> Losses:
    module = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 24), nn.GELU(), nn.Linear(24, 5))
    module = _filled(module, 1, device, dtype)
    return _fit(module, _data(2, 16, 12, device=device, dtype=dtype), _labels(3, 16, 5, device), make)


def _cnn(device: str, dtype: Any, make: Optimizers) -> Losses:
    module = nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2),
        nn.Softplus(),
        nn.Flatten(),
        nn.Linear(8, 4),
    )
    module = _filled(module, 4, device, dtype)
    return _fit(module, _data(5, 8, 2, 8, 8, device=device, dtype=dtype), _labels(6, 8, 4, device), make)


def _gan(device: str, dtype: Any, make: Optimizers) -> Losses:
    """Two networks, two optimizers, each loss through both; the sum of the losses is the curve."""
    generator = _filled(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 6)), 7, device, dtype)
    critic = _filled(nn.Sequential(nn.Linear(6, 16), nn.Softplus(), nn.Linear(16, 1)), 8, device, dtype)
    real, noise = (_data(seed, 16, width, device=device, dtype=dtype) for seed, width in ((9, 6), (10, 4)))
    ones, zeros = tenora.ones_like(real[:, :1]), tenora.zeros_like(real[:, :1])
    first, second = make(critic.parameters()), make(generator.parameters())
    losses = []
    for _ in range(STEPS):
        made = generator(noise)
        first.zero_grad()
        loss = F.binary_cross_entropy_with_logits(critic(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(critic(made.detach()), zeros)
        loss.backward()
        first.step()
        second.zero_grad()
        fooled = F.binary_cross_entropy_with_logits(critic(made), ones)
        fooled.backward()
        second.step()
        losses.append(float(fetched(loss + fooled)))
    return losses


MODELS: dict[str, Callable[[str, Any, Optimizers], Losses]] = {"mlp": _mlp, "cnn": _cnn, "gan": _gan}
METHODS: dict[str, Optimizers] = {
    "sgd": lambda parameters: tenora.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "adam": lambda parameters: tenora.optim.Adam(parameters, lr=3e-3, eps=1e-3),
}


@contextlib.contextmanager
def _made_on(device: str) -> Iterator[None]:
    """Modules of the block are made on a device, where the backend under judgement computes."""
    before = tenora.get_default_device()
    tenora.set_default_device(device)
    try:
        yield
    finally:
        tenora.set_default_device(before)


def _reference() -> str:
    """Name of the backend that serves where nobody chose another."""
    return next(row.name for row in tenora_dispatch.backends() if row.manifest and row.manifest.reference)


def judge_curve(got: Sequence[float], expected: Sequence[float]) -> float:
    """The worst share of the tolerance over the steps. Raises: Failed at the first step beyond it."""
    worst = 0.0
    for step, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        allowed = (START + GROWTH * step) * EPSILON * max(1.0, abs(theirs))
        share = abs(ours - theirs) / allowed if np.isfinite([ours, theirs]).all() else float("inf")
        if share > 1.0:
            detail = Detail(expected=str(list(expected)), got=str(list(got)), first_wrong=f"step {step}")
            raise Failed(
                f"loss at step {step}: got {ours:.9g}, expected {theirs:.9g} within {allowed:.2g}",
                detail,
                worst=share,
            )
        worst = max(worst, share)
    return worst


def scripts() -> Iterator[Case]:
    """Each model with each method."""
    for model in MODELS:
        for method in METHODS:
            yield Case("@train", "float32", "-", f"{model}_{method}", Level.L3, "training")


def run(case: Case, subject: Subject) -> Outcome:
    """Trains on both, compares the losses step by step."""
    model, _, method = case.sample.rpartition("_")
    with tenora.use_backend(_reference()):
        expected = MODELS[model](HOST, tenora.float64, METHODS[method])
    if expected[-1] > 0.98 * expected[0] and model != "gan":
        raise Failed(f"the reference does not learn: losses {expected[0]:.4g} to {expected[-1]:.4g}")
    outcome = Outcome()
    try:
        with judged_by(subject), _made_on(subject.device), watch(subject, outcome, on_host=COUNTERS):
            got = MODELS[model](subject.device, tenora.float32, METHODS[method])
    except tenora.NotSupportedError as error:
        raise Unsupported(str(error)) from error
    outcome.worst = judge_curve(got, expected)
    return outcome


CHECK = Check("training", run, scripts=scripts, seconds=300.0, lowest=Level.L3)
