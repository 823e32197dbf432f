"""Scatters and index writes that reduce what meets at one place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_fitting, wrap_dim
from tenora_ops.formula import conj, ops
from tenora_ops.index_cases import additions
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import Domain, Draw, Sample, sample, unary

REDUCING = Family("index", "", "", "", unary, ("int64", "float16", "float32", "float64"), Domain(-3.0, 3.0))
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _combine(reduce: str, a: Any, b: Any) -> Any:
    if reduce == "prod":
        return ops.mul(a, b)
    return ops.maximum(a, b) if reduce == "amax" else ops.minimum(a, b)


def _neutral(reduce: str, dtype: Any) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    sign = -1 if reduce == "amax" else 1
    if dtype.is_floating_point:
        return sign * float("inf")
    if dtype == _engine.bool:
        return reduce == "amin"
    bits = 8 * dtype.itemsize - (1 if dtype.is_signed else 0)
    return 2**bits - 1 if sign > 0 else (-(2**bits) if dtype.is_signed else 0)


def _segments(reduce: str, start: Any, targets: Any, values: Any) -> Any:
    """start (1-d) with values combined into the places `targets`: sorted by place, then halved log2(n) times."""
    order = ops.argsort(targets, 0, False, True)
    keys, found = ops.index_select(targets, 0, order), ops.index_select(values, 0, order)
    count, reach = keys.numel(), 1
    while reach < count:
        same = ops.eq(ops.narrow(keys, 0, reach, count - reach), ops.narrow(keys, 0, 0, count - reach))
        later, earlier = ops.narrow(found, 0, reach, count - reach), ops.narrow(found, 0, 0, count - reach)
        joined = ops.where(same, _combine(reduce, later, earlier), later)
        found = ops.cat([ops.narrow(found, 0, 0, reach), joined])
        reach *= 2
    last = ops.cat(
        [ops.ne(ops.narrow(keys, 0, 1, count - 1), ops.narrow(keys, 0, 0, count - 1)), keys[:1] >= 0]
    )
    ends = ops.masked_select(ops.iota(0, 1, count, device=keys.device), last)
    places, totals = ops.index_select(keys, 0, ends), ops.index_select(found, 0, ends)
    return ops.scatter(start, 0, places, _combine(reduce, ops.gather(start, 0, places), totals))


def _flat_targets(shape: Any, dim: int, index: Any) -> Any:
    """The flat place in a dense tensor of `shape` that each element of the index names."""
    target, step = None, 1
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            part = ops.mul(index, step)
        else:
            line = ops.iota(0, step, index.shape[d], device=index.device)
            part = ops.reshape(line, [-1 if e == d else 1 for e in range(len(shape))])
        target = part if target is None else ops.add(target, part)
        step *= shape[d]
    return ops.reshape(ops.expand(target, tuple(index.shape)), (-1,))


def _reduced(input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Any:
    """The values of scatter_reduce; half types in float32."""
    if reduce not in REDUCTIONS:
        raise errors.OperationError(
            f"[scatter_reduce] reduce is wrong: got {reduce!r}, expected one of {REDUCTIONS}. Choose one."
        )
    if input.dtype != src.dtype:
        raise errors.OperationError(
            f"[scatter_reduce] dtypes differ: got {input.dtype} and {src.dtype}, expected one dtype. Cast one of them."
        )
    if input.dtype in (_engine.float16, _engine.bfloat16):
        wide = ops.to(input, _engine.float32), index, ops.to(src, _engine.float32)
        return ops.to(_reduced(*wide, dim, reduce, include_self), input.dtype)
    dim = wrap_dim("scatter_reduce", dim, input.ndim)
    if not input.ndim and index.ndim <= 1 and src.ndim <= 1:
        whole = ops.reshape(input, (1,)), ops.reshape(index, (-1,)), ops.reshape(src, (-1,))
        return ops.reshape(_reduced(*whole, 0, reduce, include_self), ())
    start = ops.clone(input)
    if not index.numel():
        return start
    need_fitting("scatter_reduce", input, dim, index, src)
    for d, size in enumerate(index.shape):
        src = ops.narrow(src, d, 0, size)
    if not include_self:
        start = ops.scatter(
            start, dim, index, ops.full_like(index, _neutral(reduce, input.dtype), dtype=input.dtype)
        )
    if reduce in ("sum", "mean"):
        total = ops.scatter_add(start, dim, index, src)
        if reduce == "sum":
            return total
        counts = ops.scatter_add(_ones(include_self, input), dim, index, ops.ones_like(src))
        if input.dtype.is_complex:
            return ops.div(total, ops.where(ops.eq(counts, 0), 1, counts))
        counts = ops.maximum(counts, 1)
        return ops.div(total, counts) if input.dtype.is_floating_point else ops.floor_divide(total, counts)
    return ops.scatter_fold(start, dim, index, src, reduce)


def _fold(input: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    least, most, size = ops.amin(index).item(), ops.amax(index).item(), input.shape[dim]
    if least < 0 or most >= size:  # a place of a flat tensor may exist all the same
        raise errors.IndexRangeError(
            f"[scatter_reduce] index is out of bounds: got {least if least < 0 else most}, expected 0 to {size - 1} "
            f"for dimension {dim}. Pass positions that the dimension has."
        )
    index = ops.to(index, _engine.int64)
    flat = ops.reshape(ops.contiguous(input), (-1,))
    values = ops.reshape(ops.contiguous(src), (-1,))
    return ops.reshape(
        _segments(reduce, flat, _flat_targets(input.shape, dim, index), values), tuple(input.shape)
    )


scatter_fold = op(
    "scatter_fold(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor",
    family=REDUCING,
    dtype="scatter",
    shape="scatter",
    prepare="preload",
    dtypes=("int64", "float32", "float64"),
    function=_fold,
    differentiable=False,
    tolerance="reduction",
    samples=lambda draw: (
        [
            sample(*s.arguments, reduce)
            for s, reduce in zip(
                additions(draw), ("prod", "amax", "amin", "prod", "amax", "amin"), strict=True
            )
            if s.arguments[2].size and s.arguments[0].ndim and s.arguments[2].shape == s.arguments[3].shape
        ]
        + [sample(draw.array(2, 3), 1, np.array([[0, 2, 0], [1, 1, 1]]), draw.array(2, 3), "amax")]
    ),
    oracle=lambda x, dim, index, src, reduce: _reduced_by_definition(x, dim, index, src, reduce, True),
    doc="input with src multiplied, or taken where it is larger or smaller, at the places that scatter writes.",
    example="tenora.zeros(3).scatter_reduce(0, tenora.tensor([1, 1]), tenora.ones(2), 'amax')",
    public="",
)


def _ones(filled: bool, like: Any) -> Any:
    return ops.ones_like(like) if filled else ops.zeros_like(like)


scatter_reduced = op(
    "scatter_reduced(input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor",
    family=REDUCING,
    function=_reduced,
    differentiable=False,
    tolerance="reduction",
    samples=lambda draw: (
        [
            sample(s.arguments[0], s.arguments[2], s.arguments[3], s.arguments[1], reduce, True)
            for s, reduce in zip(additions(draw), (*REDUCTIONS, "sum"), strict=True)
        ]
        + [sample(draw.array(), draw.indices(1, 1), draw.array(1), 0, "amax", False)]
    ),
    oracle=lambda x, index, src, dim, reduce, include_self: _reduced_by_definition(
        x, dim, index, src, reduce, include_self
    ),
    doc="The values of scatter_reduce.",
    example="tenora.zeros(3).scatter_reduce(0, tenora.tensor([1, 1]), tenora.ones(2), 'prod')",
    public="",
)


def _reduced_by_definition(
    x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    """Collects what each place gets, then reduces it."""
    whole, out = x, np.atleast_1d(x.copy())
    x = np.atleast_1d(x)
    gathered: dict[Any, list[Any]] = {}
    for place in np.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        gathered.setdefault(tuple(target), []).append(src[place])
    for key, found in gathered.items():
        values = np.array(([x[key]] if include_self else []) + found)
        if reduce == "mean" and x.dtype.kind in "iu":
            out[key] = int(values.sum()) // len(values)
        else:
            out[key] = getattr(np, reduce)(values)
    return out.reshape(whole.shape)


def _reduce_gradients(
    g: Any, x: Any, index: Any, src: Any, r: Any, dim: Any, reduce: Any, include_self: Any
) -> tuple[Any, None, Any]:
    """PyTorch's: ties of amax and amin share the gradient evenly."""
    if reduce == "sum":
        to_self, to_src = g, ops.gather(g, dim, index)
    elif reduce == "mean":
        counts = ops.scatter_add(
            ops.ones_like(g) if include_self else ops.zeros_like(g), dim, index, ops.ones_like(src)
        )
        to_self = g / ops.maximum(counts, 1)
        to_src = ops.gather(to_self, dim, index)
    elif reduce == "prod":
        to_self, to_src = _product_gradients(g, x, index, src, r, dim, include_self)
    else:
        mine = ops.to(ops.eq(x, r), g.dtype)
        if not include_self:
            mine = ops.scatter(mine, dim, index, ops.zeros_like(src))
        theirs = ops.to(ops.eq(src, ops.gather(r, dim, index)), g.dtype)
        shared = g / ops.maximum(ops.scatter_add(mine, dim, index, theirs), 1)
        to_self, to_src = mine * shared, theirs * ops.gather(shared, dim, index)
        untouched = ops.scatter(ops.ones_like(g), dim, index, ops.zeros_like(src))
        to_self = ops.where(ops.eq(untouched, 1), g, to_self)
    if not include_self:
        to_self = ops.scatter(to_self, dim, index, ops.zeros_like(src))
    return to_self, None, ops.reshape(to_src, src.shape)


