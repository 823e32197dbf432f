"""Factorisations: Cholesky, LU, QR, eigenvalues of Hermitian matrices, singular values.

- Each is one node on the tape. Its Python (`linalg_steps`, `linalg_jacobi`) runs where a backend has no kernel.
- Gradients: Giles 2008, An extended collection of matrix derivative results (Cholesky, eigenvalues); Townsend 2016,
  Differentiating the singular value decomposition; Walter and Lehmann 2018 and Roberts and Roberts 2020 (QR), all in
  the conjugate convention. Where values coincide, the rotation among them gets no gradient.
"""

from __future__ import annotations

from typing import Any

from tenora_engine import _engine
from tenora_ops import linalg_jacobi, linalg_steps
from tenora_ops.formula import ops
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import (
    FACTOR,
    PARTS,
    H,
    Operands,
    check_dtype,
    check_info,
    check_matrix,
    definite,
    mask,
    oblong,
    product,
    real_only,
    refuse,
    same_dtypes,
    spread,
    square_shapes,
    stacked,
    symmetric,
    turn,
    without_elements,
)
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample


def _mirrored_triangle(x: Any) -> Any:
    """The lower triangle, and its adjoint above it."""
    return ops.tril(x) + H(ops.tril(x, -1))


def _cholesky_gradient(g: Any, x: Any, factor: Any, info: Any, upper: bool) -> Any:
    if upper:
        factor, g = H(factor), H(g)
    inner = _mirrored_triangle(product(H(factor), ops.tril(g)))
    left = ops.solve_triangle(H(factor), inner, upper=True)
    return ops.solve_triangle(factor, left, upper=False, left=False) * 0.5


def _upper_too(draw: Draw) -> list[Sample]:
    return [*definite(draw), sample(definite(draw)[0].arguments[0], upper=True)]


def _cholesky_factors(input: Any, check_errors: bool, upper: bool, name: str = "linalg.cholesky_ex") -> Any:
    factor, info = ops.linalg_cholesky_ex(input, upper=upper)
    if check_errors:
        check_info(name, info, "is not positive definite")
    return factor, info


def _asked(samples: Any) -> Any:
    """The same samples, with a check."""
    return lambda draw: [sample(*s.arguments, check_errors=True, **s.options) for s in samples(draw)]


# A call that names check_errors takes this form; kernels are those of the next.
linalg_cholesky_ex_checked = op(
    "linalg_cholesky_ex_checked(input: Tensor, *, check_errors: bool, upper: bool = False) -> (Tensor, Tensor)",
    family=PARTS,
    function=_cholesky_factors,
    samples=_asked(_upper_too),
    hermitian=True,
    oracle=lambda x, check_errors, upper=False: stacked(
        lambda a: (decompositions.cholesky(a, lower=not upper), np.int32(0)), x
    ),
    doc="linalg.cholesky_ex; with check_errors LinAlgError where input is not positive definite.",
    example="tenora.linalg.cholesky_ex(tenora.eye(3), check_errors=True).info",
    public="linalg.cholesky_ex",
    result=("L", "info"),
    out=True,
)
linalg_cholesky_ex = op(
    "linalg_cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.cholesky_ex", "vi"),
    shape=square_shapes("linalg.cholesky_ex", "ms"),
    function=linalg_steps.cholesky,
    vjp=_cholesky_gradient,
    not_differentiable=(1,),
    samples=_upper_too,
    hermitian=True,
    oracle=lambda x, upper=False: stacked(
        lambda a: (decompositions.cholesky(a, lower=not upper), np.int32(0)), x
    ),
    doc="L with input = L L^H (or U with U^H U), and the number of the first pivot that is not positive.",
    example="tenora.linalg.cholesky_ex(tenora.eye(3)).L",
    public="linalg.cholesky_ex",
    result=("L", "info"),
    out=True,
)


def _cholesky(input: Any, upper: bool) -> Any:
    return _cholesky_factors(input, True, upper, "linalg.cholesky")[0]


