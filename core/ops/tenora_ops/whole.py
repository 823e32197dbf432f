"""Integer functions and remainders, bounds, tests of numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.elementary import spread, tensors
from tenora_ops.families import BINARY, COMPOSITE, ORDERED_NUMBERS, UNARY
from tenora_ops.formula import is_complex, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.limits import finfo
from tenora_ops.oracles import divided, each
from tenora_ops.record import Family, op
from tenora_ops.rounding import _cut, between_steps
from tenora_ops.samples import (
    ALL,
    COMPLEX,
    FEW_PAIRS,
    FLOATING,
    INTEGERS,
    NONZERO,
    ORDERED,
    REALS,
    SIGNED,
    Domain,
    Draw,
    Sample,
    sample,
    unary,
)

INTEGRAL = Family(
    "integer", "promote_integral", "broadcast", "pointwise", tensors, INTEGERS, Domain(-30.0, 30.0)
)
TEST = Family("predicate", "bool", "same", "pointwise", unary, ALL, Domain(-2.0, 2.0))


# ---- whole numbers ----
def _check_integers(op: str, *values: Any) -> None:
    for value in values:
        if value.dtype.is_floating_point or value.dtype.is_complex or value.dtype == _engine.bool:
            raise errors.NotImplementedOperationError(
                f"[{op}] dtype not supported: got {value.dtype}, expected integers. Cast with .to(tenora.int64)."
            )


def _gcd(input: Any, other: Any) -> Any:
    """Euclid's algorithm on all elements until every remainder is zero."""
    _check_integers("gcd", input, other)
    a, b = ops.abs(input + other * 0), ops.abs(other + input * 0)
    while bool(ops.any(ops.ne(b, 0))):
        done = ops.eq(b, 0)
        rest = ops.remainder(a, ops.where(done, 1, b))
        a, b = ops.where(done, a, b), ops.where(done, 0, rest)
    return ops.abs(a)


def _lcm(input: Any, other: Any) -> Any:
    _check_integers("lcm", input, other)
    divisor = _gcd(input, other)
    return ops.abs(ops.floor_divide(input, ops.where(ops.eq(divisor, 0), 1, divisor)) * other)


def _whole(function: Any) -> Any:
    """An oracle in Python integers; the dtype is that of the operands."""

    def apply(a: Any, b: Any) -> Any:
        dtype = np.result_type(a, b)
        bits = 8 * dtype.itemsize
        found = np.frompyfunc(lambda x, y: function(int(x), int(y), bits) % 2**bits, 2, 1)(a, b)
        return np.asarray(found).astype(f"u{dtype.itemsize}").astype(dtype)

    return apply


gcd = op(
    "gcd(input: Tensor, other: Tensor) -> Tensor",
    family=INTEGRAL,
    dtype="",
    shape="",
    prepare="",
    function=_gcd,
    differentiable=False,
    oracle=_whole(lambda a, b, bits: math.gcd(a, b)),
    doc="Greatest common divisor (Euclid); gcd(0, 0) = 0.",
    example="tenora.gcd(tenora.tensor([12, 9]), tenora.tensor([8, 6]))",
    method=True,
    inplace=True,
    out=True,
)


