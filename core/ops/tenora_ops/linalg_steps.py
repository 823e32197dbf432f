"""The algorithms of linear algebra, written over other ops: right on every backend, a whole stack of matrices at once.

- Each takes and gives tensors of shape (..., m, n); a loop runs over columns, never over the matrices of a stack. They
  run unrecorded: gradients are the formulas of the records.
- Factors are made unique, so that every backend gives the same ones: QR as LAPACK's Householder reflections give it;
  eigenvectors and left singular vectors are turned so that their first component within a tenth of the largest one
  is real and positive.
- Sources: Golub and Van Loan, Matrix Computations, 4th edition: Cholesky 4.2, LU with partial pivoting 3.4, Householder
  QR 5.2, cyclic Jacobi with parallel ordering 8.5; one-sided Jacobi: Hestenes 1958, de Rijk 1989.
"""

from __future__ import annotations

from typing import Any

from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.limits import finfo

SWEEPS = 60  # Jacobi converges quadratically: ten are many


def transposed(x: Any) -> Any:
    return ops.transpose(x, -2, -1)


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return ops.conj(transposed(x))


def real_dtype(dtype: Any) -> Any:
    """The dtype of a modulus."""
    if not dtype.is_complex:
        return dtype
    return _engine.float32 if dtype.itemsize == 8 else _engine.float64


def epsilon(dtype: Any) -> float:
    return finfo(dtype).eps


def real_part(x: Any) -> Any:
    """The real part in memory of its own."""
    return ops.clone(ops.real(x)) if x.dtype.is_complex else x


def integers(like: Any, count: int) -> Any:
    """0, 1, ... on the device of a tensor."""
    return ops.iota(0, 1, count, dtype=_engine.int64, device=like.device)


def identity(like: Any, rows: int, columns: int) -> Any:
    """Ones on the diagonal, for every matrix of the stack that `like` is."""
    one = ops.eye(rows, columns, dtype=like.dtype, device=like.device)
    return ops.clone(ops.expand(one, [*like.shape[:-2], rows, columns]))


def sizes(like: Any, *shape: int, dtype: Any = None) -> Any:
    return ops.zeros([*like.shape[:-2], *shape], dtype=dtype or like.dtype, device=like.device)


def cholesky(input: Any, upper: bool, check_errors: bool) -> tuple[Any, Any]:
    """L with input = L L^H, column by column; info is the first pivot that is not positive, counted from 1."""
    a = adjoint(input) if upper else input
    n = a.shape[-1]
    factor, info = sizes(a, n, n), sizes(a, dtype=_engine.int32)
    for k in range(n):
        row = ops.unsqueeze(ops.conj(factor[..., k, :k]), -1)
        column = a[..., k:, k] - ops.squeeze(ops.matmul(factor[..., k:, :k], row), [-1])
        pivot = real_part(column[..., 0])
        bad = ops.logical_not(ops.gt(pivot, 0))
        info = ops.where(ops.logical_and(bad, ops.eq(info, 0)), k + 1, info)
        root = ops.sqrt(ops.where(bad, 1.0, pivot))
        factor[..., k:, k] = column / ops.unsqueeze(root, -1)
        factor[..., k, k] = root
    return ops.contiguous(adjoint(factor)) if upper else factor, ops.to(info, _engine.int32)


def magnitude(x: Any) -> Any:
    """What LAPACK compares when it chooses a pivot: |re| + |im|."""
    return ops.abs(ops.real(x)) + ops.abs(ops.imag(x)) if x.dtype.is_complex else ops.abs(x)


def lu_factor(input: Any, pivot: bool, check_errors: bool) -> tuple[Any, Any, Any]:
    """L below and U on and above the diagonal, rows exchanged with 1-based `pivots`, info as in `cholesky`."""
    rows, columns = input.shape[-2:]
    lu, count = ops.clone(input), min(rows, columns)
    pivots = sizes(input, count, dtype=_engine.int32)
    info = sizes(input, dtype=_engine.int32)
    place = integers(input, rows)
    for k in range(count):
        if pivot:
            chosen = ops.unsqueeze(ops.argmax(magnitude(lu[..., k:, k]), -1), -1) + k
            order = ops.where(ops.eq(place, k), chosen, ops.where(ops.eq(place, chosen), k, place))
            lu = ops.gather(lu, -2, ops.expand(ops.unsqueeze(order, -1), lu.shape))
            pivots[..., k] = ops.squeeze(chosen, [-1]) + 1
        else:
            pivots[..., k] = k + 1
        top = lu[..., k, k]
        zero = ops.eq(top, 0)
        info = ops.where(ops.logical_and(zero, ops.eq(info, 0)), k + 1, info)
        ratio = lu[..., k + 1 :, k] / ops.unsqueeze(ops.where(zero, 1.0, top), -1)
        rest = lu[..., k + 1 :, k + 1 :] - ops.unsqueeze(ratio, -1) * lu[..., k : k + 1, k + 1 :]
        lu[..., k + 1 :, k] = ratio
        lu[..., k + 1 :, k + 1 :] = rest
    return lu, pivots, ops.to(info, _engine.int32)


