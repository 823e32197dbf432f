"""Rounding, remainders, signs and extremes, element by element."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.families import BINARY, COMPOSITE, ORDERED_NUMBERS, ROUNDING, UNARY
from tenora_ops.formula import is_complex, is_number, ops, sum_to
from tenora_ops.halves import HALVES, rounds_once
from tenora_ops.lazy import np
from tenora_ops.oracles import divided, each, quotient, whole
from tenora_ops.record import op
from tenora_ops.samples import (
    COMPLEX,
    NONZERO,
    ORDERED,
    REALS,
    SIGNED,
    UNSIGNED,
    Domain,
    Draw,
    Sample,
    sample,
)


def bounds(draw: Draw) -> Iterable[Sample]:
    """Lower and upper bounds as numbers and as tensors."""
    low, high = (-1.3, 1.7) if draw.is_float else (1, 3) if draw.dtype in UNSIGNED else (-1, 2)
    found = [
        sample(draw.array(3, 4), low, high),
        sample(draw.array(5), low),
        sample(draw.array(2, 3, 2, 2), None, high),
        sample(draw.array(0), low, high),
        sample(draw.array(), low, high),
    ]
    tensors = (
        (Domain(-2.0, -0.5), Domain(0.5, 2.0)) if draw.is_float else (Domain(0.0, 1.0), Domain(2.0, 3.0))
    )
    return [
        *found,
        sample(draw.array(3, 4), draw.array(4, domain=tensors[0]), draw.array(3, 1, domain=tensors[1])),
        sample(draw.array(2, 1, 3), None, high),
        sample(draw.array(1, 2, 1, 3, 2), low, high),
    ]


def between_steps(draw: Draw) -> Iterable[Sample]:
    """Quotients that lie 0.4 away from a whole number: no difference crosses a step."""
    shapes = (((5,), (5,)), ((3, 4), (4,)), ((2, 1, 3), ()))
    below = [(shape, draw.array(*other, domain=Domain(1.0, 2.0))) for shape, other in shapes]
    return [sample(((draw.indices(4, *shape) - 1.6) * b).astype(b.dtype), b) for shape, b in below]


def _divide_rounded(input: Any, other: Any, rounding_mode: str | None) -> Any:
    """Chooses by dtype, which a Program does not know."""
    if rounding_mode is None:
        return ops.div(input, other)
    if rounding_mode == "floor":
        return ops.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise errors.OperationError(
            f"[div] unknown rounding_mode: got {rounding_mode!r}, expected None, 'floor' or 'trunc'. Pass one of these."
        )
    floor = ops.floor_divide(input, other)
    if floor.dtype.is_floating_point:
        return _truncated(input, other, floor.dtype)
    inexact = ops.logical_and(ops.ne(ops.remainder(input, other), 0), ops.lt(floor, 0))
    return ops.add(floor, ops.to(inexact, floor.dtype))


def _truncated(input: Any, other: Any, dtype: Any) -> Any:
    """Half types divide in float32: a quotient rounded to half could reach the next whole number."""
    if dtype not in HALVES:
        return ops.trunc(ops.div(input, other))
    wide = [v if is_number(v) else ops.to(v, _engine.float32) for v in (input, other)]
    return ops.to(ops.trunc(ops.div(*wide)), dtype)


def _cut(x: int, y: int) -> int:
    """The quotient, rounded towards zero."""
    found = builtins.abs(x) // builtins.abs(y)
    return found if (x < 0) == (y < 0) else -found


def _towards_zero(x: float) -> float:
    """With the sign that x has, be it zero."""
    return math.copysign(math.trunc(x), x) if math.isfinite(x) else x


def _floored(a: Any, b: Any) -> Any:
    return divided(lambda x, y: x // y if y else quotient(x, y), lambda x, y: x // y)(a, b)


div_mode = op(
    "div_mode(input: Tensor | Scalar, other: Tensor | Scalar, *, rounding_mode: str?) -> Tensor",
    no_differences="steps have a gradient of zero",
    family=COMPOSITE,
    dtypes=SIGNED + REALS,
    domain=NONZERO,
    function=_divide_rounded,
    samples=lambda draw: [
        sample(draw.array(3, 4), draw.array(4), rounding_mode="trunc"),
        sample(draw.array(3, 4), draw.array(3, 1), rounding_mode="floor"),
        sample(draw.array(5), 2, rounding_mode="trunc"),
        sample(draw.array(5), -3, rounding_mode="floor"),
        sample(draw.array(0), 2, rounding_mode="trunc"),
        sample(draw.array(), draw.array(), rounding_mode="floor"),
    ],
    tolerance="exact",
    edges="nonzero",
    oracle=lambda a, b, rounding_mode: (
        divided(lambda x, y: _towards_zero(quotient(x, y)), _cut)(a, b)
        if rounding_mode == "trunc"
        else _floored(a, b)
    ),
    doc="Quotient rounded towards zero ('trunc') or down ('floor').",
    example="tenora.div(tenora.tensor([7, -7]), 2, rounding_mode='trunc')",
    public="div",
    method=True,
    inplace="div_",
    out=True,
)

sign = op(
    "sign(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_real",
    dtypes=ORDERED,
    domain=NONZERO,
    vjp=lambda g, x, r: ops.zeros_like(x),
    tolerance="exact",
    either_zero=True,
    oracle=lambda x: x if x.dtype == bool else (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype),
    doc="-1, 0 or 1.",
    example="tenora.sign(tenora.tensor([3, 0, -2]))",
    method=True,
    inplace=True,
    out=True,
)


def _direction(x: Any) -> Any:
    """0 at 0, and so is the gradient there."""
    zero = ops.eq(x, 0)
    return ops.where(zero, 0, x / ops.where(zero, 1, ops.abs(x)))


sgn = op(
    "sgn(input: Tensor) -> Tensor",
    family=UNARY,
    dtypes=REALS + COMPLEX,
    domain=NONZERO,
    composite=lambda x: _direction(x) if is_complex(x) else ops.sign(x),
    tolerance="few_ulp",
    oracle=lambda x: x / np.where(x == 0, 1, np.abs(x)) if np.iscomplexobj(x) else (x > 0) * 1.0 - (x < 0),
    doc="x / |x|, 0 at 0: the sign, and its extension to complex numbers.",
    example="tenora.sgn(tenora.tensor([3.0, 0.0, -2.0]))",
    method=True,
    inplace=True,
    out=True,
)

maximum = op(
    "maximum(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_bounds",
    dtypes=ORDERED,
    vjp=lambda g, a, b, r: _extreme_gradients(g, a, b, ops.lt),
    tolerance="exact",
    either_zero=True,
    oracle=lambda a, b: np.where((np.asarray(a) > b) | (a != a), a, b),
    doc="The larger element; NaN wins. Equal elements share the gradient.",
    example="tenora.maximum(tenora.tensor([1, 5]), tenora.tensor([3, 2]))",
    method=True,
    out=True,
)

minimum = op(
    "minimum(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_bounds",
    dtypes=ORDERED,
    vjp=lambda g, a, b, r: _extreme_gradients(g, a, b, ops.gt),
    tolerance="exact",
    either_zero=True,
    oracle=lambda a, b: np.where((np.asarray(a) < b) | (a != a), a, b),
    doc="The smaller element; NaN wins. Equal elements share the gradient.",
    example="tenora.minimum(tenora.tensor([1, 5]), tenora.tensor([3, 2]))",
    method=True,
    out=True,
)


def _extreme_gradients(g: Any, a: Any, b: Any, loses: Any) -> tuple[Any, Any]:
    """Beside NaN nobody loses, and both get the gradient, as in PyTorch."""
    shared = ops.where(ops.eq(a, b), g * 0.5, g)
    return sum_to(ops.where(loses(a, b), 0, shared), a), sum_to(ops.where(loses(b, a), 0, shared), b)


floor_divide = op(
    "floor_divide(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED_NUMBERS,
    checks_data=True,
    domain=NONZERO,
    vjp=lambda g, a, b, r: (_zeros(a), _zeros(b)),
    tolerance="exact",
    edges="nonzero",
    gradient_samples=between_steps,
    oracle=lambda a, b: _floored(a, b),
    doc="floor(input / other), Python's //.",
    example="tenora.floor_divide(tenora.tensor([7, -7]), 2)",
    method=True,
    inplace=True,
    out=True,
    operator="floordiv",
)


def _zeros(like: Any) -> Any:
    return None if is_number(like) else ops.zeros_like(like)


remainder = op(
    "remainder(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED_NUMBERS,
    checks_data=True,
    domain=NONZERO,
    vjp=lambda g, a, b, r: (sum_to(g, a), sum_to(-g * ops.floor_divide(a, b), b)),
    tolerance="few_ulp",
    edges="nonzero",
    gradient_samples=between_steps,
    oracle=divided(lambda x, y: x % y, lambda x, y: x % y),
    doc="input - other * floor(input / other): Python's %, the sign of the divisor.",
    example="tenora.remainder(tenora.tensor([7, -7]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="mod",
)

floor = op(
    "floor(input: Tensor) -> Tensor",
    family=ROUNDING,
    domain=Domain(avoid=(-1.0, 0.0, 1.0, 2.0)),
    vjp=lambda g, x, r: ops.zeros_like(x),
    either_zero=True,
    oracle=each(whole(math.floor)),
    doc="The largest whole number not above x.",
    example="tenora.floor(tenora.tensor([1.5, -1.5]))",
    method=True,
    inplace=True,
    out=True,
)

ceil = op(
    "ceil(input: Tensor) -> Tensor",
    family=ROUNDING,
    domain=Domain(avoid=(-1.0, 0.0, 1.0, 2.0)),
    vjp=lambda g, x, r: ops.zeros_like(x),
    either_zero=True,
    oracle=each(whole(math.ceil)),
    doc="The smallest whole number not below x.",
    example="tenora.ceil(tenora.tensor([1.5, -1.5]))",
    method=True,
    inplace=True,
    out=True,
)

trunc = op(
    "trunc(input: Tensor) -> Tensor",
    family=ROUNDING,
    domain=Domain(avoid=(-1.0, 1.0, 2.0)),
    vjp=lambda g, x, r: ops.zeros_like(x),
    either_zero=True,
    oracle=each(whole(math.trunc)),
    doc="The whole part, rounded towards zero.",
    example="tenora.trunc(tenora.tensor([1.5, -1.5]))",
    method=True,
    inplace=True,
    out=True,
    aliases=("fix",),
)

round = op(
    "round(input: Tensor) -> Tensor",
    family=ROUNDING,
    vjp=lambda g, x, r: ops.zeros_like(x),
    either_zero=True,
    oracle=each(whole(builtins.round)),
    doc="The nearest whole number, halves to the even one.",
    example="tenora.round(tenora.tensor([0.5, 1.5, -1.2]))",
    method=True,
    inplace=True,
    out=True,
)


def _round_decimals(input: Any, decimals: int) -> Any:
    """Powers of ten are exact up to 10^22, their inverses never are: negative decimals divide first."""
    if not input.dtype.is_floating_point:
        raise errors.NotImplementedOperationError(
            f"[round] dtype not supported: got {input.dtype}, expected a floating type. Cast it with .to(...)."
        )
    power = 10.0 ** builtins.abs(decimals) if builtins.abs(decimals) <= 308 else math.inf
    if decimals < 0:
        return ops.mul(ops.round(ops.div(input, power)), power)
    return ops.div(ops.round(ops.mul(input, power)), power)


round_decimals = op(
    "round_decimals(input: Tensor, *, decimals: int) -> Tensor",
    no_differences="steps have a gradient of zero",
    family=COMPOSITE,
    function=rounds_once(_round_decimals),
    samples=lambda draw: [
        sample(draw.array(3, 4), decimals=1),
        sample(draw.array(5), decimals=0),
        sample(draw.array(2, 1, 3), decimals=2),
        sample(draw.array(), decimals=1),
        sample(draw.array(2, 0, 3), decimals=1),
        sample(draw.array(2, 3, 2, 2, domain=Domain(-400.0, 400.0)), decimals=-2),
        sample(draw.array(1, 2, 1, 3, 2), decimals=3),
    ],
    edges="limited",
    oracle=lambda x, decimals: each(lambda value: builtins.round(float(value), decimals))(x),
    doc="The nearest number of so many decimals, halves to the even one; negative: of tens, hundreds, ...",
    example="tenora.round(tenora.tensor([3.14159, -2.71828]), decimals=2)",
    public="round",
    method=True,
    inplace="round_",
    out=True,
    display="round",
)

frac = op(
    "frac(input: Tensor) -> Tensor",
    family=ROUNDING,
    dtype="float_same",
    domain=Domain(avoid=(-1.0, 0.0, 1.0, 2.0)),
    composite=lambda x: x - ops.trunc(x),
    vjp=lambda g, x, r: g,
    either_zero=True,
    oracle=each(lambda x: math.fmod(x, 1.0)),
    doc="x - trunc(x).",
    example="tenora.frac(tenora.tensor([1.5, -1.25]))",
    method=True,
    inplace=True,
    out=True,
)

clamp = op(
    "clamp(input: Tensor, min: Tensor | real | None = None, max: Tensor | real | None = None) -> Tensor",
    family=BINARY,
    dtype="promote_bounds",
    dtypes=ORDERED_NUMBERS,
    domain=Domain(avoid=(-1.3, 1.7, -1.0, 2.0)),
    samples=bounds,
    composite=lambda x, low, high: _clamped(x, low, high),
    vjp=lambda g, x, low, high, r: _clamp_gradients(g, x, low, high),
    tolerance="exact",
    oracle=lambda x, low=None, high=None: np.clip(x, low, high),
    either_zero=True,
    doc="min(max(x, low), high); NaN stays.",
    example="tenora.clamp(tenora.tensor([-2.0, 0.5, 3.0]), -1, 1)",
    method=True,
    inplace=True,
    out=True,
    aliases=("clip",),
)


def _clamped(x: Any, low: Any, high: Any) -> Any:
    if low is None and high is None:
        raise errors.OperationError(
            "[clamp] no bound: got None and None, expected min, max or both. Pass one."
        )
    if low is not None:
        x = ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


def _clamp_gradients(g: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """The bound that was taken receives the gradient; the upper one where the bounds cross."""
    above = None if low is None else ops.ge(x, low)
    below = None if high is None else ops.le(x, high)
    inside = below if above is None else above if below is None else ops.logical_and(above, below)
    to_x = sum_to(g if inside is None else ops.where(inside, g, 0), x)
    to_low = to_high = None
    if low is not None and not is_number(low):
        taken = ops.lt(x, low)
        taken = taken if high is None else ops.logical_and(taken, ops.le(low, high))
        to_low = sum_to(ops.where(taken, g, 0), low)
    if high is not None and not is_number(high):
        taken = ops.gt(x, high)
        taken = taken if low is None else ops.logical_or(taken, ops.gt(low, high))
        to_high = sum_to(ops.where(taken, g, 0), high)
    return to_x, to_low, to_high