def _least(a: Any, b: Any) -> Any:
    """The product wraps, as machine integers do, before its sign is dropped."""
    wrapped = _whole(lambda x, y, bits: x // math.gcd(x, y) * y if x and y else 0)(a, b)
    return np.where(wrapped < 0, 0 - wrapped, wrapped)


lcm = op(
    "lcm(input: Tensor, other: Tensor) -> Tensor",
    family=INTEGRAL,
    dtype="",
    shape="",
    prepare="",
    domain=Domain(-9.0, 9.0),
    function=_lcm,
    differentiable=False,
    oracle=_least,
    doc="Least common multiple, |input / gcd * other|; 0 where either is 0.",
    example="tenora.lcm(tenora.tensor([4, 6]), tenora.tensor([6, 8]))",
    method=True,
    inplace=True,
    out=True,
)


def shifts(draw: Draw) -> Iterable[Sample]:
    """By as many places as the widest type has, and by negative ones."""
    places = Domain(-2.0 if draw.dtype in SIGNED else 0.0, 9.0)
    found = [sample(draw.array(*a), draw.array(*b, domain=places)) for a, b in FEW_PAIRS]
    far = np.array([0, 1, 7, 8, 15, 16, 31, 32, 63, 64]).astype(draw.array().dtype)
    return [
        *found,
        sample(draw.array(10), far),
        sample(draw.array(5), 3),
        sample(3, draw.array(5, domain=places)),
        sample(draw.array(2, 1, 3), draw.array(4, 1, domain=places)),
    ]


def _shift_right(a: Any, b: Any) -> Any:
    """floor(a / 2^b); where 2^b does not fit, nothing but the sign is left."""
    a = spread(a, b)
    power = ops.pow(2, b) + ops.zeros_like(a)
    beyond = ops.le(power, 0)
    sign = ops.where(ops.lt(a, 0), -1, ops.zeros_like(a))
    return ops.where(beyond, sign, ops.floor_divide(a, ops.where(beyond, 1, power)))


bitwise_left_shift = op(
    "bitwise_left_shift(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=INTEGRAL,
    dtype="promote_whole",
    samples=shifts,
    composite=lambda a, b: a * ops.pow(2, spread(b, a)),
    differentiable=False,
    oracle=_whole(lambda a, b, bits: a << b if 0 <= b < bits else 0),
    doc="input * 2^other in machine integers; 0 for a shift that is negative or as wide as the type.",
    example="tenora.bitwise_left_shift(tenora.tensor([1, 3]), tenora.tensor([2, 4]))",
    method=True,
    inplace=True,
    out=True,
    operator="lshift",
)
bitwise_right_shift = op(
    "bitwise_right_shift(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=INTEGRAL,
    dtype="promote_whole",
    samples=shifts,
    composite=lambda a, b: _shift_right(a, spread(b, a)),
    differentiable=False,
    oracle=_whole(lambda a, b, bits: a >> b if 0 <= b < bits else -(a < 0)),
    doc="floor(input / 2^other); 0 or -1 for a shift that is negative or as wide as the type.",
    example="tenora.bitwise_right_shift(tenora.tensor([16, -3]), tenora.tensor([2, 1]))",
    method=True,
    inplace=True,
    out=True,
    operator="rshift",
)


# ---- remainders and extremes ----
def _fmod(a: Any, b: Any) -> Any:
    """Python's remainder by the divisor that has the dividend's sign; all is left by one that has no opposite."""
    b = spread(b, a)
    opposite = ops.ne(ops.lt(a, 0), ops.lt(b, 0))
    turned = ops.where(opposite, ops.zeros_like(b) - b, b)
    lowest = ops.logical_and(ops.logical_and(opposite, ops.eq(turned, b)), ops.ne(b, 0))
    rest = ops.remainder(a, turned)
    rest = ops.where(ops.eq(rest, 0), a * 0, rest)  # a zero has the sign of the dividend
    return ops.where(lowest, a, rest)


def apart(draw: Draw) -> Iterable[Sample]:
    """Operands none of whose elements are equal, or nearly so."""
    shapes = (((5,), (5,)), ((3, 4), (4,)), ((2, 1, 3), ()))
    second = [(shape, draw.array(*other)) for shape, other in shapes]
    return [sample((np.where(draw.mask(*shape), 0.75, -0.75) + b).astype(b.dtype), b) for shape, b in second]


fmod = op(
    "fmod(input: Tensor, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED_NUMBERS,
    checks_data=True,
    domain=NONZERO,
    samples=lambda draw: [*tensors(draw), sample(draw.array(2, 3), 2)],
    composite=_fmod,
    vjp=lambda g, a, b, r: (sum_to(g, a), sum_to(-g * ops.trunc(a / b), b)),
    edges="nonzero",
    gradient_samples=between_steps,
    oracle=lambda a, b: divided(math.fmod, lambda x, y: x - y * _cut(x, y))(a, b),
    tolerance="few_ulp",
    doc="input - other * trunc(input / other): C's %, the sign of the dividend.",
    example="tenora.fmod(tenora.tensor([7, -7]), 3)",
    method=True,
    inplace=True,
    out=True,
)


def with_nan(draw: Draw) -> Iterable[Sample]:
    """Pairs, and NaN on either side or on both."""
    found = list(tensors(draw))
    if draw.dtype in ("float16", "float32", "float64"):  # NumPy finds no NaN equal to NaN in bfloat16
        a, b = np.array([math.nan, 1.0, math.nan]), np.array([2.0, math.nan, math.nan])
        found.append(sample(a.astype(draw.array().dtype), b.astype(draw.array().dtype)))
    return found


def _present(extreme: Any, a: Any, b: Any) -> Any:
    return ops.where(ops.isnan(a), b, ops.where(ops.isnan(b), a, extreme(a, b)))


def _present_gradients(g: Any, a: Any, b: Any, wins: Any) -> tuple[Any, Any]:
    """Equal elements give it to the first."""
    first = ops.logical_or(wins(a, b), ops.isnan(b))
    return sum_to(ops.where(first, g, 0), a), sum_to(ops.where(first, 0, g), b)


fmax = op(
    "fmax(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED_NUMBERS,
    samples=with_nan,
    gradient_samples=apart,
    composite=lambda a, b: _present(ops.maximum, a, b),
    vjp=lambda g, a, b, r: _present_gradients(g, a, b, ops.ge),
    tolerance="exact",
    either_zero=True,
    oracle=lambda a, b: np.where(np.isnan(a) | (b > a), b, a),
    doc="The larger element; a number wins over NaN.",
    example="tenora.fmax(tenora.tensor([1.0, float('nan')]), tenora.tensor([3.0, 2.0]))",
    method=True,
    out=True,
)
fmin = op(
    "fmin(input: Tensor, other: Tensor) -> Tensor",
    family=BINARY,
    dtype="promote_real",
    dtypes=ORDERED_NUMBERS,
    samples=with_nan,
    gradient_samples=apart,
    composite=lambda a, b: _present(ops.minimum, a, b),
    vjp=lambda g, a, b, r: _present_gradients(g, a, b, ops.le),
    tolerance="exact",
    either_zero=True,
    oracle=lambda a, b: np.where(np.isnan(a) | (b < a), b, a),
    doc="The smaller element; a number wins over NaN.",
    example="tenora.fmin(tenora.tensor([1.0, float('nan')]), tenora.tensor([3.0, 2.0]))",
    method=True,
    out=True,
)


def one_bound(draw: Draw) -> Iterable[Sample]:
    level = 1.3 if draw.is_float else 1
    shapes = ((3, 4), (), (0,), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    found = [sample(draw.array(*shape), level) for shape in shapes]
    return [*found, sample(draw.array(3, 4), draw.array(4, domain=Domain(5.0, 6.0)))]


clamp_min = op(
    "clamp_min(input: Tensor, min: Tensor | Scalar) -> Tensor",
    family=COMPOSITE,
    dtypes=ORDERED_NUMBERS,
    domain=Domain(avoid=(1.3, 1.0)),
    samples=one_bound,
    composite=lambda x, low: ops.clamp(x, low, None),
    tolerance="exact",
    either_zero=True,
    oracle=lambda x, low: np.asarray(np.where((x < low) | (low != low), low, x), dtype=x.dtype),
    doc="max(x, min); NaN stays.",
    example="tenora.clamp_min(tenora.tensor([-2.0, 0.5]), 0)",
    method=True,
    inplace=True,
)
clamp_max = op(
    "clamp_max(input: Tensor, max: Tensor | Scalar) -> Tensor",
    family=COMPOSITE,
    dtypes=ORDERED_NUMBERS,
    domain=Domain(avoid=(1.3, 1.0)),
    samples=one_bound,
    composite=lambda x, high: ops.clamp(x, None, high),
    tolerance="exact",
    either_zero=True,
    oracle=lambda x, high: np.asarray(np.where((x > high) | (high != high), high, x), dtype=x.dtype),
    doc="min(x, max); NaN stays.",
    example="tenora.clamp_max(tenora.tensor([-2.0, 0.5]), 0)",
    method=True,
    inplace=True,
)
rsub = op(
    "rsub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor",
    family=COMPOSITE,
    dtypes=SIGNED + FLOATING,
    samples=lambda draw: [
        *tensors(draw),
        sample(draw.array(2, 3), 2),
        sample(draw.array(2, 3), draw.array(3), alpha=2),
    ],
    composite=lambda a, b, alpha: ops.sub_alpha(b, a, alpha=alpha),
    tolerance="few_ulp",
    edges="limited",
    oracle=lambda a, b, alpha=1: np.subtract(b, np.multiply(a, alpha)),
    doc="other - alpha * input.",
    example="tenora.rsub(tenora.tensor([1, 2]), 3)",
)
positive = op(
    "positive(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_no_bool",
    composite=lambda x: x,
    vjp=lambda g, x, r: g,
    tolerance="exact",
    oracle=lambda x: x,
    doc="The tensor itself; booleans are refused.",
    example="tenora.positive(tenora.tensor([1, -2]))",
    method=True,
)


# ---- tests of numbers ----
def not_finite(draw: Draw) -> Iterable[Sample]:
    found = list(unary(draw))
    if draw.is_float:
        found.append(sample(np.array([math.nan, math.inf, -math.inf, -1.5]).astype(draw.array().dtype)))
    return found


isposinf = op(
    "isposinf(input: Tensor) -> Tensor",
    family=TEST,
    dtype="promote_bool_real",
    dtypes=tuple(d for d in ALL if not d.startswith("complex")),
    samples=not_finite,
    composite=lambda x: ops.eq(x, math.inf),
    differentiable=False,
    oracle=lambda x: np.isposinf(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool),
    doc="True where the element is +infinity.",
    example="tenora.isposinf(tenora.tensor([1.0, float('inf')]))",
    method=True,
    out=True,
)
isneginf = op(
    "isneginf(input: Tensor) -> Tensor",
    family=TEST,
    dtype="promote_bool_real",
    dtypes=tuple(d for d in ALL if not d.startswith("complex")),
    samples=not_finite,
    composite=lambda x: ops.eq(x, -math.inf),
    differentiable=False,
    oracle=lambda x: np.isneginf(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool),
    doc="True where the element is -infinity.",
    example="tenora.isneginf(tenora.tensor([1.0, float('-inf')]))",
    method=True,
    out=True,
)
isreal = op(
    "isreal(input: Tensor) -> Tensor",
    family=TEST,
    samples=not_finite,
    composite=lambda x: (
        ops.eq(ops.imag(x), 0) if is_complex(x) else ops.full_like(x, True, dtype=_engine.bool)
    ),
    differentiable=False,
    oracle=lambda x: np.imag(x) == 0,
    doc="True where the imaginary part is zero.",
    example="tenora.isreal(tenora.tensor([1 + 0j, 2j]))",
    method=True,
)


def _isclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    distance = ops.abs(
        a * 1.0 - b * 1.0
    )  # of floating numbers: unsigned ones would wrap, bool has no difference
    near = ops.logical_and(ops.isfinite(distance), ops.le(distance, ops.abs(b * rtol) + atol))
    close = ops.logical_or(ops.eq(a, b), near)
    if equal_nan:
        close = ops.logical_or(close, ops.logical_and(ops.isnan(a), ops.isnan(b)))
    return close


def neighbours(draw: Draw) -> Iterable[Sample]:
    """Equal numbers, near and far ones, NaN, broadcasting, all options."""
    x = draw.array(3, 4)
    unit = x.dtype.type(1)
    found = [sample(x, x), sample(x, draw.array(4)), sample(draw.array(2, 1, 3), draw.array(4, 1), rtol=0.5)]
    found += [
        sample(x, x + unit, atol=1.5),
        sample(draw.array(), draw.array()),
        sample(draw.array(0), draw.array(0)),
        sample(draw.array(2, 3, 2, 2), draw.array(2), rtol=0.5),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(3, 1)),
    ]
    if draw.is_float:
        odd = np.array([math.nan, math.inf, 1.0]).astype(x.dtype)
        found += [sample(odd, odd, equal_nan=True), sample(odd, odd), sample(odd, odd[::-1].copy())]
    return found


def _close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    def one(x: Any, y: Any) -> bool:
        if x != x or y != y:
            return equal_nan and x != x and y != y
        return bool(x == y or (abs(x - y) <= atol + abs(rtol * y) and abs(x - y) != math.inf))

    return np.asarray(np.frompyfunc(one, 2, 1)(a.astype(object), b.astype(object))).astype(bool)


CLOSENESS = "rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False"
isclose = op(
    f"isclose(input: Tensor, other: Tensor, {CLOSENESS}) -> Tensor",
    family=BINARY,
    edges="ordinary",
    dtype="closeness",
    dtypes=ORDERED,
    domain=Domain(-2.0, 2.0),
    samples=neighbours,
    composite=_isclose,
    differentiable=False,
    tolerance="exact",
    oracle=_close,
    doc="|input - other| <= atol + |rtol * other|; infinities are close to themselves, NaN with equal_nan.",
    example="tenora.isclose(tenora.tensor([1.0, 2.0]), tenora.tensor([1.0, 2.1]))",
    method=True,
)


# ---- other numbers for the ones that are not finite ----
def _nan_to_num(input: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if input.dtype.is_complex:  # either part by itself
        return ops.view_as_complex(_nan_to_num(ops.view_as_real(input), nan, posinf, neginf))
    if not input.dtype.is_floating_point:
        return ops.clone(input)
    largest = finfo(input.dtype).max
    above, below = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return ops.replace_not_finite(input, 0.0 if nan is None else nan, above, below)


def _replace_not_finite(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    found = ops.where(ops.isnan(x), nan, x)
    found = ops.where(ops.eq(x, math.inf), posinf, found)
    return ops.where(ops.eq(x, -math.inf), neginf, found)


replace_not_finite = op(
    "replace_not_finite(input: Tensor, nan: float, posinf: float, neginf: float) -> Tensor",
    family=COMPOSITE,
    dtype="float_same_real",
    shape="same",
    prepare="plain",
    dtypes=REALS,
    composite=_replace_not_finite,
    vjp=lambda g, x, r, nan, posinf, neginf: ops.where(ops.isfinite(x), g, 0),
    samples=lambda draw: [sample(*s.arguments[:1], 1.0, 2.0, -3.0) for s in not_finite(draw)],
    gradient_samples=lambda draw: [sample(*s.arguments[:1], 1.0, 2.0, -3.0) for s in unary(draw)],
    tolerance="exact",
    oracle=lambda x, nan, posinf, neginf: _finite(x, nan, posinf, neginf),
    doc="nan, posinf and neginf in the places of the numbers that are not finite: what nan_to_num runs.",
    example="tenora.nan_to_num(tenora.tensor([float('nan')]))",
    public="",
)


def _finite(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind == "c":
        parts = [_finite(part, nan, posinf, neginf) for part in (x.real, x.imag)]
        return np.asarray(parts[0] + 1j * parts[1])
    if x.dtype.kind != "f":
        return x
    largest = finfo(getattr(_engine, (x.dtype.metadata or {}).get("drawn", x.dtype.name))).max

    def one(v: float) -> float:
        if v != v:
            return nan or 0.0
        if abs(v) != math.inf:
            return v
        return (largest if posinf is None else posinf) if v > 0 else (-largest if neginf is None else neginf)

    return each(one)(x)


nan_to_num = op(
    "nan_to_num(input: Tensor, nan: float? = None, posinf: float? = None, neginf: float? = None) -> Tensor",
    family=COMPOSITE,
    dtypes=INTEGERS + REALS + COMPLEX,
    function=_nan_to_num,
    samples=lambda draw: [
        *not_finite(draw),
        *[sample(s.arguments[0], 1.0, 2.0, -3.0) for s in list(not_finite(draw))[-2:]],
    ],
    gradient_samples=unary,
    tolerance="exact",
    oracle=_finite,
    doc="NaN becomes nan (0), infinities posinf and neginf (the largest finite numbers of the dtype).",
    example="tenora.nan_to_num(tenora.tensor([float('nan'), float('inf'), 1.0]))",
    method=True,
    inplace=True,
    out=True,
)
