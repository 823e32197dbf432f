"""Reductions and scans."""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.families import COMPOSITE
from tenora_ops.formula import conj, count, is_complex, max_number, min_number, ops
from tenora_ops.lazy import np
from tenora_ops.oracles import along, exact_mean, exact_sum, of_named, reduced, variance
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    ALL,
    BOOLEAN,
    DISTINCT,
    FLOATING,
    INTEGERS,
    ORDERED,
    REALS,
    Domain,
    Draw,
    Sample,
    named_reductions,
    nonempty_reductions,
    one_dim,
    one_dim_or_all,
    reductions,
    sample,
    some_zeros,
)

SUM = Family("reduce", "sum", "reduce", "reduce", reductions, ALL, tolerance="reduction")
EXTREME = Family("reduce", "same", "reduce_nonempty", "reduce", nonempty_reductions, ORDERED, DISTINCT)
INDEX = Family(
    "reduce", "index", "argreduce", "argreduce", one_dim, ORDERED, Domain(-50.0, 50.0, distinct=True)
)
STATISTIC = Family("reduce", "float_real", "moments", "plain", reductions, REALS, tolerance="statistics")
SCAN = Family("scan", "sum", "scan", "scan", one_dim, ALL, tolerance="reduction")


def with_dtype(draw: Draw) -> Iterable[Sample]:
    """The usual reductions, and one with a dtype."""
    wide = "complex128" if draw.is_complex else "float64"
    return [*reductions(draw), sample(draw.array(3, 4), 0, dtype=wide)]


def factors(draw: Draw) -> Iterable[Sample]:
    """Reductions of few factors near one, so that products neither overflow nor vanish."""
    few = [s for s in reductions(draw) if s.arguments[0].shape != (300,)]
    return few + [sample(some_zeros(draw), dim) for dim in (0, 1)]


def corrections(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(7)),
        sample(draw.array(3, 4), 0),
        sample(draw.array(3, 4), (-1,), correction=0, keepdim=True),
        sample(draw.array(2, 3, 4), (0, 2), correction=2),
        sample(draw.array(1, 2, 3, 3, 2), 3),
        sample(draw.array(60), 0),
    ]


def of_all(draw: Draw) -> Iterable[Sample]:
    shapes = ((7,), (3, 4), (2, 3, 4), (1, 2, 3, 3, 2), (60,), (5, 1))
    return [sample(draw.array(*shape), k % 2 == 0) for k, shape in enumerate(shapes)]


def _named_sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return reduced(exact_sum, x.astype(np.int64) if x.dtype == bool else x, dim, keepdim)


sum = op(
    "sum(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    family=SUM,
    samples=with_dtype,
    vjp=lambda g, x, r, dim, keepdim, dtype: ops.unreduce(
        g if dtype is None else ops.to(g, x.dtype), x, dim, keepdim
    ),
    oracle=_named_sum,
    doc="Sum over all or the named dims; booleans and integers in int64.",
    example="tenora.sum(tenora.ones(2, 3), 0)",
    method=True,
    out=True,
)
mean = op(
    "mean(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    family=SUM,
    dtype="mean",
    dtypes=FLOATING,
    samples=with_dtype,
    composite=lambda x, dim, keepdim, dtype: _mean(x, dim, keepdim, dtype),
    vjp=lambda g, x, r, dim, keepdim, dtype: ops.unreduce(
        (g if dtype is None else ops.to(g, x.dtype)) / count(x, r), x, dim, keepdim
    ),
    oracle=lambda x, dim=None, keepdim=False, dtype=None: reduced(exact_mean, x, dim, keepdim),
    doc="Sum over count; NaN of nothing. Integers need dtype=.",
    example="tenora.mean(tenora.ones(2, 3), 0)",
    method=True,
    out=True,
)


