"""Incomplete gamma functions (computed in float64, rounded once), and functions of the normal distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tenora_engine import _engine
from tenora_ops.elementary import spread, tensors
from tenora_ops.families import REAL_BINARY_FUNCTION, REAL_FUNCTION
from tenora_ops.formula import ops, sum_to
from tenora_ops.incomplete_gamma import STIRLING, regularised, weight
from tenora_ops.lazy import np, special
from tenora_ops.oracles import each, log1p, logarithm, times_log
from tenora_ops.record import op
from tenora_ops.samples import POSITIVE, REALS, Domain, Draw, Sample, sample, unary
from tenora_ops.special import NO_QUOTIENT, _bessel, _erfc, _normal_quantile, _scaled_erfc, in_double_1

ROOT_HALF = math.sqrt(0.5)
#: Of the incomplete gamma functions: small, and on both sides of parameters beyond Stirling's bound.
PARAMETERS, PLACES = (0.25, 30, 30, 240, 240, 240, 240), (0.0625, 17, 45, 160, 340, 169, 311)


def _incomplete(input: Any, other: Any, upper: bool) -> Any:
    """P(a, x), or Q(a, x) = 1 - P(a, x)."""
    dtype = (
        ops.narrow(ops.reshape(input, (-1,)), 0, 0, 0) + ops.narrow(ops.reshape(other, (-1,)), 0, 0, 0)
    ).dtype
    if not dtype.is_floating_point:
        dtype = _engine.default_dtype()
    a, x = ops.to(input, _engine.float64), ops.to(other, _engine.float64)
    a, x = a + ops.zeros_like(x), x + ops.zeros_like(a)
    usual = ops.logical_and(ops.logical_and(ops.gt(a, 0), ops.gt(x, 0)), ops.lt(ops.maximum(a, x), math.inf))
    found = regularised(ops.where(usual, a, 1.0), ops.where(usual, x, 1.0), upper)
    return ops.to(ops.where(usual, found, _edges(a, x, upper)), dtype)


def _edges(a: Any, x: Any, upper: bool) -> Any:
    """Where a or x is 0 or infinite: all of the distribution lies below x, or nothing does."""
    all_below = ops.logical_or(ops.eq(a, 0), ops.eq(x, math.inf))
    known = ops.logical_and(ops.ge(a, 0), ops.ge(x, 0))
    known = ops.logical_and(known, ops.logical_not(ops.logical_and(ops.eq(a, 0), ops.eq(x, 0))))
    known = ops.logical_and(known, ops.logical_not(ops.logical_and(ops.eq(a, math.inf), ops.eq(x, math.inf))))
    share = ops.to(ops.logical_xor(all_below, ops.full_like(all_below, upper)), _engine.float64)
    return ops.where(known, share, math.nan)


def _density(a: Any, x: Any) -> Any:
    """d P(a, x) / d x = x^(a - 1) e^-x / gamma(a), in float64."""
    dtype = (a + x).dtype
    a, x = ops.to(a, _engine.float64), ops.to(x, _engine.float64)
    a, x = a + ops.zeros_like(x), x + ops.zeros_like(a)
    large = ops.logical_and(ops.ge(a, STIRLING), ops.gt(x, 0))
    few, many = ops.where(large, 1.0, a), ops.where(large, a, STIRLING)
    place = ops.where(large, x, STIRLING)
    plain = ops.exp((few - 1) * ops.log(x) - x - ops.lgamma(few))
    return ops.to(ops.where(large, weight(many, place) * (many / place), plain), dtype)


def _regimes(draw: Draw) -> list[Sample]:
    """Both of moderate size; then some for each way to compute, where PyTorch's has digits enough to compare."""
    a, x = (np.array(v, np.float64).astype(draw.dtype) for v in (PARAMETERS, PLACES))
    return [*tensors(draw), sample(a, x)]


def _share(a: float, x: float, upper: bool) -> float:
    """SciPy's, but where a is so small, or so much larger than x, that it loses the limit."""
    if 0 < a < 1e-290 and 0 < x < math.inf:
        return float(a * special.exp1(x)) if upper else 1.0
    if math.inf > a > 1e290 and 0 <= x < a / 2:
        return float(upper)
    return float(special.gammaincc(a, x) if upper else special.gammainc(a, x))


