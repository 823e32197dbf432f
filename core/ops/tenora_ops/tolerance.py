"""Tolerance classes: how far a result may be from its oracle, as data.

- A class states a bound in units of the dtype's epsilon; the derivation is in its words. A test never writes its own.
- `relative` multiplies |expected| element by element; `absolute` multiplies the magnitude of the largest expected
  element (or 1 when `unit` is set), which is what bounds rounding in a sum of mixed signs.
- A class whose results are sums says for how many `terms` its bound holds; for n terms beyond, both units grow by
  sqrt(n / terms): n roundings in a row, each of either sign, of partial sums that are no larger than the whole.
  Half types are summed in float32, so that it is float32's units that grow, and one rounding is added.
- Integers, booleans and non-finite values are always compared exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenora_engine import _engine
from tenora_ops.limits import finfo, smallest_subnormal
from tenora_ops.samples import HALVES

_ROUNDING = (*HALVES, "float32", "float64", "complex64", "complex128")
#: Distance from 1 to the next number.
EPSILON = {name: finfo(getattr(_engine, name)).eps for name in _ROUNDING}
#: Smallest subnormal: results below it may round to zero.
TINY = {name: smallest_subnormal(getattr(_engine, name)) for name in _ROUNDING}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A tolerance class."""

    name: str
    relative: float
    absolute: float
    derivation: str
    terms: int = 0
    """Terms of a sum for which the bound holds as it stands; 0 where results are no sums."""

    def bounds(self, dtype: str, magnitude: float, terms: int = 1) -> tuple[float, float]:
        """(rtol, atol) for results of `dtype` whose largest expected element is `magnitude`, each of `terms` terms.

        Example:
            >>> TOLERANCES["exact"].bounds("float32", 1.0)
            (0.0, 0.0)
        """
        if self.terms and terms > self.terms:
            return self._long_bounds(dtype, magnitude, terms)
        epsilon = EPSILON.get(dtype, 0.0)
        slack = 2 * TINY.get(dtype, 0.0) if self.relative or self.absolute else 0.0
        return self.relative * epsilon, self.absolute * epsilon * magnitude + slack

    def _long_bounds(self, dtype: str, magnitude: float, terms: int) -> tuple[float, float]:
        """Those of a sum of more terms than the samples have."""
        summed = "float32" if dtype in HALVES else dtype
        growth = math.sqrt(terms / self.terms) * EPSILON.get(summed, 0.0)
        rounded = EPSILON[dtype] if summed != dtype else 0.0
        slack = 2 * TINY.get(dtype, 0.0)
        return self.relative * growth + rounded, self.absolute * growth * magnitude + slack


def _make(*rows: Tolerance) -> dict[str, Tolerance]:
    return {row.name: row for row in rows}


TOLERANCES = _make(
    Tolerance("exact", 0.0, 0.0, "Moves, selects or compares values; nothing is rounded."),
    Tolerance(
        "unspecified", math.inf, math.inf, "Uninitialised memory: only shape and dtype mean something."
    ),
    Tolerance(
        "exact_or_1ulp",
        1.0,
        0.0,
        "One IEEE operation, rounded once (half types compute in float32 and round once): within half a unit of the "
        "float64 value, a unit where the input of the oracle was itself rounded.",
    ),
    Tolerance(
        "few_ulp",
        4.0,
        1.0,
        "A library function or two to four IEEE operations in a row: 1 to 2 units each for the vector libraries in "
        "use, and cancellation bounded by the largest element.",
    ),
    Tolerance(
        "four_ulp",
        4.0,
        0.0,
        "Numbers that every backend draws alike: a logarithm's root, 1, and the sine of an exact part of a turn, 2, "
        "each of its own size however small, and a product.",
    ),
    Tolerance(
        "transcendental",
        8.0,
        2.0,
        "A composite of library functions, 2 to 4 of them at up to 2 units each.",
    ),
    Tolerance(
        "reduction",
        16.0,
        16.0,
        "Sums of at most a few hundred terms in any order: the error is at most about log2(n) units of the sum of "
        "magnitudes for pairwise or blocked orders; samples keep n <= 512 and mixed signs, so 16 units of the "
        "largest element.",
        512,
    ),
    Tolerance(
        "contraction",
        16.0,
        32.0,
        "A dot product of K <= 128 terms with or without fused multiply-add: K units of the sum of magnitudes in the "
        "worst case, its square root typically; 32 units of the largest element.",
        128,
    ),
    Tolerance(
        "normalised",
        32.0,
        8.0,
        "exp, sum and divide one after another (softmax and its gradient): relative errors add up, and exp multiplies "
        "the rounding of its argument (|x| <= 16 in the samples) into the result.",
    ),
    Tolerance("statistics", 32.0, 32.0, "A reduction of squared differences from a rounded mean.", 512),
    Tolerance(
        "gradient",
        64.0,
        64.0,
        "A formula of two to six ops, each within its own class, on numbers of about 1; half types are rounded after "
        "each of them.",
    ),
    Tolerance(
        "second_gradient",
        512.0,
        512.0,
        "The gradient of such a formula: each of its ops is followed by those of its own gradient, and slopes of a "
        "hundred multiply what was rounded before.",
    ),
    Tolerance(
        "differences",
        2.0**33,
        2.0**33,
        "Differences of fourth order with steps of 1e-4, in float64: rounding of the function (1e-16, times a hundred "
        "where it is a sum or a series) over the step is 1e-10; truncation is 1e-17 of a fifth derivative, which is "
        "1e8 for a logarithm at 0.05, the least of any domain. 2^33 units are 2e-6.",
    ),
    Tolerance(
        "second_differences",
        2.0**38,
        2.0**38,
        "Mixed differences with steps of 5e-4 and one step of Richardson, in float64: rounding is 1e-14 over 2.5e-7, "
        "truncation 1e-14 of a sixth derivative, which is 1e10 for a logarithm at 0.05. 2^38 units are 6e-5.",
    ),
    Tolerance(
        "factorised",
        64.0,
        512.0,
        "Backward stable algorithms on matrices of at most 6 rows: about 10 n units of the norm, times a condition "
        "number or inverse gap of the samples of up to about 10.",
    ),
)
