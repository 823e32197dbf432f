"""Reading and writing by index tensors, sorting, and ops whose result size depends on the data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_indices, number_for, wrap_dim
from tenora_ops.formula import max_number, min_number, ops, sum_to
from tenora_ops.index_cases import (
    additions,
    crowded,
    gathers,
    nowhere,
    numpy_index,
    reads,
    scatters,
    selections,
    writes,
)
from tenora_ops.lazy import np
from tenora_ops.oracles import along
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    ALL,
    FLOATING,
    NUMBERS,
    ORDERED,
    Domain,
    Draw,
    Sample,
    numpy_dtype,
    sample,
)

READ = Family("index", "gather", "gather", "", lambda draw: gathers(draw), ALL)
WRITE = Family("index", "scatter", "scatter", "preload", lambda draw: scatters(draw), ALL)
SORT = Family(
    "sort",
    "value_index",
    "sort",
    "plain",
    lambda draw: sortable(draw),
    ORDERED,
    Domain(-50.0, 50.0, distinct=True),
)
DEPENDENT = Family("index", "", "", "", lambda draw: sortable(draw), ALL, Domain(-1.0, 1.0))


def sortable(draw: Draw) -> Iterable[Sample]:
    shapes = ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2), (2, 0), (0, 3))
    return [sample(draw.array(*shape)) for shape in shapes]


gather = op(
    "gather(input: Tensor, dim: int, index: Tensor) -> Tensor",
    family=READ,
    vjp=lambda g, x, index, r, dim: (ops.scatter_add(ops.zeros_like(x), dim, index, g), None),
    oracle=lambda x, dim, index: gathered(x, dim, index),
    apart=("input",),
    doc="out[i][j] = input[index[i][j]][j] for dim 0, and so on.",
    example="tenora.gather(tenora.tensor([[1, 2], [3, 4]]), 1, tenora.tensor([[0, 0], [1, 0]]))",
    method=True,
    out=True,
)


def gathered(x: Any, dim: int, index: Any) -> Any:
    out = np.empty(index.shape, dtype=x.dtype)
    for place in np.ndindex(*index.shape):
        source = list(place)
        source[dim] = index[place]
        out[place] = x[tuple(source)]
    return out


def _scattered(x: Any, dim: int, index: Any, src: Any, add: bool) -> Any:
    out = x.copy()
    for place in np.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        key = tuple(target)
        out[key] = (
            (out[key] | src[place] if x.dtype == bool else out[key] + src[place]) if add else src[place]
        )
    return out


scatter = op(
    "scatter(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor",
    family=WRITE,
    samples=lambda draw: [*scatters(draw), nowhere(draw)],
    vjp=lambda g, x, index, src, r, dim: (
        ops.scatter(g, dim, index, ops.zeros_like(src)),
        None,
        ops.reshape(ops.gather(g, dim, index), src.shape),
    ),
    oracle=lambda x, dim, index, src: _scattered(x, dim, index, src, False),
    apart=("index", "src"),
    doc="input with out[index[i][j]][j] = src[i][j] for dim 0, and so on; the last of equal indices wins.",
    example="tenora.scatter(tenora.zeros(3), 0, tenora.tensor([1]), tenora.ones(1))",
    method=True,
    inplace=True,
    out=True,
)
scatter_value = op(
    "scatter_value(input: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor",
    family=WRITE,
    dtype="",
    shape="",
    prepare="",
    composite=lambda x, index, dim, value: ops.scatter(
        x, dim, index, ops.full_like(index, value, dtype=x.dtype)
    ),
    samples=lambda draw: [sample(*s.arguments[:3], 1) for s in scatters(draw)],
    oracle=lambda x, dim, index, value: _scattered(
        x, dim, index, np.full(index.shape, value, x.dtype), False
    ),
    apart=("index",),
    doc="scatter of one number.",
    example="tenora.scatter(tenora.zeros(3), 0, tenora.tensor([1]), 5.0)",
    public="scatter",
    method=True,
    inplace=True,
    out=True,
)
scatter_add = op(
    "scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor",
    family=WRITE,
    dtypes=NUMBERS,
    samples=lambda draw: [*additions(draw), crowded(draw), nowhere(draw)],
    vjp=lambda g, x, index, src, r, dim: (g, None, ops.reshape(ops.gather(g, dim, index), src.shape)),
    oracle=lambda x, dim, index, src: _scattered(x, dim, index, src, True),
    tolerance="reduction",
    apart=("index", "src"),
    doc="input with src added at the places that scatter writes.",
    example="tenora.scatter_add(tenora.zeros(3), 0, tenora.tensor([1, 1]), tenora.ones(2))",
    method=True,
    inplace=True,
    out=True,
)


def _index_select(input: Any, dim: int, index: Any) -> Any:
    """By gather, which takes no negative indices either."""
    dim = wrap_dim("index_select", dim, input.ndim)
    at = [index.numel() if d == dim else n for d, n in enumerate(input.shape)]
    places = ops.reshape(ops.to(index, _engine.int64), [n if d == dim else 1 for d, n in enumerate(at)])
    return ops.gather(input, dim, ops.expand(places, at))


index_select = op(
    "index_select(input: Tensor, dim: int, index: Tensor) -> Tensor",
    family=READ,
    dtype="index_select",
    shape="index_select",
    prepare="index_select",
    function=_index_select,
    samples=selections,
    vjp=lambda g, x, index, r, dim: (_add_rows(ops.zeros_like(x), dim, index, g), None),
    oracle=lambda x, dim, index: (
        np.stack([np.moveaxis(x, dim, 0)[i] for i in index], dim)
        if len(index)
        else np.empty([0 if d == dim % x.ndim else n for d, n in enumerate(x.shape)], x.dtype)
    ),
    apart=("input", "index"),
    doc="The named indices of one dim.",
    example="tenora.index_select(tenora.tensor([[1, 2], [3, 4]]), 1, tenora.tensor([1, 0]))",
    method=True,
    out=True,
)


def _add_rows(x: Any, dim: Any, index: Any, src: Any) -> Any:
    """x with the slices of src added at the indices of a dim; a last dim of size 1 is there for a 0-d x."""
    dim = (dim + x.ndim) % max_number(x.ndim, 1)
    target, source = ops.unsqueeze(x, -1), ops.unsqueeze(src, -1)
    rows = ops.to(ops.reshape(index, (-1,)), _engine.int64)
    places = ops.expand_as(rows, ops.transpose(source, dim, -1))
    places = ops.transpose(places, dim, -1)  # the same index for all of a slice
    return ops.squeeze(ops.scatter_add(target, dim, places, source), -1)


def _index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any) -> Any:
    need_indices("index_add", index, 1, ("int32", "int64"))
    dim = wrap_dim("index_add", dim, input.ndim)
    wanted = [index.numel() if d == dim else n for d, n in enumerate(input.shape)]
    if list(source.shape) != wanted or (not input.ndim and index.numel() != 1):
        raise errors.OperationError(
            f"[index_add] source does not fit: got shape {tuple(source.shape)}, expected {tuple(wanted)}. "
            "Give a slice for every index."
        )
    if source.dtype != input.dtype:
        raise errors.OperationError(
            f"[index_add] wrong dtype of source: got {source.dtype}, expected {input.dtype} like input. "
            "Cast it with .to(...)."
        )
    scaled = ops.mul(source, _factor(alpha, input.dtype))
    if not source.numel():
        ops.index_select(input, dim, index)  # nothing else would read an index beyond the dim
    if not input.ndim:
        whole = _add_rows(ops.reshape(input, (1,)), 0, index, ops.reshape(scaled, (-1,)))
        return ops.reshape(whole, ())
    return _add_rows(input, dim, index, scaled)


def _factor(alpha: Any, dtype: Any) -> Any:
    """alpha as a number of the dtype: whole for integers, as PyTorch has it."""
    alpha = number_for("index_add", "alpha", alpha, dtype)
    if dtype == _engine.bool:
        return bool(alpha)
    if dtype.is_floating_point or dtype.is_complex or isinstance(alpha, int):
        return alpha
    if not math.isfinite(alpha):
        raise errors.OperationError(
            f"[index_add] alpha: got {alpha}, expected a finite number for {dtype}. Choose one."
        )
    return int(alpha)


index_add = op(
    "index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Tensor | Scalar = 1) -> Tensor",
    family=WRITE,
    dtype="",
    shape="",
    prepare="",
    dtypes=NUMBERS,
    tolerance="reduction",
    function=_index_add,
    samples=lambda draw: [
        sample(*s.arguments, draw.array(*_selected(s.arguments)), **options)
        for options in ({}, {"alpha": 2})
        for s in selections(draw)
    ],
    oracle=lambda x, dim, index, source, alpha=1: _rows_added(
        x, dim, index, np.multiply(source, alpha, dtype=x.dtype)
    ),
    apart=("index", "source"),
    doc="input with alpha times the slices of source added at the named indices of a dim.",
    example="tenora.index_add(tenora.zeros(3), 0, tenora.tensor([1, 1]), tenora.ones(2))",
    method=True,
    inplace=True,
    out=True,
)


def _selected(arguments: Any) -> list[int]:
    x, dim, index = arguments
    return [len(index) if d == dim % x.ndim else n for d, n in enumerate(x.shape)]


def _rows_added(x: Any, dim: int, index: Any, source: Any) -> Any:
    out = x.copy()
    moved, rows = np.moveaxis(out, dim, 0), np.moveaxis(source, dim, 0)
    for place, row in zip(index, rows, strict=True):
        moved[place] = moved[place] + row
    return out


index = op(
    "index(input: Tensor, indices: Tensor?[]) -> Tensor",
    family=READ,
    dtype="indexing",
    shape="index",
    prepare="index",
    samples=reads,
    vjp=lambda g, x, indices, r: (
        ops.index_put(ops.zeros_like(x), g, indices, accumulate=True),
        [None] * len(indices),
    ),
    oracle=lambda x, indices: x[numpy_index(indices)],
    doc="x[i, j, ...] with index tensors or masks; None stands for a whole dim.",
    example="tenora.ones(3, 4)[tenora.tensor([0, 2])]",
    public="",
)
index_put = op(
    "index_put(input: Tensor, values: Tensor, indices: Tensor?[], *, accumulate: bool = False) -> Tensor",
    family=WRITE,
    dtype="index_put",
    shape="index_put",
    prepare="index_put",
    dtypes=NUMBERS,
    samples=writes,
    vjp=lambda g, x, values, indices, r, accumulate: (
        g if accumulate else ops.index_put(g, ops.zeros_like(values), indices),
        sum_to(ops.index(g, indices), values),
        [None] * len(indices),
    ),
    oracle=lambda x, values, indices, accumulate=False: _put(x, values, indices, accumulate),
    tolerance="reduction",
    doc="input with x[i, j, ...] set to values, or values added to it.",
    example="tenora.zeros(3).index_put_((tenora.tensor([0, 2]),), tenora.ones(2))",
    public="",
    inplace="_index_put_",
)


def _put(x: Any, values: Any, indices: Any, accumulate: bool) -> Any:
    out = x.copy()
    if accumulate:
        np.add.at(out, numpy_index(indices), values)
    else:
        out[numpy_index(indices)] = values
    return out


def _true_places(input: Any, count: int) -> Any:
    """Writes each true element's place to its rank among them, and all others behind."""
    target = ops.where(input, ops.sub(ops.cumsum(input, 0), 1), count)
    places = ops.iota(0, 1, input.shape[0], device=input.device)
    room = ops.full((count + 1,), 0, device=input.device)
    return ops.narrow(ops.scatter(room, 0, target, places), 0, 0, count)


