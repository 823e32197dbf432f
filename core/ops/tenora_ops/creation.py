"""Tensors from nothing or like another: full, ranges, triangles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.formula import max_number, min_number, ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, FLOATING, Draw, Sample, numpy_dtype, sample, unary

NEW = Family("creation", "attr", "full", "", lambda draw: [*sizes(draw), *without_dtype(draw)], ALL)
LIKE = Family("creation", "attr_or_same", "like", "", unary, ALL)
RANGE = Family(
    "creation",
    "",
    "",
    "",
    lambda draw: sizes(draw),
    tuple(d for d in ALL if d not in ("bool", "complex64", "complex128")),
    tolerance="few_ulp",
)
SHAPES: tuple[tuple[int, ...], ...] = ((3,), (2, 3), (), (0,), (2, 1, 3, 2), (1, 2, 1, 2, 1))


def sizes(draw: Draw) -> Iterable[Sample]:
    return [sample(shape, dtype=draw.dtype) for shape in SHAPES]


def without_dtype(draw: Draw, *values: Any) -> list[Sample]:
    """Of one shape, filled with each of some values if there are any: their kind says the dtype, or the default is."""
    if draw.dtype != "float32":
        return []
    return [sample((2, 3), value) for value in values] or [sample((2, 3))]


def filled(draw: Draw) -> Iterable[Sample]:
    given = [sample(shape, True if draw.dtype == "bool" else 3, dtype=draw.dtype) for shape in SHAPES]
    return [*given, *without_dtype(draw, 2.5, 7, True)]


def repeated(value: Any, size: Any, dtype: str | None) -> Any:
    """An array of one value, of the dtype that is named or of the value's own."""
    found = np.full(tuple(size), value)
    return found if dtype is None else found.astype(numpy_dtype(dtype))


full = op(
    "full(size: int[], fill_value: Scalar, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=NEW,
    dtype="creation",
    structural="full",
    differentiable=False,
    samples=filled,
    oracle=lambda size, fill_value, dtype=None: repeated(fill_value, size, dtype),
    doc="A tensor of one value.",
    example="tenora.full((2, 3), 7.0)",
    out=True,
)
empty = op(
    "empty(size: int[], *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=NEW,
    structural="empty",
    differentiable=False,
    tolerance="unspecified",
    oracle=lambda size, dtype=None: repeated(0.0, size, dtype),
    doc="Uninitialised memory.",
    example="tenora.empty(2, 3)",
    out=True,
)
empty_like = op(
    "empty_like(input: Tensor, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=LIKE,
    structural="empty_like",
    shape_only=("input",),
    differentiable=False,
    tolerance="unspecified",
    oracle=lambda x: np.empty(x.shape, x.dtype),
    doc="Uninitialised memory of the shape, dtype and device of input.",
    example="tenora.empty_like(tenora.ones(2))",
)
zeros = op(
    "zeros(size: int[], *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=NEW,
    structural="zeros",
    differentiable=False,
    oracle=lambda size, dtype=None: repeated(0.0, size, dtype),
    doc="A tensor of zeros.",
    example="tenora.zeros(2, 3)",
    out=True,
)
ones = op(
    "ones(size: int[], *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=NEW,
    structural="ones",
    differentiable=False,
    oracle=lambda size, dtype=None: repeated(1.0, size, dtype),
    doc="A tensor of ones.",
    example="tenora.ones(2, 3)",
    out=True,
)
zeros_like = op(
    "zeros_like(input: Tensor, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=LIKE,
    structural="zeros_like",
    shape_only=("input",),
    differentiable=False,
    oracle=lambda x: np.array([0] * x.size).astype(x.dtype).reshape(x.shape),
    doc="Zeros of the shape, dtype and device of input.",
    example="tenora.zeros_like(tenora.ones(2))",
)
ones_like = op(
    "ones_like(input: Tensor, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=LIKE,
    structural="ones_like",
    shape_only=("input",),
    differentiable=False,
    oracle=lambda x: np.array([1] * x.size).astype(x.dtype).reshape(x.shape),
    doc="Ones of the shape, dtype and device of input.",
    example="tenora.ones_like(tenora.zeros(2))",
)
full_like = op(
    "full_like(input: Tensor, fill_value: Scalar, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=LIKE,
    structural="full_like",
    shape_only=("input",),
    differentiable=False,
    samples=lambda draw: [sample(s.arguments[0], 1) for s in unary(draw)],
    oracle=lambda x, fill_value: np.array([fill_value] * x.size).astype(x.dtype).reshape(x.shape),
    doc="One value, in the shape, dtype and device of input.",
    example="tenora.full_like(tenora.zeros(2), 7.0)",
)
iota = op(
    "iota(start: Scalar, step: Scalar, size: int, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANGE,
    dtype="creation",
    shape="iota",
    prepare="iota",
    samples=lambda draw: (
        [
            sample(start, step, size, dtype=draw.dtype)
            for start, step, size in (
                *((0, 1, 5), (2, 3, 4), (1, 1, 0), (7, 1, 1), (0, 2, 20), (3, 0, 4)),
                *([(0.1, 0.3, 9)] if draw.is_float else []),
            )
        ]
        + ([sample(0.5, 1, 4)] if draw.dtype == "float32" else [])
    ),
    oracle=lambda start, step, size, dtype="float64": np.array(
        [start + i * step for i in range(size)]
    ).astype(numpy_dtype(dtype)),
    doc="start + i * step for i below size.",
    example="tenora.arange(3)",
    public="",
)


