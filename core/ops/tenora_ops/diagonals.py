"""Diagonals, and copies of a tensor with a part written over: the functional forms of writes through views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_rank, wrap_dims
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, NUMBERS, Draw, Sample, numpy_dtype, sample, unary

WRITTEN = Family("movement", "", "", "", unary, ALL)


def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    need_rank("diag_embed", input, 1)
    first, second = wrap_dims("diag_embed", (dim1, dim2), input.ndim + 1)
    length = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, length)
    like = ops.full(shape, 0, dtype=input.dtype, device=input.device)
    return ops.embed_diagonal(input, like, offset, first, second)


def _embedded(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    length = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], length, length), dtype=x.dtype)
    for k in range(x.shape[-1]):
        out[..., k + max(-offset, 0), k + max(offset, 0)] = x[..., k]
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


diag_embed = op(
    "diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor",
    family=WRITTEN,
    function=_diag_embed,
    samples=lambda draw: [
        sample(draw.array(3)),
        sample(draw.array(2, 3)),
        sample(draw.array(2, 3), 1),
        sample(draw.array(2, 3), -1, 0, 2),
        sample(draw.array(0), 1),
        sample(draw.array(1, 2, 2), 0, 1, -1),
    ],
    oracle=_embedded,
    doc="Matrices with the last dim as a diagonal, zeros elsewhere.",
    example="tenora.diag_embed(tenora.ones(2, 3))",
    method=True,
)


def _diag(input: Any, diagonal: int = 0) -> Any:
    need_rank("diag", input, 1, 2)
    return _diag_embed(input, diagonal) if input.ndim == 1 else ops.clone(ops.diagonal(input, diagonal))


diag = op(
    "diag(input: Tensor, diagonal: int = 0) -> Tensor",
    family=WRITTEN,
    function=_diag,
    samples=lambda draw: [
        sample(draw.array(3)),
        sample(draw.array(3), -2),
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), 2),
        sample(draw.array(3, 4), -1),
        sample(draw.array(0)),
        sample(draw.array(2, 0)),
    ],
    oracle=lambda x, diagonal=0: np.diag(x, diagonal),
    doc="The matrix with a vector on a diagonal, or a copy of a matrix's diagonal.",
    example="tenora.diag(tenora.ones(3))",
    method=True,
    out=True,
)
diagflat = op(
    "diagflat(input: Tensor, offset: int = 0) -> Tensor",
    family=WRITTEN,
    function=lambda input, offset=0: _diag_embed(ops.reshape(input, (-1,)), offset),
    samples=lambda draw: [
        sample(draw.array(3)),
        sample(draw.array(3), -2),
        sample(draw.array(2, 2)),
        sample(draw.array(2, 1, 2), 1),
        sample(draw.array()),
        sample(draw.array(0)),
    ],
    oracle=lambda x, offset=0: np.diagflat(x, offset),
    doc="The matrix with all elements on a diagonal.",
    example="tenora.diagflat(tenora.ones(2, 2))",
    method=True,
)


def _trace(input: Any) -> Any:
    need_rank("trace", input, 2, 2)
    return ops.sum(ops.diagonal(input))


trace = op(
    "trace(input: Tensor) -> Tensor",
    family=WRITTEN,
    function=_trace,
    dtypes=NUMBERS,
    tolerance="reduction",
    samples=lambda draw: [
        sample(draw.array(*shape)) for shape in ((3, 4), (4, 4), (1, 5), (0, 3), (7, 2), (20, 20))
    ],
    oracle=lambda x: np.asarray(
        sum(x[i, i] for i in range(min(x.shape)))
        if x.dtype.kind in "fc"
        else np.array(sum(int(x[i, i]) for i in range(min(x.shape)))).astype(np.int64)
    ).astype(x.dtype if x.dtype.kind in "fc" else np.int64),
    doc="The sum of a matrix's diagonal.",
    example="tenora.trace(tenora.eye(3))",
    method=True,
)


def _over(name: str, input: Any, src: Any, view: Any, embed: Any) -> Any:
    """`input` with `src` in the place of one of its views; `embed` is that view's adjoint."""
    shape = tuple(view.shape)
    if tuple(src.shape) != shape:
        raise errors.OperationError(
            f"[{name}] src does not fit: got shape {tuple(src.shape)}, expected {shape}. Pass a fitting src."
        )
    here = embed(ops.full(shape, True, dtype=_engine.bool, device=input.device), input)
    return ops.where(here, embed(ops.to(src, input.dtype), input), input)


