"""Tolerance classes: how far a result may be from its oracle, as data.

- A class states a bound in units of the dtype's epsilon; the derivation is in its words. A test never writes its own.
- `relative` multiplies |expected| element by element; `absolute` multiplies the magnitude of the largest expected
  element (or 1 when `unit` is set), which is what bounds rounding in a sum of mixed signs.
- Integers, booleans and non-finite values are always compared exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenora_engine import _engine
from tenora_ops.limits import finfo, smallest_subnormal

_ROUNDING = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
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

    def bounds(self, dtype: str, magnitude: float) -> tuple[float, float]:
        """(rtol, atol) for results of `dtype` whose largest expected element is `magnitude`.

        Example:
            >>> TOLERANCES["exact"].bounds("float32", 1.0)
            (0.0, 0.0)
        """
        epsilon = EPSILON.get(dtype, 0.0)
        slack = 2 * TINY.get(dtype, 0.0) if self.relative or self.absolute else 0.0
        return self.relative * epsilon, self.absolute * epsilon * magnitude + slack


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
    ),
    Tolerance(
        "contraction",
        16.0,
        32.0,
        "A dot product of K <= 128 terms with or without fused multiply-add: K units of the sum of magnitudes in the "
        "worst case, its square root typically; 32 units of the largest element.",
    ),
    Tolerance(
        "normalised",
        32.0,
        8.0,
        "exp, sum and divide one after another (softmax and its gradient): relative errors add up, and exp multiplies "
        "the rounding of its argument (|x| <= 16 in the samples) into the result.",
    ),
    Tolerance("statistics", 32.0, 32.0, "A reduction of squared differences from a rounded mean."),
    Tolerance(
        "factorised",
        64.0,
        512.0,
        "Backward stable algorithms on matrices of at most 6 rows: about 10 n units of the norm, times a condition "
        "number or inverse gap of the samples of up to about 10.",
    ),
)