igamma = op(
    "igamma(input: Tensor, other: Tensor) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=Domain(0.2, 9.0),
    samples=_regimes,
    function=lambda input, other: _incomplete(input, other, False),
    vjp=lambda g, a, x, r: (None, sum_to(g * _density(a, x), x)),
    dynamic_vjp=True,
    no_gradient=("input",),
    edges="cancels",
    oracle=each(lambda a, x: _share(a, x, False)),
    tolerance="normalised",
    doc="The regularised lower incomplete gamma function P(input, other).",
    example="tenora.igamma(tenora.tensor([2.0]), tenora.tensor([1.0]))",
    method=True,
    inplace=True,
    out=True,
)
igammac = op(
    "igammac(input: Tensor, other: Tensor) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=Domain(0.2, 9.0),
    samples=_regimes,
    function=lambda input, other: _incomplete(input, other, True),
    vjp=lambda g, a, x, r: (None, sum_to(-g * _density(a, x), x)),
    dynamic_vjp=True,
    no_gradient=("input",),
    edges="cancels",
    oracle=each(lambda a, x: _share(a, x, True)),
    tolerance="normalised",
    doc="The regularised upper incomplete gamma function 1 - P(input, other).",
    example="tenora.igammac(tenora.tensor([2.0]), tenora.tensor([1.0]))",
    method=True,
    inplace=True,
    out=True,
)

# ---- the normal distribution ----
ROOT_TAU = math.sqrt(2 * math.pi)


