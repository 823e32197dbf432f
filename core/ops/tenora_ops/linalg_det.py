"""Determinants, and their logarithms.

- `linalg_det`, `linalg_slogdet` and `cofactor_matrices` are one node each, and a backend may have kernels for them.
- A determinant is a polynomial, so its derivatives are finite whatever the rank. Where an inverse would lose them they
  come from the singular value decomposition: https://nhigham.com/2020/06/16/what-is-the-adjugate-of-a-matrix. The third
  ones are differentiated through it, so they need singular values apart, and none of zero in complex matrices.
- The logarithm has none where the determinant is zero: its gradient there is infinite or NaN.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_ops import linalg_steps
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.linalg_rules import (
    FACTOR,
    PARTS,
    H,
    mask,
    positive,
    product,
    same_dtypes,
    spread,
    square_shapes,
    squares,
    stacked,
)
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample


def _determinant_parts(A: Any) -> tuple[Any, Any]:
    """The diagonal of U, and the sign of the exchanges."""
    lu, pivots, _ = linalg_steps.lu_factor(A, True, False)
    place = linalg_steps.integers(A, A.shape[-1]) + 1
    odd = ops.sum(ops.ne(pivots, place), [-1]) % 2
    return ops.diagonal(lu, 0, -2, -1), ops.to(1 - odd * 2, A.dtype)


def _det(A: Any) -> Any:
    diagonal, sign = _determinant_parts(A)
    return ops.prod(diagonal, [-1]) * sign


def _det_gradient(g: Any, a: Any, r: Any) -> Any:
    """g times the conjugate cofactors: those of matrices near singular ones, which have no inverse, by their own op."""
    if not a.numel():
        return ops.zeros_like(a)
    near = _near_singular(a)
    if not bool(ops.any(near)):
        return _from_inverse(g, a)
    near = ops.unsqueeze(ops.unsqueeze(near, -1), -1)
    unit = linalg_steps.identity(a, a.shape[-1], a.shape[-1])
    cofactors = ops.cofactor_matrices(ops.where(near, a, unit))
    scaled = ops.unsqueeze(ops.unsqueeze(g, -1), -1) * ops.conj(cofactors)
    return ops.where(near, scaled, _from_inverse(g, ops.where(near, unit, a)))


def _from_inverse(g: Any, a: Any) -> Any:
    """A^H X = conj(det) g 1."""
    lu, pivots, _ = ops.linalg_lu_factor_ex(a)
    exchanged = ops.sum(ops.ne(pivots, linalg_steps.integers(a, a.shape[-1]) + 1), [-1]) % 2
    whole = ops.prod(ops.diagonal(lu, 0, -2, -1), [-1]) * ops.to(1 - exchanged * 2, a.dtype)
    return ops.linalg_lu_solve(lu, pivots, scaled_identity(a, g * ops.conj(whole)), adjoint=True)


def _near_singular(a: Any) -> Any:
    """Whether a pivot is below the largest one by half of the digits: an inverse would lose as many, and its own
    gradient all of them."""
    size = ops.abs(ops.diagonal(ops.linalg_lu_factor_ex(a)[0], 0, -2, -1))
    least = math.sqrt(linalg_steps.epsilon(a.dtype))
    return ops.le(ops.amin(size, [-1]), ops.amax(size, [-1]) * least)


def scaled_identity(like: Any, numbers: Any) -> Any:
    """A multiple of the identity for every matrix of a stack."""
    each = ops.unsqueeze(ops.unsqueeze(numbers, -1), -1)
    return ops.where(mask(like, like.shape[-1]), each, 0)


def _without_each(x: Any) -> Any:
    """Along the last dim, the product of all other elements; nothing is divided by."""
    one = ops.ones_like(ops.narrow(x, -1, 0, 1))
    before = ops.cumprod(ops.cat([one, ops.narrow(x, -1, 0, x.shape[-1] - 1)], -1), -1)
    after = ops.cumprod(ops.flip(ops.cat([ops.narrow(x, -1, 1, x.shape[-1] - 1), one], -1), [-1]), -1)
    return before * ops.flip(after, [-1])


def _turned(A: Any) -> tuple[Any, Any, Any, Any]:
    """U, singular values and V^H, and the determinant of U V^H."""
    u, s, vh = ops.linalg_svd(A, False)
    return u, s, vh, ops.unsqueeze(ops.unsqueeze(ops.linalg_det(u) * ops.linalg_det(vh), -1), -1)


def _cofactors(A: Any) -> Any:
    if not A.numel():
        return ops.clone(A)
    u, s, vh, unit = _turned(A)
    others = ops.to(ops.unsqueeze(_without_each(s), -2), A.dtype)
    return unit * ops.conj(ops.matmul(u * others, vh))


def _cofactors_gradient(g: Any, a: Any, r: Any) -> Any:
    """With E = U^H conj(g) V, the form sum of p_ij (E_ii F_jj - E_ij F_ji) over i != j, p_ij the product of the other
    singular values: the second differential of the determinant, of which no gap of values is a divisor."""
    if not a.numel():
        return ops.zeros_like(a)
    u, s, vh, unit = _turned(a)
    inner = product(H(u), ops.conj(g), H(vh))
    same = mask(a, a.shape[-1])
    rows = ops.where(same, 1, ops.unsqueeze(s, -2))  # row i: the values but s_i
    pairs = ops.to(ops.where(same, 0, _without_each(rows)), a.dtype)
    traces = ops.matmul(pairs, ops.unsqueeze(ops.diagonal(inner, 0, -2, -1), -1))
    form = ops.where(same, traces, -pairs * ops.transpose(inner, -2, -1))
    return product(u, ops.conj(unit * form), vh)


def _dependent(draw: Draw) -> list[Sample]:
    """Regular matrices, and ones whose last row is their first."""
    found = squares(draw)
    for shape in ((3, 3), (2, 2, 2), (4, 4)):
        a = spread(draw, *shape)
        a[..., -1, :] = a[..., 0, :]
        found.append(sample(a))
    return found


cofactor_matrices = op(
    "cofactor_matrices(A: Tensor) -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.det", "v"),
    shape=square_shapes("linalg.det", "m"),
    function=_cofactors,
    vjp=_cofactors_gradient,
    dynamic_vjp=True,
    samples=_dependent,
    gradient_samples=squares,  # second ones need singular values apart, and not zero where complex
    oracle=lambda a: stacked(_minors, a),
    doc="Derivatives of the determinant by each element, at every rank.",
    example="tenora.linalg.det(tenora.zeros(2, 2, requires_grad=True)).backward()",
    public="",
)


def _minors(m: Any) -> Any:
    """By deleting a row and a column."""
    found = np.zeros_like(m)
    for i, j in np.ndindex(*m.shape):
        found[i, j] = (-1) ** (i + j) * _leibniz(np.delete(np.delete(m, i, 0), j, 1))
    return found


linalg_det = op(
    "linalg_det(A: Tensor) -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.det", "v"),
    shape=square_shapes("linalg.det", "s"),
    function=_det,
    vjp=_det_gradient,
    dynamic_vjp=True,
    oracle=lambda a: stacked(_leibniz, a),
    doc="The determinant.",
    example="tenora.linalg.det(tenora.tensor([[1.0, 2.0], [3.0, 4.0]]))",
    public="linalg.det",
    out=True,
)
det = op(
    "det(input: Tensor) -> Tensor",
    family=PARTS,
    composite=lambda x: ops.linalg_det(x),
    oracle=lambda a: stacked(_leibniz, a),
    doc="linalg.det under its shorter name.",
    example="tenora.det(tenora.eye(2))",
    method=True,
    renames="linalg.det",
)


def _leibniz(m: Any) -> Any:
    """By expansion along the first row."""
    if not len(m):
        return m.dtype.type(1)
    return sum((-1) ** j * m[0, j] * _leibniz(np.delete(m[1:], j, 1)) for j in range(len(m)))


def _slogdet(A: Any) -> tuple[Any, Any]:
    diagonal, sign = _determinant_parts(A)
    size = ops.abs(diagonal)
    unit = ops.where(ops.eq(size, 0), 0, diagonal / ops.where(ops.eq(size, 0), 1.0, size))
    return ops.prod(unit, [-1]) * sign, ops.sum(ops.log(size), [-1])


def _slogdet_gradient(gs: Any, gl: Any, a: Any, sign: Any, logabsdet: Any) -> Any:
    weight = ops.to(gl, a.dtype)
    if a.dtype.is_complex:
        weight = weight - ops.to(ops.imag(ops.conj(gs) * sign), a.dtype) * 1j
    lu, pivots, _ = ops.linalg_lu_factor_ex(a)
    return ops.linalg_lu_solve(lu, pivots, scaled_identity(a, weight), adjoint=True)


linalg_slogdet = op(
    "linalg_slogdet(A: Tensor) -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.slogdet", "vr"),
    shape=square_shapes("linalg.slogdet", "ss"),
    function=_slogdet,
    vjp=_slogdet_gradient,
    dynamic_vjp=True,
    oracle=lambda a: stacked(_log_leibniz, a),
    doc="Sign (phase) and logarithm of the modulus of the determinant.",
    example="tenora.linalg.slogdet(tenora.eye(2)).logabsdet",
    public="linalg.slogdet",
    result=("sign", "logabsdet"),
    out=True,
)
slogdet = op(
    "slogdet(input: Tensor) -> (Tensor, Tensor)",
    family=PARTS,
    function=lambda input: tuple(ops.linalg_slogdet(input)),
    oracle=lambda a: stacked(_log_leibniz, a),
    doc="linalg.slogdet under its shorter name.",
    example="tenora.slogdet(tenora.eye(2)).sign",
    method=True,
    result=("sign", "logabsdet"),
    out=True,
    renames="linalg.slogdet",
)


def _log_leibniz(m: Any) -> Any:
    whole = complex(_leibniz(m))
    phase = whole / abs(whole)
    return m.dtype.type(phase if np.iscomplexobj(m) else phase.real), np.float64(math.log(abs(whole)))


def _logdet(input: Any) -> Any:
    sign, logabsdet = ops.linalg_slogdet(input)
    if input.dtype.is_complex:
        return ops.log(sign) + logabsdet
    return ops.where(ops.eq(sign, -1), math.nan, logabsdet)


logdet = op(
    "logdet(input: Tensor) -> Tensor",
    family=PARTS,
    function=_logdet,
    samples=lambda draw: [sample(positive(draw, *s.arguments[0].shape)) for s in squares(draw)],
    oracle=lambda a: stacked(lambda m: np.log(_leibniz(m)), a),
    doc="Logarithm of the determinant; NaN where it is negative.",
    example="tenora.logdet(tenora.eye(2))",
    method=True,
)
