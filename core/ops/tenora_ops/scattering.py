"""Reading and writing by flat places, by dims, by masks; and choices by conditions."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import (
    broadcast_shape,
    ints,
    need_device,
    need_indices,
    need_real,
    number_for,
    wrap_dim,
)
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, NUMBERS, Domain, Draw, sample, unary

PLACES = Family("index", "", "", "", unary, ALL)


def _take(input: Any, index: Any) -> Any:
    need_indices("take", index)
    need_device("take", input, index)
    return ops.index(ops.reshape(input, (-1,)), [index])


take = op(
    "take(input: Tensor, index: Tensor) -> Tensor",
    family=PLACES,
    function=_take,
    samples=lambda draw: [
        sample(draw.array(5), draw.indices(5, 3)),
        sample(draw.array(3, 4), draw.indices(12, 2, 3)),
        sample(draw.array(3, 4), draw.indices(12, 5) - 12),
        sample(draw.array(2, 3, 2, 2), draw.indices(24)),
        sample(draw.array(3), draw.indices(3, 0)),
        sample(draw.array(), draw.indices(1, 2, 1)),
    ],
    oracle=lambda x, index: np.take(x.reshape(-1), index),
    apart=("input", "index"),
    doc="The elements at places of the flattened input.",
    example="tenora.take(tenora.arange(6).reshape(2, 3), tenora.tensor([0, 5]))",
    method=True,
    out=True,
)


def _take_along(input: Any, indices: Any, dim: int | None = None) -> Any:
    """With a dim, an index beyond it counts on from its other end, as in PyTorch; without one it is refused."""
    if dim is None:
        return ops.gather(ops.reshape(input, (-1,)), 0, ops.reshape(indices, (-1,)))
    if indices.ndim != input.ndim:
        raise errors.OperationError(
            f"[take_along_dim] ranks differ: got {input.ndim} and indices of {indices.ndim}, expected the same. "
            "Reshape the indices."
        )
    if not input.ndim:
        raise errors.IndexRangeError(
            f"[take_along_dim] a number has no dim: got dim {dim} for a 0-d tensor, expected None. Reshape the tensor."
        )
    need_indices("take_along_dim", indices)
    dim = wrap_dim("take_along_dim", dim, input.ndim)
    rest = [
        1 if d == dim else broadcast_shape("take_along_dim", [[a], [b]])[0]
        for d, (a, b) in enumerate(zip(input.shape, indices.shape, strict=True))
    ]
    data = ops.expand(input, [input.shape[d] if d == dim else n for d, n in enumerate(rest)])
    places = ops.expand(indices, [indices.shape[d] if d == dim else n for d, n in enumerate(rest)])
    if not input.shape[dim] and places.numel():
        raise errors.IndexRangeError(
            f"[take_along_dim] dim {dim} is empty: got {places.numel()} indices, expected none. Pass no indices."
        )
    if places.numel():
        places = ops.remainder(places, input.shape[dim])
    return ops.gather(data, dim, ops.contiguous(places))


take_along_dim = op(
    "take_along_dim(input: Tensor, indices: Tensor, dim: int? = None) -> Tensor",
    family=PLACES,
    function=_take_along,
    samples=lambda draw: [
        sample(draw.array(5), draw.indices(5, 3), 0),
        sample(draw.array(3, 4), draw.indices(4, 3, 2), 1),
        sample(draw.array(3, 4), draw.indices(12, 2, 2)),
        sample(draw.array(3, 4), draw.indices(3, 2, 1), 0),
        sample(draw.array(2, 1, 2, 2), draw.indices(2, 1, 3, 2, 1), -1),
        sample(draw.array(3, 4), draw.indices(3, 0, 4), 0),
    ],
    oracle=lambda x, indices, dim=None: (
        x.reshape(-1)[indices.reshape(-1)] if dim is None else np.take_along_axis(x, indices, dim)
    ),
    apart=("input",),
    doc="gather with broadcasting of the other dims; of the flattened input without a dim.",
    example="tenora.take_along_dim(tenora.tensor([[3, 1, 2]]), tenora.tensor([[1, 2, 0]]), 1)",
    method=True,
    out=True,
)


def _rows(x: Any, dim: Any, index: Any, values: Any) -> Any:
    """x with the named indices of a dim set to values, broadcast to (index, rest)."""
    if not x.ndim:
        return ops.reshape(_rows(ops.reshape(x, (1,)), 0, index, values), ())
    dim = wrap_dim("index_copy", dim, x.ndim)
    return ops.transpose(ops.index_put(ops.transpose(x, 0, dim), values, [index]), 0, dim)


def _index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    if isinstance(value, _engine.Tensor):
        if value.ndim:
            raise errors.OperationError(
                f"[index_fill] value has dimensions: got shape {tuple(value.shape)}, expected a 0-d tensor or number. "
                "Pass one number."
            )
    tensor = isinstance(value, _engine.Tensor)
    if not input.dtype.is_complex and (value.dtype.is_complex if tensor else isinstance(value, complex)):
        value = number_for("index_fill", "value", value, input.dtype, complex_only=True)
    value = ops.fill_tensor(ops.full((), 0, dtype=input.dtype, device=input.device), value)
    need_indices("index_fill", index, 1, error=errors.IndexRangeError)
    need_device("index_fill", input, index)
    dim, index = wrap_dim("index_fill", dim, input.ndim), ops.reshape(index, (-1,))
    line = ops.full((input.shape[dim] if input.ndim else 1,), False, dtype=_engine.bool, device=input.device)
    line = ops.index_put(line, ops.full((), True, dtype=_engine.bool, device=input.device), [index])
    return ops.where(ops.reshape(line, [-1 if d == dim else 1 for d in range(input.ndim)]), value, input)


def _filled(x: Any, dim: int, index: Any, value: Any) -> Any:
    out = x.copy()
    if x.ndim:
        np.moveaxis(out, dim, 0)[np.asarray(index).reshape(-1)] = value
    else:
        out[...] = value
    return out


index_fill = op(
    "index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Scalar) -> Tensor",
    family=PLACES,
    function=_index_fill,
    samples=lambda draw: [
        sample(draw.array(5), 0, draw.indices(5, 3), 1),
        sample(draw.array(3, 4), 1, draw.indices(4, 2), 0),
        sample(draw.array(3, 4), -2, draw.indices(3, 2), draw.array()),
        sample(draw.array(2, 3, 2, 2), 2, draw.indices(2, 1), 1),
        sample(draw.array(3, 4), 0, draw.indices(3, 0), 1),
        sample(draw.array(1, 2, 1, 3, 2), 3, draw.indices(3, 2), draw.array()),
    ],
    oracle=_filled,
    doc="input with one value at the named indices of a dim.",
    example="tenora.index_fill(tenora.zeros(3), 0, tenora.tensor([0, 2]), 7.0)",
    method=True,
    inplace=True,
)


def _distinct(draw: Draw, size: int, count: int) -> Any:
    return draw.rng.permutation(size)[:count].astype(np.int64)


def _index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    dim = wrap_dim("index_copy", dim, input.ndim)
    need_indices("index_copy", index, 1)
    index = ops.reshape(index, (-1,))
    wanted = [index.numel() if d == dim else n for d, n in enumerate(input.shape or (1,))]
    if input.dtype != source.dtype or (list(source.shape) != wanted and source.ndim):
        raise errors.IndexRangeError(
            f"[index_copy] source does not fit: got {source.dtype} {tuple(source.shape)}, expected {input.dtype} "
            f"{tuple(wanted)}. Give a slice for every index."
        )
    places = ops.reshape(ops.to(index, _engine.int64), [n if d == dim else 1 for d, n in enumerate(wanted)])
    written = ops.scatter(
        ops.reshape(input, input.shape or (1,)), dim, ops.expand(places, wanted), ops.reshape(source, wanted)
    )
    return written if input.ndim else ops.reshape(written, ())


index_copy = op(
    "index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor",
    family=PLACES,
    function=_index_copy,
    samples=lambda draw: [
        sample(draw.array(5), 0, _distinct(draw, 5, 3), draw.array(3)),
        sample(draw.array(3, 4), 1, _distinct(draw, 4, 2), draw.array(3, 2)),
        sample(draw.array(3, 4), -2, _distinct(draw, 3, 3), draw.array(3, 4)),
        sample(draw.array(2, 3, 2, 2), 2, _distinct(draw, 2, 1), draw.array(2, 3, 1, 2)),
        sample(draw.array(3, 4), 0, _distinct(draw, 3, 0), draw.array(0, 4)),
        sample(draw.array(1, 2, 1, 3, 2), 3, _distinct(draw, 3, 2), draw.array(1, 2, 1, 2, 2)),
    ],
    oracle=lambda x, dim, index, source: _filled(x, dim, index, np.moveaxis(source, dim, 0)),
    apart=("index", "source"),
    doc="input with the slices of source at the named indices of a dim.",
    example="tenora.index_copy(tenora.zeros(3), 0, tenora.tensor([0, 2]), tenora.ones(2))",
    method=True,
    inplace=True,
    out=True,
)


def _put_places(input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    need_indices("put", index)
    need_device("put", input, index, source)
    if source.numel() != index.numel():
        raise errors.IndexRangeError(
            f"[put] source does not fit: got {source.numel()} elements for {index.numel()} indices, expected as many. "
            "Give an element for every index."
        )
    flat, places = ops.reshape(input, (-1,)), ops.reshape(index, (-1,))
    written = ops.index_put(flat, ops.reshape(source, (-1,)), [places], accumulate=accumulate)
    return ops.reshape(written, input.shape)


put = op(
    "put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor",
    family=PLACES,
    dtypes=NUMBERS,
    tolerance="reduction",
    function=_put_places,
    samples=lambda draw: [
        sample(draw.array(5), _distinct(draw, 5, 3), draw.array(3)),
        sample(draw.array(3, 4), _distinct(draw, 12, 6).reshape(2, 3), draw.array(2, 3)),
        sample(draw.array(3, 4), draw.indices(12, 20) - 12, draw.array(20), True),
        sample(draw.array(2, 3, 2, 2), _distinct(draw, 24, 4), draw.array(2, 2)),
        sample(draw.array(3), draw.indices(3, 0), draw.array(0)),
        sample(draw.array(1, 2, 1, 3, 2), draw.indices(12, 5), draw.array(5), accumulate=True),
    ],
    oracle=lambda x, index, source, accumulate=False: _put(x, index, source, accumulate),
    doc="input with the elements of source at (or added to) places of the flattened input.",
    example="tenora.zeros(2, 2).put(tenora.tensor([0, 3]), tenora.ones(2))",
    public="",
    method="put",
    inplace="put_",
)


def _put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat = x.reshape(-1).copy()
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return flat.reshape(x.shape)


def _masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    if source.dtype != input.dtype:
        raise errors.OperationError(
            f"[masked_scatter] wrong dtype of the source: got {source.dtype}, expected {input.dtype} like input. "
            "Cast it with .to(...)."
        )
    shape = broadcast_shape("masked_scatter", [input.shape, mask.shape])
    where = ops.expand(mask, shape)
    rank = ops.cumsum(ops.reshape(where, (-1,)), 0)
    wanted = int(rank[-1].item()) if rank.numel() else 0
    if wanted > source.numel():
        raise errors.OperationError(
            f"[masked_scatter] source is too short: got {source.numel()} elements, expected {wanted} or more, as "
            "many as the mask has true ones. Pass a longer source."
        )
    if not wanted:
        return ops.clone(ops.expand(input, shape))
    places = ops.reshape(ops.maximum(ops.sub(rank, 1), 0), shape)
    values = ops.index(ops.reshape(source, (-1,)), [places])
    return ops.where(where, values, input)


def _masked_written(x: Any, mask: Any, source: Any) -> Any:
    out, where = (np.array(a) for a in np.broadcast_arrays(x, mask))
    out[where] = source.reshape(-1)[: int(where.sum())]
    return out


masked_scatter = op(
    "masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor",
    family=PLACES,
    function=_masked_scatter,
    samples=lambda draw: [
        sample(draw.array(5), draw.mask(5), draw.array(5)),
        sample(draw.array(3, 4), draw.mask(3, 4), draw.array(13)),
        sample(draw.array(3, 4), draw.mask(4), draw.array(3, 4)),
        sample(draw.array(2, 3, 2, 2), draw.mask(3, 1, 2), draw.array(24)),
        sample(draw.array(0), draw.mask(0), draw.array(0)),
        sample(draw.array(3), np.zeros(3, dtype=bool), draw.array(0)),
    ],
    oracle=_masked_written,
    masks=("mask",),
    doc="input with the elements of source, in order, where the mask holds.",
    example="tenora.masked_scatter(tenora.zeros(3), tenora.tensor([True, False, True]), tenora.ones(2))",
    method=True,
    inplace=True,
)


def _unravel(indices: Any, shape: Any) -> tuple[Any, ...]:
    sizes, found = ints(shape), []
    need_real("unravel_index", indices)
    indices = ops.to(indices, _engine.int64)
    for size in reversed(sizes):
        found.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return tuple(reversed(found))


unravel_index = op(
    "unravel_index(indices: Tensor, shape: int[]) -> Tensor[]",
    family=PLACES,
    python=_unravel,
    differentiable=False,
    dtypes=("int64", "int32"),
    samples=lambda draw: (
        [sample(draw.indices(12, *shape).astype(draw.dtype), (3, 4)) for shape in ((5,), (2, 3), (), (0,))]
        + [
            sample(draw.indices(24, 4).astype(draw.dtype), (2, 3, 4)),
            sample(draw.indices(5, 4).astype(draw.dtype), (5,)),
        ]
    ),
    oracle=lambda indices, shape: tuple(a.astype(np.int64) for a in np.unravel_index(indices, shape)),
    doc="The coordinates of places of the flattened shape, one tensor a dim.",
    example="tenora.unravel_index(tenora.tensor([5, 7]), (3, 4))",
)

# ---- conditions ------------------------------------------------------------------------------------------------------
where_places = op(
    "where_places(condition: Tensor) -> Tensor[]",
    family=PLACES,
    python=lambda condition: ops.nonzero_tuple(condition, as_tuple=True),
    differentiable=False,
    dtypes=ALL,
    samples=lambda draw: [
        sample(draw.array(*shape, domain=Domain(-1.0, 1.0)))
        for shape in ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (0, 3), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x: tuple(a.astype(np.int64) for a in np.nonzero(x)),
    doc="The indices where the condition holds, one tensor a dim.",
    example="tenora.where(tenora.tensor([True, False]))",
    public="where",
)


def _nonzero_tuple(input: Any, *, as_tuple: bool) -> Any:
    found = ops.nonzero(input if input.ndim or not as_tuple else ops.reshape(input, (1,)))
    return tuple(ops.select(found, 1, d) for d in range(found.shape[1])) if as_tuple else found


nonzero_tuple = op(
    "nonzero_tuple(input: Tensor, *, as_tuple: bool) -> Tensor[]",
    family=PLACES,
    python=_nonzero_tuple,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.array(*shape, domain=Domain(-1.0, 1.0)), as_tuple=True)
        for shape in ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (0, 3), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x, as_tuple: tuple(a.astype(np.int64) for a in np.nonzero(x)),
    doc="nonzero as one tensor a dim.",
    example="tenora.nonzero(tenora.tensor([0, 3]), as_tuple=True)",
    public="nonzero",
    method=True,
)
where_self = op(
    "where_self(input: Tensor, condition: Tensor, other: Tensor | Scalar) -> Tensor",
    family=PLACES,
    composite=lambda x, condition, other: ops.where(condition, x, other),
    samples=lambda draw: [
        sample(draw.array(3, 4), draw.mask(3, 4), draw.array(3, 4)),
        sample(draw.array(3, 1), draw.mask(4), draw.array(2, 1, 1)),
        sample(draw.array(2, 3), draw.mask(2, 3), draw.dtype == "bool" or 1),
        sample(draw.array(5), draw.mask(), draw.array()),
        sample(draw.array(3), draw.mask(2, 0, 3), draw.array(2, 1, 1)),
        sample(draw.array(1, 2, 1, 3, 2), draw.mask(3, 1), draw.array()),
    ],
    oracle=lambda x, condition, other: np.where(condition, x, np.asarray(other).astype(x.dtype)),
    doc="input where the condition holds, other elsewhere.",
    example="tenora.ones(2).where(tenora.tensor([True, False]), 0.0)",
    public="",
    display="where",
    method="where",
)


def _static(input: Any, size: int, fill_value: int = -1) -> Any:
    found = ops.nonzero(input)
    if size < 0:
        raise errors.OperationError(
            f"[nonzero_static] size is negative: got {size}, expected 0 or more. Count the rows."
        )
    missing = size - found.shape[0]
    if missing <= 0:
        return ops.clone(ops.narrow(found, 0, 0, size))
    more = ops.full((missing, input.ndim), fill_value, dtype=_engine.int64, device=input.device)
    return ops.cat([found, more])


nonzero_static = op(
    "nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor",
    family=PLACES,
    function=_static,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.array(*shape, domain=Domain(-1.0, 1.0)), size=size)
        for shape, size in (
            ((5,), 2),
            ((3, 4), 20),
            ((2, 1, 3), 0),
            ((2, 3, 2, 2), 7),
            ((0, 3), 2),
            ((5,), 9),
        )
    ],
    oracle=lambda x, size, fill_value=-1: np.concatenate(
        [np.argwhere(x)[:size], np.full((max(size - len(np.argwhere(x)), 0), x.ndim), fill_value)]
    ).astype(np.int64),
    doc="The first `size` indices of the elements that are not zero, filled up with fill_value.",
    example="tenora.nonzero_static(tenora.tensor([0, 3, 4]), size=1)",
    method=True,
)
