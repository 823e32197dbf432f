"""Eigenvalues and singular values by Jacobi rotations, over other ops.

- All disjoint pairs of columns are turned at once (round robin: n - 1 rounds are a sweep), in every matrix of a stack.
- Rotations: Golub and Van Loan, Matrix Computations, 4th edition, 8.5.2; complex pairs are turned to a real one first.
"""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.linalg_steps import (
    SWEEPS,
    adjoint,
    epsilon,
    identity,
    qr,
    real_dtype,
    real_part,
    sizes,
    transposed,
)

Columns = tuple[list[int], list[int], list[int]]


def rounds(n: int) -> list[Columns]:
    """Pairs of a round-robin tournament: (left, right, idle) for every round."""
    players: list[int | None] = [*range(n), *([None] if n % 2 else [])]
    found: list[Columns] = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = list(zip(players[:half], reversed(players[half:]), strict=True))
        met = [(a, b) for a, b in pairs if a is not None and b is not None]
        idle = [x for pair in pairs if None in pair for x in pair if x is not None]
        found.append(([a for a, _ in met], [b for _, b in met], idle))
        players = [players[0], players[-1], *players[1:-1]]
    return found


class Round:
    """The columns of one round, as index tensors on a device."""

    def __init__(self, columns: Columns, device: Any) -> None:
        left, right, idle = columns
        order = [*left, *right, *idle]
        back = [order.index(i) for i in range(len(order))]
        self.left, self.right, self.idle, self.back = (
            _engine.as_tensor_data(i, dtype=_engine.int64, device=device) if i else None
            for i in (left, right, idle, back)
        )

    def turned(self, x: Any, c: Any, s: Any, phase: Any) -> Any:
        """x with every pair of columns turned: p' = c p - s q conj(phase), q' = s p + c q conj(phase)."""
        p, q = ops.index_select(x, -1, self.left), ops.index_select(x, -1, self.right)
        q = q * ops.conj(phase)
        parts = [p * c - q * s, p * s + q * c]
        if self.idle is not None:
            parts.append(ops.index_select(x, -1, self.idle))
        return ops.index_select(ops.cat(parts, -1), -1, self.back)


def rotation(p: Any, q: Any, cross: Any, floor: Any) -> tuple[Any, Any, Any, Any]:
    """cos, sin and phase that make the 2 x 2 matrix [[p, cross], [conj(cross), q]] diagonal, and what was small."""
    size = ops.abs(cross)
    small = ops.le(size, floor)
    safe = ops.where(small, 1.0, size)
    tau = (q - p) / (safe * 2)
    t = ops.where(ops.ge(tau, 0), 1.0, -1.0) / (ops.abs(tau) + ops.sqrt(ops.square(tau) + 1))
    t = ops.where(small, 0.0, t)
    c = 1 / ops.sqrt(ops.square(t) + 1)
    phase = ops.where(small, 1.0, cross / safe)
    return ops.to(c, p.dtype), ops.to(t * c, p.dtype), ops.to(phase, cross.dtype), small


def unit_phase(vectors: Any) -> Any:
    """Per column, the conjugate phase of its first component within a tenth of the largest one."""
    if 0 in vectors.shape:
        return (
            ops.ones_like(vectors[..., :1, :]) if vectors.shape[-2] else sizes(vectors, 1, vectors.shape[-1])
        )
    size = ops.abs(vectors)
    near = ops.ge(size, ops.amax(size, [-2], True) * 0.9)
    first = ops.argmax(ops.to(near, _engine.int32), -2, True)
    chosen = ops.gather(vectors, -2, first)
    length = ops.abs(chosen)
    return ops.conj(ops.where(ops.gt(length, 0), chosen / ops.where(ops.gt(length, 0), length, 1.0), 1.0))


def check_finite(name: str, sizes_: Any) -> None:
    """Refuses infinite and NaN moduli, on which no iteration ends; reads data."""
    if not bool(ops.all(ops.isfinite(sizes_))):
        raise errors.LinAlgError(
            f"[{name}] does not converge: got infinite or NaN elements, expected numbers. Check the operand.",
            op=name,
        )


def _hermitian(input: Any, uplo: str) -> Any:
    """The whole matrix from one triangle."""
    lower = ops.tril(input, -1) if uplo == "L" else adjoint(ops.triu(input, 1))
    middle = ops.diagonal(input, 0, -2, -1)
    if input.dtype.is_complex:
        middle = ops.to(ops.real(middle), input.dtype)
    n = input.shape[-1]
    return (
        lower
        + adjoint(lower)
        + ops.eye(n, dtype=input.dtype, device=input.device) * ops.unsqueeze(middle, -1)
    )


def _scaled(a: Any, name: str) -> tuple[Any, Any]:
    """a over its largest modulus, which counts as 1 where it is 0; refuses what rotations would never end on."""
    largest = ops.amax(ops.abs(a), [-2, -1], True)
    check_finite(name, largest)
    largest = ops.where(ops.gt(largest, 0), largest, 1.0)
    return a / largest, ops.squeeze(largest, [-2, -1]) if a.ndim > 2 else ops.reshape(largest, [])


