"""The regularised incomplete gamma functions P and Q, in float64.

- a below LARGE, or x far from a: the series of P (A&S 6.5.29) up to max(a, 1), the continued fraction of Q (6.5.31)
  beyond. All elements take steps until each has converged; one that has not after STEPS is NaN, never what it has.
- a from LARGE on and x within NEAR of it: Temme's uniform expansion (DLMF 8.12), as sums there need sqrt(a) steps.
- Small a and x up to 1: the series of Q, as 1 - P has no digits of a small Q.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_ops.formula import ops
from tenora_ops.special import ABOUT_TWO, polynomial

EPSILON = 2.0**-51
STEPS = 1000
LARGE = 200.0
#: |x - a| / a.
NEAR = 0.3
#: From here on five terms of Stirling's series are exact.
STIRLING = 20.0

#: c_k of DLMF 8.12.11 as polynomials of eta, the highest power first: c_0 by inverting 8.12.2, then
#: c_k = c_(k-1)'(eta) / eta + (-1)^k g_k / mu with g_k of Stirling's series; as many terms as NEAR and LARGE leave.
TEMME = (
    (
        -5.830772132550426e-11,
        -2.5514193994946248e-11,
        9.14769958223679e-10,
        -4.382036018453353e-09,
        1.0261809784240309e-08,
        6.707853543401498e-09,
        -1.7665952736826078e-07,
        8.296711340953087e-07,
        -1.85406221071516e-06,
        -2.185448510679992e-06,
        3.919263178522438e-05,
        -0.0001787551440329218,
        0.0003527336860670194,
        0.0011574074074074073,
        -0.014814814814814815,
        0.08333333333333333,
        -0.3333333333333333,
    ),
    (
        -1.0091543710600413e-09,
        -1.7543241719747647e-11,
        1.1951628599778148e-08,
        -5.752545603517705e-08,
        1.378633446915721e-07,
        4.647127802807434e-09,
        -1.6120900894563446e-06,
        7.64916091608111e-06,
        -1.8098550334489977e-05,
        -4.018775720164609e-07,
        0.00020576131687242798,
        -0.0009902263374485596,
        0.0026455026455026454,
        -0.003472222222222222,
        -0.001851851851851852,
    ),
    (
        -1.409252991086752e-08,
        -2.0477098421990866e-10,
        1.4280614206064242e-07,
        -6.298992138380055e-07,
        1.3721957309062934e-06,
        3.423578734096138e-08,
        -1.2760635188618728e-05,
        5.2923448829120125e-05,
        -0.0001073665322636516,
        2.0093878600823047e-06,
        0.0007716049382716049,
        -0.0026813271604938273,
        0.004133597883597883,
    ),
    (
        1.4230900732435883e-06,
        -5.6749528269915965e-06,
        1.1082654115347302e-05,
        -2.396505113867297e-07,
        -7.561801671883977e-05,
        0.00026772063206283885,
        -0.0004691894943952557,
        0.00022947209362139917,
        0.0006494341563786008,
    ),
    (
        1.1375726970678419e-05,
        -3.968365047179435e-05,
        6.641498215465122e-05,
        -1.4638452578843418e-06,
        -0.0002990724803031902,
        0.0007840392217200666,
        -0.0008618882909167117,
    ),
    (
        6.797780477937208e-05,
        -0.00019932570516188847,
        0.0002772753244959392,
        -6.972813758365857e-05,
        -0.00033679855336635813,
    ),
)


def _series(a: Any, x: Any) -> Any:
    """1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..."""
    total, term, divisor = ops.ones_like(x), ops.ones_like(x), a
    going = ops.gt(term, 0)
    for step in range(STEPS):
        divisor = divisor + 1
        term = term * (x / divisor)
        total = total + term
        if step % 8 == 7:
            going = ops.gt(term, total * EPSILON)
            if not bool(ops.any(going)):
                break
    return ops.where(going, math.nan, total)


def _fraction(a: Any, x: Any) -> Any:
    """The continued fraction of gamma(a, x) / (x^a e^-x), numerators and denominators scaled down as they grow."""
    y, z = 1 - a, x - a + 2
    numerators, denominators = (ops.ones_like(x), x + 1), (x, z * x)
    found = numerators[1] / denominators[1]
    settled, going = found, ops.gt(found, 0)  # what has converged once stays so, however long others take
    for step in range(1, STEPS):
        y, z = y + 1, z + 2
        upper = numerators[1] * z - numerators[0] * (y * float(step))
        lower = denominators[1] * z - denominators[0] * (y * float(step))
        scale = ops.where(ops.gt(ops.abs(upper), 2.0**52), 2.0**-52, 1.0)
        numerators = (numerators[1] * scale, upper * scale)
        denominators = (denominators[1] * scale, lower * scale)
        last, found = found, upper / lower
        if step % 8 == 7:
            settled = ops.where(going, found, settled)
            going = ops.logical_and(going, ops.gt(ops.abs(found - last), ops.abs(found) * EPSILON))
            if not bool(ops.any(going)):
                break
    return ops.where(going, math.nan, settled)


def _excess(a: Any, x: Any) -> Any:
    """mu - log(1 + mu) of mu = (x - a) / a, by the series of atanh about 0; mu has no digits of x far below a."""
    mu = (x - a) / a
    near = ops.le(ops.abs(mu), NEAR)
    r = ops.where(near, mu, 0.0)
    r = r / (r + 2)
    square = r * r
    series = polynomial(square, [1.0 / (2 * k + 3) for k in range(12, -1, -1)])
    return ops.where(near, square * 2 / (1 - r) - r * square * series * 2, mu - ops.log(x / a))


def _log_gamma_one(a: Any) -> Any:
    """log gamma(1 + a), to all digits about 0."""
    small = ops.lt(a, 0.5)
    z = ops.where(small, a, 0.0)
    return ops.where(small, z * polynomial(z, ABOUT_TWO) - ops.log1p(z), ops.lgamma(a + 1))


def weight(a: Any, x: Any) -> Any:
    """x^a e^-x / gamma(a + 1) of positive numbers; from STIRLING on without the difference of large numbers."""
    large = ops.ge(a, STIRLING)
    few, many = ops.where(large, 1.0, a), ops.where(large, a, STIRLING)
    plain = ops.exp(few * ops.log(x) - x - _log_gamma_one(few))
    inverse = 1 / many
    stirling = inverse * polynomial(inverse * inverse, (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12))
    power = many * _excess(many, x) + stirling
    return ops.where(large, ops.exp(-power) / (ops.sqrt(many) * math.sqrt(2 * math.pi)), plain)


def _uniform(a: Any, x: Any, upper: bool) -> Any:
    """Temme's expansion."""
    excess = _excess(a, x)
    eta = ops.copysign(ops.sqrt(excess * 2), x - a)
    total = ops.zeros_like(a)
    for row in TEMME[::-1]:
        total = total / a + polynomial(eta, row)
    rest = ops.exp(-a * excess) * total / (ops.sqrt(a) * math.sqrt(2 * math.pi))
    half = ops.erfc((eta if upper else -eta) * ops.sqrt(a * 0.5)) * 0.5
    return half + rest if upper else half - rest