def _product_gradients(
    g: Any, x: Any, index: Any, src: Any, r: Any, dim: Any, include_self: Any
) -> tuple[Any, Any]:
    """A product's gradient is the product of the others: by division, where one zero stands by leaving it out."""
    zero_self, zero_src = ops.eq(x, 0), ops.eq(src, 0)
    kept = ops.where(zero_self, 1, x)
    others = ops.scatter_reduce(kept, dim, index, src, "prod", include_self=include_self)
    to_self = g * conj(others / kept)
    zeros = ops.scatter_add(
        ops.to(zero_self, g.dtype) if include_self else ops.zeros_like(g),
        dim,
        index,
        ops.to(zero_src, g.dtype),
    )
    single = ops.logical_and(zero_src, ops.eq(ops.gather(zeros, dim, index), 1))
    left = ops.where(single, 1, src)
    product = ops.scatter_reduce(x, dim, index, left, "prod", include_self=include_self)
    by_division = ops.gather(g * conj(r), dim, index) / conj(ops.where(zero_src, 1, src))
    return to_self, ops.where(single, ops.gather(g * conj(product), dim, index), by_division)


scatter_reduce = op(
    "scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True)"
    " -> Tensor",
    family=REDUCING,
    composite=lambda x, index, src, dim, reduce, include_self: ops.scatter_reduced(
        x, index, src, dim, reduce, include_self
    ),
    vjp=_reduce_gradients,
    tolerance="reduction",
    samples=lambda draw: [
        sample(*s.arguments, reduce, include_self=kept)
        for reduce in REDUCTIONS
        for kept in (True, False)
        for s in additions(draw)
    ],
    oracle=_reduced_by_definition,
    apart=("index", "src"),
    doc="input with what src sends to each place of a dim summed, multiplied, averaged, or its extreme taken.",
    example="tenora.scatter_reduce(tenora.ones(3), 0, tenora.tensor([1, 1]), tenora.tensor([2.0, 3.0]), 'prod')",
    method=True,
    inplace=True,
    out=True,
)


