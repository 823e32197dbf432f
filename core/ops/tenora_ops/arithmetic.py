"""Arithmetic, element by element."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.families import BINARY, ORDERED_NUMBERS, UNARY
from tenora_ops.formula import conj, is_complex, is_number, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.oracles import each
from tenora_ops.record import op
from tenora_ops.samples import (
    COMPLEX,
    FLOATING,
    NONZERO,
    NUMBERS,
    POSITIVE,
    SIGNED,
    Domain,
    Draw,
    Sample,
    sample,
)


def _negative_powers(draw: Draw) -> Sample:
    bases, powers = (np.array(v, draw.dtype) for v in ([[-3], [-1], [1], [2]], [-3, -2, -1, 2]))
    return sample(bases, powers)


def exponents(draw: Draw) -> Iterable[Sample]:
    """Positive bases with any exponent; whole numbers with small natural exponents, and with negative ones."""
    if draw.is_integer:
        power = Domain(0, 3)
        found = [sample(draw.array(3, 4), draw.array(4, domain=power)), sample(draw.array(5), 2)]
        return [
            *found,
            sample(2, draw.array(2, 3, domain=power)),
            sample(draw.array(0), 3),
            sample(draw.array(2, 1, 3), 1),
            sample(draw.array(), 0),
            sample(draw.array(2, 3, 2, 2), draw.array(2, domain=power)),
            sample(draw.array(1, 2, 1, 3, 2), draw.array(3, 1, domain=power)),
            *([_negative_powers(draw)] if draw.dtype in SIGNED else []),
        ]
    base = Domain(0.2, 3.0)
    return [
        sample(draw.array(3, 4, domain=base), draw.array(3, 4)),
        sample(draw.array(2, 1, 3, domain=base), draw.array(4, 1)),
        sample(draw.array(5), 2),
        sample(draw.array(2, 3), 3.0),
        sample(draw.array(2, 3, domain=base), -0.5),
        sample(2.5, draw.array(2, 2)),
        sample(draw.array(0), 2),
        sample(draw.array(domain=base), 0.5),
        sample(draw.array(2, 3, 2, 2, domain=base), draw.array(2)),
        sample(draw.array(1, 2, 1, 3, 2, domain=base), draw.array(3, 1)),
    ]


def scaled(draw: Draw) -> Iterable[Sample]:
    """Two operands and a factor."""
    factors = (2, -3) if draw.is_integer else (2, 0.5)
    pairs = [sample(draw.array(3, 4), draw.array(4), alpha=f) for f in factors]
    more = (((2, 0), (2, 1)), ((), ()), ((2, 3, 2, 2), (3, 1, 2)), ((1, 2, 1, 3, 2), (2, 4, 1, 1)))
    return [*pairs, *[sample(draw.array(*a), draw.array(*b), alpha=2) for a, b in more]]


add = op(
    "add(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    vjp=lambda g, a, b, r: (sum_to(g, a), sum_to(g, b)),
    oracle=lambda a, b: np.add(a, b),
    doc="Sum, element by element; of booleans: or.",
    example="tenora.add(tenora.tensor([1, 2]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="add",
)

add_alpha = op(
    "add_alpha(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar) -> Tensor",
    family=BINARY,
    dtypes=SIGNED + FLOATING,
    tolerance="few_ulp",
    composite=lambda a, b, alpha: ops.add(a, b * alpha),
    vjp=lambda g, a, b, r, alpha: (sum_to(g, a), sum_to(g * alpha, b)),
    samples=scaled,
    edges="limited",
    either_zero=True,
    oracle=lambda a, b, alpha: np.add(a, np.multiply(b, alpha)),
    doc="input + alpha * other.",
    example="tenora.add(tenora.tensor([1, 2]), tenora.tensor([1, 1]), alpha=3)",
    public="add",
    method=True,
    inplace=True,
    out=True,
)

sub = op(
    "sub(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_no_bool",
    dtypes=NUMBERS,
    vjp=lambda g, a, b, r: (sum_to(g, a), sum_to(-g, b)),
    oracle=lambda a, b: np.subtract(a, b),
    doc="Difference, element by element; booleans are refused.",
    example="tenora.sub(tenora.tensor([1, 2]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="sub",
    aliases=("subtract",),
)

sub_alpha = op(
    "sub_alpha(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_no_bool",
    dtypes=SIGNED + FLOATING,
    tolerance="few_ulp",
    composite=lambda a, b, alpha: ops.sub(a, b * alpha),
    vjp=lambda g, a, b, r, alpha: (sum_to(g, a), sum_to(-(g * alpha), b)),
    samples=scaled,
    edges="limited",
    either_zero=True,
    oracle=lambda a, b, alpha: np.subtract(a, np.multiply(b, alpha)),
    doc="input - alpha * other.",
    example="tenora.sub(tenora.tensor([1, 2]), tenora.tensor([1, 1]), alpha=3)",
    public="sub",
    method=True,
    inplace=True,
    out=True,
)

mul = op(
    "mul(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    vjp=lambda g, a, b, r: (sum_to(g * conj(b), a), sum_to(g * conj(a), b)),
    tolerance="few_ulp",
    oracle=lambda a, b: np.multiply(a, b),
    doc="Product, element by element; of booleans: and.",
    example="tenora.mul(tenora.tensor([1, 2]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="mul",
    aliases=("multiply",),
)

div = op(
    "div(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_float",
    dtypes=NUMBERS,
    domain=NONZERO,
    vjp=lambda g, a, b, r: (sum_to(g / conj(b), a), sum_to(-g * conj(r / b), b)),
    tolerance="few_ulp",
    oracle=lambda a, b: np.true_divide(a, b),
    doc="Quotient, element by element; of integers: a floating number.",
    example="tenora.div(tenora.tensor([1, 2]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="truediv",
    aliases=("divide",),
)

true_divide = op(  # not an alias: it takes no rounding_mode
    "true_divide(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_float",
    dtypes=NUMBERS,
    domain=NONZERO,
    composite=lambda a, b: ops.div(a, b),
    tolerance="few_ulp",
    oracle=lambda a, b: np.true_divide(a, b),
    doc="Quotient, element by element; of integers: a floating number.",
    example="tenora.true_divide(tenora.tensor([1, 2]), 3)",
    method=True,
    inplace=True,
    out=True,
    renames="div",
)

neg = op(
    "neg(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_no_bool",
    vjp=lambda g, x, r: -g,
    either_zero=True,
    oracle=lambda x: np.subtract(np.zeros((), x.dtype), x),
    doc="The negative; booleans are refused.",
    example="tenora.neg(tenora.tensor([1, -2]))",
    method=True,
    inplace=True,
    out=True,
    operator="neg",
    aliases=("negative",),
)

abs = op(
    "abs(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="abs",
    domain=NONZERO,
    vjp=lambda g, x, r: g * (ops.sgn(x) if is_complex(x) else ops.sign(x)),
    tolerance="few_ulp",
    oracle=lambda x: np.where(x <= 0, 0 - x, x) if x.dtype.kind != "c" else np.hypot(x.real, x.imag),
    doc="Magnitude; of a complex number a real one.",
    example="tenora.abs(tenora.tensor([1, -2]))",
    method=True,
    inplace=True,
    out=True,
    operator="abs",
    aliases=("absolute",),
)

square = op(
    "square(input: Tensor) -> Tensor",
    family=UNARY,
    composite=lambda x: x * x,
    vjp=lambda g, x, r: g * (conj(x) * 2),
    tolerance="few_ulp",
    oracle=lambda x: x * x,
    doc="x * x.",
    example="tenora.square(tenora.tensor([3, -2]))",
    method=True,
    inplace=True,
    out=True,
)

reciprocal = op(
    "reciprocal(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_float",
    domain=NONZERO,
    composite=lambda x: 1 / x,
    vjp=lambda g, x, r: -g * conj(r * r),
    tolerance="few_ulp",
    oracle=lambda x: np.true_divide(1, x),
    doc="1 / x.",
    example="tenora.reciprocal(tenora.tensor([4.0, -2.0]))",
    method=True,
    inplace=True,
    out=True,
)

sqrt = op(
    "sqrt(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_float",
    domain=POSITIVE,
    vjp=lambda g, x, r: g / (conj(r) * 2),
    tolerance="few_ulp",
    oracle=lambda x: np.power(x.astype(complex if x.dtype.kind == "c" else float), 0.5),
    doc="Square root; the principal one of a complex number.",
    example="tenora.sqrt(tenora.tensor([4.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
)

rsqrt = op(
    "rsqrt(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_float",
    domain=POSITIVE,
    composite=lambda x: 1 / ops.sqrt(x),
    vjp=lambda g, x, r: g * conj(r * r * r) * -0.5,
    tolerance="few_ulp",
    oracle=each(lambda x: math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x), lambda x: x**-0.5),
    doc="1 / sqrt(x).",
    example="tenora.rsqrt(tenora.tensor([4.0, 2.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _power_gradients(g: Any, a: Any, b: Any, r: Any) -> tuple[Any, Any]:
    """d a**b = b a**(b-1) da + a**b log(a) db, with 0 where b is 0, and where a is 0 and b is not negative."""
    if is_number(b):  # 0 ** (b * b) is 1 at b = 0 and 0 elsewhere: the exponent b - 1 becomes 0 there, not -1
        base = g * conj(ops.pow(a, b - 1 + 0 ** (b * b)) * b)
    else:
        base = g * conj(ops.where(ops.eq(b, 0), 0, ops.pow(a, b - 1) * b))
    if is_number(a):
        a = ops.full((), a, dtype=r.dtype, device=r.device)
    size = b if is_number(b) or not is_complex(b) else ops.real(b)
    still = ops.logical_and(ops.eq(a, 0), ops.ge(size, 0))
    exponent = (
        None
        if is_number(b)
        else sum_to(ops.where(still, 0, g * conj(r * ops.log(ops.where(still, 1, a)))), b)
    )
    return sum_to(base, a), exponent


def _power(x: float, y: float) -> float:
    """Beyond the largest number of either sign."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.copysign(math.inf, x if y % 2 == 1 else 1.0) if x == 0 else math.nan


