"""Functions of floating numbers beside those of `transcendental`: inverse hyperbolic, logarithms of sums, angles."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable
from typing import Any

from tenora_engine import _engine
from tenora_ops import complex_branches
from tenora_ops.families import (
    BINARY,
    BINARY_FUNCTION,
    COMPLEX_FUNCTION_INPUTS,
    COMPOSITE,
    REAL_BINARY_FUNCTION,
    REAL_FUNCTION,
    UNARY_FUNCTION,
)
from tenora_ops.formula import conj, is_complex, is_number, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.oracles import each, logarithm, times_log
from tenora_ops.record import op
from tenora_ops.samples import COMPLEX, ORDERED, POSITIVE, REALS, Domain, Draw, Sample, binary, sample, unary

LOG_TWO = math.log(2.0)
#: Above it, 1 is nothing beside x * x.
LARGE = 2.0**28


def tensors(draw: Draw) -> Iterable[Sample]:
    """Equal and broadcast shapes, no Python numbers."""
    return [s for s in binary(draw) if all(hasattr(a, "dtype") for a in s.arguments)]


def _asinh(x: Any) -> Any:
    """log1p(t + t^2 / (sqrt(t^2 + 1) + 1)) for t = |x|, with x's sign (fdlibm's s_asinh)."""
    t = ops.abs(x)
    large = ops.gt(t, LARGE)
    small = ops.where(large, 1, t)
    square = small * small
    found = ops.log1p(small + square / (ops.sqrt(square + 1) + 1))
    return ops.copysign(ops.where(large, ops.log(ops.where(large, t, 1)) + LOG_TWO, found), x)


asinh = op(
    "asinh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.asinh(x) if is_complex(x) else _asinh(x),
    vjp=lambda g, x, r: g * conj(ops.rsqrt(x * x + 1)),
    oracle=each(math.asinh, cmath.asinh),
    doc="Inverse hyperbolic sine, log(x + sqrt(x^2 + 1)).",
    example="tenora.asinh(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arcsinh",),
)


def _acosh(x: Any) -> Any:
    """log1p(t + sqrt(2 t + t^2)) with t = x - 1 (fdlibm's e_acosh)."""
    large = ops.gt(x, LARGE)
    t = ops.where(large, 1, x) - 1
    # Far below 1 the sum rounds to -1 or 0 and would have a logarithm.
    found = ops.where(ops.lt(x, 1), math.nan, ops.log1p(t + ops.sqrt(t * (t + 2))))
    return ops.where(large, ops.log(ops.where(large, x, 1)) + LOG_TWO, found)


acosh = op(
    "acosh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(1.1, 5.0),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.acosh(x) if is_complex(x) else _acosh(x),
    vjp=lambda g, x, r: g * conj(ops.rsqrt(x - 1) * ops.rsqrt(x + 1)),
    oracle=each(math.acosh, cmath.acosh),
    doc="Inverse hyperbolic cosine, log(x + sqrt(x^2 - 1)); NaN below 1.",
    example="tenora.acosh(tenora.tensor([1.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arccosh",),
)


def _atanh(x: Any) -> Any:
    """log1p(2 t / (1 - t)) / 2 for t = |x|, with x's sign (fdlibm's e_atanh)."""
    t = ops.abs(x)
    return ops.copysign(ops.log1p(t * 2 / (1 - t)) * 0.5, x)


atanh = op(
    "atanh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(-0.9, 0.9),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.atanh(x) if is_complex(x) else _atanh(x),
    vjp=lambda g, x, r: g / conj((1 - x) * (x + 1)),
    oracle=each(lambda x: math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x), cmath.atanh),
    doc="Inverse hyperbolic tangent, log((1 + x) / (1 - x)) / 2; NaN outside [-1, 1].",
    example="tenora.atanh(tenora.tensor([0.0, 0.5]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arctanh",),
)

deg2rad = op(
    "deg2rad(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    domain=Domain(-180.0, 180.0),
    composite=lambda x: x * (math.pi / 180.0),
    vjp=lambda g, x, r: g * (math.pi / 180.0),
    oracle=each(math.radians),
    doc="Degrees to radians, x pi / 180.",
    example="tenora.deg2rad(tenora.tensor([90.0, 180.0]))",
    method=True,
    inplace=True,
    out=True,
)

