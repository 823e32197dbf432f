"""Special functions: composites of published approximations, computed in float64 and rounded once.

- gamma functions: reflection and recurrence (Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.1.17,
  6.3.7, 6.1.15), the series of log gamma about 2 (6.1.33), the asymptotic series (6.1.41, 6.3.18).
- erfc: Cody, "Rational Chebyshev approximations for the error function" (1969), as in CALERF. erfinv: Wichura,
  algorithm AS 241 (1988), PPND16. zeta: Euler and Maclaurin's sum (A&S 23.2), as in Cephes.
- Bessel functions I: power series (A&S 9.6.10), asymptotic series (9.7.1). Incomplete gamma functions: `gammas.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.elementary import tensors
from tenora_ops.families import COMPOSITE, REAL_BINARY_FUNCTION, REAL_FUNCTION
from tenora_ops.formula import is_number, ops
from tenora_ops.halves import rounds_once
from tenora_ops.lazy import np, special
from tenora_ops.oracles import each
from tenora_ops.record import op
from tenora_ops.samples import HALVES, REALS, Domain, Draw, Sample, Samples, sample

LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
EULER = 0.57721566490153286


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A composite whose tensors are float64; the result is rounded to the first one's dtype."""

    def run(*tensors: Any) -> Any:
        return ops.to(function(*[ops.to(t, _engine.float64) for t in tensors]), tensors[0].dtype)

    return run