def _mean(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    total = ops.sum(x, dim, keepdim, dtype=dtype)
    return total / count(x, total)


def _product_gradient(g: Any, x: Any, r: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The product of the others: r / x, and by counting zeros where there are some; of the numbers cast to dtype.

    Values that are 0 keep their derivatives: r that of the product, and beside one zero of two stands the other.
    """
    given, x = x, x if dtype is None else ops.to(x, dtype)
    zero = ops.eq(x, 0)
    safe = ops.where(zero, 1, x)
    others = ops.unreduce(ops.prod(safe, dim, keepdim), x, dim, keepdim)
    zeros = ops.unreduce(ops.sum(zero, dim, keepdim), x, dim, keepdim)
    beside = ops.unreduce(ops.sum(ops.where(zero, x, 0), dim, keepdim), x, dim, keepdim) - x
    factor = ops.where(ops.eq(zeros, 1), 1, ops.where(ops.eq(zeros, 2), beside, 0))
    partial = ops.where(zero, others * factor, ops.unreduce(r, x, dim, keepdim) / safe)
    gradient = ops.unreduce(g, x, dim, keepdim) * conj(partial)
    return gradient if dtype is None else ops.to(gradient, given.dtype)


def _product(row: Any) -> Any:
    values = row.tolist()
    if row.dtype.kind in "biu":
        return np.array(math.prod(values) & (2**64 - 1), dtype=np.uint64).astype(np.int64)
    return math.prod(values)


prod = op(
    "prod(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    family=SUM,
    domain=Domain(0.5, 1.5),
    samples=factors,
    vjp=_product_gradient,
    oracle=lambda x, dim=None, keepdim=False: reduced(_product, x, dim, keepdim),
    doc="Product over all or the named dims; of nothing: 1.",
    example="tenora.prod(tenora.tensor([2, 3, 4]))",
    method=True,
    out=True,
)


def _extreme_gradient(g: Any, x: Any, r: Any, dim: Any, keepdim: bool) -> Any:
    """Equal extremes share the gradient."""
    hit = ops.eq(x, ops.unreduce(r, x, dim, keepdim))
    return ops.where(hit, ops.unreduce(g / ops.sum(hit, dim, keepdim), x, dim, keepdim), 0)


def _best_of(values: list[Any], best: Any) -> Any:
    """The first NaN, if there is one, else the extreme."""
    missing = [v for v in values if v != v]
    return missing[0] if missing else best(values)


def _extreme(best: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return reduced(lambda row: np.array(_best_of(row.tolist(), best), row.dtype), x, dim, keepdim).astype(
        x.dtype
    )


amax = op(
    "amax(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=EXTREME,
    vjp=_extreme_gradient,
    oracle=lambda x, dim=None, keepdim=False: _extreme(builtins.max, x, dim, keepdim),
    doc="The largest element; NaN wins. Equal ones share the gradient.",
    example="tenora.amax(tenora.tensor([[1, 5], [3, 2]]), 1)",
    method=True,
    out=True,
)
amin = op(
    "amin(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=EXTREME,
    vjp=_extreme_gradient,
    oracle=lambda x, dim=None, keepdim=False: _extreme(builtins.min, x, dim, keepdim),
    doc="The smallest element; NaN wins. Equal ones share the gradient.",
    example="tenora.amin(tenora.tensor([[1, 5], [3, 2]]), 1)",
    method=True,
    out=True,
)
softmax_shift = op(
    "softmax_shift(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=EXTREME,
    shape="reduce",
    prepare="reduce_lowest",
    kernel="amax",
    dtypes=REALS,
    differentiable=False,
    samples=reductions,
    oracle=lambda x, dim=None, keepdim=False: reduced(
        lambda row: _best_of([*row.tolist(), -math.inf], builtins.max), x, dim, keepdim
    ),
    doc="amax, and -inf where there is nothing: what softmax and logsumexp subtract before exp.",
    example="tenora.softmax(tenora.zeros(3, 0), 1)",
    public="",
)
max = op(
    "max(input: Tensor) -> Tensor",
    family=EXTREME,
    dtype="",
    shape="",
    prepare="",
    composite=lambda x: ops.amax(x),
    samples=lambda draw: [
        sample(draw.array(*s)) for s in ((5,), (3, 4), (), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x: _extreme(builtins.max, x),
    doc="The largest element of all.",
    example="tenora.max(tenora.tensor([1, 5, 3]))",
    method=True,
    out=True,
)
min = op(
    "min(input: Tensor) -> Tensor",
    family=EXTREME,
    dtype="",
    shape="",
    prepare="",
    composite=lambda x: ops.amin(x),
    samples=lambda draw: [
        sample(draw.array(*s)) for s in ((5,), (3, 4), (), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x: _extreme(builtins.min, x),
    doc="The smallest element of all.",
    example="tenora.min(tenora.tensor([1, 5, 3]))",
    method=True,
    out=True,
)


def _place(row: Any, best: Any) -> int:
    values = row.tolist()
    missing = [i for i, v in enumerate(values) if v != v]
    return missing[0] if missing else int(values.index(best(values)))


argmax = op(
    "argmax(input: Tensor, dim: int? = None, keepdim: bool = False) -> Tensor",
    family=INDEX,
    samples=one_dim_or_all,
    oracle=lambda x, dim=None, keepdim=False: reduced(lambda row: _place(row, builtins.max), x, dim, keepdim),
    doc="The index of the first largest element; without dim, in the flattened tensor.",
    example="tenora.argmax(tenora.tensor([1, 5, 3]))",
    method=True,
)
argmin = op(
    "argmin(input: Tensor, dim: int? = None, keepdim: bool = False) -> Tensor",
    family=INDEX,
    samples=one_dim_or_all,
    oracle=lambda x, dim=None, keepdim=False: reduced(lambda row: _place(row, builtins.min), x, dim, keepdim),
    doc="The index of the first smallest element; without dim, in the flattened tensor.",
    example="tenora.argmin(tenora.tensor([1, 5, 3]))",
    method=True,
)


# Before the overloads with a dim: an index-like tensor would pass for a number.
max_other = op(
    "max_other(input: Tensor, other: Tensor) -> Tensor",
    family=EXTREME,
    dtype="",
    shape="",
    prepare="",
    composite=lambda a, b: ops.maximum(a, b),
    samples=lambda draw: [
        sample(draw.array(*a), draw.array(*b))
        for a, b in (
            ((5,), (5,)),
            ((3, 4), (4,)),
            ((), ()),
            ((0,), (0,)),
            ((2, 1, 3), (4, 1)),
            ((2, 3, 2, 2), (2,)),
        )
    ],
    domain=Domain(-50.0, 50.0),
    either_zero=True,
    oracle=lambda a, b: np.where((a > b) | (a != a), a, b),
    doc="maximum under its older name.",
    example="tenora.max(tenora.tensor([1, 5]), tenora.tensor([3, 2]))",
    public="max",
    method=True,
    out=True,
)
min_other = op(
    "min_other(input: Tensor, other: Tensor) -> Tensor",
    family=EXTREME,
    dtype="",
    shape="",
    prepare="",
    composite=lambda a, b: ops.minimum(a, b),
    samples=lambda draw: [
        sample(draw.array(*a), draw.array(*b))
        for a, b in (
            ((5,), (5,)),
            ((3, 4), (4,)),
            ((), ()),
            ((0,), (0,)),
            ((2, 1, 3), (4, 1)),
            ((2, 3, 2, 2), (2,)),
        )
    ],
    domain=Domain(-50.0, 50.0),
    either_zero=True,
    oracle=lambda a, b: np.where((a < b) | (a != a), a, b),
    doc="minimum under its older name.",
    example="tenora.min(tenora.tensor([1, 5]), tenora.tensor([3, 2]))",
    public="min",
    method=True,
    out=True,
)


def _picked_gradient(g: Any, x: Any, values: Any, indices: Any, dim: Any, keepdim: bool) -> Any:
    if not keepdim:
        g, indices = ops.unsqueeze(g, dim), ops.unsqueeze(indices, dim)
    return ops.scatter(ops.zeros_like(x), dim, indices, g)


def kept(draw: Draw) -> Iterable[Sample]:
    """One dim, kept and not; the dim has elements."""
    shapes = ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    return [
        sample(draw.array(*shape), dim, keep) for shape in shapes for dim, keep in ((0, False), (-1, True))
    ]


max_dim = op(
    "max_dim(input: Tensor, dim: int, keepdim: bool = False) -> (Tensor, Tensor)",
    family=INDEX,
    dtype="value_index",
    samples=kept,
    composite=lambda x, dim, keepdim: (ops.amax(x, dim, keepdim), ops.argmax(x, dim, keepdim)),
    vjp=_picked_gradient,
    not_differentiable=(1,),
    oracle=lambda x, dim, keepdim=False: (
        _extreme(builtins.max, x, dim, keepdim),
        reduced(lambda row: _place(row, builtins.max), x, dim, keepdim),
    ),
    doc="Largest elements along a dim, and the index of the first of each.",
    example="tenora.max(tenora.tensor([[1, 5], [3, 2]]), 1).indices",
    public="max",
    method=True,
    result=("values", "indices"),
    out=True,
)
min_dim = op(
    "min_dim(input: Tensor, dim: int, keepdim: bool = False) -> (Tensor, Tensor)",
    family=INDEX,
    dtype="value_index",
    samples=kept,
    composite=lambda x, dim, keepdim: (ops.amin(x, dim, keepdim), ops.argmin(x, dim, keepdim)),
    vjp=_picked_gradient,
    not_differentiable=(1,),
    oracle=lambda x, dim, keepdim=False: (
        _extreme(builtins.min, x, dim, keepdim),
        reduced(lambda row: _place(row, builtins.min), x, dim, keepdim),
    ),
    doc="Smallest elements along a dim, and the index of the first of each.",
    example="tenora.min(tenora.tensor([[1, 5], [3, 2]]), 1).values",
    public="min",
    method=True,
    result=("values", "indices"),
    out=True,
)
any = op(
    "any(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=SUM,
    dtype="bool",
    shape="reduce_named",
    domain=Domain(-1.0, 1.0),
    tolerance="exact",
    samples=named_reductions,
    oracle=lambda x, dim=None, keepdim=False: of_named(builtins.any, x != 0, dim, keepdim),
    doc="True where some element is not zero.",
    example="tenora.any(tenora.tensor([0, 2]))",
    method=True,
    out=True,
)
all = op(
    "all(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=SUM,
    dtype="bool",
    shape="reduce_named",
    domain=Domain(-1.0, 1.0),
    tolerance="exact",
    samples=named_reductions,
    oracle=lambda x, dim=None, keepdim=False: of_named(builtins.all, x != 0, dim, keepdim),
    doc="True where no element is zero.",
    example="tenora.all(tenora.tensor([1, 2]))",
    method=True,
    out=True,
)
count_nonzero = op(
    "count_nonzero(input: Tensor, dim: int[]? = None) -> Tensor",
    family=COMPOSITE,
    dtypes=BOOLEAN + INTEGERS + FLOATING,
    domain=Domain(-1.0, 1.0),
    composite=lambda x, dim: ops.sum(ops.ne(x, 0), dim),
    differentiable=False,
    tolerance="exact",
    samples=lambda draw: [sample(*s.arguments[:2]) for s in reductions(draw)],
    oracle=lambda x, dim=None: reduced(lambda row: len([v for v in row.tolist() if v]), x, dim).astype(
        np.int64
    ),
    doc="How many elements are not zero.",
    example="tenora.count_nonzero(tenora.tensor([0, 2, 3]))",
    method=True,
)


def _variance(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    distance = x - ops.mean(x, dim, True)
    squares = ops.real(distance * conj(distance)) if is_complex(x) else distance * distance
    total = ops.sum(squares, dim, keepdim)
    return total / max_number(count(x, total) - (1.0 if correction is None else correction), 0.0)


var = op(
    "var(input: Tensor, dim: int[]? = None, *, correction: real? = 1.0, keepdim: bool = False) -> Tensor",
    family=STATISTIC,
    samples=corrections,
    composite=_variance,
    oracle=lambda x, dim=None, correction=1, keepdim=False: reduced(
        lambda row: variance(row, correction), x, dim, keepdim
    ),
    doc="Mean squared distance from the mean, over n - correction.",
    example="tenora.var(tenora.tensor([1.0, 2.0, 4.0]))",
    method=True,
    out=True,
)
var_unbiased = op(
    "var_unbiased(input: Tensor, dim: int[]? = None, unbiased: bool = True, keepdim: bool = False) -> Tensor",
    family=STATISTIC,
    samples=lambda draw: [
        sample(draw.array(7)),
        sample(draw.array(3, 4), 0, False),
        sample(draw.array(3, 4), (-1,), True, True),
        sample(draw.array(2, 3, 4), (0, 2), False),
        sample(draw.array(1, 2, 3, 3, 2), 3),
        sample(draw.array(60), unbiased=False),
    ],
    composite=lambda x, dim, unbiased, keepdim: _variance(x, dim, 1.0 if unbiased else 0.0, keepdim),
    oracle=lambda x, dim=None, unbiased=True, keepdim=False: reduced(
        lambda row: variance(row, 1.0 if unbiased else 0.0), x, dim, keepdim
    ),
    doc="var with correction 1 or 0.",
    example="tenora.var(tenora.tensor([1.0, 2.0, 4.0]), unbiased=False)",
    public="var",
    method=True,
    out=True,
)

var_of_all = op(
    "var_of_all(input: Tensor, unbiased: bool) -> Tensor",
    family=COMPOSITE,
    dtypes=REALS,
    samples=of_all,
    composite=lambda x, unbiased: ops.var(x, correction=1.0 if unbiased else 0.0),
    tolerance="statistics",
    oracle=lambda x, unbiased: reduced(lambda row: variance(row, float(unbiased)), x),
    doc="var of all elements with correction 1 or 0.",
    example="tenora.var(tenora.tensor([1.0, 2.0, 4.0]), False)",
    public="var",
    method=True,
    out=True,
)


def _root(variance: Any) -> Any:
    """The square root, with derivatives 0 where there is no variance (PyTorch's)."""
    none = ops.eq(variance, 0)
    return ops.where(none, 0, ops.sqrt(ops.where(none, 1, variance)))


std = op(
    "std(input: Tensor, dim: int[]? = None, *, correction: real? = 1.0, keepdim: bool = False) -> Tensor",
    family=STATISTIC,
    samples=corrections,
    composite=lambda x, dim, correction, keepdim: _root(_variance(x, dim, correction, keepdim)),
    oracle=lambda x, dim=None, correction=1, keepdim=False: reduced(
        lambda row: math.sqrt(variance(row, correction)), x, dim, keepdim
    ),
    doc="Square root of var.",
    example="tenora.std(tenora.tensor([1.0, 2.0, 4.0]))",
    method=True,
    out=True,
)
std_unbiased = op(
    "std_unbiased(input: Tensor, dim: int[]? = None, unbiased: bool = True, keepdim: bool = False) -> Tensor",
    family=STATISTIC,
    samples=lambda draw: [
        sample(draw.array(7)),
        sample(draw.array(3, 4), 0, False),
        sample(draw.array(3, 4), (-1,), True, True),
        sample(draw.array(2, 3, 4), (0, 2), False),
        sample(draw.array(1, 2, 3, 3, 2), 3),
        sample(draw.array(60), unbiased=False),
    ],
    composite=lambda x, dim, unbiased, keepdim: _root(_variance(x, dim, 1.0 if unbiased else 0.0, keepdim)),
    oracle=lambda x, dim=None, unbiased=True, keepdim=False: reduced(
        lambda row: math.sqrt(variance(row, 1.0 if unbiased else 0.0)), x, dim, keepdim
    ),
    doc="std with correction 1 or 0.",
    example="tenora.std(tenora.tensor([1.0, 2.0, 4.0]), unbiased=False)",
    public="std",
    method=True,
    out=True,
)

std_of_all = op(
    "std_of_all(input: Tensor, unbiased: bool) -> Tensor",
    family=COMPOSITE,
    dtypes=REALS,
    samples=of_all,
    composite=lambda x, unbiased: ops.std(x, correction=1.0 if unbiased else 0.0),
    tolerance="statistics",
    oracle=lambda x, unbiased: reduced(lambda row: math.sqrt(variance(row, float(unbiased))), x),
    doc="std of all elements with correction 1 or 0.",
    example="tenora.std(tenora.tensor([1.0, 2.0, 4.0]), False)",
    public="std",
    method=True,
    out=True,
)


def _logsumexp(x: Any, dim: Any, keepdim: bool) -> Any:
    largest = ops.softmax_shift(ops.real(x) if is_complex(x) else x, dim, True)
    largest = ops.where(ops.eq(ops.abs(largest), math.inf), 0, largest)
    total = ops.log(ops.sum(ops.exp(x - largest), dim, keepdim))
    return total + ops.reshape(largest, total.shape)


def _log_of_sum(row: Any) -> Any:
    if np.iscomplexobj(row):
        return cmath.log(builtins.sum(map(cmath.exp, row.tolist())))
    return math.log(math.fsum(map(math.exp, row.tolist())))


logsumexp = op(
    "logsumexp(input: Tensor, dim: int[]?, keepdim: bool = False) -> Tensor",
    family=STATISTIC,
    dtypes=FLOATING,
    dtype="promote_float",
    shape="reduce",
    prepare="reduce",
    composite=_logsumexp,
    vjp=lambda g, x, r, dim, keepdim: (
        ops.unreduce(g, x, dim, keepdim) * conj(ops.exp(x - ops.unreduce(r, x, dim, keepdim)))
    ),
    samples=lambda draw: [
        sample(draw.array(7), 0),
        sample(draw.array(3, 4), 0),
        sample(draw.array(3, 4), (-1,), True),
        sample(draw.array(2, 3, 4), (0, 2)),
        sample(draw.array(1, 2, 1, 3, 2), 3),
        sample(draw.array(300), 0),
    ],
    oracle=lambda x, dim, keepdim=False: reduced(_log_of_sum, x, dim, keepdim),
    doc="log(sum(exp(x))) without overflow.",
    example="tenora.logsumexp(tenora.tensor([1.0, 2.0]), 0)",
    method=True,
    out=True,
)
cumsum = op(
    "cumsum(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor",
    family=SCAN,
    vjp=lambda g, x, r, dim, dtype: _reverse_scan(g if dtype is None else ops.to(g, x.dtype), dim),
    oracle=lambda x, dim: along(_running_sum, x, dim),
    doc="Running sum along a dim.",
    example="tenora.cumsum(tenora.tensor([1, 2, 3]), 0)",
    method=True,
    inplace=True,
    out=True,
)


def _running_sum(row: Any) -> Any:
    return np.array(
        [
            exact_sum(row[: i + 1].astype(np.int64) if row.dtype == bool else row[: i + 1])
            for i in range(len(row))
        ]
    )


def _reverse_scan(g: Any, dim: Any) -> Any:
    """Sums from each place to the end: the scan of the reversed, reversed; in front a dim for 0-d tensors."""
    place = min_number(dim % max_number(g.ndim, 1) + 1, g.ndim)
    backwards = ops.cumsum(ops.slice(ops.unsqueeze(g, 0), place, None, None, -1), place)
    return ops.select(ops.slice(backwards, place, None, None, -1), 0, 0)
