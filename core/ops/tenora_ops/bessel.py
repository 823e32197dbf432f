"""Bessel functions of whole order, their modified kin, and Airy's function.

- Chebyshev series of our own making (interpolated at 50 digits): below a bound of the smooth part of a function,
  beyond it of the modulus and the phase, by which it oscillates, or of the factor of its exponential decay. The
  splittings: Abramowitz and Stegun, chapters 9 and 10.
- Arguments that an argument's branch does not take are replaced by harmless ones, so that no NaN crosses `where`.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_ops.bessel_tables import AF, AG, AI, AP, J0, J1, K0, K1, L0, L1, P0, P1, Q0, Q1, Y0, Y1
from tenora_ops.families import REAL_FUNCTION
from tenora_ops.formula import ops
from tenora_ops.lazy import special
from tenora_ops.oracles import fading
from tenora_ops.record import op
from tenora_ops.samples import Domain
from tenora_ops.special import in_double_1

SPLIT = 8.0  # between the series in x^2 and those in (8 / x)^2
ROOT_HALF = math.sqrt(0.5)
TWO_OVER_PI = 2.0 / math.pi
EDGES = (-4.0, 2.0)  # between Airy's function as a wave, as a series and as a decay
FIRST_PHASE = 2.0 / 3.0 * EDGES[1] ** 1.5
FIRST_WAVE = 2.0 / 3.0 * (-EDGES[0]) ** 1.5


def series(t: Any, low: float, high: float, coefficients: tuple[float, ...]) -> Any:
    """A Chebyshev series on [low, high], by Clenshaw's recurrence."""
    x = (t - low) * (4.0 / (high - low)) - 2.0  # twice the point in [-1, 1]
    ahead: Any = coefficients[-1]
    beyond: Any = 0.0
    for c in coefficients[-2:0:-1]:
        ahead, beyond = x * ahead - beyond + c, ahead
    return x * 0.5 * ahead - beyond + coefficients[0]


def _branches(x: Any, bound: float) -> tuple[Any, Any, Any]:
    """Where |x| is small, and |x| kept where each of two branches may see it."""
    size = ops.abs(x)
    small = ops.lt(size, bound)
    return small, ops.where(small, size, 1.0), ops.where(small, bound, size)


def _wave(s: Any, order: int, second: bool) -> Any:
    """J or Y (second) beyond SPLIT: sqrt(2 / (pi s)) times P cos - Q sin, or P sin + Q cos, of the phase."""
    square = SPLIT / s
    square = square * square
    p = series(square, 0.0, 1.0, P0 if order == 0 else P1)
    q = series(square, 0.0, 1.0, Q0 if order == 0 else Q1) / s
    sine, cosine = ops.sin(s), ops.cos(s)
    c, d = (cosine + sine) * ROOT_HALF, (sine - cosine) * ROOT_HALF  # of s - pi / 4
    if order == 1:
        c, d = d, -c
    found = (p * d + q * c if second else p * c - q * d) * ops.sqrt(TWO_OVER_PI / s)
    return ops.where(ops.isinf(s), 0.0, found)


def _j0(x: Any) -> Any:
    small, near, far = _branches(x, SPLIT)
    inside = ops.where(ops.eq(x, 0), 1.0, series(near * near, 0.0, 64.0, J0))
    return ops.where(small, inside, ops.where(ops.isnan(x), x, _wave(far, 0, False)))


def _j1(x: Any) -> Any:
    small, near, far = _branches(x, SPLIT)
    inside = near * series(near * near, 0.0, 64.0, J1)
    return ops.where(ops.isnan(x), x, ops.sign(x) * ops.where(small, inside, _wave(far, 1, False)))


def _second(x: Any, found: Any) -> Any:
    """Functions with a pole at 0 and none below it."""
    return ops.where(ops.lt(x, 0), math.nan, ops.where(ops.isnan(x), x, found))


def _log(x: Any) -> Any:
    """log x for a product that vanishes with x."""
    return ops.log(ops.where(ops.eq(x, 0), 1.0, x))


def _y0(x: Any) -> Any:
    small, near, far = _branches(x, SPLIT)
    square = near * near
    inside = series(square, 0.0, 64.0, Y0) + ops.log(near) * series(square, 0.0, 64.0, J0) * TWO_OVER_PI
    return _second(x, ops.where(small, inside, _wave(far, 0, True)))


def _y1(x: Any) -> Any:
    small, near, far = _branches(x, SPLIT)
    square = near * near
    first = near * series(square, 0.0, 64.0, J1)
    inside = near * series(square, 0.0, 64.0, Y1) + (_log(near) * first - 1 / near) * TWO_OVER_PI
    return _second(x, ops.where(small, inside, _wave(far, 1, True)))


def _decay(x: Any, order: int, scaled: bool) -> Any:
    """K of an order, times e^x where `scaled`."""
    small, near, far = _branches(x, 2.0)
    square = near * near
    if order == 0:
        inside = series(square, 0.0, 4.0, K0) - ops.log(near) * ops.i0(near)
    else:
        inside = near * series(square, 0.0, 4.0, K1) + _log(near) * ops.i1(near) + 1 / near
    outside = series(2.0 / far, 0.0, 1.0, L0 if order == 0 else L1) / ops.sqrt(far)
    if scaled:
        inside = inside * ops.exp(near)
    else:
        outside = outside * ops.exp(-far)
    return _second(x, ops.where(small, inside, outside))


def _spherical(x: Any) -> Any:
    zero = ops.eq(x, 0)
    safe = ops.where(zero, 1.0, x)
    return ops.where(zero, 1.0, ops.where(ops.isinf(x), 0.0, ops.sin(safe) / safe))


