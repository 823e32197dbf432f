"""Random numbers that are not the protocol's, or follow another law, are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import planted_cases as planted
import pytest
from scipy import stats

from tenora_conformance.checks import random
from tenora_conformance.judge.laws import judge_law
from tenora_conformance.model import Failed
from tenora_ops import sampling as formulas
from tenora_reference import random as kernels


def another_seed(*, seed: Any, offset: Any, out: Any, **_: Any) -> None:
    out[...] = np.random.default_rng(seed + offset + 1).integers(0, 2**32, out.shape, dtype=np.uint32)


def offset_ignored(*, seed: Any, offset: Any, out: Any, **_: Any) -> None:
    out[...] = np.random.default_rng(seed).integers(0, 2**32, out.shape, dtype=np.uint32)


def seed_ignored(*, seed: Any, offset: Any, out: Any, **_: Any) -> None:
    out[...] = np.random.default_rng().integers(0, 2**32, out.shape, dtype=np.uint32)


def half_of_the_bits(*, seed: Any, offset: Any, out: Any, **_: Any) -> None:
    out[...] = np.random.default_rng(seed).integers(0, 2**31, out.shape, dtype=np.uint32)


@pytest.mark.parametrize(
    ("id", "defect", "words"),
    [
        ("rand/float32/contiguous/0:drawn", another_seed, "bit by bit"),
        ("rand/float32/contiguous/0:again", seed_ignored, "other numbers a second time"),
        (
            "rand/float32/contiguous/0:again",
            offset_ignored,
            "numbers from offset 11 on: got those of offset 0",
        ),
        ("randn/float32/contiguous/0:drawn", another_seed, "elements are wrong"),
        ("@random/uint32/-/0:words", offset_ignored, "word 0 of seed 9"),
        ("@random/float32/-/rand:law", half_of_the_bits, "mean and variance"),
        ("@random/float32/-/poisson:law", half_of_the_bits, "expected"),
        ("@random/float32/-/multinomial:law", half_of_the_bits, "expected"),
    ],
)
def test_planted(id: str, defect: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("random", id)
    planted.plant(monkeypatch, kernels.random_bits, defect)
    planted.fails("random", id, words)


def test_a_parameter_without_derivative_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is passed over because the parameter before it needs none."""
    planted.passes("random", "@random/float32/-/normal:level")
    level = formulas.level
    monkeypatch.setattr(formulas, "level", lambda drawn, first, *others: level(drawn, first))
    planted.fails("random", "@random/float32/-/normal:level", "gradient of normal by parameter 1: got None")


def test_every_drawing_record_is_asked() -> None:
    asked = {case.op for case in random.CHECK.cases()}
    assert len(asked) > 25 and {"rand", "poisson", "multinomial", "random_bits", random.SCRIPTS} <= asked


@pytest.mark.parametrize(
    ("law", "other", "discrete"),
    [
        (stats.uniform(), stats.uniform(0, 0.97), False),
        (stats.norm(), stats.t(8, scale=np.sqrt(0.75)), False),
        (stats.poisson(4.3), stats.poisson(4.5), True),
        (stats.randint(-3, 9), stats.randint(-3, 10), True),
        (stats.poisson(4.3), stats.nbinom(40, 40 / 44.3), True),
    ],
)
def test_another_law_is_noticed(law: Any, other: Any, discrete: bool) -> None:
    found = np.asarray(law.rvs(random.COUNT, random_state=1), dtype=np.float64)
    judge_law(found, law, discrete)
    with pytest.raises(Failed):
        judge_law(found, other, discrete)


@pytest.mark.parametrize(
    ("law", "discrete"), [(stats.uniform(), False), (stats.cauchy(), False), (stats.poisson(4), True)]
)
def test_what_is_no_number_follows_no_law(law: Any, discrete: bool) -> None:
    found = np.asarray(law.rvs(random.COUNT, random_state=1), dtype=np.float64)
    found[7] = np.nan
    with pytest.raises(Failed, match="got 1 NaN of 20000, expected none"):
        judge_law(found, law, discrete)