linalg_cholesky = op(
    "linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor",
    family=PARTS,
    function=_cholesky,
    samples=_upper_too,
    hermitian=True,
    oracle=lambda x, upper=False: stacked(lambda a: decompositions.cholesky(a, lower=not upper), x),
    doc="L with input = L L^H, or U with input = U^H U; LinAlgError where input is not positive definite.",
    example="tenora.linalg.cholesky(tenora.tensor([[4.0, 2.0], [2.0, 3.0]]))",
    public="linalg.cholesky",
    out=True,
)
cholesky = op(
    "cholesky(input: Tensor, upper: bool = False) -> Tensor",
    family=PARTS,
    function=_cholesky,
    samples=lambda draw: [*definite(draw), sample(definite(draw)[0].arguments[0], True)],
    hermitian=True,
    oracle=lambda x, upper=False: stacked(lambda a: decompositions.cholesky(a, lower=not upper), x),
    doc="linalg.cholesky under its older name.",
    example="tenora.cholesky(tenora.eye(3))",
    method=True,
    out=True,
    renames="linalg.cholesky",
)


def _lu_shapes(operands: Operands, attributes: Operands) -> Any:
    shape = tuple(operands[0][0])
    check_matrix("linalg.lu_factor_ex", shape)
    return shape, (*shape[:-2], min(shape[-2:])), shape[:-2]


def _permuted(x: Any, order: Any) -> Any:
    """Rows `order` of every matrix."""
    return ops.gather(x, -2, ops.expand(ops.unsqueeze(order, -1), [*order.shape, x.shape[-1]]))


def _lu_gradient(g: Any, x: Any, lu: Any, pivots: Any, info: Any) -> Any:
    rows, columns = lu.shape[-2:]
    count = min(rows, columns)
    lower, upper = lu[..., :, :count], lu[..., :count, :]
    l1 = ops.tril(lower[..., :count, :], -1) + ops.eye(count, dtype=lu.dtype, device=lu.device)
    u1 = ops.triu(upper[..., :, :count])
    g_lower, g_upper = ops.tril(g[..., :, :count], -1), ops.triu(g[..., :count, :])
    gl1, gu1 = g_lower[..., :count, :], g_upper[..., :, :count]
    beside = None
    if rows > count:
        beside = ops.solve_triangle(H(u1), g_lower[..., count:, :], upper=False, left=False)
        gu1 = gu1 - product(H(lower[..., count:, :]), beside)
    if columns > count:
        beside = ops.solve_triangle(H(l1), g_upper[..., :, count:], upper=True, unitriangular=True)
        gl1 = gl1 - product(beside, H(upper[..., :, count:]))
    inner = ops.tril(product(H(l1), gl1), -1) + ops.triu(product(gu1, H(u1)))
    inner = ops.solve_triangle(H(l1), inner, upper=True, unitriangular=True)
    whole = ops.solve_triangle(H(u1), inner, upper=False, left=False)
    if beside is not None:
        whole = ops.cat([whole, beside], -2 if rows > count else -1)
    order = linalg_steps.row_order(pivots, rows)
    return _permuted(whole, ops.argsort(order, -1))


def _lu_factors(A: Any, check_errors: bool, pivot: bool, name: str = "linalg.lu_factor_ex") -> Any:
    lu, pivots, info = ops.linalg_lu_factor_ex(A, pivot=pivot)
    if check_errors:
        advice = "Call linalg.lu, or linalg.lu_factor_ex without a check."
        check_info(name, info, "is singular" if pivot else "needs pivoting", advice)
    return lu, pivots, info


linalg_lu_factor_ex_checked = op(
    "linalg_lu_factor_ex_checked(A: Tensor, *, check_errors: bool, pivot: bool = True) -> (Tensor, Tensor, Tensor)",
    family=PARTS,
    function=_lu_factors,
    samples=_asked(oblong),
    oracle=lambda x, check_errors, pivot=True: stacked(lambda a: _lu_oracle(a, pivot), x),
    doc="linalg.lu_factor_ex; with check_errors LinAlgError where a pivot is zero.",
    example="tenora.linalg.lu_factor_ex(tenora.eye(3), check_errors=True).info",
    public="linalg.lu_factor_ex",
    result=("LU", "pivots", "info"),
    out=True,
)
linalg_lu_factor_ex = op(
    "linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> (Tensor, Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.lu_factor_ex", "vii"),
    shape=_lu_shapes,
    function=lambda A, pivot, check_errors: linalg_steps.lu_factor(A, pivot, check_errors),
    vjp=_lu_gradient,
    dynamic_vjp=True,
    not_differentiable=(1, 2),
    samples=lambda draw: [*oblong(draw), sample(draw.array(3, 3)), *without_elements(draw)],
    oracle=lambda x, pivot=True: stacked(lambda a: _lu_oracle(a, pivot), x),
    doc="L below and U on and above the diagonal, P^T input = L U, the exchanges (from 1) and the first zero pivot.",
    example="tenora.linalg.lu_factor_ex(tenora.eye(3)).pivots",
    public="linalg.lu_factor_ex",
    result=("LU", "pivots", "info"),
    out=True,
)


