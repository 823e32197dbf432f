"""Running products and extremes, differences, and integrals by the trapezoidal rule.

- A scan of n elements takes log2(n) steps (Hillis and Steele, 1986): each joins every element with the one 2^k before
  it. A backend may bring a kernel that walks once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import wrap_dim
from tenora_ops.families import COMPOSITE, ORDERED_NUMBERS
from tenora_ops.formula import conj, ops
from tenora_ops.halves import HALVES, rounds_once
from tenora_ops.lazy import np
from tenora_ops.oracles import along, log_sum
from tenora_ops.record import Family, op
from tenora_ops.reduce import SCAN, _reverse_scan
from tenora_ops.samples import (
    ALL,
    BOOLEAN,
    FLOATING,
    REALS,
    Domain,
    Draw,
    Sample,
    one_dim,
    sample,
    some_zeros,
)

PAIR_SCAN = Family(
    "scan", "value_index", "sort", "plain", one_dim, BOOLEAN + ORDERED_NUMBERS, Domain(-3.0, 3.0)
)


def doubling(parts: tuple[Any, ...], dim: int, join: Callable[..., Any]) -> tuple[Any, ...]:
    """`join(earlier, later)` of tuples of tensors, over all elements up to each."""
    length = parts[0].shape[dim] if parts[0].ndim else 1
    step = 1
    while step < length:
        earlier = tuple(ops.narrow(p, dim, 0, length - step) for p in parts)
        later = tuple(ops.narrow(p, dim, step, length - step) for p in parts)
        joined = join(earlier, later)
        parts = tuple(
            ops.cat([ops.narrow(p, dim, 0, step), j], dim) for p, j in zip(parts, joined, strict=True)
        )
        step *= 2
    return parts


# ---- products ----
def _cumprod(input: Any, dim: int, dtype: Any) -> Any:
    whole = not (input.dtype.is_floating_point or input.dtype.is_complex)
    target = dtype or (_engine.int64 if whole else input.dtype)
    wide = _engine.float32 if target in HALVES else target
    values = ops.to(input, wide) if input.dtype != wide else input
    (found,) = doubling((values,), dim, lambda a, b: (a[0] * b[0],))
    return ops.to(found, target) if target != wide else found


def _cumprod_gradient(g: Any, x: Any, r: Any, dim: Any, dtype: Any) -> Any:
    """Sums over the products an element is in, divided by it; at the first two zeros of a row, the products without it.

    Behind the first zero every product is 0, and so is the gradient; behind the second its derivative is 0 too.
    """
    if dtype is not None:
        g, r = ops.to(g, x.dtype), ops.to(r, x.dtype)
    zero = ops.eq(x, 0)
    found = _reverse_scan(g * conj(r), dim) / conj(ops.where(zero, 1, x))
    zeros = ops.cumsum(zero, dim)
    for number in (1, 2):
        this = ops.logical_and(zero, ops.eq(zeros, number))
        others = ops.cumprod(ops.where(this, 1, x), dim)
        found = ops.where(this, _reverse_scan(g * conj(others), dim), found)
    return found


def _running_product(row: Any) -> Any:
    if row.dtype.kind not in "biu":
        return np.array([math.prod(row[: i + 1].tolist()) for i in range(len(row))])
    values = [math.prod(map(int, row[: i + 1])) & (2**64 - 1) for i in range(len(row))]
    return np.array(values, dtype=np.uint64).astype(np.int64)


cumprod = op(
    "cumprod(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor",
    family=SCAN,
    domain=Domain(0.5, 1.5),
    samples=lambda draw: [*one_dim(draw), *(sample(some_zeros(draw), dim) for dim in (0, 1))],
    function=_cumprod,
    vjp=_cumprod_gradient,
    oracle=lambda x, dim: along(_running_product, x, dim),
    doc="Running product along a dim; booleans and integers in int64.",
    example="tenora.cumprod(tenora.tensor([1, 2, 3]), 0)",
    method=True,
    inplace=True,
    out=True,
)


# ---- extremes ----
def _cumulative(wins: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Running extremes and where they are: the last of equal ones, and NaN once there is one."""

    def join(earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
        (a, i), (b, j) = earlier, later
        taken = ops.logical_or(ops.isnan(b), ops.logical_and(ops.logical_not(ops.isnan(a)), wins(b, a)))
        return ops.where(taken, b, a), ops.where(taken, j, i)

    def run(input: Any, dim: int) -> tuple[Any, ...]:
        if not input.ndim:
            return ops.clone(input), ops.full((), 0, dtype=_engine.int64, device=input.device)
        sizes = [1] * input.ndim
        sizes[dim] = input.shape[dim]
        places = ops.reshape(ops.iota(0, 1, input.shape[dim], device=input.device), sizes)
        return doubling((input, ops.clone(ops.expand(places, input.shape))), dim, join)

    return run


def _running_extreme(x: Any, dim: int, better: Any) -> tuple[Any, Any]:
    def places(row: Any) -> Any:
        found, best = [], 0
        for i, v in enumerate(row.tolist()):
            now = row[best].item()
            if v != v or (now == now and better(v, now)):
                best = i
            found.append(best)
        return np.array(found, dtype=np.int64)

    def values(row: Any) -> Any:
        return row[places(row)]

    return along(values, x, dim), along(places, x, dim).astype(np.int64)


def _extremes_gradient(g: Any, x: Any, values: Any, indices: Any, dim: Any) -> Any:
    return ops.scatter_add(ops.zeros_like(x), dim, indices, g)


def rows_with_nan(draw: Draw) -> Iterable[Sample]:
    found = list(one_dim(draw))
    if draw.dtype in ("float16", "float32", "float64"):
        row = np.array([1.0, 3.0, 3.0, math.nan, 5.0, math.nan, -math.inf])
        found.append(sample(row.astype(draw.array().dtype), 0))
    return found


def distinct_rows(draw: Draw) -> Iterable[Sample]:
    """Finite differences need one winner."""
    apart = Domain(-3.0, 3.0, distinct=True, gap=0.05)
    return [
        sample(draw.array(*s, domain=apart), d) for s, d in (((5,), 0), ((3, 4), 1), ((2, 1, 3), -1), ((), 0))
    ]


cummax = op(
    "cummax(input: Tensor, dim: int) -> (Tensor, Tensor)",
    family=PAIR_SCAN,
    samples=rows_with_nan,
    gradient_samples=distinct_rows,
    function=lambda input, dim: _cumulative(ops.ge)(input, dim),
    vjp=_extremes_gradient,
    not_differentiable=(1,),
    oracle=lambda x, dim: _running_extreme(x, dim, lambda a, b: a >= b),
    doc="Running maximum along a dim and where it is; of equal ones the last, NaN wins.",
    example="tenora.cummax(tenora.tensor([1, 3, 2]), 0).values",
    method=True,
    result=("values", "indices"),
    out=True,
)
cummin = op(
    "cummin(input: Tensor, dim: int) -> (Tensor, Tensor)",
    family=PAIR_SCAN,
    samples=rows_with_nan,
    gradient_samples=distinct_rows,
    function=lambda input, dim: _cumulative(ops.le)(input, dim),
    vjp=_extremes_gradient,
    not_differentiable=(1,),
    oracle=lambda x, dim: _running_extreme(x, dim, lambda a, b: a <= b),
    doc="Running minimum along a dim and where it is; of equal ones the last, NaN wins.",
    example="tenora.cummin(tenora.tensor([1, 3, 2]), 0).values",
    method=True,
    result=("values", "indices"),
    out=True,
)


def _complex_logcumsumexp(input: Any, dim: int) -> Any:
    """One element after the other, as in PyTorch: the branch of each logarithm is that of its larger operand."""
    if not input.ndim:
        return ops.select(_complex_logcumsumexp(ops.reshape(input, (1,)), 0), 0, 0)
    if not input.numel():
        return ops.clone(input)
    shape = [1 if i == dim else size for i, size in enumerate(input.shape)]
    total = ops.full(shape, -math.inf, dtype=input.dtype, device=input.device)
    found = []
    for i in range(input.shape[dim]):
        other = ops.narrow(input, dim, i, 1)
        first = ops.logical_or(ops.gt(ops.real(total), ops.real(other)), ops.eq(ops.real(other), -math.inf))
        larger, smaller = ops.where(first, total, other), ops.where(first, other, total)
        nothing = ops.eq(ops.real(smaller), -math.inf)
        more = ops.log1p(ops.exp(ops.where(nothing, 0, smaller - larger)))
        total = ops.where(nothing, larger, larger + more)
        found.append(total)
    return ops.cat(found, dim)


def _logcumsumexp(input: Any, dim: int) -> Any:
    dim = wrap_dim("logcumsumexp", dim, input.ndim)
    if input.dtype.is_complex:
        return _complex_logcumsumexp(input, dim)
    if not input.dtype.is_floating_point:
        name = str(input.dtype).rsplit(".", 1)[-1]
        raise errors.OperationError(
            f"[logcumsumexp] dtype not supported: got {name}, expected a floating or complex type. Cast with "
            ".to(tenora.float32)."
        )
    (found,) = doubling((ops.straight(input),), dim, lambda a, b: (ops.logaddexp(a[0], b[0]),))
    return found


logcumsumexp = op(
    "logcumsumexp(input: Tensor, dim: int) -> Tensor",
    family=SCAN,
    dtype="",
    shape="",
    prepare="",
    dtypes=REALS,
    function=rounds_once(_logcumsumexp),
    tolerance="normalised",
    oracle=lambda x, dim: along(
        lambda row: np.array([log_sum(row[: i + 1].tolist()) for i in range(len(row))]),
        x,
        dim,
    ),
    doc="Logarithm of the running sum of exponentials along a dim, without overflow.",
    example="tenora.logcumsumexp(tenora.tensor([1.0, 2.0]), 0)",
    method=True,
    out=True,
)


# ---- differences and integrals ----
def _diff(input: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if not input.ndim:
        raise errors.OperationError(
            "[diff] too few dimensions: got 0, expected at least 1. Reshape it to a vector."
        )
    if n < 0:
        raise errors.OperationError(
            f"[diff] order: got {n}, expected 0 or more. Pass how often to take differences."
        )
    dim = wrap_dim("diff", dim, input.ndim)
    joined = [t for t in (prepend, input, append) if t is not None] if n else [input]
    found = ops.cat(joined, dim) if len(joined) > 1 else ops.clone(input)
    subtract = ops.logical_xor if found.dtype == _engine.bool else ops.sub
    for _ in range(min(n, found.shape[dim])):
        length = max(found.shape[dim] - 1, 0)
        found = subtract(ops.narrow(found, dim, 1, length), ops.narrow(found, dim, 0, length))
    return found


def _differences(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    found = np.concatenate([t for t in (prepend, x, append) if t is not None], axis=dim) if n else x
    for _ in range(n):
        rows = np.moveaxis(found, dim, 0)
        later = [b ^ a if found.dtype == bool else b - a for a, b in zip(rows[:-1], rows[1:], strict=True)]
        shape = (max(rows.shape[0] - 1, 0), *rows.shape[1:])
        found = np.moveaxis(np.array(later, dtype=found.dtype).reshape(shape), 0, dim)
    return found


diff = op(
    "diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor? = None, append: Tensor? = None) -> Tensor",
    family=COMPOSITE,
    dtypes=ALL,
    function=rounds_once(_diff),
    samples=lambda draw: [
        sample(draw.array(5)),
        sample(draw.array(3, 4), 1, 0),
        sample(draw.array(3, 4), 2),
        sample(draw.array(2, 3, 2, 2), 1, 1),
        sample(draw.array(3, 4), 0),
        sample(draw.array(1), 1),
        sample(draw.array(3, 4), 1, 1, draw.array(3, 2), draw.array(3, 1)),
    ],
    tolerance="few_ulp",
    edges="none",
    oracle=_differences,
    doc="Differences of neighbours along a dim, n times; of booleans: exclusive or.",
    example="tenora.diff(tenora.tensor([1, 4, 9]))",
    method=True,
)


def _areas(y: Any, widths: Any, dim: int) -> Any:
    """The trapezoids between neighbours; integers become floating."""
    length = max(y.shape[dim] - 1, 0)
    later = ops.narrow(y, dim, min(1, y.shape[dim]), length)
    return (later + ops.narrow(y, dim, 0, length)) * 0.5 * widths


def _widths(op: str, y: Any, x: Any, dim: int) -> Any:
    if x.ndim != 1:
        return _diff(x, 1, dim - y.ndim, None, None)
    if x.shape[0] != y.shape[dim]:
        raise errors.OperationError(
            f"[{op}] x does not fit: got {x.shape[0]} points for {y.shape[dim]} values, expected as many. Check dim."
        )
    return ops.reshape(_diff(x, 1, 0, None, None), [-1] + [1] * (y.ndim - 1 - dim))


def _trapezoid(op: str, y: Any, x: Any, dx: Any, dim: int, running: bool) -> Any:
    if not y.ndim:
        raise errors.OperationError(
            f"[{op}] too few dimensions: got 0, expected at least 1. Reshape it to a vector."
        )
    dim = wrap_dim(op, dim, y.ndim)
    if not (y.dtype.is_floating_point or y.dtype.is_complex):
        y = ops.to(
            y, _engine.default_dtype()
        )  # sums of unsigned neighbours would wrap, and their differences
    if x is not None and not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = ops.to(x, _engine.default_dtype())
    areas = _areas(y, dx if x is None else _widths(op, y, x, dim), dim)
    return ops.cumsum(areas, dim) if running else ops.sum(areas, dim)


def _integral(y: Any, x: Any = None, dx: float = 1.0, dim: int = -1, running: bool = False) -> Any:
    values = np.moveaxis(y.astype(np.result_type(y, 1.0)), dim, -1)
    widths = np.full(values.shape[-1] - 1, dx) if x is None else x[1:] - x[:-1]
    areas = (values[..., 1:] + values[..., :-1]) / 2 * widths
    if not running:
        return areas.sum(-1)
    return np.moveaxis(np.cumsum(areas, -1), -1, dim)


def ordinates(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5)),
        sample(draw.array(3, 4), dx=2),
        sample(draw.array(3, 4), dim=0),
        sample(draw.array(2, 3, 2, 2), dx=0.5, dim=1),
        sample(draw.array(1)),
        sample(draw.array(1, 2, 1, 3, 2), dim=3),
    ]


def points(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5), draw.array(5)),
        sample(draw.array(3, 4), draw.array(4)),
        sample(draw.array(3, 4), draw.array(3), dim=0),
        sample(draw.array(2, 3, 2, 2), draw.array(3), dim=1),
        sample(draw.array(1), draw.array(1)),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(2)),
    ]


