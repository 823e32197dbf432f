"""Floating numbers taken apart: mantissa and exponent, the next number, and slopes of sampled functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.checks import number_for, wrap_dim, wrap_dims
from tenora_ops.elementary import tensors, zeros_too
from tenora_ops.formula import ops, sum_to
from tenora_ops.lazy import np, special
from tenora_ops.oracles import each
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Domain, Draw, Sample, sample, unary
from tenora_ops.special import _polygamma

PARTS = Family("float parts", "", "", "", unary, REALS, tolerance="exact")
#: Digits of the significand and the smallest positive number, as powers of two.
LIMITS = {
    _engine.float16: (11, -24),
    _engine.bfloat16: (8, -133),
    _engine.float32: (24, -149),
    _engine.float64: (53, -1074),
}


def _refuse_integers(op: str, *values: Any) -> None:
    for value in values:
        if value.dtype not in LIMITS:
            raise errors.OperationError(
                f"[{op}] dtype not supported: got {value.dtype}, expected a real floating type. Cast with "
                ".to(tenora.float32)."
            )


def _scaled(x: Any, exponent: Any) -> Any:
    """x 2^exponent in two factors, neither of which overflows."""
    half = ops.floor_divide(exponent, 2)
    return x * ops.pow(2.0, half) * ops.pow(2.0, exponent - half)


def _frexp(input: Any) -> tuple[Any, Any]:
    """The exponent by logarithm, which may be off by one, put right by the mantissa it leaves."""
    _refuse_integers("frexp", input)
    x = ops.to(input.detach(), _engine.float64)
    plain = ops.logical_and(ops.ne(x, 0), ops.isfinite(x))
    size = ops.abs(ops.where(plain, x, 1.0))
    exponent = ops.floor(ops.log2(size)) + 1
    mantissa = _scaled(size, -exponent)
    exponent = (
        exponent
        + ops.to(ops.ge(mantissa, 1.0), exponent.dtype)
        - ops.to(ops.lt(mantissa, 0.5), exponent.dtype)
    )
    exponent = ops.where(plain, exponent, 0.0)
    if input.dtype == _engine.float64:
        return _scaled(input, -exponent), ops.to(exponent, _engine.int32)
    wide = _scaled(ops.to(input, _engine.float64), -exponent)
    return ops.to(wide, input.dtype), ops.to(exponent, _engine.int32)


frexp = op(
    "frexp(input: Tensor) -> (Tensor, Tensor)",
    family=PARTS,
    function=_frexp,
    samples=zeros_too,
    gradient_samples=lambda draw: [
        sample(draw.array(*s, domain=Domain(1.1, 1.9))) for s in ((5,), (3, 4), ())
    ],
    oracle=lambda x: (
        each(lambda v: math.frexp(v)[0])(x),
        each(lambda v: math.frexp(v)[1])(x).astype(np.int32),
    ),
    doc="Mantissas in [0.5, 1) and int32 exponents: input = mantissa * 2^exponent.",
    example="tenora.frexp(tenora.tensor([1.0, 10.0]))",
    method=True,
    result=("mantissa", "exponent"),
    out=True,
)


def _next_size(t: Any, digits: int, smallest: int) -> tuple[Any, Any]:
    """The numbers above and below t >= 0, by its exponent."""
    exponent = ops.to(_frexp(t)[1], _engine.float64)
    t = ops.to(t, _engine.float64)
    step = ops.pow(2.0, ops.clamp(exponent - digits, smallest, None))
    power = ops.logical_and(
        ops.eq(t, _scaled(ops.full_like(t, 0.5), exponent)), ops.gt(exponent - digits, smallest)
    )
    return t + step, t - ops.where(power, step * 0.5, step)


def _largest(digits: int, smallest: int) -> float:
    """The largest finite number: exponents reach as far up as down, but for one."""
    return (2.0 - 2.0 ** (1 - digits)) * 2.0 ** (2 - digits - smallest)


def _nextafter(input: Any, other: Any) -> Any:
    like = ops.add(input, other)  # has the result's shape and dtype
    _refuse_integers("nextafter", like)
    a, b = (ops.expand(ops.to(x, like.dtype), like.shape) for x in (input, other))
    digits, smallest = LIMITS[like.dtype]
    above, below = _next_size(ops.abs(a), digits, smallest)
    outwards = ops.gt(b, a)
    outwards = ops.where(ops.lt(a, 0), ops.logical_not(outwards), outwards)
    size = ops.where(outwards, above, ops.where(ops.isinf(a), _largest(digits, smallest), below))
    found = ops.where(ops.lt(a, 0), -size, size)
    found = ops.where(ops.eq(a, 0), ops.sign(ops.to(b, found.dtype)) * 2.0**smallest, found)
    found = ops.where(ops.eq(a, b), ops.to(b, found.dtype), found)
    found = ops.where(ops.logical_or(ops.isnan(a), ops.isnan(b)), math.nan, found)
    return ops.to(found, like.dtype)


def limits(draw: Draw) -> Iterable[Sample]:
    """Pairs, and steps at powers of two, at zero, to and from NaN, and back from infinity."""
    found = list(tensors(draw))
    one = draw.array().dtype.type
    a = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 2.0, 3.0, 0.0], dtype=one)
    b = np.array([2.0, 0.0, -2.0, 0.0, 1.0, -1.0, 2.0, math.nan, 0.0], dtype=one)
    inf = math.inf
    ends = np.array([inf, -inf, inf, -inf, inf, -inf, 1.0, -1.0], dtype=one)
    towards = np.array([0.0, 0.0, -inf, inf, inf, -inf, inf, -inf], dtype=one)
    return [*found, sample(a, b), sample(ends, towards)]


nextafter = op(
    "nextafter(input: Tensor, other: Tensor) -> Tensor",
    family=PARTS,
    dtypes=("float32", "float64"),
    samples=limits,
    dtype="promote_real",
    shape="broadcast",
    prepare="pointwise",
    function=_nextafter,
    vjp=lambda g, a, b, r: (
        sum_to(ops.where(ops.eq(a, b), 0, g), a),
        ops.zeros_like(b),
    ),
    gradient_samples=tensors,
    oracle=lambda a, b: np.nextafter(a.astype(_drawn(a)), b.astype(_drawn(a))).astype(float),
    doc="The next number of the dtype after input in the direction of other.",
    example="tenora.nextafter(tenora.tensor([1.0]), tenora.tensor([2.0]))",
    method=True,
    inplace=True,
    out=True,
)


def _drawn(x: Any) -> Any:
    """Oracles are told float64; the drawn dtype travels in the array's metadata."""
    return np.dtype((x.dtype.metadata or {}).get("drawn", x.dtype.name))