def eigh(input: Any, uplo: str, name: str = "linalg.eigh") -> tuple[Any, Any]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, by two-sided Jacobi rotations."""
    n, real = input.shape[-1], real_dtype(input.dtype)
    if 0 in input.shape:
        return sizes(input, n, dtype=real), ops.clone(input)
    a, scale = _scaled(_hermitian(input, uplo.upper()), name)
    vectors = identity(input, n, n)
    every = [Round(columns, input.device) for columns in rounds(n)] if n > 1 else []
    limit = epsilon(input.dtype) * 0.25
    for _ in range(SWEEPS):
        rest = True
        for turn in every:
            a, vectors, small = _eigh_round(a, vectors, turn, limit)
            rest = ops.logical_and(small, rest) if rest is not True else small
        if rest is True or bool(rest):
            break
    values, order = ops.sort(real_part(ops.diagonal(a, 0, -2, -1)), -1)
    vectors = ops.gather(vectors, -1, ops.expand(ops.unsqueeze(order, -2), vectors.shape))
    return values * ops.unsqueeze(scale, -1), vectors * unit_phase(vectors)


def _eigh_round(a: Any, vectors: Any, turn: Round, limit: float) -> tuple[Any, Any, Any]:
    diagonal = real_part(ops.diagonal(a, 0, -2, -1))
    p, q = ops.index_select(diagonal, -1, turn.left), ops.index_select(diagonal, -1, turn.right)
    rows = ops.index_select(a, -2, turn.left)
    cross = ops.diagonal(ops.index_select(rows, -1, turn.right), 0, -2, -1)
    c, s, phase, small = rotation(p, q, cross, limit)
    c, s, phase = (ops.unsqueeze(x, -2) for x in (c, s, phase))
    a = turn.turned(a, c, s, phase)
    a = adjoint(turn.turned(adjoint(a), c, s, phase))
    return a, turn.turned(vectors, c, s, phase), ops.all(small)


def svd(input: Any, full_matrices: bool, name: str = "linalg.svd") -> tuple[Any, Any, Any]:
    """U, S (descending), V^H by one-sided Jacobi rotations of the shorter side's columns."""
    rows, columns = input.shape[-2:]
    if rows < columns:
        u, s, vh = _svd_tall(adjoint(input), full_matrices, name)
        u, vh = adjoint(vh), adjoint(u)
    else:
        u, s, vh = _svd_tall(input, full_matrices, name)
    phase = unit_phase(u)
    count = min(rows, columns)
    paired = transposed(ops.conj(phase))
    rest = vh[..., count:, :] * ops.conj(unit_phase(adjoint(vh[..., count:, :]))).transpose(-2, -1)
    if columns > count:
        vh = ops.cat([vh[..., :count, :] * paired[..., :count, :], rest], -2)
    else:
        vh = vh * paired[..., :count, :]
    return ops.contiguous(u * phase), s, ops.contiguous(vh)


def _svd_tall(input: Any, full_matrices: bool, name: str) -> tuple[Any, Any, Any]:
    """rows >= columns."""
    rows, n = input.shape[-2:]
    width = rows if full_matrices else n
    if 0 in input.shape:
        return (
            identity(input, rows, width),
            sizes(input, n, dtype=real_dtype(input.dtype)),
            identity(input, n, n),
        )
    a, scale = _scaled(input, name)
    vectors = identity(input, n, n)
    every = [Round(columns, input.device) for columns in rounds(n)] if n > 1 else []
    for _ in range(SWEEPS):
        rest = True
        for turn in every:
            a, vectors, small = _svd_round(a, vectors, turn)
            rest = ops.logical_and(small, rest) if rest is not True else small
        if rest is True or bool(rest):
            break
    values, order = ops.sort(_lengths(a), -1, True)
    a = ops.gather(a, -1, ops.expand(ops.unsqueeze(order, -2), a.shape))
    vectors = ops.gather(vectors, -1, ops.expand(ops.unsqueeze(order, -2), vectors.shape))
    # Columns are orthogonal: their QR has a diagonal R, and completes Q where they vanish.
    u, r = qr(a, "complete" if full_matrices else "reduced")
    sign = ops.where(ops.lt(real_part(ops.diagonal(r, 0, -2, -1)), 0), -1.0, 1.0)
    u[..., :n] = u[..., :n] * ops.unsqueeze(sign, -2)
    return u, values * ops.unsqueeze(scale, -1), adjoint(vectors)


def _lengths(a: Any) -> Any:
    squares = ops.square(ops.real(a)) + ops.square(ops.imag(a)) if a.dtype.is_complex else ops.square(a)
    return ops.sqrt(ops.sum(squares, [-2]))


def _svd_round(a: Any, vectors: Any, turn: Round) -> tuple[Any, Any, Any]:
    left, right = ops.index_select(a, -1, turn.left), ops.index_select(a, -1, turn.right)
    p, q = ops.square(_lengths(left)), ops.square(_lengths(right))
    cross = ops.sum(ops.conj(left) * right, [-2])
    floor = ops.sqrt(p) * ops.sqrt(q) * (epsilon(a.dtype) * a.shape[-2])
    c, s, phase, small = rotation(p, q, cross, floor)
    c, s, phase = (ops.unsqueeze(x, -2) for x in (c, s, phase))
    return turn.turned(a, c, s, phase), turn.turned(vectors, c, s, phase), ops.all(small)