def _spherical_slope(x: Any) -> Any:
    small = ops.lt(ops.abs(x), 0.1)
    safe = ops.where(small, 1.0, x)
    square = x * x
    near = x * (square * (square * (1.0 / 840.0) - 1.0 / 30.0) * -1.0 - 1.0 / 3.0)
    return ops.where(small, near, (ops.cos(safe) - ops.sin(safe) / safe) / safe)


def _airy(x: Any) -> Any:
    low, high = EDGES
    wave, decay = ops.lt(x, low), ops.gt(x, high)
    middle = series(ops.where(ops.logical_or(wave, decay), 0.0, x), low, high, AI)
    left, right = ops.where(wave, -x, -low), ops.where(decay, x, high)
    phase = left * ops.sqrt(left) * (2.0 / 3.0)
    reciprocal = 1.0 / (phase * phase)
    bound = 1.0 / FIRST_WAVE**2
    f, g = series(reciprocal, 0.0, bound, AF), series(reciprocal, 0.0, bound, AG) / phase
    sine, cosine = ops.sin(phase), ops.cos(phase)  # of the phase, which is pi / 4 behind
    c, s = (cosine - sine) * ROOT_HALF, (cosine + sine) * ROOT_HALF
    waves = (f * s - g * c) / (ops.sqrt(ops.sqrt(left)) * math.sqrt(math.pi))
    waves = ops.where(ops.isinf(left), 0.0, waves)
    zeta = right * ops.sqrt(right) * (2.0 / 3.0)
    tail = series(1.0 / zeta, 0.0, 1.0 / FIRST_PHASE, AP) * ops.exp(-zeta)
    tail = tail / (ops.sqrt(ops.sqrt(right)) * (2.0 * math.sqrt(math.pi)))
    tail = ops.where(ops.isinf(right), 0.0, tail)
    return ops.where(wave, waves, ops.where(decay, tail, middle))


def _declare(name: str, formula: Any, oracle: Any, doc: str, domain: Domain, slope: Any = None) -> None:
    op(
        f"special_{name}(input: Tensor) -> Tensor",
        family=REAL_FUNCTION,
        domain=domain,
        composite=in_double_1(formula),
        vjp=None if slope is None else (lambda g, x, r: g * slope(x, r)),
        differentiable=slope is not None,
        edges="ordinary",
        oracle=oracle,
        tolerance="normalised",
        doc=doc,
        example=f"tenora.special.{name}(tenora.tensor([0.5, 4.0, 20.0]))",
        public=f"special.{name}",
        out=True,
    )


ANY, ABOVE = Domain(-30.0, 30.0, avoid=(0.0,)), Domain(0.1, 30.0)
_declare(
    "bessel_j0",
    _j0,
    fading(lambda x: special.jv(0, x)),
    "J0, the Bessel function of the first kind of order 0.",
    ANY,
    lambda x, r: -ops.special_bessel_j1(x),
)
_declare(
    "bessel_j1",
    _j1,
    fading(lambda x: special.jv(1, x)),
    "J1, the Bessel function of the first kind of order 1.",
    ANY,
    lambda x, r: ops.special_bessel_j0(x) - ops.where(ops.eq(x, 0), 0.5, r / ops.where(ops.eq(x, 0), 1, x)),
)
_declare(
    "bessel_y0",
    _y0,
    fading(lambda x: special.yv(0, x), both=False),
    "Y0, the Bessel function of the second kind of order 0; -inf at 0, NaN below.",
    ABOVE,
    lambda x, r: -ops.special_bessel_y1(x),
)
_declare(
    "bessel_y1",
    _y1,
    fading(lambda x: special.yv(1, x), both=False),
    "Y1, the Bessel function of the second kind of order 1; -inf at 0, NaN below.",
    ABOVE,
    lambda x, r: ops.special_bessel_y0(x) - r / x,
)
_declare(
    "modified_bessel_k0",
    lambda x: _decay(x, 0, False),
    lambda x: special.kv(0, x),
    "K0, the modified Bessel function of the second kind of order 0; inf at 0, NaN below.",
    ABOVE,
    lambda x, r: -ops.special_modified_bessel_k1(x),
)
_declare(
    "modified_bessel_k1",
    lambda x: _decay(x, 1, False),
    lambda x: special.kv(1, x),
    "K1, the modified Bessel function of the second kind of order 1; inf at 0, NaN below.",
    ABOVE,
    lambda x, r: -ops.special_modified_bessel_k0(x) - r / x,
)
_declare(
    "scaled_modified_bessel_k0",
    lambda x: _decay(x, 0, True),
    fading(lambda x: special.kve(0, x), both=False),
    "e^x K0(x).",
    ABOVE,
    lambda x, r: r - ops.special_scaled_modified_bessel_k1(x),
)
_declare(
    "scaled_modified_bessel_k1",
    lambda x: _decay(x, 1, True),
    fading(lambda x: special.kve(1, x), both=False),
    "e^x K1(x).",
    ABOVE,
    lambda x, r: r - ops.special_scaled_modified_bessel_k0(x) - r / x,
)
_declare(
    "spherical_bessel_j0",
    _spherical,
    lambda x: special.spherical_jn(0, x),
    "sin(x) / x, 1 at 0: the spherical Bessel function of order 0.",
    ANY,
    lambda x, r: _spherical_slope(x),
)
_declare(
    "airy_ai",
    _airy,
    fading(lambda x: special.airy(x)[0]),
    "Airy's function Ai, the decaying solution of y'' = x y.",
    Domain(-25.0, 12.0),
)