def _diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    view = ops.diagonal(input.detach(), offset, dim1, dim2)
    return _over(
        "diagonal_scatter",
        input,
        src,
        view,
        lambda g, x: ops.embed_diagonal(g, _like(g, x), offset, dim1, dim2),
    )


def _like(g: Any, x: Any) -> Any:
    """Zeros of g's dtype in x's shape."""
    return ops.full(tuple(x.shape), 0, dtype=g.dtype, device=x.device)


def _select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    view = ops.select(input.detach(), dim, index)
    return _over(
        "select_scatter", input, src, view, lambda g, x: ops.embed_select(g, _like(g, x), dim, index)
    )


def _slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    view = ops.slice(input.detach(), dim, start, end, step)
    return _over(
        "slice_scatter", input, src, view, lambda g, x: ops.embed_slice(g, _like(g, x), dim, start, end, step)
    )


def _written(x: Any, src: Any, view: Any) -> Any:
    """By definition: a copy, and an assignment through the view."""
    out = x.copy()
    view(out)[...] = src
    return out


def _diagonal_of(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    found = np.diagonal(x, offset, dim1, dim2)
    found.flags.writeable = True
    return found


diagonal_scatter = op(
    "diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor",
    family=WRITTEN,
    function=_diagonal_scatter,
    samples=lambda draw: [
        sample(draw.array(3, 4), draw.array(3)),
        sample(draw.array(3, 4), draw.array(3), 1),
        sample(draw.array(3, 4), draw.array(2), -1),
        sample(draw.array(2, 3, 2), draw.array(3, 2), 0, 0, 2),
        sample(draw.array(2, 3, 2, 2), draw.array(2, 2, 2), 1, -1, 1),
        sample(draw.array(3, 4), draw.array(0), 4),
    ],
    oracle=lambda x, src, offset=0, dim1=0, dim2=1: _written(
        x, src, lambda out: _diagonal_of(out, offset, dim1, dim2)
    ),
    doc="A copy of input with src on a diagonal.",
    example="tenora.diagonal_scatter(tenora.zeros(3, 3), tenora.ones(3))",
    method=True,
)
select_scatter = op(
    "select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor",
    family=WRITTEN,
    function=_select_scatter,
    samples=lambda draw: [
        sample(draw.array(3, 4), draw.array(4), 0, 1),
        sample(draw.array(3, 4), draw.array(3), -1, -2),
        sample(draw.array(5), draw.array(), 0, 4),
        sample(draw.array(2, 3, 2, 2), draw.array(2, 2, 2), 1, 2),
        sample(draw.array(2, 0, 3), draw.array(2, 0), 2, 1),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(1, 2, 1, 2), 3, -3),
    ],
    oracle=lambda x, src, dim, index: _written(x, src, lambda out: np.moveaxis(out, dim, 0)[index, ...]),
    doc="A copy of input with src at one index of a dim.",
    example="tenora.select_scatter(tenora.zeros(2, 3), tenora.ones(3), 0, 1)",
    method=True,
)
slice_scatter = op(
    "slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int? = None, end: int? = None, step: int = 1)"
    " -> Tensor",
    family=WRITTEN,
    function=_slice_scatter,
    samples=lambda draw: [
        sample(draw.array(3, 4), draw.array(2, 4), 0, 1),
        sample(draw.array(3, 4), draw.array(3, 2), -1, None, None, 2),
        sample(draw.array(5), draw.array(3), 0, 1, 4),
        sample(draw.array(2, 3, 2, 2), draw.array(2, 2, 2, 2), 1, -2, 100),
        sample(draw.array(5), draw.array(0), 0, 3, 1),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(1, 2, 1, 2, 2), 3, 0, None, 2),
    ],
    oracle=lambda x, src, dim=0, start=None, end=None, step=1: _written(
        x, src, lambda out: np.moveaxis(np.moveaxis(out, dim, 0)[slice(start, end, step)], 0, dim)
    ),
    doc="A copy of input with src in a range of one dim.",
    example="tenora.slice_scatter(tenora.zeros(4), tenora.ones(2), 0, 1, 3)",
    method=True,
)


def _check_window(input: Any, size: Any, stride: Any, storage_offset: int | None) -> None:
    """The window lies in the memory of input; Python's numbers cannot overflow."""
    low = high = input.storage_offset() if storage_offset is None else storage_offset
    for n, step in zip(size, stride, strict=True):
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    last = input.untyped_storage().nbytes() // input.element_size() - 1
    if low < 0 or (0 not in tuple(size) and high > last):
        raise errors.OperationError(
            f"[as_strided_scatter] window leaves the memory: got elements {low} to {high}, expected 0 to {last}. "
            "Correct size, stride or storage_offset."
        )