def _whole_power(x: int, y: int, modulus: int) -> int:
    """A negative power is 1 / x ** -y towards zero: of 1 and -1 alone it is not 0."""
    if y < 0:
        return (x**-y if x in (1, -1) else 0) % modulus
    return builtins.pow(x, y, modulus)


def _powers(a: Any, b: Any) -> Any:
    whole = np.result_type(a, b)
    if whole.kind in "iu":  # modulo the width of the type, as machine integers multiply
        bits = 8 * whole.itemsize
        found = np.frompyfunc(lambda x, y: _whole_power(int(x), int(y), 2**bits), 2, 1)(a, b)
        return np.asarray(found).astype(f"u{whole.itemsize}").astype(whole)
    return each(_power, lambda x, y: complex(x) ** y)(a, b)


pow = op(
    "pow(input: Tensor | Scalar, exponent: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="pow",
    dtypes=ORDERED_NUMBERS + COMPLEX,
    domain=Domain(-3.0, 3.0),
    vjp=_power_gradients,
    samples=exponents,
    tolerance="transcendental",
    oracle=lambda a, b: _powers(a, b),
    doc="input to the power of exponent.",
    example="tenora.pow(tenora.tensor([1.0, 2.0]), 3)",
    method=True,
    inplace=True,
    out=True,
    operator="pow",
)