def _lu_oracle(a: Any, pivot: bool = True) -> Any:
    """Elimination by its definition, on Python numbers."""
    lu, count = a.astype(complex), min(a.shape)
    pivots = np.arange(1, count + 1, dtype=np.int32)
    for k in range(count):
        if pivot:
            best = k + int(np.argmax(np.abs(lu[k:, k].real) + np.abs(lu[k:, k].imag)))
            lu[[k, best]] = lu[[best, k]]
            pivots[k] = best + 1
        for i in range(k + 1, a.shape[0]):
            lu[i, k] /= lu[k, k]
            for j in range(k + 1, a.shape[1]):
                lu[i, j] -= lu[i, k] * lu[k, j]
    return (lu if np.iscomplexobj(a) else lu.real), pivots, np.int32(0)


linalg_lu_factor = op(
    "linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> (Tensor, Tensor)",
    family=PARTS,
    function=lambda A, pivot: _lu_factors(A, True, pivot, "linalg.lu_factor")[:2],
    samples=oblong,
    oracle=lambda x, pivot=True: stacked(lambda a: _lu_oracle(a, pivot)[:2], x),
    doc="The compact LU factorisation with partial pivoting, for linalg.lu_solve; LinAlgError where a pivot is zero.",
    example="tenora.linalg.lu_factor(tenora.eye(3)).LU",
    public="linalg.lu_factor",
    result=("LU", "pivots"),
    out=True,
)


def _unpacked(lu: Any, pivots: Any) -> tuple[Any, Any, Any]:
    rows, columns = lu.shape[-2:]
    count = min(rows, columns)
    lower = ops.tril(lu[..., :, :count], -1) + ops.eye(rows, count, dtype=lu.dtype, device=lu.device)
    order = linalg_steps.row_order(pivots, rows)
    place = linalg_steps.integers(lu, rows)
    permutation = ops.to(ops.eq(ops.unsqueeze(place, -1), ops.unsqueeze(order, -2)), lu.dtype)
    return permutation, lower, ops.triu(lu[..., :count, :])


def _unpacked_of(lu: Any, pivots: Any, data: bool, order: bool) -> tuple[Any, Any, Any]:
    check_matrix("lu_unpack", lu.shape)
    if pivots.dtype != _engine.int32:
        raise refuse(
            "lu_unpack",
            "dtype of LU_pivots",
            pivots.dtype,
            "int32",
            "Give what linalg.lu_factor gives.",
            "dtype",
        )
    wanted = (*lu.shape[:-2], min(lu.shape[-2:]))
    if tuple(pivots.shape) != wanted:
        raise refuse(
            "lu_unpack", "shape of LU_pivots", tuple(pivots.shape), str(wanted), "Give those of LU_data."
        )
    permutation, lower, upper = _unpacked(lu, pivots)
    empty = ops.zeros((0,), dtype=lu.dtype, device=lu.device)
    return permutation if order else empty, lower if data else empty, upper if data else empty


linalg_lu = op(
    "linalg_lu(A: Tensor, *, pivot: bool = True) -> (Tensor, Tensor, Tensor)",
    family=PARTS,
    function=lambda A, pivot: _unpacked(*ops.linalg_lu_factor_ex(A, pivot=pivot)[:2]),
    samples=oblong,
    oracle=lambda x, pivot=True: stacked(lambda a: _lu_parts(a, pivot), x),
    doc="P, L, U with input = P L U.",
    example="tenora.linalg.lu(tenora.eye(3)).U",
    public="linalg.lu",
    result=("P", "L", "U"),
    out=True,
)
lu_unpack = op(
    "lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True)"
    " -> (Tensor, Tensor, Tensor)",
    family=PARTS,
    function=lambda LU_data, LU_pivots, unpack_data, unpack_pivots: _unpacked_of(
        LU_data, LU_pivots, unpack_data, unpack_pivots
    ),
    samples=lambda draw: [_factored(s) for s in oblong(draw)],
    oracle=lambda lu, pivots: stacked(lambda a, p: _unpack_oracle(a, p[0]), lu, pivots[..., None, :]),
    doc="P, L and U of a compact LU factorisation.",
    example="tenora.lu_unpack(*tenora.linalg.lu_factor(tenora.eye(3))).L",
    result=("P", "L", "U"),
    out=True,
)