def _erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x)."""
    small = ops.clamp(x, None, 0.46875)
    return ops.where(ops.lt(x, 0.46875), ops.exp(small * small) * _erfc(small), _scaled_erfc(ops.abs(x)))


def _ndtr(x: Any) -> Any:
    """erfc(-x / sqrt(2)) / 2; e^(-x^2 / 2) as a product of two, so that the square is not rounded."""
    t = ops.abs(x)
    whole = ops.trunc(t * 16.0) / 16.0
    weight = ops.exp(whole * whole * -0.5) * ops.exp((t - whole) * (t + whole) * -0.5)
    tail = ops.where(ops.gt(t, 39.0), 0, weight * _scaled_erfc(t * ROOT_HALF) * 0.5)
    near = _erfc(x * -ROOT_HALF) * 0.5
    return ops.where(ops.le(t, 0.75), near, ops.where(ops.lt(x, 0), tail, 1 - tail))


def _log_ndtr(x: Any) -> Any:
    """Far below zero through erfcx, as erfc vanishes there."""
    t = x * -ROOT_HALF
    low = ops.log(_erfcx(ops.clamp(t, 0.0, None)) * 0.5) - t * t
    return ops.where(ops.lt(x, -1.0), low, ops.log1p(-_ndtr(-ops.clamp(x, -1.5, None))))


def _tail_share(x: float) -> float:
    """What of a normal distribution lies above x >= 0: the square is exact, in two parts."""
    if x > 40:
        return 0.0
    square = Fraction(x) ** 2 / 2
    first = float(square)
    return math.exp(-first) * (1 - float(square - Fraction(first))) * float(special.erfcx(x * ROOT_HALF)) / 2


def _log_share(x: float) -> float:
    """The logarithm of what lies below x."""
    if x > -1:
        return math.log1p(-_tail_share(x) if x > 0 else _tail_share(-x) - 1)
    return float(np.log(special.erfcx(-x * ROOT_HALF) / 2)) - x * x / 2


ndtr = op(
    "ndtr(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(-2.0, 4.0),
    composite=in_double_1(_ndtr),
    vjp=lambda g, x, r: g * (ops.exp(x * x * -0.5) * (1.0 / ROOT_TAU)),
    oracle=each(lambda x: _tail_share(-x) if x < 0 else 1 - _tail_share(x)),
    doc="The standard normal distribution function.",
    example="tenora.special.ndtr(tenora.tensor([0.0, 1.0]))",
    public="special.ndtr",
    out=True,
)
log_ndtr = op(
    "log_ndtr(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    composite=in_double_1(_log_ndtr),
    vjp=lambda g, x, r: g * (ops.exp(x * x * -0.5 - r) * (1.0 / ROOT_TAU)),
    oracle=each(_log_share),
    doc="Logarithm of ndtr, accurate far below zero.",
    example="tenora.special.log_ndtr(tenora.tensor([0.0, -9.0]))",
    public="special.log_ndtr",
    out=True,
)
ndtri = op(
    "ndtri(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(0.05, 0.95),
    composite=in_double_1(
        lambda p: ops.where(
            ops.logical_and(ops.ge(p, 0), ops.le(p, 1)),
            _normal_quantile(p - 0.5, ops.clamp(ops.minimum(p, 1 - p), 0, None)),
            math.nan,
        )
    ),
    vjp=lambda g, x, r: g * (ops.exp(r * r * 0.5) * ROOT_TAU),
    oracle=lambda p: special.ndtri(p),
    doc="The inverse of ndtr; NaN outside [0, 1].",
    example="tenora.special.ndtri(tenora.tensor([0.5, 0.9]))",
    public="special.ndtri",
    out=True,
)
erfcx = op(
    "erfcx(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(-1.0, 4.0),
    composite=in_double_1(_erfcx),
    vjp=lambda g, x, r: g * (x * r * 2.0 - 2.0 / math.sqrt(math.pi)),
    oracle=lambda x: special.erfcx(np.asarray(x, dtype=float)),
    tolerance="normalised",
    doc="exp(x^2) erfc(x).",
    example="tenora.special.erfcx(tenora.tensor([0.0, 5.0]))",
    public="special.erfcx",
    out=True,
)


def _entropy(x: Any) -> Any:
    positive = ops.gt(x, 0)
    safe = ops.where(positive, x, 1.0)
    found = -safe * ops.log(safe)
    return ops.where(
        positive, found, ops.where(ops.eq(x, 0), 0.0, ops.where(ops.isnan(x), math.nan, -math.inf))
    )


entr = op(
    "entr(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=POSITIVE,
    composite=_entropy,
    vjp=lambda g, x, r: g * (-ops.log(x) - 1),
    oracle=each(lambda x: -math.inf if x < 0 else -times_log(logarithm(math.log))(x, x)),
    doc="-x log(x); 0 at 0, -inf below.",
    example="tenora.special.entr(tenora.tensor([0.0, 0.5]))",
    public="special.entr",
    out=True,
)


def _xlog1py(a: Any, b: Any) -> Any:
    a, b = spread(a, b), spread(b, a)
    nothing = ops.logical_and(ops.eq(a, 0), ops.logical_not(ops.isnan(b)))
    return ops.where(nothing, 0, a * ops.log1p(ops.where(nothing, 0, b)))


def _xlog1py_gradients(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    x, y = spread(a, b), spread(b, a)
    nothing = ops.logical_and(ops.eq(x, 0), ops.le(y, -1))
    slope = ops.where(nothing, 0, g * ops.log1p(ops.where(nothing, 0, y)))
    return sum_to(slope, a), sum_to(g * (x / (y + 1)), b)


xlog1py = op(
    "xlog1py(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=POSITIVE,
    composite=_xlog1py,
    vjp=lambda g, a, b, r: _xlog1py_gradients(g, a, b),
    oracle=each(times_log(log1p)),
    doc="input * log(1 + other), 0 where input is 0 and other no NaN.",
    example="tenora.special.xlog1py(tenora.tensor([0.0, 2.0]), tenora.tensor([-1.0, 3.0]))",
    public="special.xlog1py",
    out=True,
)


# ---- scaled Bessel functions ----
def _far(draw: Draw) -> list[Sample]:
    """Where the function without the scale overflows."""
    values = np.array([0.0, 15.9, -16.1, 23.9, -24.1, 300.0, -720.0, 800.0, 1e4, -6e4, math.inf])
    return [sample(values.astype(draw.array().dtype))] if draw.is_float else []


i0e = op(
    "i0e(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(avoid=(0.0,)),
    samples=lambda draw: [*unary(draw), *_far(draw)],
    gradient_samples=unary,
    composite=in_double_1(lambda x: _bessel(x, 0, scaled=True)),
    vjp=lambda g, x, r: g * (ops.i1e(x) - ops.sign(x) * r),
    oracle=lambda x: special.i0e(np.asarray(x, dtype=float)),
    tolerance="normalised",
    doc="exp(-|x|) i0(x).",
    example="tenora.special.i0e(tenora.tensor([0.0, 2.0]))",
    public="special.i0e",
    out=True,
)


def _i1e_gradient(g: Any, x: Any, r: Any) -> Any:
    zero = ops.le(ops.abs(x), NO_QUOTIENT)
    return g * ops.where(zero, 0.5, ops.i0e(x) - r * (ops.sign(x) + 1 / ops.where(zero, 1, x)))


i1e = op(
    "i1e(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(avoid=(0.0,)),
    samples=lambda draw: [*unary(draw), *_far(draw)],
    gradient_samples=unary,
    composite=in_double_1(lambda x: _bessel(x, 1, scaled=True)),
    vjp=_i1e_gradient,
    oracle=lambda x: special.i1e(np.asarray(x, dtype=float)),
    tolerance="normalised",
    doc="exp(-|x|) i1(x).",
    example="tenora.special.i1e(tenora.tensor([0.0, 2.0]))",
    public="special.i1e",
    out=True,
)
