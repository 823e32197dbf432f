"""Factorisations against PyTorch, where factors have a free sign, phase or order: functions of them that have none.

Values in all four dtypes; first and second gradients in double precision. All are within the class "factorised" on both
sides, ours and PyTorch's, second gradients within twice that: they divide by the gaps of values once more. At most
110, 60 and 950 of the 1024, 1024 and 2048 units of the largest element are seen.

A gradient that would fill a triangle which is not read is taken of a matrix whose triangle is made by `tril`, `triu` or
by adding the adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora
from tenora_ops.tolerance import TOLERANCES

pytestmark = pytest.mark.oracle

DTYPES = ("float32", "float64", "complex64", "complex128")
SQUARE = ((3, 3), (1, 1), (2, 4, 4), (2, 1, 2, 2), (0, 3, 3), (2, 0, 0))
RECTANGULAR = (*SQUARE, (5, 3), (3, 5), (2, 2, 4), (2, 4, 2), (0, 3), (3, 0))
BOTH = 2.0  # both sides round
#: A function of a matrix (and the module that computes) that has no free sign, phase or order.
Invariant = Callable[[Any, Any], list[Any]]


def hermitian(a: Any) -> Any:
    return (a + a.mH) / 2


def eigh(uplo: str) -> Invariant:
    def run(m: Any, a: Any) -> list[Any]:
        w, v = m.linalg.eigh(hermitian(a), uplo)
        return [w, (v * m.exp(w).unsqueeze(-2)) @ v.mH, v.abs()]

    return run


def svd(m: Any, a: Any) -> list[Any]:
    u, s, vh = m.linalg.svd(a, full_matrices=False)
    return [s, (u * (s * s).unsqueeze(-2)) @ vh, u.abs(), vh.abs(), u @ vh]


def old_svd(m: Any, a: Any) -> list[Any]:
    u, s, v = m.svd(a)
    return [s, (u * (s * s).unsqueeze(-2)) @ v.mH, v.abs()]


def full_svd(m: Any, a: Any) -> list[Any]:
    """The first columns alone: those beyond the rank span a space of which any basis may be taken."""
    u, s, vh = m.linalg.svd(a, full_matrices=True)
    return [s, u[..., : s.shape[-1]].abs(), u @ u.mH, vh @ vh.mH]


def eig(m: Any, a: Any) -> list[Any]:
    w, v = m.linalg.eig(a)
    squares = (v * (w * w).unsqueeze(-2)) @ m.linalg.inv(v)
    return [squares, (w * w * w).sum(-1), (v.abs() ** 3 * (w.abs() ** 2).unsqueeze(-2)).sum(-1)]


def eigvals(m: Any, a: Any) -> list[Any]:
    w = m.linalg.eigvals(a)
    return [w.sum(-1), (w * w).sum(-1), (w.abs() ** 2).sum(-1)]


def qr(m: Any, a: Any) -> list[Any]:
    q, r = m.linalg.qr(a)
    return [r.abs(), q.abs(), q @ q.mH, q @ r]


def positive(m: Any, a: Any) -> Any:
    """A positive definite matrix made from any."""
    eye = m.eye(a.shape[-1], dtype=a.dtype)
    return a @ a.mH + 2 * eye


def factor(m: Any, a: Any, upper: bool) -> Any:
    """A Cholesky factor has a real, positive diagonal."""
    return (m.triu(a, 1) if upper else m.tril(a, -1)) + 2 * m.eye(a.shape[-1], dtype=a.dtype)


def cholesky_solve(upper: bool) -> Invariant:
    return lambda m, a: [m.cholesky_solve(a[..., :2] * 2, factor(m, a, upper), upper)]


def cholesky_inverse(upper: bool) -> Invariant:
    return lambda m, a: [m.cholesky_inverse(factor(m, a, upper), upper)]


INVARIANTS: dict[str, tuple[Invariant, tuple[tuple[int, ...], ...]]] = {
    "eigh, lower": (eigh("L"), SQUARE),
    "eigh, upper": (eigh("U"), SQUARE),
    "eigvalsh": (lambda m, a: [m.linalg.eigvalsh(hermitian(a))], SQUARE),
    "svd": (svd, RECTANGULAR),
    "svd, full": (full_svd, RECTANGULAR),
    "svd by its older name": (old_svd, RECTANGULAR),
    "svdvals": (lambda m, a: [m.linalg.svdvals(a)], RECTANGULAR),
    "eig": (eig, SQUARE),
    "eigvals": (eigvals, SQUARE),
    "qr": (qr, RECTANGULAR),
    "cholesky": (
        lambda m, a: [m.linalg.cholesky(positive(m, a)), m.linalg.cholesky(positive(m, a), upper=True)],
        SQUARE,
    ),
    "cholesky_solve, lower": (cholesky_solve(False), SQUARE),
    "cholesky_solve, upper": (cholesky_solve(True), SQUARE),
    "cholesky_inverse, lower": (cholesky_inverse(False), SQUARE),
    "cholesky_inverse, upper": (cholesky_inverse(True), SQUARE),
    "lu": (lambda m, a: list(m.linalg.lu(a)), RECTANGULAR),
    "lu_factor": (lambda m, a: [m.linalg.lu_factor(a)[0]], RECTANGULAR),
    "lstsq": (lambda m, a: [m.linalg.lstsq(a, a[..., :1] * 2 + 1)[0]], ((5, 3), (3, 3), (2, 4, 2))),
    "pinv": (lambda m, a: [m.linalg.pinv(a)], RECTANGULAR),
    "pinv, hermitian": (lambda m, a: [m.linalg.pinv(positive(m, a), hermitian=True)], SQUARE),
    "matrix_norm": (
        lambda m, a: [m.linalg.matrix_norm(a, p) for p in ("nuc", 2, -2, "fro", 1)],
        ((3, 3), (2, 2, 4), (5, 3)),
    ),
    "cond": (lambda m, a: [m.linalg.cond(a), m.linalg.cond(a, -2)], ((3, 3), (2, 2, 4), (5, 3))),
    "slogdet": (lambda m, a: list(m.linalg.slogdet(a)), SQUARE),
    "matrix_exp": (lambda m, a: [m.linalg.matrix_exp(a)], SQUARE),
}
#: Values alone: PyTorch's gradient takes a basis beyond the rank for a phase.
WITHOUT_GRADIENT = {"svd, full"}


def matrices(shape: tuple[int, ...], dtype: str) -> Any:
    """Well-conditioned: singular values and eigenvalues keep apart."""
    rng = np.random.default_rng([7, *shape])
    a = rng.normal(size=shape)
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=shape)
    rows, columns = shape[-2:]
    a = a + np.eye(rows, columns) * (1 + np.arange(columns)) * 1.5
    return np.asarray(a.astype(dtype))


def close(ours: Any, theirs: Any, factor: float, what: str) -> None:
    left = np.zeros(theirs.shape) if ours is None else ours.detach().numpy()
    right = theirs.detach().resolve_conj().numpy()
    assert ours is None or left.dtype == right.dtype, what
    scale = float(np.abs(right).max(initial=1.0))
    rtol, atol = TOLERANCES["factorised"].bounds(right.dtype.name, scale)
    np.testing.assert_allclose(left, right, rtol=factor * rtol, atol=factor * atol, err_msg=what)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INVARIANTS)
def test_values(name: str, dtype: str, backend: str) -> None:
    invariant, shapes = INVARIANTS[name]
    for shape in shapes:
        a = matrices(shape, dtype)
        ours, theirs = invariant(tenora, tenora.from_numpy(a)), invariant(torch, torch.from_numpy(a))
        for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            close(left, right, BOTH, f"{name} of {dtype}{list(shape)}, result {number}")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", [name for name in INVARIANTS if name not in WITHOUT_GRADIENT])
def test_gradients(name: str, dtype: str, backend: str) -> None:
    invariant, shapes = INVARIANTS[name]
    for shape in shapes:
        found = []
        for module in (tenora, torch):
            x = module.from_numpy(matrices(shape, dtype)).requires_grad_()
            total = sum(weighted(module, t, i) for i, t in enumerate(invariant(module, x)) if t.requires_grad)
            (first,) = module.autograd.grad(total, [x], create_graph=True)
            second = None  # of an empty matrix
            if first.requires_grad:
                (second,) = module.autograd.grad(weighted(module, first, 9), [x], allow_unused=True)
            found.append((first, second))
        (first, second), (wanted, wanted_second) = found
        close(first, wanted, BOTH, f"{name} of {dtype}{list(shape)}, gradient")
        if wanted_second is not None:
            close(second, wanted_second, 2 * BOTH, f"{name} of {dtype}{list(shape)}, second gradient")


def weighted(module: Any, tensor: Any, seed: int) -> Any:
    """A real number that depends on every part of every element."""
    rng = np.random.default_rng(seed)
    weight = module.from_numpy(np.asarray(rng.uniform(0.5, 1.5, tuple(tensor.shape))))
    if tensor.is_complex():
        other = module.from_numpy(np.asarray(rng.uniform(0.5, 1.5, tuple(tensor.shape))))
        return (tensor.real * weight).sum() + (tensor.imag * other).sum()
    return (tensor * weight).sum()
