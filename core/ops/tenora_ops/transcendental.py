"""Exponentials, logarithms, trigonometry and the error function."""

from __future__ import annotations

import cmath
import math
from typing import Any

from tenora_ops import complex_branches, oracles
from tenora_ops.families import BINARY_FUNCTION, COMPLEX_FUNCTION_INPUTS, UNARY_FUNCTION
from tenora_ops.formula import conj, is_complex, ops, sum_to
from tenora_ops.oracles import each, logarithm, stepped
from tenora_ops.record import op
from tenora_ops.samples import (
    POSITIVE,
    Domain,
    binary,
)

INSIDE = Domain(-0.95, 0.95)

TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)

exp = op(
    "exp(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    vjp=lambda g, x, r: g * conj(r),
    oracle=each(math.exp, cmath.exp),
    doc="e to the power of x.",
    example="tenora.exp(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

log = op(
    "log(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    domain=Domain(0.5, 4.0),
    vjp=lambda g, x, r: g / conj(x),
    oracle=each(logarithm(math.log), cmath.log),
    doc="Natural logarithm; -inf at 0, NaN below.",
    example="tenora.log(tenora.tensor([1.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _log_to_base(x: Any, base: float) -> Any:
    factor = 1.0 / math.log(base)
    return complex_branches.scaled(ops.log(x), factor) if is_complex(x) else ops.log(x) * factor


log2 = op(
    "log2(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(0.5, 4.0),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: _log_to_base(x, 2.0),
    vjp=lambda g, x, r: g / (conj(x) * math.log(2.0)),
    oracle=each(logarithm(math.log2), lambda z: cmath.log(z) / math.log(2.0)),
    doc="Logarithm to base 2.",
    example="tenora.log2(tenora.tensor([1.0, 8.0]))",
    method=True,
    inplace=True,
    out=True,
)

log10 = op(
    "log10(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(0.5, 4.0),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: _log_to_base(x, 10.0),
    vjp=lambda g, x, r: g / (conj(x) * math.log(10.0)),
    oracle=each(logarithm(math.log10), cmath.log10),
    doc="Logarithm to base 10.",
    example="tenora.log10(tenora.tensor([1.0, 100.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _log1p(x: Any) -> Any:
    """log(u) x / (u - 1) with u = 1 + x cancels the rounding of u (Kahan; HP-15C handbook)."""
    u = x + 1
    exact = ops.logical_or(ops.eq(u, 1), ops.eq(u, math.inf))
    safe = ops.where(exact, 2, u)
    return ops.where(exact, x, ops.log(safe) * (x / (safe - 1)))


log1p = op(
    "log1p(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(-0.5, 3.0),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.log1p(x) if is_complex(x) else _log1p(x),
    vjp=lambda g, x, r: g / conj(x + 1),
    oracle=each(oracles.log1p, lambda z: cmath.log(1 + z)),
    doc="log(1 + x), accurate near 0.",
    example="tenora.log1p(tenora.tensor([0.0, 1e-9]))",
    method=True,
    inplace=True,
    out=True,
)


def _expm1(x: Any) -> Any:
    """(u - 1) x / log(u) with u = exp(x) cancels the rounding of u (Kahan)."""
    u = ops.exp(x)
    minus = u - 1
    plain = ops.logical_or(ops.eq(minus, -1), ops.eq(u, math.inf))
    safe = ops.where(ops.logical_or(plain, ops.eq(u, 1)), 2, u)
    return ops.where(plain, minus, ops.where(ops.eq(u, 1), x, minus * (x / ops.log(safe))))


expm1 = op(
    "expm1(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.expm1(x) if is_complex(x) else _expm1(x),
    vjp=lambda g, x, r: g * conj(r + 1),
    oracle=each(math.expm1, lambda z: cmath.exp(z) - 1),
    doc="exp(x) - 1, accurate near 0.",
    example="tenora.expm1(tenora.tensor([0.0, 1e-9]))",
    method=True,
    inplace=True,
    out=True,
)

exp2 = op(
    "exp2(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: ops.pow(2.0, x),
    vjp=lambda g, x, r: g * (conj(r) * math.log(2.0)),
    oracle=each(lambda x: 2.0**x, lambda x: 2.0**x),
    doc="2 to the power of x.",
    example="tenora.exp2(tenora.tensor([0.0, 3.0]))",
    method=True,
    inplace=True,
    out=True,
)

sin = op(
    "sin(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    vjp=lambda g, x, r: g * conj(ops.cos(x)),
    oracle=each(stepped(math.sin), cmath.sin),
    doc="Sine of an angle in radians.",
    example="tenora.sin(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

cos = op(
    "cos(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    vjp=lambda g, x, r: -g * conj(ops.sin(x)),
    oracle=each(stepped(math.cos), cmath.cos),
    doc="Cosine of an angle in radians.",
    example="tenora.cos(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

tan = op(
    "tan(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=Domain(-1.2, 1.2),
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.tan(x) if is_complex(x) else ops.sin(x) / ops.cos(x),
    vjp=lambda g, x, r: g * conj(r * r + 1),
    oracle=each(stepped(math.tan), cmath.tan),
    doc="Tangent of an angle in radians.",
    example="tenora.tan(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

sinh = op(
    "sinh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.sinh(x) if is_complex(x) else (ops.expm1(x) - ops.expm1(-x)) * 0.5,
    vjp=lambda g, x, r: g * conj(ops.cosh(x)),
    oracle=each(lambda x: x * math.inf if abs(x) > 711 else math.sinh(x), cmath.sinh),
    doc="Hyperbolic sine, (e^x - e^-x) / 2.",
    example="tenora.sinh(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

cosh = op(
    "cosh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: complex_branches.cosh(x) if is_complex(x) else (ops.exp(x) + ops.exp(-x)) * 0.5,
    vjp=lambda g, x, r: g * conj(ops.sinh(x)),
    oracle=each(math.cosh, cmath.cosh),
    doc="Hyperbolic cosine, (e^x + e^-x) / 2.",
    example="tenora.cosh(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

erf = op(
    "erf(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    vjp=lambda g, x, r: g * (ops.exp(-(x * x)) * TWO_OVER_ROOT_PI),
    oracle=each(math.erf),
    doc="Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    example="tenora.erf(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _angle_gradients(g: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """0 at the origin, as PyTorch's."""
    square = x * x + y * y
    square = ops.where(ops.eq(square, 0), 1, square)
    return sum_to(g * (x / square), y), sum_to(-g * (y / square), x)


atan2 = op(
    "atan2(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    domain=POSITIVE,
    samples=lambda draw: [s for s in binary(draw) if all(hasattr(a, "shape") for a in s.arguments)],
    vjp=lambda g, y, x, r: _angle_gradients(g, y, x),
    oracle=each(math.atan2),
    doc="The angle of the point (other, input), in (-pi, pi].",
    example="tenora.atan2(tenora.tensor([1.0]), tenora.tensor([-1.0]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arctan2",),
)

atan = op(
    "atan(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: (
        complex_branches.atan(x) if is_complex(x) else ops.atan2(x * 1.0, ops.ones_like(x * 1.0))
    ),
    vjp=lambda g, x, r: g / conj(x * x + 1),
    oracle=each(math.atan, cmath.atan),
    doc="Inverse tangent.",
    example="tenora.atan(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arctan",),
)

asin = op(
    "asin(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=INSIDE,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: (
        complex_branches.asin(x) if is_complex(x) else ops.atan2(x * 1.0, ops.sqrt((1 - x) * (x + 1)))
    ),
    vjp=lambda g, x, r: g * conj(ops.rsqrt((1 - x) * (x + 1))),
    oracle=each(math.asin, cmath.asin),
    doc="Inverse sine; NaN outside [-1, 1].",
    example="tenora.asin(tenora.tensor([0.0, 0.5]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arcsin",),
)

acos = op(
    "acos(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    domain=INSIDE,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: (
        complex_branches.acos(x) if is_complex(x) else ops.atan2(ops.sqrt((1 - x) * (x + 1)), x * 1.0)
    ),
    vjp=lambda g, x, r: -g * conj(ops.rsqrt((1 - x) * (x + 1))),
    oracle=each(math.acos, cmath.acos),
    doc="Inverse cosine; NaN outside [-1, 1].",
    example="tenora.acos(tenora.tensor([0.0, 0.5]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("arccos",),
)
