"""Eigenvalues of general matrices, LDL^H factors, reflections applied.

- Gradient of eigenvectors: Boeddeker et al. 2017, On the computation of complex-valued gradients; eigenvectors have
  length 1 and a free phase, so what is differentiated must not depend on the phase.
"""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_ops import linalg_schur
from tenora_ops.formula import ops
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import (
    FACTOR,
    PARTS,
    H,
    Operands,
    check_dtype,
    check_matrix,
    product,
    refuse,
    square_shapes,
    stacked,
    turn,
)
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample


def _complex_results(operands: Operands, attributes: Operands) -> Any:
    check_dtype("linalg.eig", operands[0][1])
    return linalg_schur.complex_dtype(operands[0][1])


def _back(gradient: Any, like: Any) -> Any:
    """The real part where the operand is real."""
    return gradient if like.dtype.is_complex else ops.real(gradient)


def _eig_gradient(gw: Any, gv: Any, x: Any, w: Any, v: Any) -> Any:
    vh = H(v)
    turned = product(vh, gv)
    middle = ops.unsqueeze(ops.real(ops.diagonal(turned, 0, -2, -1)), -2)
    turned = turned - product(vh, v * ops.to(middle, v.dtype))
    apart = ops.conj(ops.unsqueeze(w, -2) - ops.unsqueeze(w, -1))
    same = ops.eq(apart, 0)
    inner = ops.where(same, 0, turned / ops.where(same, 1, apart))
    place = ops.iota(0, 1, w.shape[-1], device=w.device)
    inner = ops.where(ops.eq(ops.unsqueeze(place, -1), place), ops.unsqueeze(gw, -1), inner)
    return _back(ops.linalg_solve(vh, product(inner, vh)), x)


def distinct(draw: Draw) -> list[Sample]:
    """General matrices with eigenvalues apart from each other."""
    shapes = ((3, 3), (1, 1), (2, 2, 2), (2, 1, 3, 3), (0, 2, 2), (4, 4), (2, 2))
    return [sample((draw.array(*s) / 4 + np.diag(3.0 * np.arange(s[-1]))).astype(draw.dtype)) for s in shapes]


def _eig_oracle(m: Any) -> Any:
    w, v = decompositions.eig(m)
    order = np.argsort(w.real + linalg_schur.GOLDEN * w.imag)
    w, v = w[order].astype(complex), v[:, order].astype(complex)
    v = v / np.sqrt((np.abs(v) ** 2).sum(0))
    return w, v * turn(v)


linalg_eig = op(
    "linalg_eig(A: Tensor) -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=_complex_results,
    shape=square_shapes("linalg.eig", "vm"),
    function=lambda A: linalg_schur.eig(A),
    vjp=_eig_gradient,
    dynamic_vjp=True,
    samples=distinct,
    # Eigenvectors of a real matrix with real eigenvalues are real: their phase is a sign.
    gradient_samples=lambda draw: (
        [] if draw.is_complex else [s for s in distinct(draw) if s.arguments[0].size]
    ),
    oracle=lambda x: stacked(_eig_oracle, x),
    doc="Eigenvalues, in the order of re + 0.618 im, and eigenvectors of length 1 of general matrices.",
    example="tenora.linalg.eig(tenora.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues",
    public="linalg.eig",
    complex_within=True,
    result=("eigenvalues", "eigenvectors"),
    out=True,
)
linalg_eigvals = op(
    "linalg_eigvals(A: Tensor) -> Tensor",
    family=PARTS,
    function=lambda A: ops.linalg_eig(A)[0],
    samples=distinct,
    gradient_samples=lambda draw: [s for s in distinct(draw) if s.arguments[0].size],
    oracle=lambda x: stacked(lambda m: _eig_oracle(m)[0], x),
    doc="Eigenvalues of general matrices, in the order of re + 0.618 im.",
    example="tenora.linalg.eigvals(tenora.eye(3))",
    public="linalg.eigvals",
    complex_within=True,
    out=True,
)