def _index_places(index: Any, like: Any, dim: int) -> Any:
    """The index of a dim, spread over the shape of `like`."""
    dim = wrap_dim("index_reduce", dim, like.ndim)
    line = ops.reshape(index, [-1 if d == dim else 1 for d in range(like.ndim)])
    return ops.contiguous(ops.expand(line, tuple(like.shape)))


index_places = op(
    "index_places(index: Tensor, like: Tensor, dim: int) -> Tensor",
    family=REDUCING,
    function=_index_places,
    dtypes=("int64",),
    differentiable=False,
    shape_only=("like",),
    samples=lambda draw: [sample(s.arguments[2], s.arguments[3], s.arguments[1]) for s in slices(draw)][::8],
    oracle=lambda index, like, dim: _spread(index, like, dim),
    doc="The index of a dim, spread over the shape of like.",
    example="tenora.ones(3).index_reduce(0, tenora.tensor([1]), tenora.tensor([2.0]), 'amax')",
    public="",
)


def _spread(index: Any, like: Any, dim: int) -> Any:
    return np.broadcast_to(
        index.reshape([-1 if d == dim % like.ndim else 1 for d in range(like.ndim)]), like.shape
    )


def slices(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((5,), 0, 9),
        ((3, 4), 0, 5),
        ((3, 4), 1, 6),
        ((2, 3, 2, 2), -3, 4),
        ((3, 4), 0, 0),
        ((1, 2, 1, 3, 2), 3, 4),
    ]
    found = []
    for shape, dim, count in rows:
        source = [count if d == dim % len(shape) else n for d, n in enumerate(shape)]
        for reduce in ("prod", "mean", "amax", "amin"):
            for kept in (True, False):
                index = draw.indices(shape[dim], count)
                found.append(
                    sample(draw.array(*shape), dim, index, draw.array(*source), reduce, include_self=kept)
                )
    return found