def _factored(s: Sample) -> Sample:
    x = s.arguments[0]
    lu, pivots, _ = stacked(_lu_oracle, x)
    return sample(lu.astype(x.dtype), pivots.astype(np.int32))


def _unpack_oracle(lu: Any, pivots: Any) -> Any:
    rows, count = lu.shape[0], min(lu.shape)
    order = list(range(rows))
    for k, other in enumerate(pivots):
        order[k], order[other - 1] = order[other - 1], order[k]
    p = np.zeros((rows, rows), lu.dtype)
    p[order, range(rows)] = 1
    return p, np.tril(lu[:, :count], -1) + np.eye(rows, count), np.triu(lu[:count])


def _lu_parts(a: Any, pivot: bool) -> Any:
    lu, pivots, _ = _lu_oracle(a, pivot)
    return _unpack_oracle(lu, pivots)


def _qr_shapes(operands: Operands, attributes: Operands) -> Any:
    shape, (mode,) = tuple(operands[0][0]), attributes
    check_matrix("linalg.qr", shape)
    if mode not in ("reduced", "complete", "r"):
        raise refuse("linalg.qr", "mode", repr(mode), "'reduced', 'complete' or 'r'", "Choose one of them.")
    rows, columns = shape[-2:]
    width = rows if mode == "complete" else min(rows, columns)
    q = (0,) if mode == "r" else (*shape[:-2], rows, width)
    return q, (*shape[:-2], width, columns)


def _qr_gradient(gq: Any, gr: Any, x: Any, q: Any, r: Any, mode: str) -> Any:
    rows, columns = x.shape[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise refuse(
            "linalg.qr",
            "no gradient",
            f"mode {mode!r}",
            "mode 'reduced', or as many columns as rows",
            "Use it.",
        )
    if rows >= columns:
        return _qr_square_gradient(gq, gr, q, r)
    # input = (X | Y), X = Q R1, R2 = Q^H Y
    gr1, gr2 = gr[..., :, :rows], gr[..., :, rows:]
    gq = gq + product(x[..., :, rows:], H(gr2))
    return ops.cat([_qr_square_gradient(gq, gr1, q, r[..., :, :rows]), product(q, gr2)], -1)


def _qr_square_gradient(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    upper = ops.triu(product(ops.triu(gr), H(r)) - product(H(q), gq))
    middle = ops.where(mask(upper, upper.shape[-1]), upper, 0) * 0.5
    upper = upper - middle
    inner = gq + product(q, upper + H(upper))
    return ops.solve_triangle(H(r), inner, upper=False, left=False)


linalg_qr = op(
    "linalg_qr(A: Tensor, mode: str = 'reduced') -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.qr", "vv"),
    shape=_qr_shapes,
    function=lambda A, mode: linalg_steps.qr(A, mode),
    vjp=_qr_gradient,
    dynamic_vjp=True,
    samples=lambda draw: [
        *oblong(draw),
        sample(spread(draw, 4, 3), "complete"),
        sample(draw.array(3, 4), "complete"),
        *without_elements(draw),
        *without_elements(draw, "complete"),
    ],
    gradient_samples=lambda draw: [*oblong(draw)[:4], sample(spread(draw, 2, 3), "complete")],
    oracle=lambda x, mode="reduced": stacked(
        lambda a: decompositions.qr(a, mode="full" if mode == "complete" else "economic"), x
    ),
    doc="Q with orthonormal columns and upper triangular R, input = Q R, by Householder reflections.",
    example="tenora.linalg.qr(tenora.eye(3)).R",
    public="linalg.qr",
    result=("Q", "R"),
    out=True,
)
qr = op(
    "qr(input: Tensor, some: bool = True) -> (Tensor, Tensor)",
    family=PARTS,
    function=lambda input, some: tuple(ops.linalg_qr(input, "reduced" if some else "complete")),
    samples=lambda draw: [*oblong(draw), sample(spread(draw, 4, 3), False)],
    gradient_samples=lambda draw: oblong(draw)[:3],
    oracle=lambda x, some=True: stacked(
        lambda a: decompositions.qr(a, mode="economic" if some else "full"), x
    ),
    doc="linalg.qr under its older name.",
    example="tenora.qr(tenora.eye(3)).Q",
    method=True,
    result=("Q", "R"),
    out=True,
    renames="linalg.qr",
)


def _eigh_gradient(gw: Any, gv: Any, x: Any, w: Any, v: Any) -> Any:
    apart = ops.unsqueeze(w, -2) - ops.unsqueeze(w, -1)
    same = ops.eq(apart, 0)
    turned = product(H(v), gv)
    inner = ops.where(same, 0, (turned - H(turned)) / ops.where(same, 1, apart * 2))
    inner = ops.where(mask(w, w.shape[-1]), ops.unsqueeze(gw, -1), inner)
    return product(v, ops.to(inner, v.dtype), H(v))


def _of_one_triangle(op: str, results: str) -> Any:
    """The shape rule of what reads one triangle, named by the first attribute."""
    square = square_shapes(op, results)

    def rule(operands: Any, attributes: Any) -> Any:
        if attributes[0].upper() not in ("L", "U"):
            raise refuse(op, "UPLO", repr(attributes[0]), "'L' or 'U'", "Name the triangle that is read.")
        return square(operands, attributes)

    return rule


linalg_eigh = op(
    "linalg_eigh(A: Tensor, UPLO: str = 'L') -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.eigh", "rv"),
    shape=_of_one_triangle("linalg.eigh", "vm"),
    function=lambda A, UPLO: linalg_jacobi.eigh(A, UPLO),
    vjp=_eigh_gradient,
    samples=lambda draw: [*symmetric(draw), sample(symmetric(draw)[0].arguments[0], "U")],
    gradient_samples=real_only(symmetric),
    hermitian=True,
    oracle=lambda x, uplo="L": stacked(_eigh_oracle, x),
    doc="Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read.",
    example="tenora.linalg.eigh(tenora.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues",
    public="linalg.eigh",
    result=("eigenvalues", "eigenvectors"),
    out=True,
)


