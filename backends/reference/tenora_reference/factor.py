"""Factorisations, solutions and determinants through NumPy's LAPACK.

- A stack that holds one bad matrix is done matrix by matrix: `info` says which pivot failed, as LAPACK does.
- Eigenvectors and left singular vectors are turned so that their first component within a tenth of the largest one is
  real and positive: the rule of the ops, which makes them the same on every backend.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tenora_dispatch import errors
from tenora_reference.dtypes import Array
from tenora_reference.quiet import silent

Triangle = Literal["L", "U"]


def _adjoint(x: Array) -> Array:
    return np.swapaxes(x, -1, -2).conj()


def _each(
    function: Callable[[Array], Array], matrices: Array, info: Array, bad: Callable[[Array], int]
) -> Array:
    """`function` of a whole stack; where LAPACK refuses one of its matrices, of each alone."""
    info[...] = 0
    try:
        return function(matrices)
    except np.linalg.LinAlgError:
        out = np.zeros_like(matrices)
        for index in np.ndindex(matrices.shape[:-2]):
            try:
                out[index] = function(matrices[index])
            except np.linalg.LinAlgError:
                info[index] = bad(matrices[index])
        return out


def _first_indefinite(matrix: Array) -> int:
    """The order of the first leading minor that is not positive definite."""
    for k in range(1, len(matrix)):
        try:
            np.linalg.cholesky(matrix[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return len(matrix)


def cholesky(input: Array, *, upper: bool, check_errors: bool, out: tuple[Array, Array]) -> None:
    """L with input = L L^H; only one triangle is read."""
    factor, info = out
    given = _adjoint(input) if upper else input
    found = _each(np.linalg.cholesky, given, info, _first_indefinite)
    lost = np.isnan(np.diagonal(found, axis1=-2, axis2=-1))  # NumPy lets NaN pass
    if lost.any():
        np.copyto(info, np.argmax(lost, axis=-1) + 1, where=lost.any(axis=-1), casting="unsafe")
    np.copyto(factor, _adjoint(found) if upper else found)


@silent
def _eliminate(lu: Array, pivots: Array, info: Array, pivot: bool) -> None:
    """Gaussian elimination of a whole stack, in place."""
    rows = np.arange(lu.shape[-2])
    info[...] = 0
    for k in range(min(lu.shape[-2:])):
        if pivot:
            column = lu[..., k:, k]
            best = k + np.argmax(np.abs(column.real) + np.abs(column.imag), axis=-1)
        else:
            best = np.full(lu.shape[:-2], k)
        pivots[..., k] = best + 1
        b = best[..., None]
        order = np.where(rows == k, b, np.where(rows == b, k, rows))
        lu[...] = np.take_along_axis(lu, order[..., None], axis=-2)
        top = lu[..., k, k]
        info[...] = np.where((top == 0) & (info == 0), k + 1, info)
        lu[..., k + 1 :, k] /= np.where(top == 0, 1, top)[..., None]
        lu[..., k + 1 :, k + 1 :] -= lu[..., k + 1 :, k : k + 1] * lu[..., k : k + 1, k + 1 :]


def lu_factor(A: Array, *, pivot: bool, check_errors: bool, out: tuple[Array, Array, Array]) -> None:
    """L and U in one matrix, 1-based exchanges, the first zero pivot."""
    lu, pivots, info = out
    work = np.array(A)
    _eliminate(work, pivots, info, pivot)
    np.copyto(lu, work)


def _first_zero_pivot(matrix: Array) -> int:
    pivots, info = np.zeros(len(matrix), np.int32), np.zeros((), np.int32)
    _eliminate(np.array(matrix), pivots, info, True)
    return int(info) or len(matrix)


def inverse(A: Array, *, out: tuple[Array, Array]) -> None:
    """The inverse."""
    result, info = out
    np.copyto(result, _each(np.linalg.inv, A, info, _first_zero_pivot))


def solve(A: Array, B: Array, *, out: tuple[Array, Array]) -> None:
    """A^-1 B."""
    result, info = out
    info[...] = 0
    try:
        np.copyto(result, np.linalg.solve(A, B))
    except np.linalg.LinAlgError:
        for index in np.ndindex(A.shape[:-2]):
            try:
                result[index] = np.linalg.solve(A[index], B[index])
            except np.linalg.LinAlgError:
                result[index], info[index] = 0, _first_zero_pivot(A[index])


def solve_triangle(A: Array, B: Array, *, upper: bool, left: bool, unitriangular: bool, out: Array) -> None:
    """Substitution, row by row: NumPy has no triangular solver, and a general one would mix rows that may overflow."""
    if not left:
        A, B, out = np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2), np.swapaxes(out, -1, -2)
        upper = not upper
    np.copyto(out, B)
    _substitute(A, out, upper, unitriangular)


@silent
def _substitute(a: Array, x: Array, upper: bool, unitriangular: bool) -> None:
    n = a.shape[-1]
    for k in reversed(range(n)) if upper else range(n):
        known = slice(k + 1, None) if upper else slice(0, k)
        x[..., k : k + 1, :] -= a[..., k : k + 1, known] @ x[..., known, :]
        if not unitriangular:
            x[..., k : k + 1, :] /= a[..., k : k + 1, k : k + 1]


def qr(A: Array, *, mode: Literal["reduced", "complete", "r"], out: tuple[Array, Array]) -> None:
    """Householder reflections."""
    q, r = out
    if mode == "r":
        np.copyto(r, np.linalg.qr(A, mode="r"))
        return
    found = np.linalg.qr(A, mode=mode)
    np.copyto(q, found[0])
    np.copyto(r, found[1])


def _phases(vectors: Array) -> Array:
    """One row: the conjugate phase of the leading component of each column."""
    if not vectors.size:
        return np.ones((*vectors.shape[:-2], 1, vectors.shape[-1]), vectors.dtype)
    size = np.abs(vectors)
    first = (size >= 0.9 * size.max(axis=-2, keepdims=True)).argmax(axis=-2, keepdims=True)
    chosen = np.take_along_axis(vectors, first, axis=-2)
    length = np.abs(chosen)
    return np.where(length > 0, chosen / np.where(length > 0, length, 1), 1).conj().astype(vectors.dtype)


def _converging(name: str, function: Callable[..., Any], matrices: Array, **options: Any) -> Any:
    """What LAPACK gives, or tenora's error where it does not converge: with infinities it may never end."""
    cause = None
    try:
        if np.isfinite(matrices).all():
            return function(matrices, **options)
    except np.linalg.LinAlgError as error:
        cause = error
    raise errors.LinAlgError(
        f"[{name}] does not converge: got infinite or NaN elements, expected numbers. Check the operand.",
        op=name,
    ) from cause