def ranges(draw: Draw) -> Iterable[Sample]:
    whole = [(0, 5, 1), (2, 11, 3), (3, 3, 1), (1, 2, 1), (0, 20, 2), (0, 1, 1)]
    fractions = [(0.5, 3.0, 0.5), (0.0, 1.0, 0.3)] if draw.is_float else []
    return [sample(*row, dtype=draw.dtype) for row in whole + fractions]


arange = op(
    "arange(start: Scalar, end: Scalar, step: Scalar = 1, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANGE,
    structural="arange",
    differentiable=False,
    samples=ranges,
    oracle=lambda start, end, step, dtype: np.array(
        [start + i * step for i in range(math.ceil((end - start) / step))]
    ).astype(numpy_dtype(dtype)),
    doc="start, start + step, ... below end.",
    example="tenora.arange(2, 11, 3)",
    out=True,
)
arange_end = op(
    "arange_end(end: Scalar, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANGE,
    composite=lambda end, dtype, device: ops.arange(0, end, 1, dtype=dtype, device=device),
    differentiable=False,
    samples=lambda draw: [sample(end, dtype=draw.dtype) for end in (5, 0, 1, 20, 7, 3)],
    oracle=lambda end, dtype: np.array(list(range(end))).astype(numpy_dtype(dtype)),
    doc="0, 1, ... below end.",
    example="tenora.arange(3)",
    public="arange",
    out=True,
)