polygamma_of = op(
    "polygamma_of(input: Tensor, n: int) -> Tensor",
    family=PARTS,
    dtypes=("float32", "float64"),
    domain=Domain(0.3, 12.0),
    function=lambda input, n: _polygamma(n, input),
    samples=lambda draw: [
        sample(draw.array(*shape), n)
        for n, shape in ((0, (5,)), (1, (3, 4)), (2, ()), (3, (0,)), (1, (2, 3, 2, 2)), (4, (1, 2, 1, 3, 2)))
    ],
    tolerance="normalised",
    oracle=lambda x, n: special.polygamma(n, x),
    doc="polygamma as a method: the n-th derivative of digamma.",
    example="tenora.tensor([0.5, 4.0]).polygamma(1)",
    public="",
    method="polygamma",
    inplace="polygamma_",
)


# ---- slopes ----
def _slope(x: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at the ends; `spacing`: one number, or the places of all samples."""
    n = x.shape[dim]

    def part(start: int, length: int) -> Any:
        return ops.narrow(x, dim, start, length)

    if isinstance(spacing, Tensor):
        shape = [1] * x.ndim
        shape[dim] = n
        gaps = ops.diff(ops.reshape(spacing, shape), 1, dim)
        before, after = ops.narrow(gaps, dim, 0, n - 2), ops.narrow(gaps, dim, 1, n - 2)
        first, last = ops.narrow(gaps, dim, 0, 1), ops.narrow(gaps, dim, n - 2, 1)
    else:
        wide = _engine.complex128 if isinstance(spacing, complex) else _engine.float64
        step = ops.fill_tensor(ops.full((), 0, dtype=wide, device=x.device), spacing)
        before = after = first = last = step
    whole = before + after
    inner = (
        part(0, n - 2) * (-after / (before * whole))
        + part(1, n - 2) * ((after - before) / (before * after))
        + part(2, n - 2) * (before / (after * whole))
    )
    if edge_order == 1:
        left, right = (part(1, 1) - part(0, 1)) / first, (part(n - 1, 1) - part(n - 2, 1)) / last
    else:
        left = _end(part(0, 1), part(1, 1), part(2, 1), first, _gap(after, dim, 0))
        right = -_end(part(n - 1, 1), part(n - 2, 1), part(n - 3, 1), last, _gap(before, dim, n - 3))
    return ops.cat([ops.to(p, left.dtype) for p in (left, inner, right)], dim)


def _gap(gaps: Any, dim: int, place: int) -> Any:
    return ops.narrow(gaps, dim, place, 1) if gaps.ndim else gaps


def _end(a: Any, b: Any, c: Any, near: Any, far: Any) -> Any:
    """The slope at a from the parabola through three places, `near` and then `far` apart."""
    both = near + far
    return a * (-(near + both) / (near * both)) + b * (both / (near * far)) - c * (near / (far * both))


def _gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    if edge_order not in (1, 2):
        raise errors.OperationError(
            f"[gradient] edge_order: got {edge_order}, expected 1 or 2. Pass one of these."
        )
    dims = tuple(range(input.ndim)) if dim is None else wrap_dims("gradient", dim, input.ndim)
    if isinstance(spacing, list | tuple):
        spacings: list[Any] = list(spacing)
    else:
        step_of_all = number_for("gradient", "spacing", spacing, _engine.complex128)
        spacings = [1 if spacing is None else step_of_all] * len(dims)
    if len(spacings) != len(dims):
        raise errors.OperationError(
            f"[gradient] spacing: got {len(spacings)} for {len(dims)} dims, expected one for each. Name the dims."
        )
    for d, step in zip(dims, spacings, strict=True):
        length = input.shape[d]
        if length < edge_order + 1:
            raise errors.OperationError(
                f"[gradient] too few samples: got {length} along dimension {d}, expected at least {edge_order + 1}. "
                "Sample more often."
            )
        if isinstance(step, Tensor) and tuple(step.shape) != (length,):
            raise errors.OperationError(
                f"[gradient] coordinates do not fit: got {tuple(step.shape)}, expected ({length},). "
                "Pass one per sample."
            )
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = ops.to(input, _engine.default_dtype())
    found = []
    for d, step in zip(dims, spacings, strict=True):
        place = wrap_dim("gradient", d, input.ndim)
        whole = step.dtype.is_complex if isinstance(step, Tensor) else isinstance(step, complex)
        dtype = input.dtype.to_complex() if whole else input.dtype
        found.append(ops.to(_slope(input, place, step, edge_order), dtype))
    return tuple(found)


def _numpy_gradient(x: Any, *places: Any, **options: Any) -> Any:
    return np.gradient(x, *places, **options)


def _slopes(x: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    steps = [spacing] * len(dims) if isinstance(spacing, int | float) else spacing
    return tuple(
        _numpy_gradient(x, s, axis=d, edge_order=edge_order) for d, s in zip(dims, steps, strict=True)
    )


def sampled(draw: Draw) -> Iterable[Sample]:
    places = np.cumsum(draw.rng.uniform(0.5, 1.5, 4)).astype(draw.array().dtype)
    return [
        sample(draw.array(5)),
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), spacing=2.0, dim=1),
        sample(draw.array(3, 5), edge_order=2),
        sample(draw.array(3, 4), spacing=[places], dim=(1,)),
        sample(draw.array(3, 4), spacing=[places], dim=(1,), edge_order=2),
        sample(draw.array(2, 3, 4), spacing=[0.5, 2.0], dim=(0, -1)),
    ]


gradient = op(
    "gradient(input: Tensor, *, spacing: Scalar? = 1, dim: int[]? = None, edge_order: int = 1) -> Tensor[]",
    family=PARTS,
    dtypes=("float32", "float64", "complex64", "complex128"),
    python=_gradient,
    samples=sampled,
    tolerance="normalised",
    oracle=_slopes,
    doc="Slopes along each dim of samples spacing apart, or at coordinates, by second-order differences.",
    example="tenora.gradient(tenora.tensor([1.0, 4.0, 9.0, 16.0]))",
)