true_places = op(
    "true_places(input: Tensor, count: int) -> Tensor",
    family=Family("nonzero", "index", "", "plain", lambda draw: [], ("bool",)),
    shape=lambda operands, attributes: (attributes[0],),
    function=_true_places,
    differentiable=False,
    samples=lambda draw: [
        sample(mask, int(mask.sum()))
        for mask in (
            draw.rng.random(size) < share
            for size, share in ((7, 0.5), (0, 0.5), (9, 0.0), (5, 1.0), (300, 0.2), (1, 1.0))
        )
    ],
    oracle=lambda mask, count: np.array([i for i, true in enumerate(mask.tolist()) if true], dtype=np.int64),
    doc="The places of the `count` true elements of a mask of one dim.",
    example="tenora.nonzero(tenora.tensor([0, 3, 4]))",
    public="",
)


def _nonzero(input: Any) -> Any:
    """Counts (one wait for the device), then asks for as many places."""
    mask = ops.reshape(ops.ne(input, 0), (-1,))
    size = input.numel()
    found = int(ops.sum(mask))
    flat = ops.true_places(mask, found)
    columns = []
    for length in reversed(input.shape[1:]):
        above = ops.floor_divide(flat, length) if size else flat
        columns.append(ops.sub(flat, ops.mul(above, length)))
        flat = above
    columns = [flat, *reversed(columns)] if input.ndim else []
    return ops.stack(columns, 1) if columns else ops.full((found, 0), 0, device=input.device)


