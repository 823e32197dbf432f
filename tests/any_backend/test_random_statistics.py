"""Random numbers are distributed as their op says: moments and goodness of fit on every backend, with fixed seeds.

- A continuous distribution is judged by Kolmogorov and Smirnov, a discrete one by chi-square (classes of at least ten
  expected draws), both by mean and variance within five standard errors. The distributions are SciPy's.
- Seeds are fixed, so a result is the same in every run; a p-value below 1e-3 fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import op_cases
import pytest
from scipy import stats

import tenora
from tenora import Generator
from tenora.nn import functional as F

pytestmark = pytest.mark.any_device

COUNT = 20_000
LEAST = 1e-3
Call = Callable[[Generator], Any]


def blank(dtype: Any = tenora.float32, value: float = 0.0) -> Any:
    return tenora.full((COUNT,), value, dtype=dtype, device=op_cases.Judged.device)


def drawn(call: Call, seed: int) -> np.ndarray:
    return op_cases.as_numpy(call(Generator(seed))).astype(np.float64).ravel()


def judge_moments(found: np.ndarray, law: Any) -> None:
    """Mean and variance; the standard error of a variance is sqrt((excess kurtosis + 2) / n) of it."""
    mean, variance, excess = (float(m) for m in law.stats(moments="mvk"))
    if not math.isfinite(variance):
        return
    assert abs(found.mean() - mean) < 5 * math.sqrt(variance / found.size)
    second_order = 25 * variance / found.size  # (found.mean() - mean) ** 2, all that is left of a fair coin's
    assert abs(found.var() - variance) < 5 * variance * math.sqrt((excess + 2) / found.size) + second_order


def judge_continuous(found: np.ndarray, law: Any) -> None:
    judge_moments(found, law)
    assert stats.kstest(found, law.cdf).pvalue > LEAST


def judge_classes(counts: np.ndarray, chances: np.ndarray) -> None:
    """Chi-square, with neighbours put together until ten draws are expected."""
    expected = chances * counts.sum()
    groups = np.minimum((np.cumsum(expected) / 10).astype(int), max(int(expected.sum() / 10) - 1, 0))
    _, groups = np.unique(groups, return_inverse=True)
    seen, due = np.bincount(groups, counts), np.bincount(groups, expected)
    assert len(due) > 1
    statistic = ((seen - due) ** 2 / due).sum()
    assert stats.chi2.sf(statistic, len(due) - 1) > LEAST


def judge_discrete(found: np.ndarray, law: Any) -> None:
    assert (found == np.floor(found)).all()
    judge_moments(found, law)
    low, high = int(found.min()), int(found.max())
    support = np.arange(low, high + 1)
    chances = law.pmf(support)
    chances[0], chances[-1] = law.cdf(low), law.sf(high - 1)
    judge_classes(np.bincount((found - low).astype(int)), chances)


DOUBLE = tenora.float64
CONTINUOUS: dict[str, tuple[Call, Any]] = {
    "rand": (lambda g: tenora.rand(COUNT, generator=g), stats.uniform()),
    "rand float64": (lambda g: tenora.rand(COUNT, generator=g, dtype=DOUBLE), stats.uniform()),
    "rand complex64": (
        lambda g: tenora.view_as_real(tenora.rand(COUNT, generator=g, dtype=tenora.complex64)),
        stats.uniform(),
    ),
    "uniform_": (lambda g: blank().uniform_(-1.0, 3.0, generator=g), stats.uniform(-1.0, 4.0)),
    "randn": (lambda g: tenora.randn(COUNT, generator=g), stats.norm()),
    "randn float64": (lambda g: tenora.randn(COUNT, generator=g, dtype=DOUBLE), stats.norm()),
    "randn complex128": (
        lambda g: tenora.view_as_real(tenora.randn(COUNT, generator=g, dtype=tenora.complex128)),
        stats.norm(scale=math.sqrt(0.5)),
    ),
    "normal_": (lambda g: blank().normal_(1.0, 2.0, generator=g), stats.norm(1.0, 2.0)),
    "normal": (lambda g: tenora.normal(blank(value=3.0), 0.5, generator=g), stats.norm(3.0, 0.5)),
    "normal of one size": (lambda g: tenora.normal(-1.0, 3.0, (COUNT,), generator=g), stats.norm(-1.0, 3.0)),
    "exponential_": (lambda g: blank().exponential_(1.5, generator=g), stats.expon(scale=1 / 1.5)),
    "cauchy_": (lambda g: blank().cauchy_(1.0, 2.0, generator=g), stats.cauchy(1.0, 2.0)),
    "log_normal_": (
        lambda g: blank().log_normal_(0.5, 0.25, generator=g),
        stats.lognorm(0.25, scale=math.exp(0.5)),
    ),
    "randint of all 32 bits": (
        lambda g: tenora.randint(0, 2**31, (COUNT,), generator=g),
        stats.uniform(0, 2**31),
    ),
    "randint of 60 bits": (
        lambda g: tenora.randint(0, 2**60, (COUNT,), generator=g),
        stats.uniform(0, 2**60),
    ),
    "randint of 64 bits": (
        lambda g: tenora.randint(-(2**63), 2**63 - 1, (COUNT,), generator=g),
        stats.uniform(-(2.0**63), 2.0**64),
    ),
    "random_ of int64": (lambda g: blank(tenora.int64).random_(generator=g), stats.uniform(0, 2.0**63)),
}
DISCRETE: dict[str, tuple[Call, Any]] = {
    "randint": (lambda g: tenora.randint(-3, 9, (COUNT,), generator=g), stats.randint(-3, 9)),
    "randint_like": (lambda g: tenora.randint_like(blank(), 7, generator=g), stats.randint(0, 7)),
    "random_": (lambda g: blank().random_(-5, 100, generator=g), stats.randint(-5, 100)),
    "random_ of uint8": (lambda g: blank(tenora.uint8).random_(generator=g), stats.randint(0, 256)),
    "geometric_": (lambda g: blank().geometric_(0.3, generator=g), stats.geom(0.3)),
    "geometric_ of int64": (lambda g: blank(tenora.int64).geometric_(0.05, generator=g), stats.geom(0.05)),
    "bernoulli_": (lambda g: blank().bernoulli_(0.3, generator=g), stats.bernoulli(0.3)),
    "bernoulli": (lambda g: tenora.bernoulli(blank(value=0.8), generator=g), stats.bernoulli(0.8)),
    "bernoulli of a half type": (
        lambda g: tenora.bernoulli(blank(tenora.bfloat16, 0.25), generator=g),
        stats.bernoulli(0.25),
    ),
    "poisson of few": (lambda g: tenora.poisson(blank(value=0.4), g), stats.poisson(np.float32(0.4))),
    "poisson": (lambda g: tenora.poisson(blank(value=4.3), g), stats.poisson(4.3)),
    "poisson of many": (lambda g: tenora.poisson(blank(value=250.0), g), stats.poisson(250.0)),
    "binomial": (
        lambda g: tenora.binomial(blank(value=10.0), blank(value=0.3), g),
        stats.binom(10, float(np.float32(0.3))),
    ),
    "binomial of many": (
        lambda g: tenora.binomial(blank(DOUBLE, 700.0), blank(DOUBLE, 0.85), g),
        stats.binom(700, 0.85),
    ),
}


@pytest.fixture(autouse=True)
def _on_the_device_judged(request: pytest.FixtureRequest) -> Iterator[None]:
    if "backend" in request.fixturenames:
        request.getfixturevalue("backend")
    before = tenora.get_default_device()
    tenora.set_default_device(op_cases.Judged.device)
    yield
    tenora.set_default_device(before)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str, backend: str) -> None:
    call, law = CONTINUOUS[name]
    op_cases.judged("random_bits", ["uint32"])
    judge_continuous(drawn(call, 11), law)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str, backend: str) -> None:
    call, law = DISCRETE[name]
    op_cases.judged("random_bits", ["uint32"])
    judge_discrete(drawn(call, 12), law)


@pytest.mark.parametrize("dtype", [tenora.float16, tenora.bfloat16])
def test_half_types_have_their_moments(dtype: Any, backend: str) -> None:
    """Their few values do not fit a continuous law; uniforms lie half a step low on average."""
    op_cases.judged("random_bits", ["uint32"])
    step = 2.0**-11 if dtype == tenora.float16 else 2.0**-8
    judge_moments(
        drawn(lambda g: tenora.rand(COUNT, generator=g, dtype=dtype), 1), stats.uniform(-step / 2, 1.0)
    )
    judge_moments(drawn(lambda g: tenora.randn(COUNT, generator=g, dtype=dtype), 1), stats.norm())
    judge_moments(drawn(lambda g: blank(dtype).exponential_(generator=g), 1), stats.expon())


def test_neighbours_are_independent(backend: str) -> None:
    """Serial correlations, and those between the numbers of one call and the next."""
    op_cases.judged("random_bits", ["uint32"])
    bound = 5 / math.sqrt(COUNT)
    for call in (CONTINUOUS["rand"][0], CONTINUOUS["randn"][0]):
        found = drawn(call, 3)
        for lag in (1, 2, 3, 4, 5, 8):
            assert abs(np.corrcoef(found[:-lag], found[lag:])[0, 1]) < bound
            assert abs(np.corrcoef(found[:-lag] ** 2, found[lag:] ** 2)[0, 1]) < bound
        generator = Generator(3)
        first, second = (op_cases.as_numpy(call(generator)).ravel() for _ in range(2))
        assert abs(np.corrcoef(first, second)[0, 1]) < bound
        assert abs(np.corrcoef(first, drawn(call, 4))[0, 1]) < bound  # the next seed


def test_permutations_are_equally_likely(backend: str) -> None:
    op_cases.judged("random_bits", ["uint32"])
    generator, orders = Generator(7), {p: i for i, p in enumerate(itertools.permutations(range(4)))}
    counts = np.zeros(24)
    for _ in range(1200):
        order = tenora.randperm(4, generator=generator, device=op_cases.Judged.device)
        counts[orders[tuple(op_cases.as_numpy(order).tolist())]] += 1
    judge_classes(counts, np.full(24, 1 / 24))


WEIGHTS = np.array([1.0, 0.0, 4.0, 2.0, 3.0])


def test_multinomial(backend: str) -> None:
    """With replacement by the shares; without, the second by the shares of what the first left."""
    op_cases.judged("random_bits", ["uint32"])
    weights, chances = op_cases.to_tensor(WEIGHTS), WEIGHTS / WEIGHTS.sum()
    found = op_cases.as_numpy(tenora.multinomial(weights, COUNT, True, generator=Generator(1)))
    judge_classes(np.bincount(found, minlength=5)[chances > 0], chances[chances > 0])
    assert not (found == 1).any()
    rows = weights.expand(COUNT, 5)
    pairs = op_cases.as_numpy(tenora.multinomial(rows, 2, generator=Generator(2)))
    likely = np.array(
        [[0 if i == j else a * b / (1 - a) for j, b in enumerate(chances)] for i, a in enumerate(chances)]
    ).ravel()
    counts = np.bincount(pairs[:, 0] * 5 + pairs[:, 1], minlength=25)
    assert not counts[likely == 0].any()
    judge_classes(counts[likely > 0], likely[likely > 0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_gumbel_softmax_picks_by_softmax(dtype: str, backend: str) -> None:
    """The arg max of logits plus Gumbel noise is a draw from their softmax (Gumbel 1954)."""
    op_cases.judged("gumbel_softmax", [dtype])
    logits = np.array([0.0, 1.0, -1.0, 2.0])
    rows = op_cases.to_tensor(logits).to(getattr(tenora, dtype)).expand(COUNT, 4)
    found = op_cases.as_numpy(F.gumbel_softmax(rows, hard=True, generator=Generator(5)))
    judge_classes(found.astype(np.float64).sum(0), np.exp(logits) / np.exp(logits).sum())


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_keeps_by_chance_and_in_the_mean(p: float, backend: str) -> None:
    op_cases.judged("dropout", ["float32"])
    with tenora.random.fork_rng():
        tenora.manual_seed(2)
        found = op_cases.as_numpy(F.dropout(blank(value=1.0), p)).astype(np.float64)
        noisy = op_cases.as_numpy(F.alpha_dropout(tenora.randn(COUNT), p, training=True)).astype(np.float64)
    judge_discrete(np.where(found > 0, 1.0, 0.0), stats.bernoulli(1 - p))
    assert set(np.unique(found)) == {0.0, float(np.float32(1 / (1 - p)))}
    assert abs(noisy.mean()) < 5 / math.sqrt(COUNT) and abs(noisy.var() - 1) < 5 * math.sqrt(3 / COUNT)


def test_another_law_is_noticed() -> None:
    """Each judgement fails for a law that is a few per cent off."""
    uniform, normal = (drawn(CONTINUOUS[name][0], 11) for name in ("rand", "randn"))
    rates, whole = drawn(CONTINUOUS["exponential_"][0], 11), drawn(DISCRETE["randint"][0], 11)
    counts = drawn(DISCRETE["poisson"][0], 11)
    wrong: list[tuple[Callable[[np.ndarray, Any], None], np.ndarray, Any]] = [
        (judge_moments, uniform, stats.uniform(0, 0.97)),
        (judge_continuous, np.where(uniform < 0.05, 0.05 - uniform, uniform) ** 1.03, stats.uniform()),
        (judge_continuous, normal, stats.norm(0.0, 1.05)),
        (judge_continuous, normal, stats.t(8, scale=math.sqrt(0.75))),
        (judge_continuous, rates, stats.expon(scale=1 / 1.6)),
        (judge_discrete, whole, stats.randint(-3, 10)),
        (judge_discrete, whole + 1, stats.randint(-3, 9)),
        (judge_discrete, counts, stats.poisson(4.5)),
        (judge_discrete, counts, stats.nbinom(100, 100 / 104.3)),
    ]
    for number, (judge, found, law) in enumerate(wrong):
        try:
            judge(found, law)
        except AssertionError:
            continue
        pytest.fail(f"number {number} was taken for right")