def row_order(pivots: Any, rows: int) -> Any:
    """Exchanges as a permutation: row i of P^T A is row order[i] of A."""
    batch = pivots.shape[:-1]
    place = integers(pivots, rows)
    order = ops.clone(ops.expand(place, [*batch, rows]))
    for k in range(pivots.shape[-1]):
        other = pivots[..., k : k + 1] - 1
        mine, theirs = ops.clone(order[..., k : k + 1]), ops.gather(order, -1, other)
        order = ops.where(ops.eq(place, k), theirs, ops.where(ops.eq(place, other), mine, order))
    return order


def solve_triangular(input: Any, other: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """X with input X = other, or X input = other; only one triangle is read. Row by row."""
    if not left:
        return ops.contiguous(
            transposed(solve_triangular(transposed(input), transposed(other), not upper, True, unitriangular))
        )
    n = input.shape[-1]
    batch = common_stack(input.shape[:-2], other.shape[:-2])
    a = ops.expand(input, [*batch, n, n])
    x = ops.clone(ops.expand(other, [*batch, *other.shape[-2:]]))
    for k in reversed(range(n)) if upper else range(n):
        known = slice(k + 1, None) if upper else slice(0, k)
        row = x[..., k : k + 1, :] - ops.matmul(a[..., k : k + 1, known], x[..., known, :])
        x[..., k : k + 1, :] = row if unitriangular else row / a[..., k : k + 1, k : k + 1]
    return x


def common_stack(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two stacks; they have been checked."""
    short, long = sorted((tuple(a), tuple(b)), key=len)
    padded = (1,) * (len(long) - len(short)) + short
    return tuple(y if x == 1 else x for x, y in zip(padded, long, strict=True))


def reflections(input: Any) -> tuple[Any, Any]:
    """Householder vectors below the diagonal, R on and above it, and tau, as LAPACK's geqrf stores them."""
    a = ops.clone(input)
    rows, columns = a.shape[-2:]
    tau = sizes(a, min(rows, columns))
    for k in range(min(rows, columns)):
        # In units of the column's largest element: squares of tiny numbers would vanish.
        largest = ops.amax(ops.abs(a[..., k:, k]), [-1], True)
        column = a[..., k:, k] / ops.where(ops.gt(largest, 0), largest, 1.0)
        alpha, below = column[..., 0], column[..., 1:]
        first = real_part(alpha)
        size = ops.sqrt(ops.sum(_squares(below), [-1]) + _squares(alpha))
        beside = ops.abs(ops.imag(alpha)) if a.dtype.is_complex else 0.0
        away = ops.gt(ops.sum(ops.abs(below), [-1]) + beside, 0)
        beta = ops.where(ops.ge(first, 0), -size, size)
        scale = ops.where(away, ops.to(beta, a.dtype) - alpha, 1.0)
        t = ops.where(away, scale / ops.where(away, beta, 1.0), 0.0)
        v = ops.where(ops.unsqueeze(away, -1), below / ops.unsqueeze(-scale, -1), 0.0)
        beta = beta * ops.squeeze(largest, [-1])
        tau[..., k] = t
        whole = ops.cat([ops.ones_like(ops.unsqueeze(alpha, -1)), v], -1)
        rest = a[..., k:, k + 1 :]
        _reflect(rest, whole, ops.conj(t))
        a[..., k, k] = ops.where(away, ops.to(beta, a.dtype), a[..., k, k])
        a[..., k + 1 :, k] = v
    return a, tau


def _squares(x: Any) -> Any:
    """|x|^2."""
    return ops.square(ops.real(x)) + ops.square(ops.imag(x)) if x.dtype.is_complex else ops.square(x)


def _reflect(window: Any, v: Any, tau: Any) -> None:
    """window <- (1 - tau v v^H) window."""
    column = ops.unsqueeze(v, -1)
    product = ops.matmul(adjoint(column), window)
    window[...] = window - column * product * ops.unsqueeze(ops.unsqueeze(tau, -1), -1)


def reflected(vectors: Any, tau: Any, columns: int) -> Any:
    """The first columns of H_1 H_2 ... H_k."""
    rows = vectors.shape[-2]
    q = identity(vectors, rows, columns)
    for k in reversed(range(tau.shape[-1])):
        t = tau[..., k]
        v = ops.cat([ops.ones_like(ops.unsqueeze(t, -1)), vectors[..., k + 1 :, k]], -1)
        _reflect(q[..., k:, :], v, t)
    return q


def qr(input: Any, mode: str) -> tuple[Any, Any]:
    """Q R by Householder reflections; "r" gives an empty Q."""
    rows, columns = input.shape[-2:]
    count = min(rows, columns)
    stored, tau = reflections(input)
    if mode == "r":
        return sizes(input, 0), ops.contiguous(ops.triu(stored[..., :count, :]))
    width = rows if mode == "complete" else count
    return reflected(stored, tau, width), ops.contiguous(ops.triu(stored[..., :width, :]))