def _places(found: Any, ndim: int) -> Any:
    return np.array(found, dtype=np.int64).reshape(len(found), ndim)


nonzero = op(
    "nonzero(input: Tensor) -> Tensor",
    family=DEPENDENT,
    function=_nonzero,
    differentiable=False,
    samples=lambda draw: [*sortable(draw), sample(draw.array())],
    oracle=lambda x: _places([p for p in np.ndindex(*x.shape) if x[p] != 0], x.ndim),
    apart=("input",),
    doc="The indices of the elements that are not zero, one row each.",
    example="tenora.nonzero(tenora.tensor([0, 3, 4]))",
    method=True,
    aliases=("argwhere",),
    out=True,
)


def _masked_select(input: Any, mask: Any) -> Any:
    both = ops.where(mask, True, ops.ne(input, 0)).shape
    places = ops.select(ops.nonzero(ops.reshape(ops.expand(mask, both), (-1,))), 1, 0)
    return ops.index_select(ops.reshape(ops.expand(input, both), (-1,)), 0, places)


masked_select = op(
    "masked_select(input: Tensor, mask: Tensor) -> Tensor",
    family=DEPENDENT,
    function=_masked_select,
    samples=lambda draw: [
        sample(draw.array(*a), draw.mask(*b))
        for a, b in (
            ((5,), (5,)),
            ((3, 4), (3, 4)),
            ((3, 4), (4,)),
            ((3, 1), (4,)),
            ((2, 3, 2, 2), (3, 1, 2)),
            ((0,), (0,)),
        )
    ],
    oracle=lambda x, mask: np.array(
        [v for v, m in zip(*[a.reshape(-1) for a in np.broadcast_arrays(x, mask)], strict=True) if m],
        dtype=x.dtype,
    ),
    apart=("input", "mask"),
    masks=("mask",),
    doc="The elements where the mask holds, in row-major order.",
    example="tenora.masked_select(tenora.tensor([1, 2, 3]), tenora.tensor([True, False, True]))",
    method=True,
    out=True,
)


