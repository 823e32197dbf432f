"""Whether numbers are distributed as a law says, with fixed seeds: the same answer in every run.

- Mean and variance lie within five standard errors; the law itself is judged by Kolmogorov and Smirnov where it is
  continuous, by chi-square (classes of at least ten expected numbers) where it is discrete.
- A p-value below `LEAST` fails.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from tenora_conformance.model import Failed

LEAST = 1e-3
ERRORS = 5.0


def judge_law(found: np.ndarray, law: Any, discrete: bool) -> float:
    """The share of the five standard errors that mean and variance are off. Raises: Failed."""
    if np.isnan(found).any():  # no comparison below would say so
        raise Failed(
            f"numbers that follow a law: got {int(np.isnan(found).sum())} NaN of {found.size}, expected none"
        )
    worst = _moments(found, law)
    chance = _classes(found, law) if discrete else float(stats.kstest(found, law.cdf).pvalue)
    if chance < LEAST:
        raise Failed(
            f"the numbers do not follow their law: got a p-value of {chance:.2g}, expected {LEAST} at least"
        )
    return worst


def _moments(found: np.ndarray, law: Any) -> float:
    """The standard error of a variance is sqrt((excess kurtosis + 2) / n) of it."""
    mean, variance, excess = (float(m) for m in law.stats(moments="mvk"))
    if not math.isfinite(variance):
        return 0.0
    shares = [
        abs(float(found.mean()) - mean) / (ERRORS * math.sqrt(variance / found.size)),
        abs(float(found.var()) - variance)
        / (ERRORS * variance * math.sqrt((excess + 2) / found.size) + ERRORS**2 * variance / found.size),
    ]
    if max(shares) > 1:
        raise Failed(
            f"mean and variance: got {found.mean():.6g} and {found.var():.6g}, expected {mean:.6g} and {variance:.6g}"
            f" within {ERRORS:g} standard errors"
        )
    return max(shares)


def _classes(found: np.ndarray, law: Any) -> float:
    """Chi-square's p-value, with neighbours put together until ten numbers are expected."""
    if not np.array_equal(found, np.floor(found)):
        raise Failed("numbers of a discrete law are not whole")
    low, high = int(found.min()), int(found.max())
    chances = np.asarray(law.pmf(np.arange(low, high + 1)))
    chances[0], chances[-1] = law.cdf(low), law.sf(high - 1)
    expected = chances * found.size
    groups = np.minimum((np.cumsum(expected) / 10).astype(int), max(int(expected.sum() / 10) - 1, 0))
    _, groups = np.unique(groups, return_inverse=True)
    seen = np.bincount(groups, np.bincount((found - low).astype(int), minlength=len(chances)))
    due = np.bincount(groups, expected)
    if len(due) < 2:
        raise Failed(
            f"numbers of a discrete law: got one class of values ({low} to {high}), expected several"
        )
    return float(stats.chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1))