def _eigh_oracle(a: Any) -> Any:
    w, v = decompositions.eigh(a)
    return w, v * turn(v)


linalg_eigvalsh = op(
    "linalg_eigvalsh(A: Tensor, UPLO: str = 'L') -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.eigvalsh", "r"),
    shape=_of_one_triangle("linalg.eigvalsh", "v"),
    function=lambda A, UPLO: linalg_jacobi.eigh(A, UPLO, "linalg.eigvalsh")[0],
    vjp=lambda g, x, w, UPLO: _eigvalsh_gradient(g, ops.linalg_eigh(x, UPLO)[1]),
    samples=lambda draw: [*symmetric(draw), sample(symmetric(draw)[0].arguments[0], "U")],
    hermitian=True,
    oracle=lambda x, uplo="L": stacked(lambda a: decompositions.eigh(a)[0], x),
    doc="Ascending eigenvalues of Hermitian matrices.",
    example="tenora.linalg.eigvalsh(tenora.eye(3))",
    public="linalg.eigvalsh",
    out=True,
)


def _eigvalsh_gradient(g: Any, v: Any) -> Any:
    return product(v * ops.unsqueeze(g, -2), H(v))


def _svd_shapes(operands: Operands, attributes: Operands) -> Any:
    shape, full = tuple(operands[0][0]), attributes[0]
    check_matrix("linalg.svd", shape)
    batch, rows, columns = shape[:-2], *shape[-2:]
    count = min(rows, columns)
    return (
        (*batch, rows, rows if full else count),
        (*batch, count),
        (*batch, columns if full else count, columns),
    )