def _index_reduced(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    return _reduced_by_definition(x, dim, _spread(index, source, dim), source, reduce, include_self)


def _index_reduce(x: Any, index: Any, source: Any, dim: Any, reduce: str, include_self: bool) -> Any:
    if reduce == "sum":
        raise errors.OperationError(
            "[index_reduce] unknown reduce: got 'sum', expected 'prod', 'mean', 'amax' or 'amin'. Use index_add."
        )
    return ops.scatter_reduced(x, ops.index_places(index, source, dim), source, dim, reduce, include_self)


index_reduce = op(
    "index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True)"
    " -> Tensor",
    family=REDUCING,
    composite=_index_reduce,
    vjp=lambda g, x, index, source, r, dim, reduce, include_self: _reduce_gradients(
        g, x, ops.index_places(index, source, dim), source, r, dim, reduce, include_self
    ),
    tolerance="reduction",
    samples=slices,
    oracle=_index_reduced,
    apart=("index", "source"),
    doc="input with the slices of source combined into the named indices of a dim.",
    example="tenora.ones(3).index_reduce(0, tenora.tensor([1, 1]), tenora.tensor([2.0, 3.0]), 'prod')",
    method=True,
    inplace=True,
    out=True,
)


COMBINED = {"add": "sum", "multiply": "prod"}


def _reduction(reduce: str) -> str:
    """What scatter_reduce calls it."""
    if reduce not in COMBINED:
        raise errors.OperationError(
            f"[scatter] reduce is wrong: got {reduce!r}, expected 'add' or 'multiply'. Use scatter_reduce for others."
        )
    return COMBINED[reduce]


def _combined_gradients(
    g: Any, x: Any, index: Any, src: Any, r: Any, dim: Any, reduce: Any
) -> tuple[Any, ...]:
    found = _reduce_gradients(g, x, index, src, r, dim, _reduction(reduce), True)
    return found[0], None, found[2]


scatter_combined = op(
    "scatter_combined(input: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor",
    family=REDUCING,
    composite=lambda x, index, src, dim, reduce: ops.scatter_reduced(
        x, index, src, dim, _reduction(reduce), True
    ),
    vjp=_combined_gradients,
    tolerance="reduction",
    samples=lambda draw: [
        sample(*s.arguments, reduce=reduce) for reduce in ("add", "multiply") for s in additions(draw)
    ],
    oracle=lambda x, dim, index, src, reduce: _reduced_by_definition(
        x, dim, index, src, "sum" if reduce == "add" else "prod"
    ),
    apart=("index", "src"),
    doc="scatter that adds or multiplies instead of setting.",
    example="tenora.scatter(tenora.ones(3), 0, tenora.tensor([1]), tenora.ones(1), reduce='add')",
    public="scatter",
    method=True,
    inplace=True,
    out=True,
)


def combined_by_definition(x: Any, dim: int, index: Any, value: Any, reduce: str) -> Any:
    """One number added to, or multiplied into, the places of index."""
    given = np.full(index.shape, value, x.dtype)
    return _reduced_by_definition(x, dim, index, given, "sum" if reduce == "add" else "prod")


scatter_combined_value = op(
    "scatter_combined_value(input: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor",
    family=REDUCING,
    composite=lambda x, index, dim, value, reduce: ops.scatter_combined(
        x, dim, index, ops.full_like(index, value, dtype=x.dtype), reduce=reduce
    ),
    tolerance="reduction",
    samples=lambda draw: [
        sample(*s.arguments[:3], 2, reduce=reduce) for reduce in ("add", "multiply") for s in additions(draw)
    ],
    oracle=combined_by_definition,
    apart=("index",),
    doc="scatter of one number that is added or multiplied instead of set.",
    example="tenora.scatter(tenora.ones(3), 0, tenora.tensor([1]), 2.0, reduce='multiply')",
    public="scatter",
    display="scatter",
    method=True,
    inplace=True,
    out=True,
)
