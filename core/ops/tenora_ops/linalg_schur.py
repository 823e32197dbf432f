"""Eigenvalues and eigenvectors of general matrices: the shifted QR algorithm over other ops, then back substitution.

- A whole stack works on the same row at once; matrices whose row is done take steps that change nothing.
- Steps: Golub and Van Loan, Matrix Computations, 4th edition, 7.5 (Wilkinson's shift, deflation), on complex numbers
  throughout: no real 2 x 2 blocks.
- Eigenvalues come in the order of re + 0.618 im, eigenvectors have length 1 and the phase of `linalg_jacobi`: a rule
  that any backend can follow.
"""

from __future__ import annotations

from typing import Any

from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.linalg_jacobi import check_finite, unit_phase
from tenora_ops.linalg_steps import adjoint, epsilon, identity, qr, real_dtype, real_part

TRIES = 60  # QR steps per row; two or three are usual
GOLDEN = 0.618


def complex_dtype(dtype: Any) -> Any:
    """The complex dtype of the same precision."""
    return _engine.complex128 if real_dtype(dtype) == _engine.float64 else _engine.complex64


def _shift(t: Any, last: int, count: int) -> Any:
    """The eigenvalue of the last 2 x 2 block that is nearer to its corner; an odd one now and then, against cycles."""
    a, b = t[..., last - 1, last - 1], t[..., last - 1, last]
    c, d = t[..., last, last - 1], t[..., last, last]
    if count % 11 == 10:
        return d + ops.abs(c)
    half = (a - d) * 0.5
    root = ops.sqrt(half * half + b * c)
    plus, minus = half + root, half - root
    larger = ops.where(ops.ge(ops.abs(plus), ops.abs(minus)), plus, minus)
    safe = ops.where(ops.eq(larger, 0), 1.0, larger)
    return d - ops.where(ops.eq(larger, 0), 0.0, b * c / safe)


def _step(t: Any, z: Any, last: int, count: int) -> None:
    """One QR step on the leading block, in place."""
    size = last + 1
    shift = ops.unsqueeze(ops.unsqueeze(_shift(t, last, count), -1), -1)
    block = t[..., :size, :size] - identity(t, size, size) * shift
    q, _ = qr(block, "complete")
    t[..., :, :size] = ops.matmul(t[..., :, :size], q)
    t[..., :size, :] = ops.matmul(adjoint(q), t[..., :size, :])
    z[..., :, :size] = ops.matmul(z[..., :, :size], q)


def schur(a: Any) -> tuple[Any, Any]:
    """Upper triangular T and unitary Z with a = Z T Z^H, for complex a."""
    n = a.shape[-1]
    t, z = ops.clone(a), identity(a, n, n)
    for last in range(n - 1, 0, -1):
        for count in range(TRIES):
            row = ops.sum(ops.abs(t[..., last, :last]), [-1])
            scale = ops.abs(t[..., last, last]) + ops.abs(t[..., last - 1, last - 1])
            if bool(ops.all(ops.le(row, scale * epsilon(a.dtype)))):
                break
            _step(t, z, last, count)
        t[..., last, :last] = 0
    return t, z


def _triangular_vectors(t: Any) -> Any:
    """Eigenvectors of an upper triangular matrix, one column each; equal eigenvalues are held apart by epsilon."""
    n = t.shape[-1]
    x = identity(t, n, n)
    values = ops.diagonal(t, 0, -2, -1)
    least = ops.amax(ops.abs(values), [-1], True) * epsilon(t.dtype)
    least = ops.where(ops.gt(least, 0), least, epsilon(t.dtype))
    for k in range(n - 2, -1, -1):
        # Row k of (T - lambda_j) x_j = 0, for all columns j > k at once.
        known = ops.matmul(t[..., k : k + 1, k + 1 :], x[..., k + 1 :, k + 1 :])
        apart = ops.unsqueeze(values[..., k + 1 :] - values[..., k : k + 1], -2)
        floor = ops.unsqueeze(least, -1)
        apart = ops.where(ops.lt(ops.abs(apart), floor), ops.to(floor, t.dtype), apart)
        x[..., k : k + 1, k + 1 :] = known / apart
    return x


def normalised(vectors: Any) -> Any:
    """Columns of length one, with the phase that is the rule."""
    size = ops.abs(vectors)
    largest = ops.amax(size, [-2], True)
    vectors = vectors / largest
    length = ops.sqrt(ops.sum(ops.square(ops.abs(vectors)), [-2], True))
    vectors = vectors / length
    return vectors * unit_phase(vectors)


def eig(input: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors, complex."""
    a = ops.clone(ops.to(input, complex_dtype(input.dtype)))
    if not a.numel():
        return ops.clone(a[..., 0, :]) if a.shape[-1] else ops.zeros(
            a.shape[:-1], dtype=a.dtype, device=a.device
        ), a
    check_finite("linalg.eig", ops.abs(a))
    t, z = schur(a)
    values = ops.clone(ops.diagonal(t, 0, -2, -1))
    order = ops.argsort(real_part(values) + ops.imag(values) * GOLDEN, -1)
    vectors = normalised(ops.matmul(z, _triangular_vectors(t)))
    vectors = ops.gather(vectors, -1, ops.expand(ops.unsqueeze(order, -2), vectors.shape))
    return ops.gather(values, -1, order), vectors
