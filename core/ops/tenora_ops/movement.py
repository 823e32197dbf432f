"""Views: another window on the same storage. The gradient goes through the adjoint view or an `embed_` op."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from tenora_ops.checks import wrap_dims
from tenora_ops.formula import ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import Draw, Sample, numpy_dtype, sample, unary
from tenora_ops.structural import _positions, decode_index

VIEW = Family("movement", "same", "", "", unary)


def shapes_to_shapes(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((3, 4), (2, 6)),
        ((3, 4), (-1,)),
        ((), (1, 1)),
        ((2, 3, 2, 2), (6, -1)),
        ((2, 0, 3), (0, 5)),
        ((12,), (1, 2, 1, 3, 2)),
    ]
    return [sample(draw.array(*a), b) for a, b in rows]


def _reshaped(x: Any, shape: Any) -> Any:
    """Row-major order by definition: the list of elements, cut anew."""
    sizes = list(shape)
    if -1 in sizes:
        known = int(np.prod([n for n in sizes if n != -1], dtype=int))
        sizes[sizes.index(-1)] = x.size // known
    out = np.empty(sizes, dtype=x.dtype)
    for position, index in zip(np.ndindex(*x.shape), np.ndindex(*sizes), strict=True):
        out[index] = x[position]
    return out


def _slots(x: Any, shape: tuple[int, ...], source: Any) -> Any:
    """A result by its index map: out[i] = x[source(i)]."""
    out = np.empty(shape, dtype=x.dtype)
    for index in np.ndindex(*shape):
        out[index] = x[tuple(source(index))]
    return out


def _permuted(x: Any, dims: Any) -> Any:
    order = [d % x.ndim for d in dims]

    def source(index: Any) -> list[int]:
        place = [0] * x.ndim
        for k, d in enumerate(order):
            place[d] = index[k]
        return place

    return _slots(x, tuple(x.shape[d] for d in order), source)


def _swapped(x: Any, a: int, b: int) -> Any:
    order = list(range(x.ndim))
    if order:
        order[a], order[b] = order[b], order[a]
    return _permuted(x, order)


view = op(
    "view(input: Tensor, shape: int[]) -> Tensor",
    family=VIEW,
    view=True,
    shape="view",
    vjp=lambda g, x, r: ops.reshape(g, x.shape),
    samples=shapes_to_shapes,
    oracle=_reshaped,
    doc="The same memory with another shape; an error where the strides do not allow it.",
    example="tenora.ones(6).view(2, 3)",
    public="",
    method="view",
)


def _bytes_again(draw: Draw) -> list[Sample]:
    rows = [
        ((), "int64"),
        ((3, 4), "int64"),
        ((2, 3), "int32"),
        ((2, 1, 3), "uint8"),
        ((2, 0, 3), "int16"),
        ((2, 1, 2, 2), "complex128"),
        ((1, 2, 1, 3, 4), "complex128"),
    ]
    return [sample(draw.array(*shape), dtype) for shape, dtype in rows]


def _reread(x: Any, dtype: Any) -> Any:
    """By definition: the bytes, cut anew; the last dim counts them."""
    kind = numpy_dtype(dtype)
    shape = [*x.shape[:-1], x.shape[-1] * x.itemsize // kind.itemsize] if x.ndim else []
    return np.frombuffer(bytearray(x.tobytes()), kind).reshape(shape)


view_dtype = op(
    "view_dtype(input: Tensor, dtype: dtype) -> Tensor",
    family=VIEW,
    view=True,
    dtype="attr",
    shape="view_dtype",
    dtypes=("float64", "int64"),
    samples=_bytes_again,
    oracle=_reread,
    doc="The same bytes read as another dtype; the last dim has more or fewer elements where their sizes differ.",
    example="tenora.ones(2).view(tenora.int32)",
    public="",
    method="view",
    display="view",
)
reshape = op(
    "reshape(input: Tensor, shape: int[]) -> Tensor",
    family=VIEW,
    dtype="",
    structural="reshape",
    vjp=lambda g, x, r: ops.reshape(g, x.shape),
    samples=shapes_to_shapes,
    oracle=_reshaped,
    doc="Another shape: a view where the strides allow it, else a copy.",
    example="tenora.reshape(tenora.ones(6), (2, -1))",
    method=True,
)
flatten = op(
    "flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor",
    family=VIEW,
    dtype="",
    structural="flatten",
    vjp=lambda g, x, r: ops.reshape(g, x.shape),
    samples=lambda draw: [
        sample(draw.array(3, 4)),
        sample(draw.array(2, 3, 2, 2), 1),
        sample(draw.array(2, 3, 2, 2), 1, 2),
        sample(draw.array()),
        sample(draw.array(2, 0, 3), 0, 1),
        sample(draw.array(1, 2, 1, 3, 2), -3, -2),
    ],
    oracle=lambda x, start_dim=0, end_dim=-1: _reshaped(x, _flat_shape(x.shape, start_dim, end_dim)),
    doc="Joins the dims from start_dim to end_dim into one.",
    example="tenora.flatten(tenora.ones(2, 3, 4), 1)",
    method=True,
)


def _flat_shape(shape: Any, start: int, end: int) -> tuple[int, ...]:
    if not shape:
        return (1,)
    start, end = start % len(shape), end % len(shape)
    return (*shape[:start], int(np.prod(shape[start : end + 1], dtype=int)), *shape[end + 1 :])


permute = op(
    "permute(input: Tensor, dims: int[]) -> Tensor",
    family=VIEW,
    view=True,
    shape="permute",
    vjp=lambda g, x, r, dims: ops.permute(g, dims.inverse()),
    samples=lambda draw: [
        sample(draw.array(3, 4), (1, 0)),
        sample(draw.array(2, 1, 3), (2, 0, 1)),
        sample(draw.array(2, 1, 3), (-1, 0, -2)),
        sample(draw.array(1, 2, 1, 3, 2), (4, 2, 0, 1, 3)),
        sample(draw.array(), ()),
        sample(draw.array(2, 0, 3), (1, 2, 0)),
    ],
    oracle=_permuted,
    doc="The dims in another order.",
    example="tenora.permute(tenora.ones(2, 3), (1, 0))",
    method=True,
)


def swaps(draw: Draw) -> list[Sample]:
    """Tensors and two dims of theirs."""
    return [
        sample(draw.array(3, 4), 0, 1),
        sample(draw.array(2, 1, 3), 0, -1),
        sample(draw.array(5), 0, 0),
        sample(draw.array(2, 3, 2, 2), 1, 3),
        sample(draw.array(2, 0, 3), 1, 2),
        sample(draw.array(1, 2, 1, 3, 2), -5, -2),
    ]


transpose = op(
    "transpose(input: Tensor, dim0: int, dim1: int) -> Tensor",
    family=VIEW,
    view=True,
    shape="transpose",
    vjp=lambda g, x, r, dim0, dim1: ops.transpose(g, dim0, dim1),
    samples=swaps,
    oracle=_swapped,
    doc="Two dims swapped.",
    example="tenora.transpose(tenora.ones(2, 3), 0, 1)",
    method=True,
    inplace=True,
    aliases=("swapdims",),
)
swapaxes = op(
    "swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor",
    family=VIEW,
    view=True,
    shape="transpose",
    vjp=lambda g, x, r, axis0, axis1: ops.transpose(g, axis0, axis1),
    samples=swaps,
    oracle=_swapped,
    doc="transpose with NumPy's names.",
    example="tenora.swapaxes(tenora.ones(2, 3), axis0=0, axis1=1)",
    method=True,
    inplace=True,
)
t = op(
    "t(input: Tensor) -> Tensor",
    family=VIEW,
    view=True,
    shape="t",
    vjp=lambda g, x, r: ops.t(g),
    samples=lambda draw: [sample(draw.array(*shape)) for shape in ((3, 4), (1, 5), (4, 4), (0, 3), (5,), ())],
    oracle=lambda x: _swapped(x, 0, 1) if x.ndim == 2 else x,
    doc="The transpose of a matrix; vectors and numbers stay.",
    example="tenora.t(tenora.ones(2, 3))",
    method=True,
    inplace=True,
)
expand = op(
    "expand(input: Tensor, size: int[]) -> Tensor",
    family=VIEW,
    view=True,
    shape="expand",
    vjp=lambda g, x, r: sum_to(g, x),
    samples=lambda draw: [
        sample(draw.array(3, 1), (3, 4)),
        sample(draw.array(4), (2, 3, 4)),
        sample(draw.array(), (2, 2)),
        sample(draw.array(3, 1), (-1, 2)),
        sample(draw.array(1, 3), (0, 3)),
        sample(draw.array(1, 2, 1), (2, 1, 3, 2, 2)),
    ],
    oracle=lambda x, size: np.broadcast_to(
        x, [x.shape[i - len(size)] if n == -1 else n for i, n in enumerate(size)]
    ),
    doc="Dims of size 1 repeated without memory; -1 keeps a size.",
    example="tenora.ones(3, 1).expand(3, 4)",
    public="",
    method="expand",
)
broadcast_to = op(
    "broadcast_to(input: Tensor, size: int[]) -> Tensor",
    family=VIEW,
    view=True,
    shape="expand",
    vjp=lambda g, x, r: sum_to(g, x),
    samples=lambda draw: [
        sample(draw.array(*a), b)
        for a, b in (
            ((3, 1), (3, 4)),
            ((4,), (2, 3, 4)),
            ((), (2, 2)),
            ((1,), (0,)),
            ((2, 1, 1), (2, 2, 3)),
            ((5,), (5,)),
        )
    ],
    oracle=lambda x, size: np.broadcast_to(x, size),
    doc="input, seen with another, broadcast shape.",
    example="tenora.broadcast_to(tenora.ones(3), (2, 3))",
    method=True,
)
squeeze = op(
    "squeeze(input: Tensor, dim: int[]? = None) -> Tensor",
    family=VIEW,
    view=True,
    shape="squeeze",
    vjp=lambda g, x, r: ops.reshape(g, x.shape),
    samples=lambda draw: [
        sample(draw.array(1, 3, 1)),
        sample(draw.array(1, 3, 1), 0),
        sample(draw.array(1, 3, 1), (0, -1)),
        sample(draw.array(3, 4), 1),
        sample(draw.array()),
        sample(draw.array(1, 0)),
        sample(draw.array(1, 2, 1, 3, 2), 2),
    ],
    oracle=lambda x, dim=None: _reshaped(x, _squeezed(x.shape, dim)),
    doc="Without its dims of size 1, or without the named ones that have size 1.",
    example="tenora.squeeze(tenora.ones(1, 3, 1))",
    method=True,
    inplace=True,
)


def _squeezed(shape: Any, dim: Any) -> list[int]:
    named = (
        range(len(shape))
        if dim is None
        else [d % len(shape) for d in ((dim,) if isinstance(dim, int) else dim)]
    )
    return [n for d, n in enumerate(shape) if not (n == 1 and d in named)]


unsqueeze = op(
    "unsqueeze(input: Tensor, dim: int) -> Tensor",
    family=VIEW,
    view=True,
    shape="unsqueeze",
    vjp=lambda g, x, r: ops.reshape(g, x.shape),
    samples=lambda draw: [
        sample(draw.array(3, 4), 0),
        sample(draw.array(3, 4), 1),
        sample(draw.array(3, 4), -1),
        sample(draw.array(), 0),
        sample(draw.array(0), -2),
        sample(draw.array(2, 3, 2, 2), 4),
    ],
    oracle=lambda x, dim: _reshaped(x, _with_one(x.shape, dim)),
    doc="A new dim of size 1.",
    example="tenora.unsqueeze(tenora.ones(3), 0)",
    method=True,
    inplace=True,
)


def _with_one(shape: Any, dim: int) -> list[int]:
    sizes = list(shape)
    sizes.insert(dim % (len(shape) + 1), 1)
    return sizes


select = op(
    "select(input: Tensor, dim: int, index: int) -> Tensor",
    family=VIEW,
    view=True,
    shape="select",
    shape_only=(),
    vjp=lambda g, x, r, dim, index: ops.embed_select(g, x, dim, index),
    samples=lambda draw: [
        sample(draw.array(3, 4), 0, 1),
        sample(draw.array(3, 4), -1, -2),
        sample(draw.array(5), 0, 4),
        sample(draw.array(2, 3, 2, 2), 1, 2),
        sample(draw.array(2, 0, 3), 2, 1),
        sample(draw.array(1, 2, 1, 3, 2), 3, -3),
    ],
    oracle=lambda x, dim, index: np.moveaxis(x, dim, 0)[index],
    doc="One index of a dim, without the dim.",
    example="tenora.select(tenora.ones(2, 3), 0, 1)",
    method=True,
)
slice = op(
    "slice(input: Tensor, dim: int = 0, start: int? = None, end: int? = None, step: int = 1) -> Tensor",
    family=VIEW,
    view=True,
    shape="slice",
    vjp=lambda g, x, r, dim, start, end, step: ops.embed_slice(g, x, dim, start, end, step),
    samples=lambda draw: [
        sample(draw.array(3, 4), 0, 1),
        sample(draw.array(3, 4), -1, None, None, 2),
        sample(draw.array(5), 0, 1, 4),
        sample(draw.array(5), 0, None, None, -1),
        sample(draw.array(2, 3, 2, 2), 1, -2, 100),
        sample(draw.array(5), 0, 3, 1),
        sample(draw.array(1, 2, 1, 3, 2), 3, 2, None, -2),
    ],
    oracle=lambda x, dim=0, start=None, end=None, step=1: (
        np.stack(
            [
                np.moveaxis(x, dim, 0)[i]
                for i in range(*builtins.slice(start, end, step).indices(x.shape[dim]))
            ],
            dim,
        )
        if len(range(*builtins.slice(start, end, step).indices(x.shape[dim])))
        else np.empty([0 if d == dim % x.ndim else n for d, n in enumerate(x.shape)], x.dtype)
    ),
    doc="A range of one dim, as Python slices; a negative step counts down.",
    example="tenora.ones(5)[1:4]",
    public="",
)
narrow = op(
    "narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor",
    family=VIEW,
    view=True,
    shape="narrow",
    vjp=lambda g, x, r, dim, start, length: ops.embed_narrow(g, x, dim, start, length),
    samples=lambda draw: [
        sample(draw.array(3, 4), 0, 1, 2),
        sample(draw.array(3, 4), -1, 3, 1),
        sample(draw.array(5), 0, -4, 3),
        sample(draw.array(2, 3, 2, 2), 2, 0, 1),
        sample(draw.array(5), 0, 5, 0),
        sample(draw.array(1, 2, 1, 3, 2), 1, 0, 2),
    ],
    oracle=lambda x, dim, start, length: np.moveaxis(
        np.moveaxis(x, dim, 0)[start % max(x.shape[dim], 1) if start < 0 else start :][:length], 0, dim
    ),
    doc="The elements start to start + length of one dim.",
    example="tenora.narrow(tenora.ones(5), 0, 1, 3)",
    method=True,
)
diagonal = op(
    "diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor",
    family=VIEW,
    view=True,
    shape="diagonal",
    vjp=lambda g, x, r, offset, dim1, dim2: ops.embed_diagonal(g, x, offset, dim1, dim2),
    samples=lambda draw: [
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), 1),
        sample(draw.array(3, 4), -1),
        sample(draw.array(2, 3, 2), 0, 0, 2),
        sample(draw.array(2, 3, 2, 2), 1, -1, 1),
        sample(draw.array(3, 4), 4),
    ],
    oracle=lambda x, offset=0, dim1=0, dim2=1: _diagonal(x, offset, dim1, dim2),
    doc="The elements (i, i + offset) of two dims, as a last dim.",
    example="tenora.diagonal(tenora.ones(3, 3))",
    method=True,
)


def _diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    moved = np.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    found = [moved[..., i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    return np.stack(found, -1) if found else np.empty((*moved.shape[:-2], 0), x.dtype)


as_strided = op(
    "as_strided(input: Tensor, size: int[], stride: int[], storage_offset: int? = None) -> Tensor",
    family=VIEW,
    view=True,
    shape="as_strided",
    vjp=lambda g, x, r, size, stride, storage_offset: ops.embed_strided(
        g, x, size, stride, 0 if storage_offset is None else storage_offset
    ),
    samples=lambda draw: [
        sample(draw.array(3, 4), (2, 2), (4, 1), 1),
        sample(draw.array(3, 4), (3,), (5,)),
        sample(draw.array(5), (3, 3), (1, 1), 0),
        sample(draw.array(3, 4), (), (), 7),
        sample(draw.array(5), (0,), (1,), 2),
        sample(draw.array(2, 3, 2), (2, 1, 2, 1, 2), (6, 1, 2, 1, 1), 1),
    ],
    oracle=lambda x, size, stride, storage_offset=None: x.reshape(-1)[
        _positions(size, stride, storage_offset or 0)
    ],
    doc="Any window on the storage; storage_offset counts from its first element.",
    example="tenora.as_strided(tenora.ones(4), (2,), (2,), 1)",
    method=True,
    inplace=True,
)
alias = op(
    "alias(input: Tensor) -> Tensor",
    family=VIEW,
    view=True,
    shape="alias",
    vjp=lambda g, x, r: g,
    oracle=lambda x: x,
    doc="The same tensor as another object.",
    example="tenora.ones(2).detach()",
    public="",
)
constant_in = op(
    "constant_in(input: Tensor, other: Tensor) -> Tensor",
    family=VIEW,
    view=True,
    shape="alias",
    shape_only=("other",),
    vjp=lambda g, x, other, r: (ops.constant_in(g, other), ops.zeros_like(other)),
    samples=lambda draw: [
        sample(draw.array(*a), draw.array(*b))
        for a, b in (
            ((5,), (5,)),
            ((3, 4), (2,)),
            ((), (0,)),
            ((2, 0), ()),
            ((1, 2, 3), (2, 2)),
            ((1,), (3,)),
        )
    ],
    oracle=lambda x, other: x,
    doc="input itself, whose derivative by other is then 0, not none: what a slope is to the place on its line.",
    example="tenora.nn.functional.relu6(tenora.tensor([1.0], requires_grad=True)).sum().backward()",
    public="",
)
straight = op(
    "straight(input: Tensor) -> Tensor",
    family=VIEW,
    view=True,
    shape="alias",
    vjp=lambda g, x, r: ops.constant_in(g, x),
    oracle=lambda x: x,
    doc="input itself, by which gradients that go back through it have the derivative 0, not none.",
    example="tenora.nn.functional.prelu(tenora.ones(2), tenora.ones(1))",
    public="",
)
basic_index = op(
    "basic_index(input: Tensor, index: int[]) -> Tensor",
    family=VIEW,
    view=True,
    shape="basic_index",
    vjp=lambda g, x, r, index: ops.embed_basic_index(g, x, index),
    samples=lambda draw: [
        sample(draw.array(3, 4), (2, 1, 3, 1, 3, 1)),
        sample(draw.array(3, 4), (1,)),
        sample(draw.array(3, 4), (0, 2, -1)),
        sample(draw.array(2, 3, 2, 2), (0, 2, 0, 2, 1)),
        sample(draw.array(2, 3, 2, 2), (0, 2, 0)),
        sample(draw.array(3, 4), (3, 1, 1, 1)),
        sample(draw.array(5), (3, -1, -(2**63), -1)),
    ],
    oracle=lambda x, index: x[decode_index(index)],
    doc="Ints, slices, None and Ellipsis in one index.",
    example="tenora.ones(3, 4)[1, ..., None]",
    public="",
)


def _flipped(input: Any, dims: Any) -> Any:
    given = wrap_dims("flip", dims, input.ndim)
    for dim in given if input.ndim else ():
        input = ops.slice(input, dim, None, None, -1)
    return ops.clone(input)


flip = op(
    "flip(input: Tensor, dims: int[]) -> Tensor",
    family=VIEW,
    dtype="",
    function=_flipped,
    samples=lambda draw: [
        sample(draw.array(5), (0,)),
        sample(draw.array(3, 4), (0, 1)),
        sample(draw.array(3, 4), (-1,)),
        sample(draw.array(2, 3, 2, 2), (1, 3)),
        sample(draw.array(2, 0, 3), (2,)),
        sample(draw.array(3, 4), ()),
        sample(draw.array(), (-1,)),
    ],
    oracle=lambda x, dims: x[
        tuple(builtins.slice(None, None, -1 if d in [e % x.ndim for e in dims] else 1) for d in range(x.ndim))
    ],
    doc="A copy with the order of the named dims reversed.",
    example="tenora.flip(tenora.tensor([1, 2, 3]), (0,))",
    method=True,
)