def in_double_1(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: in_double(function)(x)


def polynomial(x: Any, coefficients: tuple[float, ...] | list[float]) -> Any:
    """Horner's rule, the highest power first."""
    value = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        value = value * x + c
    return value


def zeta_minus_one(k: int) -> float:
    """sum of n^-k for n >= 2, the tail by Euler and Maclaurin."""
    start = 100
    direct = math.fsum(n**-k for n in range(2, start))
    tail = start ** (1 - k) / (k - 1) + 0.5 * start**-k + k * start ** (-k - 1) / 12
    return float(direct + tail - k * (k + 1) * (k + 2) * start ** (-k - 3) / 720)


# ---- the gamma function ----
#: log gamma(2 + z) = z (1 - Euler + sum over k >= 2 of (-1)^k (zeta(k) - 1) z^(k - 1) / k), here highest power first.
ABOUT_TWO = [(-1) ** k * zeta_minus_one(k) / k for k in range(30, 1, -1)] + [1 - EULER]
#: Bernoulli numbers B2, B4, ...
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


def _log_gamma_positive(x: Any) -> Any:
    """By recurrence into [1.5, 2.5] below 8.5, the asymptotic series above."""
    near = ops.where(ops.lt(x, 8.5), x, 2.0)
    above, below = ops.ones_like(near), ops.ones_like(near)
    for _ in range(6):
        step = ops.gt(near, 2.5)
        near = ops.where(step, near - 1, near)
        above = ops.where(step, above * near, above)
    for _ in range(2):
        step = ops.lt(near, 1.5)
        below = ops.where(step, below * near, below)
        near = ops.where(step, near + 1, near)
    z = near - 2
    small = polynomial(z, ABOUT_TWO) * z + ops.log(above) - ops.log(below)
    far = ops.where(ops.lt(x, 8.5), 10.0, x)
    inverse = 1 / far
    series = [b / (2 * n * (2 * n - 1)) for n, b in enumerate(BERNOULLI[:8], 1)][::-1]
    tail = polynomial(inverse * inverse, series) * inverse
    large = (far - 0.5) * ops.log(far) - far + (tail + LOG_ROOT_TAU)
    return ops.where(ops.lt(x, 8.5), small, ops.where(ops.eq(x, math.inf), math.inf, large))


def _log_gamma(x: Any) -> Any:
    """log |gamma|; by reflection below 0.5, infinite at the poles."""
    reflected = ops.lt(x, 0.5)
    positive = _log_gamma_positive(ops.where(reflected, 1 - x, x))
    fraction = x - ops.round(x)
    pole = ops.logical_and(ops.eq(fraction, 0), ops.le(x, 0))
    sine = ops.abs(ops.sin(ops.where(pole, 0.5, fraction) * math.pi))
    mirrored = ops.where(pole, math.inf, math.log(math.pi) - ops.log(sine) - positive)
    size = ops.abs(x)
    mirrored = ops.where(ops.lt(size, 1e-20), -ops.log(size), mirrored)  # where pi x has no digits left
    return ops.where(ops.eq(size, math.inf), math.inf, ops.where(reflected, mirrored, positive))


def _digamma_positive(x: Any) -> Any:
    """By recurrence up to 10, the asymptotic series from there."""
    total = ops.zeros_like(x)
    for _ in range(10):
        step = ops.lt(x, 10)
        total = ops.where(step, total - 1 / ops.where(step, x, 1.0), total)
        x = ops.where(step, x + 1, x)
    inverse = 1 / x
    square = inverse * inverse
    series = [-b / (2 * n) for n, b in enumerate(BERNOULLI, 1)][::-1]
    return ops.log(x) - inverse * 0.5 + polynomial(square, series) * square + total


def _digamma(x: Any) -> Any:
    reflected = ops.lt(x, 0)
    positive = _digamma_positive(ops.where(reflected, 1 - x, ops.where(ops.eq(x, 0), 1.0, x)))
    fraction = x - ops.round(x)
    pole = ops.logical_and(reflected, ops.eq(fraction, 0))
    angle = ops.where(ops.logical_or(pole, ops.eq(fraction, 0)), 0.25, fraction) * math.pi
    mirrored = ops.where(pole, math.nan, positive - ops.cos(angle) / ops.sin(angle) * math.pi)
    return ops.where(ops.eq(x, 0), -1 / x, ops.where(reflected, mirrored, positive))


def _log_gamma_of(x: Any) -> Any:
    """Infinite at the poles, for which Python raises."""
    return each(lambda v: math.inf if v <= 0 and v == math.floor(v) else math.lgamma(v))(x)


lgamma = op(
    "lgamma(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(-2.8, 12.0, avoid=(0.0, -1.0, -2.0)),
    composite=in_double_1(_log_gamma),
    vjp=lambda g, x, r: g * ops.digamma(x),
    oracle=lambda x: _log_gamma_of(x),
    doc="Logarithm of |gamma(x)|; inf at 0 and the negative whole numbers.",
    example="tenora.lgamma(tenora.tensor([0.5, 4.0]))",
    method=True,
    inplace=True,
    out=True,
)
digamma = op(
    "digamma(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(-2.8, 12.0, avoid=(0.0, -1.0, -2.0)),
    composite=in_double_1(_digamma),
    vjp=lambda g, x, r: g * ops.polygamma_any(x, 1.0),
    edges="cancels",
    oracle=lambda x: special.digamma(x),
    doc="Derivative of lgamma; -inf at 0, NaN at the negative whole numbers.",
    example="tenora.digamma(tenora.tensor([0.5, 4.0]))",
    method=True,
    inplace=True,
    out=True,
)


#: How many terms of zeta are summed one by one.
SHIFT = 20


def _zeta(s: Any, q: Any) -> Any:
    """sum over n >= 0 of (q + n)^-s: SHIFT terms and Euler and Maclaurin's correction."""
    total = ops.zeros_like(q)
    for n in range(SHIFT):
        total = total + ops.pow(q + float(n), -s)
    w = q + float(SHIFT)
    power = ops.pow(w, -s)
    total = total + ops.pow(w, 1 - s) / (s - 1) + power * 0.5  # power * w may be 0 * inf
    factor, factorial = s * power / w, 2.0
    for k, b in enumerate(BERNOULLI, 1):
        total = total + factor * (b / factorial)
        factor = factor * (s + float(2 * k - 1)) * (s + float(2 * k)) / (w * w)
        factorial *= (2 * k + 1) * (2 * k + 2)
    whole = ops.logical_and(ops.le(q, 0), ops.eq(q, ops.floor(q)))
    found = ops.where(ops.logical_or(whole, ops.eq(s, 1)), math.inf, total)
    return ops.where(ops.lt(s, 1), math.nan, found)


def _zeta_of(input: Any, other: Any) -> Any:
    """In float64, rounded once to the dtype of the tensor among the two."""
    if is_number(input) and is_number(other):
        raise errors.ArgumentTypeError(
            "[special.zeta] input and other: got two numbers, expected a tensor among them. Make one a tensor."
        )
    like = other if is_number(input) else input
    s, q = (
        ops.full((), t, dtype=_engine.float64, device=like.device)
        if is_number(t)
        else ops.to(t, _engine.float64)
        for t in (input, other)
    )
    return ops.to(_zeta(s, q), like.dtype)


def _zeta_samples(draw: Draw) -> Iterable[Sample]:
    """Pairs, and where there is no sum, or a pole."""
    edges = [np.array(v).astype(draw.array().dtype) for v in ([0.5, 1, 2, 1, 0.5], [0.0, 0, 0, 2, 2])]
    return [*tensors(draw), *([] if draw.dtype in HALVES else [sample(*edges)])]


zeta = op(
    "zeta(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=Domain(1.2, 6.0),
    samples=_zeta_samples,
    composite=_zeta_of,
    differentiable=False,
    edges="finite",
    oracle=each(lambda s, q: float(special.zeta(s, q)) if s >= 1 else math.nan),
    doc="Hurwitz's zeta function, the sum of (other + n)^-input over n >= 0, for other > 0.",
    example="tenora.special.zeta(tenora.tensor([2.0]), tenora.tensor([1.0]))",
    public="special.zeta",
    out=True,
)


def _polygamma_any(x: Any, n: Any) -> Any:
    """(-1)^(n + 1) n! zeta(n + 1, x). Below zero, f = x - floor(x), zeta(s, x) is zeta(s, f) and the terms of negative
    numbers, (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - x)).
    """
    order, sign = ops.zeros_like(x) + (n + 1.0), 1.0 - 2.0 * ((n + 1.0) % 2.0)
    mirrored = ops.logical_and(ops.lt(x, 0), ops.ne(x, ops.floor(x)))
    rest = ops.where(mirrored, ops.floor(x) + 1 - x, 0.5)
    beyond = _zeta(order, rest) - _zeta(order, ops.where(mirrored, 1 - x, 1.0))
    found = _zeta(order, ops.where(mirrored, x - ops.floor(x), x))
    found = ops.where(mirrored, found + sign * beyond, found)
    pole = ops.logical_and(ops.le(x, 0), ops.eq(x, ops.floor(x)))
    found = ops.where(pole, math.inf, found)
    return found * ops.exp(_log_gamma_positive(order)) * sign


def _orders(domain: Domain | None = None) -> Samples:
    rows = (((5,), 1), ((3, 4), 2), ((), 3), ((0,), 1), ((2, 3, 2, 2), 4), ((1, 2, 1, 3, 2), 1))
    return lambda draw: [sample(draw.array(*shape, domain=domain), float(n)) for shape, n in rows]


polygamma_any = op(
    "polygamma_any(input: Tensor, n: float) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(0.3, 12.0),
    samples=_orders(),
    # Near its pole one element outgrows all others, and their differences drown in the rounding of the sum.
    gradient_samples=_orders(Domain(1.0, 12.0)),
    composite=lambda x, n: in_double(lambda y: _polygamma_any(y, n))(x),
    vjp=lambda g, x, r, n: g * ops.polygamma_any(x, n + 1.0),
    tolerance="normalised",
    edges="positive",
    oracle=lambda x, n: special.polygamma(int(n), x),
    doc="The n-th derivative of digamma: what polygamma runs.",
    example="tenora.polygamma(1, tenora.tensor([0.5, 4.0]))",
    public="",
)


def _polygamma(n: int, input: Any) -> Any:
    if n < 0:
        raise errors.OperationError(
            f"[polygamma] n: got {n}, expected 0 or more. Pass the order of the derivative."
        )
    return ops.digamma(input) if n == 0 else ops.polygamma_any(input, float(n))


polygamma = op(
    "polygamma(n: int, input: Tensor) -> Tensor",
    family=COMPOSITE,
    domain=Domain(0.3, 12.0),
    function=_polygamma,
    samples=lambda draw: [
        sample(n, draw.array(*shape))
        for n, shape in ((0, (5,)), (1, (3, 4)), (2, ()), (3, (0,)), (1, (2, 3, 2, 2)), (4, (1, 2, 1, 3, 2)))
    ],
    tolerance="normalised",
    oracle=lambda n, x: special.polygamma(n, x),
    doc="The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x); for n > 1 NaN below -10.",
    example="tenora.polygamma(1, tenora.tensor([0.5, 4.0]))",
    out=True,
)


def _mvlgamma(input: Any, p: int) -> Any:
    if p < 1:
        raise errors.OperationError(f"[mvlgamma] p: got {p}, expected 1 or more. Pass the dimension.")
    places = ops.unsqueeze(input, -1) - ops.iota(0, 1, p, device=input.device) * 0.5
    return ops.sum(ops.lgamma(places), -1) + p * (p - 1) * 0.25 * math.log(math.pi)


mvlgamma = op(
    "mvlgamma(input: Tensor, p: int) -> Tensor",
    family=COMPOSITE,
    dtypes=REALS,
    domain=Domain(2.2, 8.0),
    function=rounds_once(_mvlgamma),
    samples=lambda draw: [
        sample(draw.array(*shape), p)
        for shape, p in (((5,), 1), ((3, 4), 2), ((), 3), ((0,), 2), ((2, 3, 2, 2), 4), ((1, 2, 1, 3, 2), 5))
    ],
    tolerance="reduction",
    edges="none",
    oracle=lambda x, p: np.asarray(
        sum(_log_gamma_of(x - j / 2) for j in range(p)) + p * (p - 1) / 4 * math.log(math.pi)
    ),
    doc="Logarithm of the multivariate gamma function of dimension p.",
    example="tenora.mvlgamma(tenora.tensor([2.0, 4.0]), 2)",
    method=True,
    inplace=True,
    out=True,
)

# ---- error functions ----
MIDDLE_P = (
    2.15311535474403846343e-8,
    5.64188496988670089180e-1,
    8.88314979438837594118e0,
    6.61191906371416294775e1,
    2.98635138197400131132e2,
    8.81952221241769090411e2,
    1.71204761263407058314e3,
    2.05107837782607146532e3,
    1.23033935479799725272e3,
)
MIDDLE_Q = (
    1.0,
    1.57449261107098347253e1,
    1.17693950891312499305e2,
    5.37181101862009857509e2,
    1.62138957456669018874e3,
    3.29079923573345962678e3,
    4.36261909014324715820e3,
    3.43936767414372163696e3,
    1.23033935480374942043e3,
)
FAR_P = (
    1.63153871373020978498e-2,
    3.05326634961232344035e-1,
    3.60344899949804439429e-1,
    1.25781726111229246204e-1,
    1.60837851487422766278e-2,
    6.58749161529837803157e-4,
)
FAR_Q = (
    1.0,
    2.56852019228982242072e0,
    1.87295284992346725209e0,
    5.27905102951428412248e-1,
    6.05183413124413191178e-2,
    2.33520497626869185443e-3,
)


def _scaled_erfc(t: Any) -> Any:
    """exp(t^2) erfc(t) for t >= 0.46875."""
    near = ops.clamp(t, 0.46875, 4.0)
    middle = polynomial(near, MIDDLE_P) / polynomial(near, MIDDLE_Q)
    far = ops.clamp(t, 4.0, None)
    z = 1 / (far * far)
    tail = (1 / math.sqrt(math.pi) - z * polynomial(z, FAR_P) / polynomial(z, FAR_Q)) / far
    return ops.where(ops.le(t, 4.0), middle, tail)


def _erfc(x: Any) -> Any:
    t = ops.abs(x)
    whole = ops.trunc(t * 16.0) / 16.0  # exp(-t^2) = exp(-w^2) exp(-(t - w)(t + w)): t^2 is not rounded
    weight = ops.exp(-(whole * whole)) * ops.exp(-((t - whole) * (t + whole)))
    tail = weight * _scaled_erfc(t)
    tail = ops.where(ops.gt(t, 27.5), 0, tail)
    return ops.where(ops.le(t, 0.46875), 1 - ops.erf(x), ops.where(ops.lt(x, 0), 2 - tail, tail))


erfc = op(
    "erfc(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    composite=in_double_1(_erfc),
    vjp=lambda g, x, r: g * (ops.exp(-(x * x)) * -TWO_OVER_ROOT_PI),
    oracle=each(math.erfc),
    doc="1 - erf(x), accurate where that is small.",
    example="tenora.erfc(tenora.tensor([0.0, 3.0]))",
    method=True,
    inplace=True,
    out=True,
)

CENTRE_P = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
CENTRE_Q = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
NEAR_P = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
NEAR_Q = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
TAIL_P = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
TAIL_Q = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


def _normal_quantile(q: Any, smaller: Any) -> Any:
    """The standard normal quantile of 0.5 + q; `smaller` is the probability beyond it, at most 0.5."""
    inner = 0.180625 - q * q
    centre = q * polynomial(inner, CENTRE_P) / polynomial(inner, CENTRE_Q)
    central = ops.le(ops.abs(q), 0.425)
    r = ops.sqrt(-ops.log(ops.where(central, 0.25, smaller)))
    near = ops.clamp(r, None, 5.0) - 1.6
    far = ops.clamp(r, 5.0, 40.0) - 5.0
    outer = ops.where(
        ops.le(r, 5.0),
        polynomial(near, NEAR_P) / polynomial(near, NEAR_Q),
        polynomial(far, TAIL_P) / polynomial(far, TAIL_Q),
    )
    outer = ops.where(ops.eq(smaller, 0), math.inf, outer)
    return ops.where(central, centre, ops.where(ops.lt(q, 0), -outer, outer))


def _erfinv(x: Any) -> Any:
    found = _normal_quantile(x * 0.5, (1 - ops.abs(x)) * 0.5) * math.sqrt(0.5)
    return ops.where(ops.gt(ops.abs(x), 1), math.nan, found)


erfinv = op(
    "erfinv(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(-0.97, 0.97),
    composite=in_double_1(_erfinv),
    vjp=lambda g, x, r: g * (ops.exp(r * r) * (1.0 / TWO_OVER_ROOT_PI)),
    oracle=lambda x: special.erfinv(x),
    doc="The inverse of erf; NaN outside [-1, 1].",
    example="tenora.erfinv(tenora.tensor([0.0, 0.5]))",
    method=True,
    inplace=True,
    out=True,
)


# ---- modified Bessel functions ----
def _bessel(x: Any, order: int, scaled: bool = False) -> Any:
    """I of order 0 or 1: the series in (x / 2)^2 up to 24, the asymptotic one beyond; scaled: exp(-|x|) of it."""
    t = ops.abs(x)
    small = ops.clamp(t, None, 24.0)
    quarter = small * small * 0.25
    terms = [1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(42, -1, -1)]
    series = polynomial(quarter, terms) * (1.0 if order == 0 else small * 0.5)
    far = ops.clamp(t, 24.0, None)
    mu, coefficient, asymptotic = 4.0 * order * order, 1.0, [1.0]
    for k in range(1, 26):
        coefficient *= -(mu - (2 * k - 1) ** 2) / (8 * k)
        asymptotic.append(coefficient)
    large = polynomial(1 / far, asymptotic[::-1])
    if scaled:
        series, large = series * ops.exp(-small), large / (ops.sqrt(far) * math.sqrt(2 * math.pi))
    else:
        root = ops.exp(far * 0.5)
        large = large * root * (root / (ops.sqrt(far) * math.sqrt(2 * math.pi)))
    found = ops.where(ops.le(t, 24.0), series, large)
    return found if order == 0 else ops.where(ops.lt(x, 0), -found, found)


i0 = op(
    "i0(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    composite=in_double_1(lambda x: _bessel(x, 0)),
    vjp=lambda g, x, r: g * ops.i1(x),
    oracle=lambda x: np.asarray(special.i0(np.asarray(x, dtype=float))),
    tolerance="normalised",
    doc="The modified Bessel function of the first kind of order 0.",
    example="tenora.i0(tenora.tensor([0.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
)


#: Up to here i1(x) / x is 1/2 to all digits of any dtype, while its parts may be denormal.
NO_QUOTIENT = 1e-30


def _i1_gradient(g: Any, x: Any, r: Any) -> Any:
    zero = ops.le(ops.abs(x), NO_QUOTIENT)
    return g * ops.where(zero, 0.5, ops.i0(x) - r / ops.where(zero, 1, x))


i1 = op(
    "i1(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(avoid=(0.0,)),
    composite=in_double_1(lambda x: _bessel(x, 1)),
    vjp=_i1_gradient,
    oracle=lambda x: np.asarray(special.i1(np.asarray(x, dtype=float))),
    tolerance="normalised",
    doc="The modified Bessel function of the first kind of order 1.",
    example="tenora.special.i1(tenora.tensor([0.0, 2.0]))",
    public="special.i1",
    out=True,
)
