"""Norms of vectors and matrices, and condition numbers.

- A vector norm is one node for general p (its gradient is zero where the norm is, as in PyTorch) and composed of other
  ops for 0, 1 and the infinities; matrix norms are composed of vector norms and singular values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import ints
from tenora_ops.formula import ops
from tenora_ops.halves import HALVES
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import (
    FACTOR,
    PRECISE,
    Operands,
    check_dtype,
    check_matrix,
    refuse,
    regular,
    same_dtypes,
    spread,
    stacked,
)
from tenora_ops.oracles import reduced
from tenora_ops.record import Family, op
from tenora_ops.samples import Domain, Draw, Sample, sample

APART = Domain(0.2, 2.0, distinct=True, gap=0.02)
NORM = Family("norm", "", "", "", lambda draw: vectors(draw), PRECISE, APART, "factorised")


def vectors(draw: Draw) -> list[Sample]:
    return [
        sample(draw.array(7)),
        sample(draw.array(3, 4), 2, 0),
        sample(draw.array(3, 4), 1, (-1,), True),
        sample(draw.array(2, 3, 4), 3.0, (0, 2)),
        sample(draw.array(1, 2, 1, 3, 2), -1.5, 3),
        sample(draw.array(3, 4), math.inf, 1),
        sample(draw.array(3, 4), -math.inf, 1),
        sample(draw.array(3, 4), 0, 1),
        sample(draw.array(), 1),
        sample(draw.array(2, 0), 2),
    ]


def _norm_gradient(g: Any, x: Any, r: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    whole, spread_ = ops.unreduce(r, x, dim, keepdim), ops.unreduce(g, x, dim, keepdim)
    size = ops.abs(x)
    empty = ops.logical_or(ops.eq(whole, 0), ops.eq(size, 0))
    # x |x|^(p-2) / norm^(p-1), with ones where it is defined to be zero
    share = ops.pow(ops.where(empty, 1.0, size) / ops.where(empty, 1.0, whole), p - 1)
    unit = x / ops.where(ops.eq(size, 0), 1.0, size)
    return ops.where(empty, 0, unit * (share * spread_))


def _norm_shape(operands: Operands, attributes: Operands) -> tuple[int, ...]:
    (shape, _), (_, dim, keepdim) = operands[0], attributes
    dims = {d % len(shape) for d in (range(len(shape)) if dim is None else dim)} if shape else set()
    kept = [1 if d in dims else n for d, n in enumerate(shape)]
    return tuple(n for d, n in enumerate(kept) if keepdim or d not in dims)


def _powers(x: Any, p: float, dim: Any, keepdim: bool) -> Any:
    """(sum |x|^p)^(1/p), with the largest element taken out so that nothing overflows."""
    size = ops.abs(x)
    largest = ops.softmax_shift(size, dim, True)
    usable = ops.logical_and(ops.gt(largest, 0), ops.isfinite(largest))
    scale = ops.where(usable, largest, 1.0)
    total = ops.sum(ops.pow(size / scale, p), dim, True)
    result = ops.pow(total, 1.0 / p) * scale
    return result if keepdim else ops.reshape(result, _norm_shape(((tuple(x.shape), None),), (p, dim, False)))


norm_powers = op(
    "norm_powers(input: Tensor, p: float, dim: int[]?, keepdim: bool) -> Tensor",
    family=FACTOR,
    domain=APART,
    dtype=same_dtypes("linalg.vector_norm", "r"),
    shape=_norm_shape,
    function=lambda input, p, dim, keepdim: _powers(input, p, dim, keepdim),
    vjp=lambda g, x, r, p, dim, keepdim: _norm_gradient(g, x, r, p, dim, keepdim),
    samples=lambda draw: [
        sample(draw.array(7), 2.0, None, False),
        sample(draw.array(3, 4), 2.0, (0,), False),
        sample(draw.array(3, 4), 1.5, (-1,), True),
        sample(draw.array(2, 3, 4), 3.0, (0, 2), False),
        sample(draw.array(1, 2, 1, 3, 2), 2.0, (3,), True),
        sample(draw.array(), 2.0, None, False),
        sample(draw.array(2, 0), 2.0, (1,), False),
    ],
    oracle=lambda x, p, dim, keepdim: _vector_oracle(x, p, dim, keepdim),
    doc="(sum |x|^p)^(1/p) for finite p other than 0.",
    example="tenora.linalg.vector_norm(tenora.tensor([3.0, 4.0]))",
    public="",
)


def _vector_oracle(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    def one(row: Any) -> float:
        values = np.abs(row).tolist()
        if p == 0:
            return float(len([v for v in values if v]))
        if math.isinf(p):
            return float(max(values) if p > 0 else min(values))
        return float(math.fsum(v**p for v in values) ** (1 / p))

    return reduced(one, x, dim, keepdim)


def _dims(dim: Any) -> tuple[int, ...] | None:
    return None if dim is None else ints(dim)


def vector_norm(input: Any, p: float, dim: Any, keepdim: bool, dtype: Any = None) -> Any:
    """The norm of the elements over `dim` (all when None)."""
    if dtype is not None:
        input = ops.to(input, dtype)
    if input.dtype in HALVES:  # computed in float32 and rounded once
        return ops.to(vector_norm(ops.to(input, _engine.float32), p, dim, keepdim), input.dtype)
    check_dtype("linalg.vector_norm", input.dtype)
    dim = _dims(dim)
    if dim == ():
        dim = None
    without = not input.numel() and (dim is None or any(not input.shape[d] for d in dim))
    if without and (math.isinf(p) or p < 0):
        raise refuse(
            "linalg.vector_norm",
            "no elements",
            tuple(input.shape),
            "at least one",
            "Use a positive finite order.",
        )
    if math.isinf(p):
        return (ops.amax if p > 0 else ops.amin)(ops.abs(input), dim, keepdim)
    if p == 0:
        return ops.sum(ops.where(ops.ne(input, 0), 1, ops.abs(input)), dim, keepdim)  # has a gradient: 0
    if p == 1:
        return ops.sum(ops.abs(input), dim, keepdim)
    if p == 2:
        return ops.norm_scaled(input, dim, keepdim)
    return ops.norm_powers(input, p, dim, keepdim)


linalg_vector_norm = op(
    "linalg_vector_norm(x: Tensor, ord: float = 2, dim: int[]? = None, keepdim: bool = False, *,"
    " dtype: dtype? = None) -> Tensor",
    family=NORM,
    function=lambda x, ord, dim, keepdim, dtype: vector_norm(x, ord, dim, keepdim, dtype),
    oracle=_vector_oracle,
    doc="(sum |x|^ord)^(1/ord); the largest or smallest modulus for the infinities, the count of non-zeros for 0.",
    example="tenora.linalg.vector_norm(tenora.tensor([3.0, 4.0]))",
    public="linalg.vector_norm",
    out=True,
)


def matrix_norm(A: Any, order: Any, dim: Sequence[int], keepdim: bool, dtype: Any = None) -> Any:
    """The norm of the matrices in two dims; `order` is fro, nuc, 1, -1, 2, -2, inf or -inf."""
    if dtype is not None:
        A = ops.to(A, dtype)
    name = "linalg.matrix_norm"
    if A.dtype in HALVES and order in ("fro", 1, -1, math.inf, -math.inf):
        return ops.to(matrix_norm(ops.to(A, _engine.float32), order, dim, keepdim), A.dtype)
    check_dtype(name, A.dtype)
    check_matrix(name, A.shape)
    if len(dim) != 2 or dim[0] % A.ndim == dim[1] % A.ndim:
        raise refuse(name, "dim", tuple(dim), "two different dims", "Name the two dims of a matrix.")
    rows, columns = (d % A.ndim for d in dim)
    if order == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if order in (1, -1, math.inf, -math.inf):
        inner, outer = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = ops.sum(ops.abs(A), [inner], keepdim)
        place = outer if keepdim or outer < inner else outer - 1
        if order > 0 and not A.shape[outer]:
            return ops.sum(sums, [place], keepdim)  # of nothing: 0
        return (ops.amax if order > 0 else ops.amin)(sums, [place], keepdim)
    if order not in ("nuc", 2, -2):
        raise errors.OperationError(
            f"[{name}] order: got {order!r}, expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2. Choose one of them."
        )
    rest = [d for d in range(A.ndim) if d not in (rows, columns)]
    values = ops.linalg_svdvals(ops.permute(A, [*rest, rows, columns]))
    if order == "nuc" or (order == 2 and not values.shape[-1]):  # of nothing: 0
        result = ops.sum(values, [-1])
    else:
        result = (ops.amax if order > 0 else ops.amin)(values, [-1])
    for d in sorted((rows, columns)) if keepdim else ():
        result = ops.unsqueeze(result, d)
    return result


def _matrix_oracle(x: Any, order: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    def one(m: Any) -> Any:
        size = np.abs(m)
        if order == "fro":
            return np.float64(math.sqrt(math.fsum((size**2).ravel().tolist())))
        if order in (1, -1, math.inf, -math.inf):
            sums = size.sum(0 if abs(order) == 1 else 1)
            return sums.max() if order > 0 else sums.min()
        s = decompositions.svd(m)[1]
        return s.sum() if order == "nuc" else s.max() if order > 0 else s.min()

    result = stacked(one, np.moveaxis(x, dim, (-2, -1)))
    return np.expand_dims(result, tuple(d % x.ndim for d in dim)) if keepdim else result


def matrices(draw: Draw, *orders: Any) -> list[Sample]:
    shapes = ((3, 3), (4, 3), (2, 3), (2, 3, 2), (2, 1, 2, 3), (3, 4))
    found = [sample(spread(draw, *shape), orders[i % len(orders)]) for i, shape in enumerate(shapes)]
    return [
        *found,
        sample(spread(draw, 2, 3, 4), orders[0], (1, 2), True),
        sample(spread(draw, 3, 2), orders[-1]),
    ]


linalg_matrix_norm = op(
    "linalg_matrix_norm(A: Tensor, ord: float, dim: int[] = (-2, -1), keepdim: bool = False, *,"
    " dtype: dtype? = None) -> Tensor",
    family=NORM,
    function=lambda A, ord, dim, keepdim, dtype: matrix_norm(A, ord, dim, keepdim, dtype),
    samples=lambda draw: matrices(draw, 1, -1, 2, -2, math.inf, -math.inf),
    oracle=_matrix_oracle,
    doc="Largest or smallest column sum (1, -1), row sum (inf, -inf) or singular value (2, -2) of matrices.",
    example="tenora.linalg.matrix_norm(tenora.eye(3), 2)",
    public="linalg.matrix_norm",
    out=True,
)
linalg_matrix_norm_str = op(
    "linalg_matrix_norm_str(A: Tensor, ord: str = 'fro', dim: int[] = (-2, -1), keepdim: bool = False, *,"
    " dtype: dtype? = None) -> Tensor",
    family=NORM,
    function=lambda A, ord, dim, keepdim, dtype: matrix_norm(A, ord, dim, keepdim, dtype),
    samples=lambda draw: matrices(draw, "fro", "nuc"),
    oracle=_matrix_oracle,
    doc="The Frobenius norm of matrices, or the sum of their singular values ('nuc').",
    example="tenora.linalg.matrix_norm(tenora.eye(3))",
    public="linalg.matrix_norm",
    out=True,
)


def _norm(A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """torch.linalg.norm: vector norms over one dim or flattened, matrix norms over two."""
    dims = _dims(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise refuse("linalg.norm", "dims", list(dims), "1 or 2 of them", "Name as many, or use vector_norm.")
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype)
    if dims is None:
        if A.ndim not in (1, 2):
            raise refuse(
                "linalg.norm", "dims", tuple(A.shape), "1 or 2 dims when only ord is given", "Name dim."
            )
        dims = tuple(range(A.ndim))
    if len(dims) == 1:
        if isinstance(ord, str):
            raise refuse("linalg.norm", "order", repr(ord), "a number for vectors", "Give two dims.")
        return vector_norm(A, ord, dims, keepdim, dtype)
    return matrix_norm(A, ord, dims, keepdim, dtype)


def _norm_oracle(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    if ord is None:
        return _vector_oracle(x, 2, dim, keepdim)
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    return _vector_oracle(x, ord, dims, keepdim) if len(dims) == 1 else _matrix_oracle(x, ord, dims, keepdim)


linalg_norm = op(
    "linalg_norm(A: Tensor, ord: float? = None, dim: int[]? = None, keepdim: bool = False, *,"
    " dtype: dtype? = None) -> Tensor",
    family=NORM,
    function=_norm,
    samples=lambda draw: [
        *matrices(draw, None, 1, 2)[:3],
        sample(spread(draw, 2, 3, 2), math.inf, (0, 2)),
        *vectors(draw)[:3],
        sample(draw.array(2, 3, 4)),
    ],
    oracle=_norm_oracle,
    doc="Norm of vectors (one dim) or matrices (two dims); the 2-norm of all elements without ord.",
    example="tenora.linalg.norm(tenora.tensor([3.0, 4.0]))",
    public="linalg.norm",
    out=True,
)
linalg_norm_str = op(
    "linalg_norm_str(A: Tensor, ord: str, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None)"
    " -> Tensor",
    family=NORM,
    function=_norm,
    samples=lambda draw: (
        [s for s in matrices(draw, "fro", "nuc") if s.arguments[0].ndim == 2 or len(s.arguments) > 2]
        + [sample(spread(draw, 2, 2), "nuc", (0, 1), True)]
    ),
    oracle=_norm_oracle,
    doc="The Frobenius ('fro') or nuclear ('nuc') norm of matrices.",
    example="tenora.linalg.norm(tenora.eye(3), 'nuc')",
    public="linalg.norm",
    out=True,
)


def _cond(A: Any, p: Any) -> Any:
    check_matrix("linalg.cond", A.shape)
    if p is None or p in (2, -2):
        values = ops.linalg_svdvals(A)
        if not values.shape[-1]:
            return ops.sum(values, -1)  # 0, as PyTorch has it
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    inverse, info = ops.inverse_matrices(A)
    found = matrix_norm(A, p, (-2, -1), False) * matrix_norm(inverse, p, (-2, -1), False)
    return ops.where(ops.eq(info, 0), found, math.inf)


def _cond_oracle(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        return stacked(
            lambda m: (lambda s: s[-1] / s[0] if p == -2 else s[0] / s[-1])(decompositions.svd(m)[1]), x
        )
    return stacked(lambda m: _matrix_oracle(m, p) * _matrix_oracle(decompositions.inv(m), p), x)


linalg_cond = op(
    "linalg_cond(A: Tensor, p: real? = None) -> Tensor",
    family=NORM,
    function=_cond,
    samples=lambda draw: [
        *[sample(spread(draw, *shape), p) for shape, p in (((3, 3), None), ((4, 3), 2), ((2, 2, 3), -2))],
        *[
            sample(regular(draw, *shape), p)
            for shape, p in (((3, 3), 1), ((2, 2, 2), math.inf), ((3, 3), -1))
        ],
    ],
    oracle=_cond_oracle,
    doc="The condition number: the norm times the norm of the inverse; for 2 the ratio of singular values.",
    example="tenora.linalg.cond(tenora.eye(3))",
    public="linalg.cond",
    out=True,
)
linalg_cond_str = op(
    "linalg_cond_str(A: Tensor, p: str) -> Tensor",
    family=NORM,
    function=_cond,
    samples=lambda draw: [
        sample(regular(draw, *shape), p) for shape in ((3, 3), (2, 2, 2), (4, 4)) for p in ("fro", "nuc")
    ],
    oracle=_cond_oracle,
    doc="The condition number in the Frobenius or nuclear norm.",
    example="tenora.linalg.cond(tenora.eye(3), 'fro')",
    public="linalg.cond",
    out=True,
)