def _triangle(a: Array, uplo: str) -> Array:
    """The triangle that is read: the other one may hold anything."""
    return np.tril(a) if uplo.upper() == "L" else np.triu(a)


def eigh(A: Array, *, UPLO: Triangle, out: tuple[Array, Array]) -> None:
    """Ascending eigenvalues and eigenvectors."""
    w, v = _converging("linalg.eigh", np.linalg.eigh, _triangle(A, UPLO), UPLO=UPLO)
    np.copyto(out[0], w)
    np.copyto(out[1], v * _phases(v))


def eigvalsh(A: Array, *, UPLO: Triangle, out: Array) -> None:
    """Ascending eigenvalues."""
    np.copyto(out, _converging("linalg.eigvalsh", np.linalg.eigvalsh, _triangle(A, UPLO), UPLO=UPLO))


def svd(A: Array, *, full_matrices: bool, driver: str | None, out: tuple[Array, Array, Array]) -> None:
    """U, descending singular values, V^H."""
    u, s, vh = _converging("linalg.svd", np.linalg.svd, A, full_matrices=full_matrices)
    count = s.shape[-1]
    left = _phases(u)
    right = _phases(_adjoint(vh)).conj()
    right[..., :count] = left[..., :count].conj()
    np.copyto(out[0], u * left)
    np.copyto(out[1], s)
    np.copyto(out[2], vh * np.swapaxes(right, -1, -2))


def svdvals(A: Array, *, driver: str | None, out: Array) -> None:
    """Singular values, descending."""
    np.copyto(out, _converging("linalg.svdvals", np.linalg.svd, A, compute_uv=False))


def eig(A: Array, *, out: tuple[Array, Array]) -> None:
    """Eigenvalues in the order of re + 0.618 im, and eigenvectors of length 1."""
    w, v = _converging("linalg.eig", np.linalg.eig, A)
    order = np.argsort(w.real + 0.618 * w.imag, axis=-1, kind="stable")
    v = np.take_along_axis(v, order[..., None, :], axis=-1)
    np.copyto(out[0], np.take_along_axis(w, order, axis=-1))
    np.copyto(out[1], v * _phases(v))


@silent
def det(A: Array, *, out: Array) -> None:
    """The determinant."""
    np.copyto(out, np.linalg.det(A))


@silent
def slogdet(A: Array, *, out: tuple[Array, Array]) -> None:
    """Sign and logarithm of the modulus of the determinant."""
    sign, size = np.linalg.slogdet(A)
    np.copyto(out[0], sign)
    np.copyto(out[1], size)


KERNELS: dict[str, Callable[..., Any]] = {
    "linalg_cholesky_ex": cholesky,
    "linalg_lu_factor_ex": lu_factor,
    "inverse_matrices": inverse,
    "solve_matrices": solve,
    "solve_triangle": solve_triangle,
    "linalg_qr": qr,
    "linalg_eigh": eigh,
    "linalg_eigvalsh": eigvalsh,
    "linalg_eig": eig,
    "linalg_svd": svd,
    "linalg_svdvals": svdvals,
    "linalg_det": det,
    "linalg_slogdet": slogdet,
}