orgqr = op(
    "orgqr(input: Tensor, input2: Tensor) -> Tensor",
    family=PARTS,
    function=lambda input, input2: ops.linalg_householder_product(input, input2),
    samples=lambda draw: [
        sample((draw.array(*s) / 4).astype(draw.dtype), (draw.array(*s[:-2], k) / 4).astype(draw.dtype))
        for s, k in (((3, 3), 3), ((4, 3), 2), ((2, 3, 2), 2), ((2, 1, 3, 3), 3), ((3, 1), 1), ((4, 4), 1))
    ],
    oracle=lambda x, tau: stacked(_reflected, x, tau[..., None, :]),
    doc="linalg.householder_product under its older name.",
    example="tenora.orgqr(tenora.eye(3), tenora.zeros(3))",
    method=True,
    renames="linalg.householder_product",
)


def _reflected(m: Any, t: Any) -> Any:
    q = np.eye(len(m), dtype=m.dtype)
    for k in range(t.shape[1]):
        v = np.r_[np.zeros(k), 1, m[k + 1 :, k]]
        q = q - t[0, k] * np.outer(q @ v, v.conj())
    return q[:, : m.shape[1]]


def _ormqr(input: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    check_matrix("ormqr", input.shape)
    check_matrix("ormqr", other.shape)
    if tau.ndim != input.ndim - 1:
        raise refuse(
            "ormqr", "shape of tau", tuple(tau.shape), f"{input.ndim - 1} dims", "Give what geqrf gives."
        )
    rows, count = input.shape[-2:]
    wanted = min(other.shape[-2 if left else -1], count)
    if tau.shape[-1] != wanted:
        raise refuse("ormqr", "length of tau", tau.shape[-1], str(wanted), "Give what geqrf gives.")
    if count > rows:  # what stands beside the square part belongs to R
        input = ops.narrow(input, -1, 0, rows)
    if count < rows:
        fill = ops.zeros([*input.shape[:-1], rows - count], dtype=input.dtype, device=input.device)
        input = ops.cat([input, fill], -1)
    q = ops.linalg_householder_product(input, tau)
    q = H(q) if transpose else q
    return ops.matmul(q, other) if left else ops.matmul(other, q)


def _ormqr_oracle(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    def one(m: Any, t: Any, o: Any) -> Any:
        wide = np.zeros((len(m), len(m)), m.dtype)
        wide[:, : m.shape[1]] = m[:, : len(m)]
        q = _reflected(wide, t)
        q = q.conj().T if transpose else q
        return q @ o if left else o @ q

    return stacked(one, x, tau[..., None, :], other)


def _applied(draw: Draw) -> list[Sample]:
    def small(*shape: int) -> Any:
        return (draw.array(*shape) / 4).astype(draw.dtype)

    return [
        sample(small(3, 3), small(3), small(3, 2)),
        sample(small(4, 2), small(2), small(4, 3)),
        sample(small(2, 3, 2), small(2, 2), small(2, 3, 3)),
        sample(small(3, 3), small(3), small(2, 3), False),
        sample(small(3, 2), small(2), small(3, 3), True, True),
        sample(small(2, 2), small(2), small(2, 1)),
        sample(small(2, 5), small(2), small(2, 3)),
        sample(small(2, 5), small(2), small(4, 2), False, True),
    ]


ormqr = op(
    "ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor",
    family=PARTS,
    function=_ormqr,
    samples=_applied,
    oracle=_ormqr_oracle,
    doc="The product of Householder reflections (its adjoint when transpose) times other, or other times it.",
    example="tenora.ormqr(tenora.eye(3), tenora.zeros(3), tenora.ones(3, 1))",
    method=True,
    out=True,
)


def _older_lu(A: Any, pivot: bool = True, get_infos: bool = False, *, out: Any = None) -> Any:
    check_matrix("lu", A.shape)
    check_dtype("lu", A.dtype)
    count = 3 if get_infos else 2
    if out is not None and (not isinstance(out, tuple | list) or len(out) != count):
        got = f"{len(out)} of them" if isinstance(out, tuple | list) else errors.type_name(out)
        raise errors.ArgumentTypeError(
            f"[lu] out is wrong: got {got}, expected a tuple of {count} tensors. Pass one tensor a result."
        )
    found = tuple(ops.linalg_lu_factor_ex(A, pivot=pivot))[:count]
    if out is None:
        return found
    for target, result in zip(out, found, strict=True):
        target.resize_as_(result).copy_(result)
    return out


def _lu_oracle(m: Any) -> Any:
    """Elimination with the largest pivot, on Python's own numbers."""
    lu, pivots = [[complex(v) for v in row] for row in m.tolist()], []
    for k in range(min(m.shape)):
        best = max(range(k, len(lu)), key=lambda i: abs(lu[i][k].real) + abs(lu[i][k].imag))
        lu[k], lu[best] = lu[best], lu[k]
        pivots.append(best + 1)
        for i in range(k + 1, len(lu)):
            ratio = lu[i][k] / lu[k][k]
            lu[i] = [
                *lu[i][:k],
                ratio,
                *[a - ratio * b for a, b in zip(lu[i][k + 1 :], lu[k][k + 1 :], strict=True)],
            ]
    found = np.array(lu)
    return (found if np.iscomplexobj(m) else found.real), np.array(pivots, np.int32)


lu = op(
    "lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> (Tensor, Tensor)",
    family=PARTS,
    python=_older_lu,
    samples=lambda draw: [
        sample(draw.array(*s)) for s in ((3, 3), (4, 3), (3, 4), (2, 3, 2), (2, 1, 3, 3), (2, 2))
    ],
    oracle=lambda x: stacked(_lu_oracle, x),
    doc="linalg.lu_factor under its older name; with get_infos also the first zero pivot of each matrix, 0 for none.",
    example="tenora.lu(tenora.eye(3))[0]",
    method=True,
    renames="linalg.lu_factor",
)
frobenius_norm = op(
    "frobenius_norm(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=PARTS,
    function=lambda input, dim, keepdim: ops.linalg_vector_norm(input, 2, dim, keepdim),
    samples=lambda draw: [
        sample(draw.array(3, 4), (0, 1)),
        sample(draw.array(3, 4), (1,), True),
        sample(draw.array(2, 3, 2), (0, 2)),
        sample(draw.array(5), (0,)),
        sample(draw.array(2, 1, 3, 2), (1, 3), True),
        sample(draw.array(2, 3), (-1,)),
    ],
    oracle=lambda x, dim=None, keepdim=False: np.sqrt((np.abs(x) ** 2).sum(dim, keepdims=keepdim)),
    doc="Square root of the sum of squared moduli.",
    example="tenora.frobenius_norm(tenora.eye(3), (0, 1))",
)
nuclear_norm = op(
    "nuclear_norm(input: Tensor, keepdim: bool = False) -> Tensor",
    family=PARTS,
    function=lambda input, keepdim: ops.linalg_matrix_norm_str(input, "nuc", (-2, -1), keepdim),
    samples=lambda draw: [
        sample(draw.array(*s), *k)
        for s, k in (
            ((3, 3), ()),
            ((4, 2), (True,)),
            ((2, 3), ()),
            ((1, 4), ()),
            ((3, 1), (True,)),
            ((2, 2), ()),
        )
    ],
    oracle=lambda x, keepdim=False: stacked(lambda m: decompositions.svd(m)[1].sum(), x).reshape(
        (1, 1) if keepdim else ()
    ),
    doc="The sum of the singular values.",
    example="tenora.nuclear_norm(tenora.eye(3))",
)


def _chained(*matrices: Any) -> Any:
    if len(matrices) == 1:
        return ops.clone(matrices[0])
    return ops.linalg_multi_dot(list(matrices))


def _products(*matrices: Any) -> Any:
    result = matrices[0]
    for m in matrices[1:]:
        result = (result[:, :, None] * m).sum(1)
    return result


chain_matmul = op(
    "chain_matmul(matrices: Tensor[]) -> Tensor",
    family=PARTS,
    python=_chained,
    samples=lambda draw: [
        sample(*[draw.array(*shape) for shape in row])
        for row in (
            ((2, 3), (3, 4)),
            ((2, 3), (3, 4), (4, 2)),
            ((3, 3), (3, 3), (3, 1)),
            ((1, 4), (4, 2), (2, 3), (3, 1)),
            ((2, 3),),
            ((2, 2), (2, 5)),
        )
    ],
    oracle=_products,
    doc="The product of matrices in the cheapest order: linalg.multi_dot under its older name.",
    example="tenora.chain_matmul(tenora.ones(2, 3), tenora.ones(3, 4))",
    renames="linalg.multi_dot",
)
