"""Eigenvalues of general matrices, LDL^H factors, reflections applied.

- Gradient of eigenvectors: Boeddeker et al. 2017, On the computation of complex-valued gradients; eigenvectors have
  length 1 and a free phase, so what is differentiated must not depend on the phase.
"""

from __future__ import annotations

from typing import Any

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
    result=("eigenvalues", "eigenvectors"),
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
)


def _reflected(m: Any, t: Any) -> Any:
    q = np.eye(len(m), dtype=m.dtype)
    for k in range(t.shape[1]):
        v = np.r_[np.zeros(k), 1, m[k + 1 :, k]]
        q = q - t[0, k] * np.outer(q @ v, v.conj())
    return q[:, : m.shape[1]]


def _ormqr(input: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    check_matrix("ormqr", input.shape)
    rows, count = input.shape[-2:]
    if count < rows:
        fill = ops.zeros([*input.shape[:-1], rows - count], dtype=input.dtype, device=input.device)
        input = ops.cat([input, fill], -1)
    q = ops.linalg_householder_product(input, tau)
    q = H(q) if transpose else q
    return ops.matmul(q, other) if left else ops.matmul(other, q)


def _ormqr_oracle(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    def one(m: Any, t: Any, o: Any) -> Any:
        wide = np.zeros((len(m), len(m)), m.dtype)
        wide[:, : m.shape[1]] = m
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
        sample(small(2, 2), small(1), small(2, 1)),
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
)
