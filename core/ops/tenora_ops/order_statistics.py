"""Medians, modes, quantiles and other elements chosen by their rank.

- All start from one stable sort along the dim, where NaN is the largest. The values are gathered from the input, so the
  gradient goes to the chosen elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import wrap_dim
from tenora_ops.families import COMPOSITE, ORDERED_NUMBERS
from tenora_ops.formula import is_number, ops
from tenora_ops.lazy import np
from tenora_ops.oracles import reduced
from tenora_ops.record import Family, op
from tenora_ops.samples import ORDERED, Domain, Draw, Sample, one_dim, sample

RANK = Family(
    "order", "", "", "", one_dim, ORDERED_NUMBERS, Domain(-50.0, 50.0, distinct=True), tolerance="exact"
)


def _picked(op: str, input: Any, dim: int, keepdim: bool, place_of: Any) -> tuple[Any, Any]:
    """The elements at sorted places `place_of(values, order, dim)` (size 1 along dim), and where they were."""
    dim = wrap_dim(op, dim, input.ndim)
    if not input.ndim:
        return ops.clone(input), ops.full((), 0, dtype=_engine.int64, device=input.device)
    if not input.shape[dim]:
        raise errors.IndexRangeError(
            f"[{op}] no element to choose from: got shape {tuple(input.shape)}, expected elements along dimension "
            f"{dim}. Check for empty input first."
        )
    values, order = ops.sort(input.detach(), dim, False, True)
    indices = ops.gather(order, dim, place_of(values, dim))
    found = ops.gather(input, dim, indices)
    return (found, indices) if keepdim else (ops.squeeze(found, dim), ops.squeeze(indices, dim))


def _missing(values: Any, dim: int) -> Any:
    """How many elements of each row are NaN."""
    return ops.sum(ops.isnan(values), dim, True)


def _middle(values: Any, dim: int) -> Any:
    """The lower middle; the first NaN where there is one."""
    length, missing = values.shape[dim], _missing(values, dim)
    return ops.where(ops.gt(missing, 0), ops.sub(length, missing), (length - 1) // 2)


def _middle_of_numbers(values: Any, dim: int) -> Any:
    numbers = ops.sub(values.shape[dim], _missing(values, dim))
    return ops.clamp(ops.floor_divide(numbers - 1, 2), 0, None)


def _lower_middle(row: Any) -> Any:
    values = row.tolist()
    return math.nan if any(v != v for v in values) else sorted(values)[(len(values) - 1) // 2]


def _lower_middle_of_numbers(row: Any) -> Any:
    values = [v for v in row.tolist() if v == v]
    return sorted(values)[(len(values) - 1) // 2] if values else math.nan


def _whole_tensor(input: Any, place_of: Any) -> Any:
    if not input.numel():
        nothing = ops.full((), math.nan, dtype=_engine.float64, device=input.device)
        return ops.to(nothing, input.dtype)  # of integers too what NaN becomes of them
    return _picked("median", ops.reshape(input, (-1,)), 0, False, place_of)[0]


def _shared_gradient(g: Any, x: Any, r: Any) -> Any:
    """Equal elements share the gradient."""
    hit = ops.logical_or(ops.eq(x, r), ops.logical_and(ops.isnan(x), ops.isnan(r)))
    return ops.where(hit, g / ops.sum(hit), 0)


WHOLE = Family(
    "order",
    "same",
    "reduce",
    "plain",
    lambda draw: [
        sample(draw.array(*s)) for s in ((5,), (3, 4), (), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    ],
    ORDERED_NUMBERS,
    Domain(-50.0, 50.0, distinct=True),
)
median_all = op(
    "median_all(input: Tensor, dim: int[]? = None) -> Tensor",
    family=WHOLE,
    function=lambda input, dim: _whole_tensor(input, _middle),
    vjp=_shared_gradient,
    oracle=lambda x: reduced(_lower_middle, x).astype(x.dtype),
    doc="The lower median of all elements: what median of a whole tensor runs.",
    example="tenora.median(tenora.tensor([1.0, 5.0, 3.0, 4.0]))",
    public="",
)
nanmedian_all = op(
    "nanmedian_all(input: Tensor, dim: int[]? = None) -> Tensor",
    family=WHOLE,
    function=lambda input, dim: _whole_tensor(input, _middle_of_numbers),
    vjp=_shared_gradient,
    oracle=lambda x: reduced(_lower_middle_of_numbers, x).astype(x.dtype),
    doc="The lower median of all elements that are not NaN: what nanmedian of a whole tensor runs.",
    example="tenora.nanmedian(tenora.tensor([1.0, float('nan'), 3.0]))",
    public="",
)


def with_nan(draw: Draw) -> Iterable[Sample]:
    """Rows with none, one and only NaN."""
    if draw.dtype not in ("float16", "float32", "float64"):
        return []
    row = np.array([[1.0, 4.0, 2.0, 3.0], [1.0, math.nan, 0.0, math.nan], [math.nan] * 4])
    return [sample(row.astype(draw.array().dtype)), sample(row[0].astype(draw.array().dtype))]


median = op(
    "median(input: Tensor) -> Tensor",
    family=WHOLE,
    dtype="",
    shape="",
    prepare="",
    samples=lambda draw: [*WHOLE.samples(draw), *with_nan(draw)],
    gradient_samples=WHOLE.samples,
    composite=lambda x: ops.median_all(x),
    oracle=lambda x: reduced(_lower_middle, x).astype(x.dtype),
    doc="The lower of the two middle elements of all; NaN where there is one. Equal ones share the gradient.",
    example="tenora.median(tenora.tensor([1.0, 5.0, 3.0, 4.0]))",
    method=True,
    out=True,
)
nanmedian = op(
    "nanmedian(input: Tensor) -> Tensor",
    family=WHOLE,
    dtype="",
    shape="",
    prepare="",
    samples=lambda draw: [*WHOLE.samples(draw), *with_nan(draw)],
    gradient_samples=WHOLE.samples,
    composite=lambda x: ops.nanmedian_all(x),
    oracle=lambda x: reduced(_lower_middle_of_numbers, x).astype(x.dtype),
    doc="median of the elements that are not NaN.",
    example="tenora.nanmedian(tenora.tensor([1.0, float('nan'), 3.0]))",
    method=True,
    out=True,
)


def untied_rows(draw: Draw) -> Iterable[Sample]:
    """Rows without equal elements: which of those is chosen is left open."""
    shapes = ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2), ())
    found = [sample(_no_ties(draw, *s), d) for s in shapes for d in (0, -1)]
    more = [sample(np.moveaxis(s.arguments[0], 0, -1).copy(), -1) for s in list(with_nan(draw))[1:]]
    return [*found, sample(_no_ties(draw, 3, 4), 1, True), *more]


def _no_ties(draw: Draw, *shape: int) -> Any:
    return draw.rng.permutation(int(np.prod(shape, dtype=int))).reshape(shape).astype(draw.array().dtype)


def _sorted(values: list[Any]) -> list[Any]:
    """Ascending, NaN last."""
    return sorted(values, key=lambda v: (v != v, v))


def _positions(choose: Any, x: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    def place(row: Any) -> int:
        values, wanted = row.tolist(), choose(row)
        return int(next(i for i, v in enumerate(values) if v == wanted or (v != v and wanted != wanted)))

    values = reduced(choose, x, dim, keepdim).astype(x.dtype)
    return values, reduced(place, x, dim, keepdim).astype(np.int64)


median_dim = op(
    "median_dim(input: Tensor, dim: int, keepdim: bool = False) -> (Tensor, Tensor)",
    family=RANK,
    samples=untied_rows,
    function=lambda input, dim, keepdim: _picked("median", input, dim, keepdim, _middle),
    oracle=lambda x, dim, keepdim=False: _positions(_lower_middle, x, dim, keepdim),
    doc="The lower medians along a dim and where they are; NaN where there is one.",
    example="tenora.median(tenora.tensor([[1, 5, 3], [3, 2, 9]]), 1).indices",
    public="median",
    method=True,
    result=("values", "indices"),
    out=True,
)
nanmedian_dim = op(
    "nanmedian_dim(input: Tensor, dim: int, keepdim: bool = False) -> (Tensor, Tensor)",
    family=RANK,
    samples=untied_rows,
    function=lambda input, dim, keepdim: _picked("nanmedian", input, dim, keepdim, _middle_of_numbers),
    oracle=lambda x, dim, keepdim=False: _positions(_lower_middle_of_numbers, x, dim, keepdim),
    doc="The lower medians along a dim of what is not NaN, and where they are.",
    example="tenora.nanmedian(tenora.tensor([[1.0, float('nan'), 3.0]]), 1).values",
    public="nanmedian",
    method=True,
    result=("values", "indices"),
    out=True,
)


# ---- by rank ----
def _kthvalue(input: Any, k: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    dim = wrap_dim("kthvalue", dim, input.ndim)
    length = input.shape[dim] if input.ndim else 1
    if not length:
        raise errors.IndexRangeError(
            f"[kthvalue] no element to choose from: got {tuple(input.shape)}, expected elements along dimension {dim}. "
            "Check for empty input first."
        )
    if not 1 <= k <= length:
        raise errors.OperationError(
            f"[kthvalue] k out of range: got {k}, expected 1 to {length} along dimension {dim}. Choose another k."
        )
    return _picked(
        "kthvalue", input, dim, keepdim, lambda values, d: ops.full_like(_missing(values, d), k - 1)
    )


def ranks(draw: Draw) -> Iterable[Sample]:
    return [
        sample(_no_ties(draw, 5), 2),
        sample(_no_ties(draw, 3, 4), 1, 0),
        sample(_no_ties(draw, 3, 4), 4, -1, True),
        sample(_no_ties(draw, 2, 3, 2, 2), 2, 1),
        sample(_no_ties(draw, 1, 2, 1, 3, 2), 3, 3),
        sample(_no_ties(draw), 1),
    ]


kthvalue = op(
    "kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> (Tensor, Tensor)",
    family=RANK,
    samples=ranks,
    function=_kthvalue,
    oracle=lambda x, k, dim=-1, keepdim=False: _positions(
        lambda row: _sorted(row.tolist())[k - 1], x, dim, keepdim
    ),
    doc="The k-th smallest elements along a dim, and where they are.",
    example="tenora.kthvalue(tenora.tensor([3, 1, 2]), 2)",
    method=True,
    result=("values", "indices"),
    out=True,
)
msort = op(
    "msort(input: Tensor) -> Tensor",
    family=RANK,
    dtypes=ORDERED,
    samples=lambda draw: [sample(s.arguments[0]) for s in one_dim(draw)],
    composite=lambda x: ops.sort(x, 0)[0],
    oracle=lambda x: np.array(
        _sorted(x.tolist()) if x.ndim == 1 else np.sort(x, 0) if x.ndim else x, dtype=x.dtype
    ),
    doc="Sorted along the first dim.",
    example="tenora.msort(tenora.tensor([3, 1, 2]))",
    method=True,
)


def _longest_run(values: Any, dim: int) -> Any:
    """The end of the first longest run of equal elements in sorted rows."""
    length = values.shape[dim]
    sizes = [1] * values.ndim
    sizes[dim] = length
    places = ops.expand(ops.reshape(ops.iota(0, 1, length, device=values.device), sizes), values.shape)
    same = ops.eq(ops.narrow(values, dim, 1, length - 1), ops.narrow(values, dim, 0, length - 1))
    later = ops.where(same, 0, ops.narrow(places, dim, 1, length - 1))
    starts = ops.cummax(ops.cat([ops.clone(ops.narrow(places, dim, 0, 1)), later], dim), dim)[0]
    return ops.argmax(ops.sub(places, starts), dim, True)


def _commonest(x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    def best(row: Any) -> Any:
        values = row.tolist()
        return min(values, key=lambda v: (-values.count(v), v))

    def place(row: Any) -> int:
        values = row.tolist()
        return int(len(values) - 1 - values[::-1].index(best(row)))

    values = reduced(best, x, dim, keepdim).astype(x.dtype)
    return values, reduced(place, x, dim, keepdim).astype(np.int64)


mode = op(
    "mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> (Tensor, Tensor)",
    family=RANK,
    domain=Domain(-2.0, 2.0),
    dtypes=ORDERED,
    samples=lambda draw: [*one_dim(draw), sample(draw.array(3, 9)), sample(draw.array(9, 3), 0, True)],
    gradient_samples=untied_rows,
    function=lambda input, dim, keepdim: _picked("mode", input, dim, keepdim, _longest_run),
    edges="numbers",
    oracle=_commonest,
    doc="The commonest elements along a dim, of several the smallest, and where the last of each is.",
    example="tenora.mode(tenora.tensor([3, 1, 3, 2]))",
    method=True,
    result=("values", "indices"),
    out=True,
)

# ---- quantiles ----
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    op: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool
) -> Any:
    _check_quantile(op, input, q, interpolation)
    if is_number(q):
        q = ops.full((), q, dtype=input.dtype, device=input.device)
    place = None if dim is None else wrap_dim(op, dim, input.ndim)
    rows = ops.reshape(input, (-1,)) if place is None or not input.ndim else input
    along = 0 if rows.ndim == 1 else place
    moved = ops.permute(rows, [*[d for d in range(rows.ndim) if d != along], along])
    found = _interpolated(ops.sort(moved, -1)[0], ops.reshape(q, (-1,)), interpolation, skip_nan)
    shape = (
        [1 if place in (None, d) else n for d, n in enumerate(input.shape)] if keepdim else found.shape[:-1]
    )
    front = ops.permute(found, [found.ndim - 1, *range(found.ndim - 1)])
    return ops.reshape(front, (*q.shape, *shape))


def _check_quantile(op: str, input: Any, q: Any, interpolation: str) -> None:
    if interpolation not in INTERPOLATIONS:
        raise errors.OperationError(
            f"[{op}] unknown interpolation: got {interpolation!r}, expected one of {', '.join(INTERPOLATIONS)}. "
            "Pass one of these."
        )
    if input.dtype not in (_engine.float32, _engine.float64):
        raise errors.OperationError(
            f"[{op}] dtype not supported: got {input.dtype}, expected float32 or float64. "
            "Cast with .to(tenora.float32)."
        )
    if not input.numel():
        raise errors.OperationError(
            f"[{op}] input is empty: got shape {tuple(input.shape)}, expected elements. Check it first."
        )
    if is_number(q):
        if isinstance(q, complex) or not 0 <= q <= 1:
            raise errors.OperationError(f"[{op}] q: got {q}, expected 0 to 1. Pass a share, not per cent.")
        return
    if q.ndim > 1 or q.dtype != input.dtype:
        raise errors.OperationError(
            f"[{op}] q: got {q.dtype} of shape {tuple(q.shape)}, expected a number or 1-d "
            f"{input.dtype}. Cast or flatten it."
        )
    inside = ops.logical_and(ops.ge(q, 0), ops.le(q, 1))
    if not bool(ops.all(inside)):
        raise errors.OperationError(
            f"[{op}] q: got numbers outside 0 to 1, expected shares. Divide per cent by 100."
        )


def _interpolated(ordered: Any, q: Any, interpolation: str, skip_nan: bool) -> Any:
    """Between the elements of sorted rows (..., n) at ranks q (n - 1): (..., m)."""
    missing = _missing(ordered, -1)
    last = ops.to(ops.sub(ordered.shape[-1], missing) - 1, q.dtype)
    rank = q * ops.clamp(last, 0, None)
    if not skip_nan:
        rank = ops.where(ops.gt(missing, 0), ordered.shape[-1] - 1.0, q * (ordered.shape[-1] - 1.0))
    if interpolation in ("lower", "higher", "nearest"):
        rank = {"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation](rank)
    below = ops.floor(rank)
    low = ops.gather(ordered, -1, ops.to(below, _engine.int64))
    if interpolation in ("lower", "higher", "nearest"):
        return low
    high = ops.gather(ordered, -1, ops.to(ops.ceil(rank), _engine.int64))
    weight = ops.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
    return ops.lerp(low, high, weight)


def _quantile_of(skip_nan: bool) -> Any:
    def one(row: Any, q: float, interpolation: str) -> float:
        values = sorted(v for v in row.tolist() if v == v)
        if not values or (not skip_nan and len(values) < len(row)):
            return math.nan
        rank = q * (len(values) - 1)
        low, high = values[math.floor(rank)], values[math.ceil(rank)]
        nearest = round(rank) - math.floor(rank)
        weights = {"linear": rank % 1, "lower": 0, "higher": 1, "midpoint": 0.5, "nearest": nearest}
        return float(low + (high - low) * weights[interpolation])

    def apply(x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
        found = [
            reduced(lambda row, p=p: one(row, p, interpolation), x, dim, keepdim)
            for p in np.ravel(q).tolist()
        ]
        return np.array(found).reshape(np.shape(q) + found[0].shape)

    return apply


def shares(draw: Draw) -> Iterable[Sample]:
    several = np.array([0.31, 0.0, 0.86]).astype(draw.array().dtype)
    return [
        sample(draw.array(7), 0.31),
        sample(draw.array(3, 4), 0.4, 0),
        sample(draw.array(3, 4), several, -1, True),
        sample(draw.array(2, 3, 2, 2), several, 1),
        sample(draw.array(3, 5), 0.37, 1, interpolation="lower"),
        sample(draw.array(3, 5), 0.37, 1, interpolation="higher"),
        sample(draw.array(3, 5), 0.37, 1, interpolation="midpoint"),
        sample(draw.array(3, 5), 0.37, 1, interpolation="nearest"),
        sample(draw.array(2, 3), several),
        sample(draw.array(2, 3), 0.9, None, True),
        sample(draw.array(), 0.5),
        *[sample(s.arguments[0], 0.4, -1) for s in with_nan(draw)],
    ]


def between(draw: Draw) -> Iterable[Sample]:
    """Quantiles by one number: finite differences do not move them over an element."""
    return [s for s in list(shares(draw))[:10] if not hasattr(s.arguments[1], "dtype")]


QUANTILE = (
    "input: Tensor, q: Tensor | Scalar, dim: int? = None, keepdim: bool = False, *, "
    "interpolation: str = 'linear'"
)
quantile = op(
    f"quantile({QUANTILE}) -> Tensor",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    domain=Domain(-5.0, 5.0, distinct=True),
    samples=shares,
    gradient_samples=between,
    function=lambda input, q, dim, keepdim, interpolation: _quantile(
        "quantile", input, q, dim, keepdim, interpolation, False
    ),
    oracle=_quantile_of(False),
    doc="The element, or between two, at rank q (n - 1) of the sorted row; NaN where there is one.",
    example="tenora.quantile(tenora.tensor([1.0, 2.0, 4.0]), 0.25)",
    method=True,
    out=True,
)
nanquantile = op(
    f"nanquantile({QUANTILE}) -> Tensor",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    domain=Domain(-5.0, 5.0, distinct=True),
    samples=shares,
    gradient_samples=between,
    function=lambda input, q, dim, keepdim, interpolation: _quantile(
        "nanquantile", input, q, dim, keepdim, interpolation, True
    ),
    oracle=_quantile_of(True),
    doc="quantile of the elements that are not NaN.",
    example="tenora.nanquantile(tenora.tensor([1.0, float('nan'), 4.0]), 0.25)",
    method=True,
    out=True,
)