rad2deg = op(
    "rad2deg(input: Tensor) -> Tensor",
    family=REAL_FUNCTION,
    composite=lambda x: x * (180.0 / math.pi),
    vjp=lambda g, x, r: g * (180.0 / math.pi),
    oracle=each(math.degrees),
    doc="Radians to degrees, x 180 / pi.",
    example="tenora.rad2deg(tenora.tensor([1.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _sinc(x: Any) -> Any:
    zero = ops.eq(x, 0)
    angle = ops.where(zero, 1, x) * math.pi
    return ops.where(zero, 1, ops.sin(angle) / angle)


def _sinc_gradient(g: Any, x: Any) -> Any:
    zero = ops.eq(x, 0)
    safe = ops.where(zero, 1, x)
    angle = safe * math.pi
    slope = (ops.cos(angle) - ops.sin(angle) / angle) / safe
    return g * conj(ops.where(zero, x * (-math.pi * math.pi / 3), slope))


sinc = op(
    "sinc(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=REALS + COMPLEX,
    domain=Domain(avoid=(0.0,)),
    composite=_sinc,
    vjp=lambda g, x, r: _sinc_gradient(g, x),
    edges="cancels",
    oracle=each(
        lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0,
        lambda x: cmath.sin(math.pi * x) / (math.pi * x),
    ),
    tolerance="normalised",
    doc="sin(pi x) / (pi x), 1 at 0.",
    example="tenora.sinc(tenora.tensor([0.0, 0.5]))",
    method=True,
    inplace=True,
    out=True,
)


def _logit(x: Any, eps: Any) -> Any:
    if eps is not None:
        x = ops.where(ops.lt(x, eps), eps, ops.where(ops.gt(x, 1.0 - eps), 1.0 - eps, x))
    return ops.log(x / (1 - x))


def _logit_gradient(g: Any, x: Any, eps: Any) -> Any:
    outside = ops.logical_or(
        ops.lt(x, 0.0 if eps is None else eps), ops.gt(x, 1.0 if eps is None else 1.0 - eps)
    )
    return ops.where(outside, math.nan if eps is None else 0, g / (x * (1 - x)))


def _log_odds(x: float, eps: float | None) -> float:
    """NaN outside of 0 to 1."""
    if eps is not None:
        x = eps if x < eps else 1 - eps if x > 1 - eps else x
    return math.inf if x == 1 else logarithm(math.log)(x / (1 - x))


logit = op(
    "logit(input: Tensor, eps: float? = None) -> Tensor",
    family=REAL_FUNCTION,
    dtypes=REALS,
    domain=Domain(0.05, 0.95),
    samples=lambda draw: [*unary(draw), sample(draw.array(5), 0.01), sample(draw.array(3, 4), eps=0.02)],
    composite=_logit,
    vjp=lambda g, x, r, eps: _logit_gradient(g, x, eps),
    oracle=lambda x, eps=None: each(lambda v: _log_odds(v, eps))(x),
    tolerance="normalised",
    doc="log(x / (1 - x)), of eps where x is below it and else of 1 - eps where x is above that, where eps is given.",
    example="tenora.logit(tenora.tensor([0.25, 0.5]))",
    method=True,
    inplace=True,
    out=True,
)


def _hypot(a: Any, b: Any) -> Any:
    """The larger times sqrt(1 + q^2), q their quotient: no square overflows."""
    a, b = ops.abs(a), ops.abs(b)
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    plain = ops.logical_or(ops.eq(large, 0), ops.eq(large, math.inf))
    quotient = small / ops.where(plain, 1, large)
    found = ops.where(plain, large, large * ops.sqrt(quotient * quotient + 1))
    infinite = ops.logical_or(ops.eq(a, math.inf), ops.eq(b, math.inf))
    return ops.where(infinite, math.inf, found)


hypot = op(
    "hypot(input: Tensor, other: Tensor) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=POSITIVE,
    samples=tensors,
    composite=_hypot,
    vjp=lambda g, a, b, r: (sum_to(g * (a / r), a), sum_to(g * (b / r), b)),
    oracle=each(math.hypot),
    doc="sqrt(input^2 + other^2) without overflow.",
    example="tenora.hypot(tenora.tensor([3.0]), tenora.tensor([4.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _distance(a: Any, b: Any) -> Any:
    """a - b, and 0 where they are equal: infinities too."""
    same = ops.eq(a, b)
    return ops.where(same, 0, ops.where(same, 0, a) - ops.where(same, 0, b))


def _apart(a: Any, b: Any) -> Any:
    """a - b with its derivatives where they are equal, and 0 where they are the same infinity."""
    same = ops.logical_and(ops.eq(a, b), ops.eq(ops.abs(a), math.inf))
    return ops.where(same, 0, a) - ops.where(same, 0, b)


def _logaddexp2_gradients(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    apart = _apart(a, b) * LOG_TWO
    return sum_to(g * ops.sigmoid(apart), a), sum_to(g * ops.sigmoid(-apart), b)


def _logaddexp_gradients(g: Any, a: Any, b: Any, r: Any) -> tuple[Any, Any]:
    if is_complex(r):
        return sum_to(g * conj(ops.exp(a - r)), a), sum_to(g * conj(ops.exp(b - r)), b)
    apart = _apart(a, b)
    return sum_to(g * ops.sigmoid(apart), a), sum_to(g * ops.sigmoid(-apart), b)


def _log_of_sum(a: float, b: float, base: float = math.e) -> float:
    """The exponent of a sum of two powers of a base, from theirs."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    large, small = max(a, b), min(a, b)
    return large if math.isinf(large) else large + math.log1p(base ** (small - large)) / math.log(base)


def _logaddexp_complex(a: complex, b: complex) -> complex:
    """The argument of the term with the larger real part goes on counting turns, as in PyTorch."""
    large, small = (a, b) if a.real >= b.real else (b, a)
    return large + cmath.log(1 + cmath.exp(small - large))


logaddexp = op(
    "logaddexp(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    dtypes=REALS + COMPLEX,
    samples=tensors,
    composite=lambda a, b: (
        complex_branches.logaddexp(a, b)
        if is_complex(a)
        else ops.maximum(a, b) + ops.log1p(ops.exp(-ops.abs(_distance(a, b))))
    ),
    vjp=_logaddexp_gradients,
    oracle=each(_log_of_sum, _logaddexp_complex),
    doc="log(exp(input) + exp(other)) without overflow.",
    example="tenora.logaddexp(tenora.tensor([1.0]), tenora.tensor([2.0]))",
    method=True,
    out=True,
)

logaddexp2 = op(
    "logaddexp2(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    samples=tensors,
    composite=lambda a, b: (
        ops.maximum(a, b) + ops.log1p(ops.exp(ops.abs(_distance(a, b)) * -LOG_TWO)) * (1.0 / LOG_TWO)
    ),
    vjp=lambda g, a, b, r: _logaddexp2_gradients(g, a, b),
    oracle=each(lambda a, b: _log_of_sum(a, b, 2.0)),
    doc="log2(2^input + 2^other) without overflow.",
    example="tenora.logaddexp2(tenora.tensor([1.0]), tenora.tensor([2.0]))",
    method=True,
    out=True,
)


def spread(value: Any, like: Any) -> Any:
    """A number as a tensor of `like`'s shape, 0-d beside another number; a tensor as it is."""
    if is_number(value) and is_number(like):
        return ops.add(value, 0.0)
    return ops.zeros_like(like) + value if is_number(value) else value


def _xlogy(a: Any, b: Any) -> Any:
    a, b = spread(a, b), spread(b, a)
    nothing = ops.logical_and(ops.eq(a, 0), ops.logical_not(ops.isnan(b)))
    return ops.where(nothing, 0, a * ops.log(ops.where(nothing, 1, b)))


def _xlogy_gradients(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    x, y = spread(a, b), spread(b, a)
    nothing = ops.logical_and(ops.eq(x, 0), ops.le(y, 0))
    return sum_to(ops.where(nothing, 0, g * ops.log(ops.where(nothing, 1, y))), a), sum_to(g * (x / y), b)


xlogy = op(
    "xlogy(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=REAL_BINARY_FUNCTION,
    domain=POSITIVE,
    composite=_xlogy,
    vjp=lambda g, a, b, r: _xlogy_gradients(g, a, b),
    oracle=each(times_log(logarithm(math.log))),
    doc="input * log(other), 0 where input is 0 and other no NaN.",
    example="tenora.xlogy(tenora.tensor([0.0, 2.0]), tenora.tensor([0.0, 3.0]))",
    method=True,
    inplace=True,
    out=True,
)


def powers(draw: Draw) -> Iterable[Sample]:
    base = Domain(0.2, 3.0)
    pairs = (((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), ()), ((0,), (1,)), ((2, 3, 2, 2), (2,)))
    found = [sample(draw.array(*a, domain=base), draw.array(*b)) for a, b in pairs]
    return [*found, sample(draw.array(5), 2), sample(2, draw.array(2, 3))]


def _float_power(a: Any, b: Any) -> Any:
    wide = any(isinstance(v, complex) if is_number(v) else is_complex(v) for v in (a, b))
    dtype = _engine.complex128 if wide else _engine.float64
    return ops.pow(*[v if is_number(v) else ops.to(v, dtype) for v in (a, b)])


float_power = op(
    "float_power(input: Tensor | Scalar, exponent: Tensor | Scalar) -> Tensor",
    family=COMPOSITE,
    dtypes=("float64", "complex128"),
    samples=powers,
    composite=_float_power,
    tolerance="transcendental",
    oracle=each(lambda a, b: float(a) ** b, lambda a, b: complex(a) ** b),
    doc="input to the power of exponent, always in double precision.",
    example="tenora.float_power(tenora.tensor([1, 2]), 0.5)",
    exact_target=True,
    method=True,
    inplace=True,
    out=True,
)


def _power_of_two(x: float) -> float:
    return math.inf if x >= 1024 else 2.0**x


ldexp = op(
    "ldexp(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    samples=tensors,
    composite=lambda a, b: a * ops.pow(2.0, b),
    vjp=lambda g, a, b, r: (sum_to(g * conj(ops.pow(2.0, b)), a), sum_to(g * conj(r) * LOG_TWO, b)),
    oracle=each(lambda a, b: a * _power_of_two(b)),
    doc="input * 2^other.",
    example="tenora.ldexp(tenora.tensor([1.0, 3.0]), tenora.tensor([2, 4]))",
    method=True,
    inplace=True,
    out=True,
)


def _negative(x: Any) -> Any:
    """Below zero, or the zero whose reciprocal is; a NaN shows its sign to kernels alone."""
    return ops.logical_or(ops.lt(x, 0), ops.logical_and(ops.eq(x, 0), ops.lt(ops.div(1.0, x), 0)))


def zeros_too(draw: Draw) -> Iterable[Sample]:
    """Every shape, and zeros of both signs."""
    found = list(unary(draw))
    if draw.is_float:
        found.append(sample(np.array([0.0, -0.0, math.inf, -math.inf]).astype(draw.array().dtype)))
    return found


def _signs(draw: Draw) -> Iterable[Sample]:
    found = list(zeros_too(draw))
    if draw.dtype in ("float32", "float64"):
        found.append(sample(np.array([math.nan, -math.nan, -1.0]).astype(draw.dtype)))
    return found


signbit = op(
    "signbit(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtype="bool",
    dtypes=ORDERED,
    composite=lambda x: ops.lt(ops.copysign(ops.ones_like(x), x), 0),
    differentiable=False,
    samples=_signs,
    tolerance="exact",
    oracle=lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    doc="True for numbers below zero, for -0 and for a NaN with a sign.",
    example="tenora.signbit(tenora.tensor([1.0, -2.0]))",
    method=True,
    out=True,
)

copysign = op(
    "copysign(input: Tensor, other: Tensor | Scalar) -> Tensor",
    family=BINARY_FUNCTION,
    domain=Domain(avoid=(0.0,)),
    samples=lambda draw: [*tensors(draw), sample(draw.array(2, 3), -2)],
    composite=lambda a, b: ops.where(_negative(spread(b, a)), -ops.abs(a), ops.abs(a)),
    vjp=lambda g, a, b, r: (
        sum_to(ops.where(ops.eq(a, 0), 0, g * (r / ops.where(ops.eq(a, 0), 1, a))), a),
        None if is_number(b) else ops.zeros_like(b),
    ),
    tolerance="exact",
    oracle=each(math.copysign),
    doc="The magnitude of input with the sign of other.",
    example="tenora.copysign(tenora.tensor([1.0, 2.0]), tenora.tensor([-1.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

heaviside = op(
    "heaviside(input: Tensor, values: Tensor) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED,
    samples=tensors,
    composite=lambda x, values: ops.where(ops.eq(x, 0), values, ops.to(ops.gt(x, 0), values.dtype)),
    differentiable=False,
    tolerance="exact",
    oracle=lambda x, values: np.where(x == 0, values, (x > 0).astype(values.dtype)),
    doc="0 below zero, values at zero, 1 above.",
    example="tenora.heaviside(tenora.tensor([-1.0, 0.0, 2.0]), tenora.tensor(0.5))",
    method=True,
    inplace=True,
    out=True,
)