def _small_upper(a: Any, x: Any) -> Any:
    """Q for a below 0.5: 1 - x^a / gamma(1 + a), less x^a / gamma(a) times the sum of (-x)^n / (n! (a + n))."""
    power = a * ops.log(x) - _log_gamma_one(a)
    total, term = ops.zeros_like(x), ops.ones_like(x)
    for n in range(1, 22):
        term = term * (-x / float(n))
        total = total + term / (a + float(n))
    return -ops.expm1(power) - ops.exp(power) * (a * total)


def regularised(a: Any, x: Any, upper: bool) -> Any:
    """P(a, x), or Q(a, x), of positive finite numbers; each is computed where it is the smaller one, roughly."""
    near = ops.logical_and(ops.ge(a, LARGE), ops.le(ops.abs(x - a), a * NEAR))
    beyond = ops.logical_and(ops.gt(x, ops.maximum(a, 1.0)), ops.logical_not(near))
    within = ops.logical_not(ops.logical_or(near, beyond))
    size = weight(a, x)
    lower = _series(ops.where(within, a, 1.0), ops.where(within, x, 0.5)) * size
    shown = ops.logical_and(beyond, ops.gt(size, 0))
    rest = _fraction(ops.where(shown, a, 1.0), ops.where(shown, x, 2.0)) * (size * a)
    rest = ops.where(shown, rest, 0.0)
    found = ops.where(beyond, rest if upper else 1 - rest, 1 - lower if upper else lower)
    if upper:
        bound = ops.where(ops.le(x, 0.5), -0.4 / ops.log(ops.clamp(x, None, 0.5)), x * 0.75)
        few = ops.logical_and(within, ops.lt(a, ops.clamp(bound, None, 0.5)))
        found = ops.where(few, _small_upper(ops.where(few, a, 0.25), ops.where(few, x, 0.5)), found)
    uniform = _uniform(ops.where(near, a, LARGE), ops.where(near, x, LARGE), upper)
    return ops.where(near, uniform, found)