def _svd_gradient(gu: Any, gs: Any, gvh: Any, x: Any, u: Any, s: Any, vh: Any) -> Any:
    rows, columns = x.shape[-2:]
    count = s.shape[-1]
    u, gu, vh, gvh = u[..., :count], gu[..., :count], vh[..., :count, :], gvh[..., :count, :]
    squares_ = ops.square(s)
    apart = ops.unsqueeze(squares_, -2) - ops.unsqueeze(squares_, -1)
    same = ops.eq(apart, 0)
    left, right = product(H(u), gu), product(vh, H(gvh))
    left, right = left - H(left), right - H(right)
    inner = (left * ops.unsqueeze(s, -2) + ops.unsqueeze(s, -1) * right) / ops.where(same, 1, apart)
    inverse = ops.where(ops.eq(s, 0), 0, 1 / ops.where(ops.eq(s, 0), 1, s))
    middle = ops.unsqueeze(ops.to(gs, u.dtype), -1)
    if u.dtype.is_complex:
        middle = middle + ops.unsqueeze(ops.diagonal(left, 0, -2, -1) * inverse * 0.5, -1)
    inner = ops.where(mask(s, count), middle, ops.where(same, 0, inner))
    result = product(u, inner, vh)
    if rows > count:
        part = gu * ops.unsqueeze(inverse, -2)
        result = result + product(part - product(u, H(u), part), vh)
    if columns > count:
        part = ops.unsqueeze(inverse, -1) * gvh
        result = result + product(u, part - product(part, H(vh), vh))
    return result


def _svd_samples(draw: Draw) -> list[Sample]:
    found = [sample(s.arguments[0], False) for s in oblong(draw)] + [sample(spread(draw, 4, 3), True)]
    return found + without_elements(draw, False) + without_elements(draw, True)


linalg_svd = op(
    "linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str? = None) -> (Tensor, Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.svd", "vrv"),
    shape=_svd_shapes,
    function=lambda A, full_matrices, driver: linalg_jacobi.svd(A, full_matrices),
    vjp=_svd_gradient,
    dynamic_vjp=True,
    samples=_svd_samples,
    gradient_samples=real_only(lambda draw: _svd_samples(draw)[:4]),
    oracle=lambda x, full=True: stacked(lambda a: _svd_oracle(a, full), x),
    doc="U, S, V^H with input = U diag(S) V^H, singular values descending.",
    example="tenora.linalg.svd(tenora.eye(3)).S",
    public="linalg.svd",
    result=("U", "S", "Vh"),
    out=True,
)


def _svd_oracle(a: Any, full: bool) -> Any:
    u, s, vh = decompositions.svd(a, full_matrices=full)
    left = turn(u)
    right = turn(vh.conj().T).conj()
    right[: len(s)] = left[: len(s)].conj()
    return u * left, s, vh * right[:, None]


def _svdvals_gradient(g: Any, u: Any, s: Any, vh: Any) -> Any:
    return product(u * ops.unsqueeze(g, -2), vh)


def _svdvals_shape(operands: Operands, attributes: Operands) -> Any:
    shape = tuple(operands[0][0])
    check_matrix("linalg.svdvals", shape)
    return (*shape[:-2], min(shape[-2:]))


linalg_svdvals = op(
    "linalg_svdvals(A: Tensor, *, driver: str? = None) -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.svdvals", "r"),
    shape=_svdvals_shape,
    function=lambda A, driver: linalg_jacobi.svd(A, False, "linalg.svdvals")[1],
    vjp=lambda g, x, s: _svdvals_gradient(g, *ops.linalg_svd(x, False)),
    samples=lambda draw: oblong(draw) + without_elements(draw),
    oracle=lambda x: stacked(lambda a: decompositions.svd(a)[1], x),
    doc="Singular values, descending.",
    example="tenora.linalg.svdvals(tenora.eye(3))",
    public="linalg.svdvals",
    out=True,
)


def _svd(input: Any, some: bool, compute_uv: bool) -> Any:
    check_dtype("svd", input.dtype)
    check_matrix("svd", input.shape)
    if not compute_uv:
        rows, columns = input.shape[-2:]
        empty = [
            ops.zeros([*input.shape[:-2], n, n], dtype=input.dtype, device=input.device)
            for n in (rows, columns)
        ]
        return empty[0], ops.linalg_svdvals(input), empty[1]
    u, s, vh = ops.linalg_svd(input, not some)
    return u, s, H(vh)


svd = op(
    "svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> (Tensor, Tensor, Tensor)",
    family=PARTS,
    function=_svd,
    samples=oblong,
    gradient_samples=real_only(lambda draw: oblong(draw)[:4]),
    oracle=lambda x, some=True: stacked(lambda a: _older(_svd_oracle(a, not some)), x),
    doc="U, S, V with input = U diag(S) V^H: linalg.svd under its older name.",
    example="tenora.svd(tenora.eye(3)).V",
    method=True,
    result=("U", "S", "V"),
    renames="linalg.svd",
    out=True,
)


def _older(factors: Any) -> Any:
    u, s, vh = factors
    return u, s, vh.conj().T