def _strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    if len(size) != len(stride):
        raise errors.OperationError(
            f"[as_strided_scatter] sizes and strides differ in number: got {tuple(size)} and {tuple(stride)}, expected "
            "as many of one as of the other. Give a stride for every size."
        )
    if tuple(src.shape) != tuple(size):
        raise errors.OperationError(
            f"[as_strided_scatter] src does not fit: got shape {tuple(src.shape)}, expected {tuple(size)}. Fit "
            "src to the window."
        )
    if any(n > 1 and step == 0 for n, step in zip(input.shape, input.stride(), strict=True)):
        input = ops.contiguous(input)  # elements that share a place get one each, as in PyTorch
    _check_window(input, size, stride, storage_offset)
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    steps = list(stride) if input.is_contiguous() else [*stride, *input.stride()]
    return ops.write_window(input, ops.to(src, input.dtype), size, steps, start)


def windows(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((3, 4), (2, 2), (4, 1), 1),
        ((3, 4), (3,), (5,), None),
        ((3, 4), (4,), (1,), 8),
        ((2, 3), (2, 3), (3, 1), 0),
        ((5,), (), (), 3),
        ((5,), (0,), (1,), 2),
    ]
    return [
        sample(draw.array(*base), draw.array(*size), size, stride, offset)
        for base, size, stride, offset in rows
    ]


def _strided_positions(size: Any, stride: Any, offset: int) -> list[int]:
    return [offset + sum(i * s for i, s in zip(index, stride, strict=True)) for index in np.ndindex(*size)]


def _strided_written(x: Any, src: Any, size: Any, stride: Any, offset: int | None) -> Any:
    flat = x.reshape(-1).copy()
    flat[np.array(_strided_positions(size, stride, offset or 0), dtype=np.int64)] = src.reshape(-1)
    return flat.reshape(x.shape)


as_strided_scatter = op(
    "as_strided_scatter(input: Tensor, src: Tensor, size: int[], stride: int[], storage_offset: int? = None) -> Tensor",
    family=WRITTEN,
    function=_strided_scatter,
    samples=windows,
    oracle=_strided_written,
    doc="A copy of input after src has been written into a window on its memory.",
    example="tenora.as_strided_scatter(tenora.zeros(4), tenora.ones(2), (2,), (2,))",
    method=True,
)


def _triangle_places(name: str, lower: bool) -> Any:
    def places(row: int, col: int, offset: int = 0, dtype: Any = None, device: Any = None) -> Any:
        if row < 0 or col < 0:
            raise errors.OperationError(
                f"[{name}] size is negative: got {row} and {col}, expected 0 or more. Count the rows."
            )
        if dtype not in (None, _engine.int64, _engine.int32):
            raise errors.NotImplementedOperationError(
                f"[{name}] dtype not supported: got {dtype}, expected int64 or int32. Convert the result with .to(...)."
            )
        ones = ops.full((row, col), True, dtype=_engine.uint8, device=device)
        kept = ops.tril(ones, offset) if lower else ops.triu(ones, offset)
        found = ops.contiguous(ops.t(ops.nonzero(kept)))
        return found if dtype is None else ops.to(found, dtype)

    return places


def triangles(draw: Draw) -> Iterable[Sample]:
    rows = ((3, 4), (3, 4, 1), (4, 3, -1), (3, 3, 5), (3, 3, -5), (0, 3), (1, 1))
    return [sample(*row, dtype=draw.dtype) for row in rows]


tril_indices = op(
    "tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=WRITTEN,
    function=_triangle_places("tril_indices", True),
    differentiable=False,
    dtypes=("int64", "int32"),
    samples=triangles,
    oracle=lambda row, col, offset=0, dtype="int64": (
        np.array(
            [(i, j) for i in range(row) for j in range(col) if j <= i + offset], dtype=numpy_dtype(dtype)
        )
        .reshape(-1, 2)
        .T
    ),
    doc="Rows and columns of the elements on and below a diagonal.",
    example="tenora.tril_indices(3, 3)",
)
triu_indices = op(
    "triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=WRITTEN,
    function=_triangle_places("triu_indices", False),
    differentiable=False,
    dtypes=("int64", "int32"),
    samples=triangles,
    oracle=lambda row, col, offset=0, dtype="int64": (
        np.array(
            [(i, j) for i in range(row) for j in range(col) if j >= i + offset], dtype=numpy_dtype(dtype)
        )
        .reshape(-1, 2)
        .T
    ),
    doc="Rows and columns of the elements on and above a diagonal.",
    example="tenora.triu_indices(3, 3)",
)