INTEGRAL = Family("integral", "", "", "", points, FLOATING, tolerance="reduction")
trapezoid = op(
    "trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor",
    family=INTEGRAL,
    function=rounds_once(lambda y, x, dim: _trapezoid("trapezoid", y, x, None, dim, False)),
    oracle=lambda y, x, dim=-1: _integral(y, x, 1.0, dim),
    doc="The integral of y over the points x along a dim, by the trapezoidal rule.",
    example="tenora.trapezoid(tenora.tensor([1.0, 2.0, 3.0]))",
    aliases=("trapz",),
)
trapezoid_dx = op(
    "trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor",
    family=INTEGRAL,
    samples=ordinates,
    function=rounds_once(lambda y, dx, dim: _trapezoid("trapezoid", y, None, dx, dim, False)),
    oracle=lambda y, dx=1, dim=-1: _integral(y, None, dx, dim),
    doc="The integral of y at points dx apart.",
    example="tenora.trapezoid(tenora.tensor([1.0, 2.0, 3.0]), dx=2)",
    public="trapezoid",
)
cumulative_trapezoid = op(
    "cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor",
    family=INTEGRAL,
    function=rounds_once(lambda y, x, dim: _trapezoid("cumulative_trapezoid", y, x, None, dim, True)),
    oracle=lambda y, x, dim=-1: _integral(y, x, 1.0, dim, True),
    doc="The integral of y up to each of the points x along a dim.",
    example="tenora.cumulative_trapezoid(tenora.tensor([1.0, 2.0, 3.0]))",
)
cumulative_trapezoid_dx = op(
    "cumulative_trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor",
    family=INTEGRAL,
    samples=ordinates,
    function=rounds_once(lambda y, dx, dim: _trapezoid("cumulative_trapezoid", y, None, dx, dim, True)),
    oracle=lambda y, dx=1, dim=-1: _integral(y, None, dx, dim, True),
    doc="The integral of y at points dx apart, up to each.",
    example="tenora.cumulative_trapezoid(tenora.tensor([1.0, 2.0, 3.0]), dx=2)",
    public="cumulative_trapezoid",
)