def _linspace(start: Any, end: Any, steps: Any, dtype: Any, device: Any) -> Any:
    """From both ends towards the middle, so that the last element is `end` itself (PyTorch's rule)."""
    place = ops.iota(0.0, 1.0, steps, dtype=dtype, device=device)
    step = (end - start) / max_number(steps - 1, 1)
    back = (place * -1 + (steps - 1)) * step
    return ops.where(ops.lt(place, (steps + 1) // 2), place * step + start, back * -1 + end)


linspace = op(
    "linspace(start: Scalar, end: Scalar, steps: int, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANGE,
    dtypes=("float32", "float64"),
    composite=_linspace,
    differentiable=False,
    samples=lambda draw: [
        sample(start, end, steps, dtype=draw.dtype)
        for start, end, steps in ((0, 1, 5), (-2.5, 3.0, 7), (1, 1, 3), (3, -1, 4), (0, 1, 0), (0, 10, 1))
    ],
    oracle=lambda start, end, steps, dtype: np.array(
        [start + (end - start) * i / max(steps - 1, 1) for i in range(steps)]
    ),
    doc="steps equally spaced values from start to end, both included.",
    example="tenora.linspace(0, 1, 5)",
    out=True,
)


def _eye(n: Any, m: Any, dtype: Any, device: Any) -> Any:
    rows = ops.unsqueeze(ops.iota(0, 1, n, device=device), 1)
    columns = ops.unsqueeze(ops.iota(0, 1, n if m is None else m, device=device), 0)
    found = ops.where(ops.eq(rows, columns), 1.0, 0.0)
    return found if dtype is None else ops.to(found, dtype)


eye = op(
    "eye(n: int, m: int? = None, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANGE,
    dtypes=ALL,
    composite=_eye,
    differentiable=False,
    tolerance="exact",
    samples=lambda draw: [
        sample(*row, dtype=draw.dtype) for row in ((3,), (2, 4), (4, 2), (0,), (1,), (3, 0))
    ],
    oracle=lambda n, m=None, dtype="float32": (
        np.array([[i == j for j in range(n if m is None else m)] for i in range(n)])
        .reshape(n, n if m is None else m)
        .astype(numpy_dtype(dtype))
    ),
    doc="Ones on the diagonal.",
    example="tenora.eye(3)",
    out=True,
)


def _triangle(x: Any, diagonal: Any, lower: bool) -> Any:
    rows = ops.unsqueeze(ops.iota(0, 1, x.shape[-2], device=x.device), 1)
    columns = ops.iota(0, 1, x.shape[-1], device=x.device)
    # A diagonal beyond the matrix is as good as one at its edge, and does not overflow.
    shift = max_number(min_number(diagonal, x.shape[-1]), -x.shape[-2])
    kept = ops.ge(rows + shift, columns) if lower else ops.le(rows + shift, columns)
    return ops.where(kept, x, ops.full((), 0, dtype=x.dtype, device=x.device))


def triangles(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), 1),
        sample(draw.array(4, 3), -1),
        sample(draw.array(2, 3, 3)),
        sample(draw.array(0, 3)),
        sample(draw.array(1, 2, 1, 3, 2), -2),
    ]


tril = op(
    "tril(input: Tensor, diagonal: int = 0) -> Tensor",
    family=RANGE,
    dtype="same",
    shape="matrices",
    dtypes=FLOATING + ("int64", "int8", "bool"),
    tolerance="exact",
    composite=lambda x, diagonal: _triangle(x, diagonal, True),
    vjp=lambda g, x, r, diagonal: ops.tril(g, diagonal),
    samples=triangles,
    oracle=lambda x, diagonal=0: _kept(x, lambda i, j: j <= i + diagonal),
    doc="Zeros above a diagonal of the last two dims.",
    example="tenora.tril(tenora.ones(3, 3))",
    method=True,
    inplace=True,
    out=True,
)
triu = op(
    "triu(input: Tensor, diagonal: int = 0) -> Tensor",
    family=RANGE,
    dtype="same",
    shape="matrices",
    dtypes=FLOATING + ("int64", "int8", "bool"),
    tolerance="exact",
    composite=lambda x, diagonal: _triangle(x, diagonal, False),
    vjp=lambda g, x, r, diagonal: ops.triu(g, diagonal),
    samples=triangles,
    oracle=lambda x, diagonal=0: _kept(x, lambda i, j: j >= i + diagonal),
    doc="Zeros below a diagonal of the last two dims.",
    example="tenora.triu(tenora.ones(3, 3))",
    method=True,
    inplace=True,
    out=True,
)


def _kept(x: Any, condition: Any) -> Any:
    out = x.copy()
    for i in range(x.shape[-2]):
        for j in range(x.shape[-1]):
            if not condition(i, j):
                out[..., i, j] = 0
    return out