def _ordered(row: Any, descending: bool) -> list[int]:
    """Places of a row's elements in order; NaN is larger than any number."""
    values = [(v != v, 0 if v != v else v) for v in row.tolist()]
    places = range(len(values))
    if descending:
        return sorted(places, key=lambda i: (not values[i][0], -values[i][1]))
    return sorted(places, key=values.__getitem__)


def _sorted(x: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    places = along(lambda row: np.array(_ordered(row, descending), dtype=np.int64), x, dim).astype(np.int64)
    return gathered(x, dim, places) if x.ndim else x, places


def orderings(draw: Draw) -> Iterable[Sample]:
    found = list(sortable(draw))
    return [
        *found,
        sample(draw.array(3, 4), 0),
        sample(draw.array(3, 4), -1, True),
        sample(draw.array(2, 3, 2, 2), 1, True),
    ]


def ties(draw: Draw) -> list[Sample]:
    """More equal elements than an unstable order leaves in place."""
    rows = [draw.rng.integers(0, 2, 90).astype(numpy_dtype(draw.dtype)) for _ in range(2)]
    return [
        sample(row, 0, descending=descending, stable=True)
        for row, descending in zip(rows, (False, True), strict=True)
    ]


sort = op(
    "sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> (Tensor, Tensor)",
    family=SORT,
    samples=lambda draw: [*orderings(draw), *ties(draw)],
    gradient_samples=orderings,
    vjp=lambda g, x, values, indices, dim: ops.scatter(ops.zeros_like(x), dim, indices, g),
    not_differentiable=(1,),
    oracle=lambda x, dim=-1, descending=False, stable=False: _sorted(x, dim, descending),
    doc="Values in order along a dim, and where each was; equal ones keep their order, NaN is largest.",
    example="tenora.sort(tenora.tensor([3, 1, 2])).values",
    method=True,
    result=("values", "indices"),
    out=True,
)
argsort = op(
    "argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor",
    family=SORT,
    dtype="",
    shape="",
    prepare="",
    composite=lambda x, dim, descending, stable: ops.sort(x, dim, descending, stable)[1],
    differentiable=False,
    samples=lambda draw: [*orderings(draw), *ties(draw)],
    oracle=lambda x, dim=-1, descending=False, stable=False: _sorted(x, dim, descending)[1],
    doc="The indices that sort.",
    example="tenora.argsort(tenora.tensor([3, 1, 2]))",
    method=True,
)


def _topk(x: Any, k: Any, dim: Any, largest: bool) -> tuple[Any, ...]:
    return tuple(_first(part, k, dim) for part in ops.sort(x, dim, largest))


def _first(x: Any, k: Any, dim: Any) -> Any:
    """The first k along a dim. In front a dim for 0-d tensors, of which the one element is taken whatever k is."""
    place = min_number(dim % max_number(x.ndim, 1) + 1, x.ndim)
    length = max_number(k, 1 - min_number(x.ndim, 1))
    return ops.clone(ops.select(ops.narrow(ops.unsqueeze(x, 0), place, 0, length), 0, 0))


topk = op(
    "topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> (Tensor, Tensor)",
    family=SORT,
    shape="topk",
    samples=lambda draw: [
        sample(draw.array(5), 2),
        sample(draw.array(3, 4), 1, 0),
        sample(draw.array(3, 4), 4, -1, False),
        sample(draw.array(2, 3, 2, 2), 2, 1),
        sample(draw.array(5), 0),
        sample(draw.array(1, 2, 1, 3, 2), 3, 3, False),
        sample(draw.array(), 1),
        sample(draw.array(), 0, -1, False),
    ],
    composite=lambda x, k, dim, largest: _topk(x, k, dim, largest),
    vjp=lambda g, x, values, indices, dim: ops.scatter(ops.zeros_like(x), dim, indices, g),
    not_differentiable=(1,),
    oracle=lambda x, k, dim=-1, largest=True: tuple(
        np.moveaxis(np.moveaxis(part, dim, 0)[:k], 0, dim) if x.ndim else part
        for part in _sorted(x, dim, largest)
    ),
    doc="The k largest (or smallest) elements along a dim, in order, and where they were.",
    example="tenora.topk(tenora.tensor([3, 1, 2]), 2).indices",
    method=True,
    result=("values", "indices"),
    out=True,
)


def rows_of(index: Any, weight: Any) -> Any:
    """weight[index] for indices from 0 on: a negative one names no row."""
    rows = ops.index_select(weight, 0, ops.reshape(index, (-1,)))
    return ops.reshape(rows, index.shape + (weight.shape[1],))


embedding = op(
    "embedding(input: Tensor, weight: Tensor) -> Tensor",
    family=DEPENDENT,
    dtypes=FLOATING,
    composite=rows_of,
    vjp=lambda g, index, weight, r: (
        None,
        ops.index_put(ops.zeros_like(weight), g, [index], accumulate=True),
    ),
    samples=lambda draw: [
        sample(draw.indices(5, *shape), draw.array(5, 3))
        for shape in ((4,), (2, 3), (), (0,), (2, 1, 2), (1, 2, 1, 2))
    ],
    oracle=lambda index, weight: np.array([weight[i] for i in index.reshape(-1)], dtype=weight.dtype).reshape(
        *index.shape, weight.shape[1]
    ),
    doc="The rows of weight that input names.",
    example="tenora.nn.functional.embedding(tenora.tensor([0, 2]), tenora.ones(3, 4))",
    public="nn.functional.embedding",
)
