"""Searching in sorted sequences, membership, distinct elements, counting, and comparisons of whole tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.checks import wrap_dim
from tenora_ops.formula import is_number, ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, BOOLEAN, INTEGERS, ORDERED, REALS, SIGNED, Domain, Draw, Sample, sample
from tenora_ops.whole import CLOSENESS

SEARCH = Family(
    "search", "", "", "", lambda draw: sequences(draw), INTEGERS + REALS, Domain(-4.0, 4.0), tolerance="exact"
)
SHAPES: tuple[tuple[int, ...], ...] = ((5,), (3, 4), (), (0,), (2, 3, 2, 2), (1, 2, 1, 3, 2))


# ---- sorted sequences ----
def _search(sequence: Any, values: Any, right: bool) -> Any:
    """Bisection of all values at once: log2(n) steps of gather and compare."""
    length = sequence.shape[-1]
    low = ops.full(values.shape, 0, dtype=_engine.int64, device=values.device)
    high = ops.full(values.shape, length, dtype=_engine.int64, device=values.device)
    for _ in range(length.bit_length()):
        middle = ops.floor_divide(low + high, 2)
        found = ops.gather(sequence, -1, ops.clamp(middle, None, length - 1))
        stays = ops.gt(found, values) if right else ops.ge(found, values)
        active = ops.lt(low, high)
        low = ops.where(ops.logical_and(active, ops.logical_not(stays)), middle + 1, low)
        high = ops.where(ops.logical_and(active, stays), middle, high)
    return low


def _searchsorted(
    sorted_sequence: Any, input: Any, out_int32: bool, right: bool, side: Any, sorter: Any
) -> Any:
    if side not in (None, "left", "right") or (side == "left" and right):
        raise errors.OperationError(
            f"[searchsorted] side: got {side!r} with right={right}, expected 'left' or 'right', in accord. "
            "Pass one of them."
        )
    sequence = sorted_sequence if sorter is None else ops.gather(sorted_sequence, -1, sorter)
    values = input
    if is_number(input):
        whole = not sequence.dtype.is_floating_point
        dtype = _engine.float64 if whole and isinstance(input, float) else sequence.dtype
        values = ops.full((), input, dtype=dtype, device=sequence.device)
    if sequence.dtype != values.dtype:
        common = _engine.promote_types(sequence.dtype, values.dtype)
        sequence, values = ops.to(sequence, common), ops.to(values, common)
    _check_sequence(sequence, values)
    right = right or side == "right"
    if sequence.ndim == 1:
        found = ops.reshape(_search(sequence, ops.reshape(values, (-1,)), right), values.shape)
    else:
        found = _search(sequence, values, right)
    return ops.to(found, _engine.int32) if out_int32 else found


def _check_sequence(sequence: Any, values: Any) -> None:
    if not sequence.ndim or (sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]):
        raise errors.OperationError(
            f"[searchsorted] shapes do not fit: got a sequence {tuple(sequence.shape)} for values "
            f"{tuple(values.shape)}, expected one dim, or the same sizes in all dims but the last. Reshape one of them."
        )


def _ranks(sequence: Any, values: Any, right: bool) -> Any:
    """How many elements of the row come before each value."""
    values = np.asarray(values)
    out = np.empty(values.shape, dtype=np.int64)
    for place in np.ndindex(*values.shape):
        row = sequence if sequence.ndim == 1 else sequence[place[:-1]]
        v = values[place]
        out[place] = sum(1 for s in row.tolist() if (s <= v if right else s < v))
    return out


def sequences(draw: Draw) -> Iterable[Sample]:
    def row(*shape: int) -> Any:
        return np.sort(draw.array(*shape), -1)

    return [
        sample(row(6), draw.array(3, 4)),
        sample(row(7), draw.array(5), right=True),
        sample(row(3, 5), draw.array(3, 2)),
        sample(row(2, 1, 4), draw.array(2, 1, 3), side="right"),
        sample(row(6), draw.array()),
        sample(row(1), draw.array(2, 2, 1, 2), out_int32=True),
        sample(row(4), draw.array(0)),
        sample(row(5), 1),
        sample(row(3)[:0], draw.array(4)),
    ]


def _searched(
    sequence: Any, values: Any, out_int32: bool = False, right: bool = False, side: str = "left"
) -> Any:
    found = _ranks(sequence, values, right or side == "right")
    return found.astype(np.int32) if out_int32 else found


searchsorted = op(
    "searchsorted(sorted_sequence: Tensor, input: Tensor | Scalar, *, out_int32: bool = False, right: bool = False, "
    "side: str? = None, sorter: Tensor? = None) -> Tensor",
    family=SEARCH,
    function=_searchsorted,
    differentiable=False,
    oracle=_searched,
    doc="Where values belong in the sorted rows of the last dim: before equal elements, or behind them with right.",
    example="tenora.searchsorted(tenora.tensor([1, 3, 5]), tenora.tensor([3, 4]))",
    out=True,
)
bucketize = op(
    "bucketize(input: Tensor | Scalar, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor",
    family=SEARCH,
    function=lambda input, boundaries, out_int32, right: _searchsorted(
        boundaries, input, out_int32, right, None, None
    ),
    differentiable=False,
    samples=lambda draw: [
        sample(s.arguments[1], s.arguments[0], **{k: v for k, v in s.options.items() if k != "side"})
        for s in sequences(draw)
        if s.arguments[0].ndim == 1
    ],
    oracle=lambda values, row, out_int32=False, right=False: _searched(row, values, out_int32, right),
    doc="The bucket of each value between sorted boundaries; on a boundary the lower, with right the upper one.",
    example="tenora.bucketize(tenora.tensor([2, 3]), tenora.tensor([1, 3, 5]))",
    out=True,
)


def _tensor_of(value: Any, like: Any) -> Any:
    return ops.full((), value, device=like.device) if is_number(value) else value


def _nothing_of(value: Any) -> Any:
    """No element of a tensor; a number as it is: enough to know what both promote to."""
    return value if is_number(value) else ops.narrow(ops.reshape(value, (-1,)), 0, 0, 0)


def _isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    if is_number(elements) and is_number(test_elements):
        raise errors.ArgumentTypeError(
            "[isin] elements: got two numbers, expected a tensor among them. Make one a tensor."
        )
    known = elements if is_number(test_elements) else test_elements
    dtype = ops.add(_nothing_of(elements), _nothing_of(test_elements)).dtype
    elements, tests = _tensor_of(elements, known), ops.reshape(_tensor_of(test_elements, known), (-1,))
    elements, tests = ops.to(elements, dtype), ops.to(tests, dtype)
    length = tests.shape[0]
    if not length:
        return ops.full(elements.shape, invert, dtype=_engine.bool, device=elements.device)
    ordered = ops.sort(tests, 0)[0]
    flat = ops.reshape(elements, (-1,))
    place = ops.clamp(_search(ordered, flat, False), None, length - 1)
    found = ops.reshape(ops.eq(ops.gather(ordered, 0, place), flat), elements.shape)
    return ops.logical_not(found) if invert else found


isin = op(
    "isin(elements: Tensor | Scalar, test_elements: Tensor | Scalar, *, assume_unique: bool = False, "
    "invert: bool = False) -> Tensor",
    family=SEARCH,
    dtypes=INTEGERS + ("float16", "float32", "float64"),
    function=_isin,
    differentiable=False,
    samples=lambda draw: [
        *[sample(draw.array(*s), draw.array(4), invert=bool(i % 2)) for i, s in enumerate(SHAPES)],
        sample(draw.array(3), draw.array(2, 3)),
        sample(draw.array(3), draw.array(0)),
        sample(draw.array(5), 2),
        sample(2, draw.array(5)),
    ],
    oracle=lambda x, tests, invert=False: np.asarray(
        np.frompyfunc(lambda v: (v in np.ravel(tests).tolist()) != invert, 1, 1)(np.asarray(x))
    ).astype(bool),
    doc="True where an element is among test_elements.",
    example="tenora.isin(tenora.tensor([1, 2, 3]), tenora.tensor([2, 5]))",
)


# ---- counting ----
def _count_values(input: Any, length: int) -> Any:
    places = ops.reshape(input, (-1,))
    counts = ops.full((length,), 0, device=input.device)
    ones = ops.full(places.shape, 1, dtype=counts.dtype, device=input.device)
    return ops.scatter_add(counts, 0, places, ones)


count_values = op(
    "count_values(input: Tensor, length: int) -> Tensor",
    family=Family("search", "index", "", "plain", lambda draw: [], ("int64",)),
    shape=lambda operands, attributes: (attributes[0],),
    function=_count_values,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.indices(5, *shape), length)
        for shape, length in (((9,), 5), ((3, 4), 8), ((), 5), ((0,), 3), ((0,), 0), ((2, 1, 3), 300))
    ],
    oracle=lambda x, length: np.array([list(x.reshape(-1)).count(v) for v in range(length)], dtype=np.int64),
    doc="How often each whole number from 0 to length - 1 occurs; others are refused.",
    example="tenora.bincount(tenora.tensor([0, 2, 2]))",
    public="",
)


def _bincount(input: Any, weights: Any, minlength: int) -> Any:
    floating = input.dtype.is_floating_point or input.dtype.is_complex or input.dtype == _engine.bool
    if input.ndim != 1 or floating or (input.numel() and int(ops.amin(input)) < 0):
        raise errors.OperationError(
            f"[bincount] input: got {input.dtype} of shape {tuple(input.shape)}, expected 1-d non-negative integers. "
            "Cast or flatten it."
        )
    if minlength < 0:
        raise errors.OperationError(
            f"[bincount] minlength: got {minlength}, expected 0 or more. Pass a length."
        )
    if weights is not None and weights.shape != input.shape:
        raise errors.OperationError(
            f"[bincount] weights do not fit: got {tuple(weights.shape)}, expected {tuple(input.shape)}. "
            "Pass one per element."
        )
    length = max(int(ops.amax(input)) + 1 if input.numel() else 0, minlength)
    if weights is None or not input.numel():  # of nothing: whole numbers, also with weights
        return ops.count_values(ops.to(input, _engine.int64), length)
    if weights.dtype != _engine.float32:
        weights = ops.to(weights, _engine.float64)
    empty = ops.full((length,), 0, dtype=weights.dtype, device=input.device)
    return ops.scatter_add(empty, 0, ops.to(input, _engine.int64), weights)


def _counted(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    out = np.zeros(
        max([int(v) + 1 for v in x.tolist()] + [minlength]),
        np.int64 if weights is None or not len(x) else float,
    )
    for i, v in enumerate(x.tolist()):
        out[v] += 1 if weights is None else weights[i]
    return out


bincount = op(
    "bincount(input: Tensor, weights: Tensor? = None, minlength: int = 0) -> Tensor",
    family=SEARCH,
    dtypes=("float64",),
    function=_bincount,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.indices(5, 9)),
        sample(draw.indices(5, 9), minlength=8),
        sample(draw.indices(3, 7), draw.rng.uniform(-1, 1, 7)),
        sample(draw.indices(1, 4)),
        sample(draw.indices(4, 0)),
        sample(draw.indices(4, 0), None, 3),
        sample(draw.indices(4, 3), draw.rng.uniform(-1, 1, 3), 6),
        sample(draw.indices(4, 6, dtype="int32"), draw.rng.uniform(-1, 1, 6)),
        sample(draw.indices(4, 6, dtype="uint8")),
        sample(draw.indices(4, 6, dtype="int8"), draw.rng.uniform(-1, 1, 6)),
    ],
    tolerance="reduction",
    oracle=_counted,
    doc="How often each whole number from 0 on occurs, or the sum of its weights.",
    example="tenora.bincount(tenora.tensor([0, 2, 2]))",
    method=True,
)


# ---- distinct elements ----
def _starts(changes: Any) -> Any:
    """Places where a new group begins, from the n - 1 changes between neighbours."""
    first = ops.full((1,), True, dtype=_engine.bool, device=changes.device)
    return ops.cat([first, changes], 0)


def _grouped(starts: Any) -> tuple[Any, Any, Any]:
    """Places of the first of each group, the group of each place, the size of each group."""
    places = ops.select(ops.nonzero(starts), 1, 0)
    groups = ops.cumsum(starts, 0) - 1
    end = ops.full((1,), starts.shape[0], dtype=_engine.int64, device=starts.device)
    counts = ops.sub(ops.cat([ops.narrow(places, 0, 1, places.shape[0] - 1), end], 0), places)
    return places, groups, counts


def _neighbours_differ(rows: Any) -> Any:
    """Whether each row but the first differs from the one before: rows of shape (n,) or (n, k)."""
    n = rows.shape[0]
    changes = ops.ne(ops.narrow(rows, 0, 1, n - 1), ops.narrow(rows, 0, 0, n - 1))
    return ops.any(changes, 1) if rows.ndim == 2 else changes


def _chosen(values: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    wanted = (inverse, return_inverse), (counts, return_counts)
    found = [values, *(tensor for tensor, asked in wanted if asked)]
    return tuple(found) if len(found) > 1 else values


def _nothing(like: Any, shape: Any) -> Any:
    return ops.full(shape, 0, dtype=_engine.int64, device=like.device)


def _distinct(rows: Any, order: Any) -> tuple[Any, Any, Any]:
    """Of rows in order: places of the first of each kind, the kind of each row of the input, how many of each."""
    places, groups, counts = _grouped(_starts(_neighbours_differ(rows)))
    if order is None:
        return places, groups, counts
    return ops.gather(order, 0, places), ops.scatter(_nothing(rows, order.shape), 0, order, groups), counts


def _lexical(rows: Any) -> Any:
    """The order of rows of shape (n, k), as words are ordered: stable sorts from the last column to the first."""
    order = ops.iota(0, 1, rows.shape[0], device=rows.device)
    for column in reversed(range(rows.shape[1])):
        keys = ops.gather(ops.select(rows, 1, column), 0, order)
        order = ops.gather(order, 0, ops.argsort(keys, 0, False, True))
    return order


def _rows_of(op: str, input: Any, dim: int) -> tuple[Any, int]:
    dim = wrap_dim(op, dim, input.ndim)
    first = [dim, *[d for d in range(input.ndim) if d != dim]]
    moved = ops.permute(input, first) if input.ndim else ops.reshape(input, (1,))
    n = moved.shape[0]
    return ops.reshape(moved, (n, input.numel() // n if n else 0)), dim


def _unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    return _unique_rows("unique", input, return_inverse, return_counts, dim, True)


def _unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    return _unique_rows("unique_consecutive", input, return_inverse, return_counts, dim, False)


def _unique_rows(
    op: str, input: Any, return_inverse: bool, return_counts: bool, dim: Any, order: bool
) -> Any:
    input = input.detach()
    if dim is not None:
        dim = wrap_dim(op, dim, input.ndim)
    if not input.numel() and dim is not None and input.ndim and input.shape[dim]:
        raise errors.OperationError(
            f"[{op}] rows without elements: got shape {tuple(input.shape)}, expected none or elements in each. "
            "Leave dim out."
        )
    if not input.numel():
        kept = input if dim is not None else ops.reshape(input, (0,))
        places = _nothing(input, input.shape if dim is None else (0,))
        return _chosen(ops.clone(kept), places, _nothing(input, (0,)), return_inverse, return_counts)
    if dim is None:
        flat = ops.reshape(input, (-1,))
        rows, places = ops.sort(flat, 0, False, True) if order else (flat, None)
    else:
        flat, dim = _rows_of(op, input, dim)
        places = _lexical(flat) if order else None
        rows = flat if places is None else ops.index_select(flat, 0, places)
    first, inverse, counts = _distinct(rows, places)
    if dim is None:
        values, inverse = ops.gather(flat, 0, first), ops.reshape(inverse, input.shape)
    else:
        values = ops.index_select(input, dim, first) if input.ndim else input
    return _chosen(values, inverse, counts, return_inverse, return_counts)


def _unique_oracle(
    x: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
    consecutive: bool = False,
) -> Any:
    rows = [r.tolist() for r in (np.ravel(x) if dim is None else np.moveaxis(x, dim, 0))]
    kinds: list[Any] = []
    inverse, counts = [], []
    if not consecutive:
        kinds = [r for i, r in enumerate(sorted(rows)) if i == 0 or r != sorted(rows)[i - 1]]
        inverse = [kinds.index(r) for r in rows]
        counts = [rows.count(k) for k in kinds]
    for row in rows if consecutive else ():
        if not kinds or kinds[-1] != row:
            kinds.append(row)
            counts.append(0)
        counts[-1] += 1
        inverse.append(len(kinds) - 1)
    shape = () if dim is None else np.moveaxis(x, dim, 0).shape[1:]
    values = np.array(kinds, dtype=x.dtype).reshape(len(kinds), *shape)
    values = values if dim is None else np.moveaxis(values, 0, dim)
    found = [values]
    if return_inverse:
        found.append(np.array(inverse, dtype=np.int64).reshape(x.shape if dim is None else -1))
    if return_counts:
        found.append(np.array(counts, dtype=np.int64))
    return tuple(found) if len(found) > 1 else values


def repeated(draw: Draw) -> Iterable[Sample]:
    """Few values, so that they repeat; all flags; along dims."""

    def few(*shape: int) -> Any:
        return draw.rng.integers(0, 2 if draw.dtype == "bool" else 3, shape).astype(draw.array().dtype)

    return [
        sample(few(9)),
        sample(few(3, 4), return_inverse=True),
        sample(few(2, 3, 2), return_counts=True),
        sample(few(2, 3, 2, 2), return_inverse=True, return_counts=True),
        sample(few(6, 2), dim=0),
        sample(few(2, 7), return_inverse=True, return_counts=True, dim=1),
        sample(few(0), return_counts=True, return_inverse=True),
        sample(few()),
        sample(few(2, 5, 1), dim=-2),
    ]


unique = op(
    "unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, "
    "dim: int? = None) -> Tensor[]",
    family=SEARCH,
    dtypes=ORDERED,
    python=_unique,
    differentiable=False,
    samples=repeated,
    oracle=_unique_oracle,
    doc="The distinct elements (or slices along dim) in order; also where each went and how many there are of each.",
    example="tenora.unique(tenora.tensor([3, 1, 3]), return_counts=True)",
    method=True,
)
unique_consecutive = op(
    "unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, "
    "dim: int? = None) -> Tensor[]",
    family=SEARCH,
    dtypes=ALL,
    python=_unique_consecutive,
    differentiable=False,
    samples=repeated,
    oracle=lambda x, **options: _unique_oracle(x, consecutive=True, **options),
    doc="The elements (or slices along dim) that differ from the one before; where each went, the length of each run.",
    example="tenora.unique_consecutive(tenora.tensor([3, 3, 1, 3]))",
    method=True,
)


# ---- whole tensors ----
def _allclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(ops.all(ops.isclose(input.detach(), other.detach(), rtol, atol, equal_nan)))


def _equal(input: Any, other: Any) -> bool:
    for value in (input, other):
        if not isinstance(value, Tensor):
            raise errors.ArgumentTypeError(
                f"[equal] argument: got {type(value).__name__}, expected a tensor. Use == for numbers."
            )
    return tuple(input.shape) == tuple(other.shape) and bool(ops.all(ops.eq(input, other)))


def pairs(draw: Draw) -> Iterable[Sample]:
    x, y = draw.array(3, 4), draw.array(2, 3, 2)
    return [
        sample(x, x),
        sample(x, x + x.dtype.type(1)),
        sample(y, y.copy()),
        sample(draw.array(), draw.array()),
        sample(draw.array(0), draw.array(0)),
        sample(x, np.array(x[::-1])),
    ]


allclose = op(
    f"allclose(input: Tensor, other: Tensor, {CLOSENESS}) -> Tensor",
    family=SEARCH,
    dtypes=SIGNED + REALS,
    python=_allclose,
    differentiable=False,
    samples=lambda draw: [
        *pairs(draw),
        sample(draw.array(3, 4), draw.array(4), atol=9.0),
        *[
            sample(*[np.array([1.0, math.nan]).astype(draw.array().dtype)] * 2, equal_nan=e)
            for e in (True, False)
        ],
    ][: 9 if draw.is_float else 7],
    oracle=lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: np.asarray(
        np.allclose(a.astype(float), b.astype(float), rtol, atol, equal_nan)
    ),
    doc="Whether all elements are close (see isclose), as a Python bool.",
    example="tenora.allclose(tenora.tensor([1.0]), tenora.tensor([1.0 + 1e-7]))",
    method=True,
)
equal = op(
    "equal(input: Tensor, other: Tensor) -> Tensor",
    family=SEARCH,
    dtypes=BOOLEAN + INTEGERS + REALS,
    python=_equal,
    differentiable=False,
    samples=lambda draw: [
        *(list(pairs(draw)) if draw.dtype != "bool" else [sample(draw.array(3), draw.array(3))] * 6),
        sample(draw.array(3, 4), draw.array(4)),
    ],
    oracle=lambda a, b: np.asarray(a.shape == b.shape and a.tolist() == b.tolist()),
    doc="Whether two tensors have the same shape and equal elements, as a Python bool.",
    example="tenora.equal(tenora.tensor([1, 2]), tenora.tensor([1, 2]))",
    method=True,
)
