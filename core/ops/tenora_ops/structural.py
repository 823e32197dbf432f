"""Copies, casts, joins and the adjoints of broadcasting and of views: native plans over other ops."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.formula import is_complex, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, COMPLEX, FLOATING, REALS, Draw, Sample, numpy_dtype, sample, unary

PLAN = Family("structural", "same", "same", "", unary, ALL)
ADJOINT = Family("adjoint", "same", "same", "", unary, FLOATING)


def conversions(draw: Draw) -> Iterable[Sample]:
    names = (
        ("float32", "float64", "int64", "bool") if draw.dtype not in COMPLEX else ("complex64", "complex128")
    )
    return [sample(draw.array(*shape), name) for name in names for shape in ((), (3, 4), (2, 0, 3))]


def same_precision(draw: Draw) -> Iterable[Sample]:
    """Finite differences do not survive a rounding to fewer digits."""
    return [sample(draw.array(*shape), draw.dtype) for shape in ((), (3, 4), (2, 0, 3))]


def broadcasts(draw: Draw) -> Iterable[Sample]:
    pairs = [
        ((3, 4), (4,)),
        ((3, 4), (3, 1)),
        ((2, 3, 2, 2), (3, 1, 2)),
        ((5,), ()),
        ((2, 0, 3), (3,)),
        ((3, 4), (3, 4)),
    ]
    return [sample(draw.array(*big), draw.array(*small)) for big, small in pairs]


def lists(draw: Draw) -> Iterable[Sample]:
    """Lists of tensors that differ along one dim only."""
    return [
        sample([draw.array(2, 3), draw.array(4, 3)], 0),
        sample([draw.array(2, 3), draw.array(2, 1), draw.array(2, 2)], 1),
        sample([draw.array(5), draw.array(0), draw.array(3)], -1),
        sample([draw.array(2, 1, 3, 2), draw.array(2, 4, 3, 2)], -3),
        sample([draw.array(3)], 0),
        sample([draw.array(1, 2, 1, 3, 2), draw.array(1, 2, 1, 3, 2)], 2),
    ]


def equal_lists(draw: Draw) -> Iterable[Sample]:
    """Lists of tensors of one shape."""
    rows = [((3, 4), 3, 0), ((3, 4), 2, -1), ((5,), 2, 1), ((), 4, 0), ((2, 0), 2, 1), ((2, 1, 3, 2), 2, 2)]
    return [sample([draw.array(*shape) for _ in range(count)], dim) for shape, count, dim in rows]


def paddings(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5), (1, 2)),
        sample(draw.array(3, 4), (1, 0, 2, 1)),
        sample(draw.array(3, 4), (1, 2), "constant", 3),
        sample(draw.array(2, 3, 2, 2), (0, 1, 2, 0), "constant", 0),
        sample(draw.array(3, 4), (-1, 2, 0, -1)),
        sample(draw.array(2, 0), (1, 1)),
    ]


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """By definition: a field of the value, with the kept part written into it."""
    before = [0] * x.ndim
    after = [0] * x.ndim
    for i in range(len(pad) // 2):
        before[x.ndim - 1 - i], after[x.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    out = np.full(
        [n + b + a for n, b, a in zip(x.shape, before, after, strict=True)], value or 0, dtype=x.dtype
    )
    for index in np.ndindex(*x.shape):
        place = tuple(i + b for i, b in zip(index, before, strict=True))
        if all(0 <= p < n for p, n in zip(place, out.shape, strict=True)):
            out[place] = x[index]
    return out


def _sum_to(x: Any, like: Any) -> Any:
    extra = tuple(range(x.ndim - like.ndim))
    kept = tuple(d + len(extra) for d, n in enumerate(like.shape) if n == 1 and x.shape[d + len(extra)] != 1)
    return x.sum(axis=extra + kept, keepdims=True).reshape(like.shape)


clone = op(
    "clone(input: Tensor) -> Tensor",
    family=PLAN,
    structural="clone",
    vjp=lambda g, x, r: g,
    oracle=lambda x: x,
    doc="A copy in memory of its own, dense and row-major.",
    example="tenora.clone(tenora.tensor([1.0, 2.0]))",
    method=True,
)
contiguous = op(
    "contiguous(input: Tensor) -> Tensor",
    family=PLAN,
    structural="contiguous",
    vjp=lambda g, x, r: g,
    oracle=lambda x: x,
    doc="The same values in dense row-major memory, copied only if need be.",
    example="tenora.tensor([[1.0, 2.0]]).t().contiguous()",
    public="",
    method="contiguous",
)
copy = op(
    "copy(input: Tensor, src: Tensor | Scalar, non_blocking: bool = False) -> Tensor",
    family=PLAN,
    prepare="copy",
    shape_only=("input",),
    vjp=lambda g, x, src, r: (ops.zeros_like(x), sum_to(g, src)),
    samples=lambda draw: [sample(s.arguments[0], s.arguments[1]) for s in broadcasts(draw)],
    dtypes=FLOATING,
    oracle=lambda x, src: np.broadcast_to(src, x.shape),
    doc="src, broadcast and cast to input: the functional form of copy_, which waits where it must.",
    example="tenora.zeros(2).copy_(tenora.tensor([1.0, 2.0]))",
    public="",
    inplace=True,
)
fill = op(
    "fill(input: Tensor, value: Scalar) -> Tensor",
    no_differences="nothing of the input is left",
    family=PLAN,
    prepare="fill",
    shape_only=("input",),
    vjp=lambda g, x, r: ops.zeros_like(x),
    samples=lambda draw: [sample(s.arguments[0], 1) for s in unary(draw)],
    oracle=lambda x, value: np.array([value] * x.size).astype(x.dtype).reshape(x.shape),
    doc="A tensor like input, full of one value: the functional form of fill_.",
    example="tenora.zeros(2).fill_(7)",
    inplace=True,
)
to = op(
    "to(input: Tensor, dtype: dtype? = None, device: device? = None, non_blocking: bool = False) -> Tensor",
    family=PLAN,
    dtype="attr_or_same",
    structural="to",
    vjp=lambda g, x, r: ops.to(g, x.dtype, x.device),
    samples=conversions,
    gradient_samples=same_precision,
    oracle=lambda x, dtype: np.array(np.trunc(x) if dtype == "int64" else x).astype(numpy_dtype(dtype)),
    tolerance="exact_or_1ulp",
    doc="A copy in another dtype or on another device.",
    example="tenora.tensor([1, 2]).to(tenora.float32)",
    public="",
)
cast = op(
    "cast(input: Tensor, dtype: dtype) -> Tensor",
    family=PLAN,
    dtype="",
    shape="",
    composite=lambda x, dtype: ops.to(x, dtype),
    samples=conversions,
    gradient_samples=same_precision,
    oracle=lambda x, dtype: np.array(np.trunc(x) if dtype == "int64" else x).astype(numpy_dtype(dtype)),
    tolerance="exact_or_1ulp",
    doc="A copy in another dtype.",
    example="tenora.tensor([1, 2]).to(tenora.float64)",
    public="",
)
conj = op(
    "conj(input: Tensor) -> Tensor",
    family=PLAN,
    structural="conj",
    vjp=lambda g, x, r: ops.conj(g),
    oracle=lambda x: x.real - 1j * x.imag if np.iscomplexobj(x) else x,
    dtypes=REALS + COMPLEX,
    doc="Complex conjugate.",
    example="tenora.conj(tenora.tensor([1 + 2j]))",
    method=True,
)
cat = op(
    "cat(tensors: Tensor[], dim: int = 0) -> Tensor",
    family=PLAN,
    dtype="",
    shape="",
    structural="cat",
    vjp=lambda g, tensors, r, dim: _pieces(g, tensors, dim),
    samples=lists,
    oracle=lambda tensors, dim=0: _joined(tensors, dim),
    apart=("tensors",),
    doc="Joins tensors along an existing dim.",
    example="tenora.cat([tenora.tensor([1, 2]), tenora.tensor([3])])",
    aliases=("concat", "concatenate"),
    out=True,
)


def _joined(tensors: Any, dim: int) -> Any:
    shape = list(tensors[0].shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    out, start = np.empty(shape, dtype=tensors[0].dtype), 0
    for tensor in tensors:
        np.moveaxis(out, dim, 0)[start : start + tensor.shape[dim]] = np.moveaxis(tensor, dim, 0)
        start += tensor.shape[dim]
    return out


def _pieces(g: Any, tensors: Any, dim: Any) -> list[Any]:
    """A vector without elements joins tensors of any rank: its dim is taken modulo its own rank."""
    pieces, start = [], 0
    for tensor in tensors:
        length = tensor.shape[dim % tensor.ndim]
        pieces.append(sum_to(ops.reshape(ops.narrow(g, dim, start, length), tensor.shape), tensor))
        start = start + length
    return [pieces]


stack = op(
    "stack(tensors: Tensor[], dim: int = 0) -> Tensor",
    family=PLAN,
    dtype="",
    shape="",
    structural="stack",
    vjp=lambda g, tensors, r, dim: [[ops.select(g, dim, i) for i in range(len(tensors))]],
    samples=equal_lists,
    oracle=lambda tensors, dim=0: np.array(tensors).transpose(_forward(tensors[0].ndim + 1, dim)),
    apart=("tensors",),
    doc="Joins tensors of one shape along a new dim.",
    example="tenora.stack([tenora.tensor([1, 2]), tenora.tensor([3, 4])])",
    out=True,
)


def _forward(ndim: int, dim: int) -> tuple[int, ...]:
    """The permutation that moves the first dim to `dim`."""
    place = dim % ndim
    return (*range(1, place + 1), 0, *range(place + 1, ndim))


pad = op(
    "pad(input: Tensor, pad: int[], mode: str = 'constant', value: Scalar? = None) -> Tensor",
    family=PLAN,
    dtype="",
    shape="",
    structural="pad",
    vjp=lambda g, x, r, pad: ops.pad(g, -pad),
    samples=paddings,
    oracle=_pad,
    doc="Adds elements around the last dims, (before, after) pairs from the last dim backwards; negative amounts crop.",
    example="tenora.nn.functional.pad(tenora.tensor([1, 2]), (1, 1))",
    public="nn.functional.pad",
)
sum_to_op = op(
    "sum_to(grad: Tensor, like: Tensor) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="sum_to",
    shape_only=("like",),
    vjp=lambda h, g, like, r: (ops.to(ops.expand_as(h, g), g.dtype), None),
    samples=broadcasts,
    oracle=_sum_to,
    tolerance="reduction",
    doc="The adjoint of broadcasting: sums to the shape of like and casts to its dtype.",
    example="(tenora.ones(2, 3, requires_grad=True) + tenora.ones(3, requires_grad=True)).sum().backward()",
    public="",
)
expand_as = op(
    "expand_as(input: Tensor, other: Tensor) -> Tensor",
    family=ADJOINT,
    view=True,
    shape="expand_as",
    shape_only=("other",),
    vjp=lambda g, x, other, r: (sum_to(g, x), None),
    samples=lambda draw: [sample(s.arguments[1], s.arguments[0]) for s in broadcasts(draw)],
    oracle=lambda x, other: np.broadcast_to(x, other.shape),
    doc="input, seen with the shape of other.",
    example="tenora.ones(3).expand_as(tenora.zeros(2, 3))",
    public="",
    method="expand_as",
)
unreduce = op(
    "unreduce(grad: Tensor, like: Tensor, dim: int[]?, keepdim: bool) -> Tensor",
    family=ADJOINT,
    view=True,
    shape="unreduce",
    shape_only=("like",),
    vjp=lambda h, g, like, r, dim, keepdim: (ops.sum(h, dim, keepdim), None),
    samples=lambda draw: [
        sample(draw.array(4), draw.array(3, 4), (0,), False),
        sample(draw.array(3, 1), draw.array(3, 4), (1,), True),
        sample(draw.array(), draw.array(3, 4), None, False),
        sample(draw.array(3, 2), draw.array(2, 3, 2, 2), (0, -2), False),
        sample(draw.array(2, 3), draw.array(2, 0, 3), (1,), False),
        sample(draw.array(1, 1), draw.array(3, 4), None, True),
    ],
    oracle=lambda g, like, dim, keepdim: _unreduce(g, like, dim, keepdim),
    doc="A reduced gradient, seen with the shape of the reduction's input.",
    example="tenora.ones(2, 3, requires_grad=True).sum(0).sum().backward()",
    public="",
)


def _unreduce(g: Any, like: Any, dim: Any, keepdim: bool) -> Any:
    dims = range(like.ndim) if dim is None else [d % like.ndim for d in dim]
    kept = [1 if d in dims else n for d, n in enumerate(like.shape)]
    return np.broadcast_to(g.reshape(kept), like.shape)


def _zeros_with(like: Any, write: Any) -> Any:
    out = np.zeros(like.shape, dtype=like.dtype)
    write(out)
    return out


def _assign(out: Any, index: Any, value: Any) -> None:
    out[index] = value


embed_select = op(
    "embed_select(grad: Tensor, like: Tensor, dim: int, index: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_select",
    shape_only=("like",),
    vjp=lambda h, g, like, r, dim, index: (ops.select(h, dim, index), None),
    samples=lambda draw: [
        sample(draw.array(4), draw.array(3, 4), 0, 1),
        sample(draw.array(3), draw.array(3, 4), -1, -2),
        sample(draw.array(), draw.array(5), 0, 4),
        sample(draw.array(2, 2, 2), draw.array(2, 3, 2, 2), 1, 2),
        sample(draw.array(2, 0), draw.array(2, 0, 3), 2, 1),
        sample(draw.array(1, 2, 3, 2), draw.array(1, 2, 1, 3, 2), 2, 0),
    ],
    oracle=lambda g, like, dim, index: _zeros_with(like, lambda o: _assign(np.moveaxis(o, dim, 0), index, g)),
    doc="The adjoint of select: zeros like `like` with grad at that index.",
    example="tenora.ones(3, requires_grad=True)[1].backward()",
    public="",
)
embed_slice = op(
    "embed_slice(grad: Tensor, like: Tensor, dim: int, start: int?, end: int?, step: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_slice",
    shape_only=("like",),
    vjp=lambda h, g, like, r, dim, start, end, step: (ops.slice(h, dim, start, end, step), None),
    samples=lambda draw: [
        sample(draw.array(2, 4), draw.array(3, 4), 0, 1, None, 1),
        sample(draw.array(3, 2), draw.array(3, 4), -1, None, None, 2),
        sample(draw.array(3), draw.array(5), 0, 1, 4, 1),
        sample(draw.array(2, 1, 2, 2), draw.array(2, 3, 2, 2), 1, -1, None, 1),
        sample(draw.array(0), draw.array(5), 0, 3, 3, 1),
        sample(draw.array(5), draw.array(5), 0, None, None, -1),
    ],
    oracle=lambda g, like, dim, start, end, step: _zeros_with(
        like, lambda o: _assign(np.moveaxis(o, dim, 0), slice(start, end, step), np.moveaxis(g, dim, 0))
    ),
    doc="The adjoint of slice.",
    example="tenora.ones(3, requires_grad=True)[1:].sum().backward()",
    public="",
)
embed_narrow = op(
    "embed_narrow(grad: Tensor, like: Tensor, dim: int, start: int, length: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_narrow",
    shape_only=("like",),
    vjp=lambda h, g, like, r, dim, start, length: (ops.narrow(h, dim, start, length), None),
    samples=lambda draw: [
        sample(draw.array(2, 4), draw.array(3, 4), 0, 1, 2),
        sample(draw.array(3, 1), draw.array(3, 4), -1, 3, 1),
        sample(draw.array(3), draw.array(5), 0, 1, 3),
        sample(draw.array(2, 3, 1, 2), draw.array(2, 3, 2, 2), 2, 0, 1),
        sample(draw.array(0), draw.array(5), 0, 5, 0),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(1, 2, 1, 3, 2), 1, 0, 2),
    ],
    oracle=lambda g, like, dim, start, length: _zeros_with(
        like, lambda o: _assign(np.moveaxis(o, dim, 0), slice(start, start + length), np.moveaxis(g, dim, 0))
    ),
    doc="The adjoint of narrow.",
    example="tenora.ones(3, requires_grad=True).narrow(0, 1, 2).sum().backward()",
    public="",
)
embed_diagonal = op(
    "embed_diagonal(grad: Tensor, like: Tensor, offset: int, dim1: int, dim2: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_diagonal",
    shape_only=("like",),
    vjp=lambda h, g, like, r, offset, dim1, dim2: (ops.diagonal(h, offset, dim1, dim2), None),
    samples=lambda draw: [
        sample(draw.array(3), draw.array(3, 4), 0, 0, 1),
        sample(draw.array(3), draw.array(3, 4), 1, 0, 1),
        sample(draw.array(2), draw.array(3, 4), -1, 0, 1),
        sample(draw.array(3, 2), draw.array(2, 3, 2), 0, 0, 2),
        sample(draw.array(2, 2, 2), draw.array(2, 3, 2, 2), 1, -1, 1),
        sample(draw.array(0), draw.array(3, 4), 4, 0, 1),
    ],
    oracle=lambda g, like, offset, dim1, dim2: _zeros_with(
        like, lambda o: _write_diagonal(o, g, offset, dim1, dim2)
    ),
    doc="The adjoint of diagonal.",
    example="tenora.ones(3, 3, requires_grad=True).diagonal().sum().backward()",
    public="",
)


def _write_diagonal(out: Any, g: Any, offset: int, dim1: int, dim2: int) -> None:
    moved = np.moveaxis(out, (dim1, dim2), (-2, -1))
    for k in range(g.shape[-1]):
        moved[..., k + max(-offset, 0), k + max(offset, 0)] = g[..., k]


embed_basic_index = op(
    "embed_basic_index(grad: Tensor, like: Tensor, index: int[]) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_basic_index",
    shape_only=("like",),
    vjp=lambda h, g, like, r, index: (ops.basic_index(h, index), None),
    samples=lambda draw: [
        sample(draw.array(2), draw.array(3, 4), (2, 1, 3, 1, 3, 1)),
        sample(draw.array(1, 3, 4), draw.array(3, 4), (1,)),
        sample(draw.array(3), draw.array(3, 4), (0, 2, -1)),
        sample(draw.array(2, 3), draw.array(2, 3, 2, 2), (0, 2, 0, 2, 1)),
        sample(draw.array(2, 3, 2), draw.array(2, 3, 2, 2), (0, 2, 0)),
        sample(draw.array(0, 4), draw.array(3, 4), (3, 1, 1, 1)),
    ],
    oracle=lambda g, like, index: _zeros_with(like, lambda o: _assign(o, decode_index(index), g)),
    doc="The adjoint of basic indexing.",
    example="tenora.ones(3, 4, requires_grad=True)[1, ::2].sum().backward()",
    public="",
)
#: An absent start, stop or step in the code of an index.
ABSENT = -(2**63)


def decode_index(code: Any) -> tuple[Any, ...]:
    """The index that a code span stands for: 0 = ..., 1 = None, 2 i = int, 3 start stop step = slice."""
    items: list[Any] = []
    rest = list(code)
    while rest:
        kind = rest.pop(0)
        if kind == 0:
            items.append(Ellipsis)
        elif kind == 1:
            items.append(None)
        elif kind == 2:
            items.append(rest.pop(0))
        else:
            parts = [None if v == ABSENT else v for v in (rest.pop(0), rest.pop(0), rest.pop(0))]
            items.append(slice(*parts))
    return tuple(items)


def windows(draw: Draw) -> Iterable[Sample]:
    """(gradient, base, size, stride, offset): windows on row-major memory and on memory of other strides."""
    rows = [
        ((2, 2), (3, 4), (4, 1), 1),
        ((3,), (3, 4), (5,), 0),
        ((4,), (3, 4), (1,), 8),
        ((2, 3), (2, 3), (1, 2), 0),
        ((), (5,), (), 3),
        ((0,), (5,), (1,), 2),
        ((2, 3), (3, 4), (4, -1), 3),
        ((5,), (5,), (-1,), 4),
        ((3, 4), (3, 4), (4, 1, 1, 3), 0),  # the memory of a transpose, read by rows
        ((2, 3), (2, 2), (4, 1, 4, 1), 1),  # of the first three columns of four: the last one is read as well
        ((2, 2), (3,), (2, -2, 1), -3),  # of rows in reverse, the window beginning before them
    ]
    return [
        sample(draw.array(*size), draw.array(*base), size, stride, offset)
        for size, base, stride, offset in rows
    ]


def _positions(size: Any, stride: Any, offset: int) -> Any:
    flat = np.full(size, offset, dtype=np.int64)
    for dim, step in enumerate(stride):
        flat = flat + (np.arange(size[dim]) * step).reshape([-1 if d == dim else 1 for d in range(len(size))])
    return flat


def _places(shape: Any, size: Any, stride: Any, offset: int) -> tuple[Any, Any, int]:
    """Where in one memory the elements of a tensor and those of a window lie, and how long that is."""
    stride = list(stride)
    own = stride[len(size) :] or [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    owner, window = _positions(shape, own, 0), _positions(size, stride[: len(size)], offset)
    low = min([0, *owner.ravel(), *window.ravel()])
    return owner - low, window - low, max([0, *owner.ravel(), *window.ravel()]) - low + 1


def _memory(x: Any, owner: Any, length: int) -> Any:
    memory = np.zeros(length, dtype=x.dtype)
    memory[owner] = x
    return memory


def _embedded(g: Any, like: Any, size: Any, stride: Any, offset: int) -> Any:
    owner, window, length = _places(like.shape, size, stride, offset)
    memory = np.zeros(length, dtype=g.dtype)
    np.add.at(memory, window, g)
    return memory[owner]


def _read_window(x: Any, size: Any, stride: Any, offset: int) -> Any:
    owner, window, length = _places(x.shape, size, stride, offset)
    return _memory(x, owner, length)[window]


def _scatter_window(x: Any, src: Any, size: Any, stride: Any, offset: int) -> Any:
    owner, window, length = _places(x.shape, size, stride, offset)
    memory = _memory(x, owner, length)
    memory[window] = src
    return memory[owner]


embed_strided = op(
    "embed_strided(grad: Tensor, like: Tensor, size: int[], stride: int[], storage_offset: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="embed_strided",
    shape_only=("like",),
    vjp=lambda h, g, like, r, size, stride, storage_offset: (
        ops.window(h, size, stride, storage_offset),
        None,
    ),
    samples=windows,
    oracle=_embedded,
    doc="The adjoint of window: grad added at its places in the memory of a tensor like `like`.",
    example="tenora.ones(4, requires_grad=True).as_strided((2,), (2,), 0).sum().backward()",
    public="",
)
window = op(
    "window(input: Tensor, size: int[], stride: int[], storage_offset: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="window",
    vjp=lambda g, x, r, size, stride, storage_offset: ops.embed_strided(g, x, size, stride, storage_offset),
    samples=lambda draw: [sample(s.arguments[1], *s.arguments[2:]) for s in windows(draw)],
    oracle=_read_window,
    doc="What as_strided shows of input, laid out row-major or by the strides behind those of the window; else zeros.",
    example="tenora.ones(4)",
    public="",
)
write_window = op(
    "write_window(input: Tensor, src: Tensor, size: int[], stride: int[], storage_offset: int) -> Tensor",
    family=ADJOINT,
    dtype="",
    shape="",
    structural="write_window",
    vjp=lambda g, x, src, r, size, stride, storage_offset: (
        ops.write_window(g, ops.zeros_like(src), size, stride, storage_offset),
        ops.window(g, size, stride, storage_offset),
    ),
    samples=lambda draw: [
        sample(s.arguments[1], s.arguments[0], *s.arguments[2:])
        for s in windows(draw)
        if 0 not in s.arguments[3]
    ],
    oracle=_scatter_window,
    doc="input after src has been written into a window on its memory.",
    example="tenora.ones(4)",
    display="as_strided_scatter",
    public="",
)


real = op(
    "real(input: Tensor) -> Tensor",
    family=PLAN,
    view=True,
    dtype="abs",
    shape="real",
    vjp=lambda g, x, r: ops.to(g, x.dtype) if is_complex(x) else g,
    dtypes=COMPLEX,
    oracle=lambda x: (x + x.conjugate()).real / 2,
    doc="The real part, a view.",
    example="tenora.real(tenora.tensor([1 + 2j]))",
    attribute="real",
)
imag = op(
    "imag(input: Tensor) -> Tensor",
    family=PLAN,
    view=True,
    dtype="abs",
    shape="imag",
    vjp=lambda g, x, r: g * 1j,
    dtypes=COMPLEX,
    oracle=lambda x: ((x - x.conjugate()) / 2j).real,
    doc="The imaginary part, a view.",
    example="tenora.imag(tenora.tensor([1 + 2j]))",
    attribute="imag",
)
