"""What singular values decide: rank, pseudo-inverse, least squares.

- Values up to a tolerance count as zero. Numbers choose the first forms, which backends may override; tensors of
  tolerances, which broadcast against the batch, have forms of their own.
- Gradient of the pseudo-inverse: Golub and Pereyra 1973, through the matrix products of its definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_ops import linalg_steps
from tenora_ops.checks import broadcast_shape
from tenora_ops.formula import conj, is_complex, ops
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import (
    FACTOR,
    PARTS,
    H,
    Operands,
    check_dtype,
    check_matrix,
    oblong,
    product,
    refuse,
    same_dtypes,
    spread,
    stacked,
)
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample


def _tolerances(values: Any, shape: Sequence[int], atol: Any, rtol: Any) -> Any:
    """What counts as zero: max(atol, rtol * the largest value); tensors of them broadcast against the batch."""
    if rtol is None:
        rtol = _relative(linalg_steps.epsilon(values.dtype) * max(shape[-2:]), atol)
    largest = ops.amax(values, [-1], True) if values.shape[-1] else ops.sum(values, [-1], True)
    threshold = largest * (ops.unsqueeze(rtol, -1) if isinstance(rtol, Tensor) else rtol)
    if atol is None:
        return threshold
    return ops.maximum(threshold, ops.unsqueeze(atol, -1) if isinstance(atol, Tensor) else atol)


def _relative(default: float, atol: Any) -> Any:
    """The relative tolerance of a call without one: none beside an absolute one above 0."""
    if isinstance(atol, Tensor):
        return ops.where(ops.gt(atol, 0), 0.0, default)
    return 0.0 if atol is not None and atol > 0 else default


def _need_tolerances(op_name: str, **given: Any) -> None:
    for name, value in given.items():
        if isinstance(value, complex):
            raise errors.ArgumentTypeError(
                f"[{op_name}] {name} is wrong: got complex, expected a real number. Pass its real part."
            )
        if isinstance(value, Tensor) and value.dtype.is_complex:
            raise refuse(
                op_name, f"{name} is wrong", value.dtype, "real numbers", "Pass its real part.", "dtype"
            )


def _need_no_history(op_name: str, **given: Any) -> None:
    for name, value in given.items():
        if isinstance(value, Tensor) and value.requires_grad:
            raise errors.OperationError(
                f"[{op_name}] {name} has no gradient: got a tensor that requires grad, expected one that does not. "
                "Detach it."
            )


def _moduli(A: Any, hermitian: bool) -> Any:
    return ops.abs(ops.linalg_eigvalsh(A)) if hermitian else ops.linalg_svdvals(A)


def _rank(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix("linalg.matrix_rank", A.shape)
    values = _moduli(A, hermitian)
    return ops.sum(ops.gt(values, _tolerances(values, A.shape, atol, rtol)), [-1])


def ranks(draw: Draw) -> list[Sample]:
    tall, wide = spread(draw, 4, 2), spread(draw, 2, 3)
    return [
        *oblong(draw)[:4],
        sample((tall @ wide).astype(draw.dtype)),
        sample(np.zeros((2, 3, 3), draw.dtype)),
    ]


linalg_matrix_rank = op(
    "linalg_matrix_rank(A: Tensor, *, atol: float? = None, rtol: float? = None, hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=_rank,
    differentiable=False,
    samples=ranks,
    oracle=lambda x: stacked(
        lambda m: np.int64((lambda s: (s > 1e-4 * s.max()).sum())(decompositions.svd(m)[1])), x
    ),
    doc="How many singular values are above max(atol, rtol times the largest).",
    example="tenora.linalg.matrix_rank(tenora.eye(3))",
    public="linalg.matrix_rank",
    out=True,
)
linalg_matrix_rank_tol = op(
    "linalg_matrix_rank_tol(A: Tensor, tol: float, hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=lambda A, tol, hermitian: _rank(A, tol, 0.0, hermitian),
    differentiable=False,
    samples=lambda draw: [sample(s.arguments[0], 1e-2) for s in ranks(draw)],
    oracle=lambda x, tol: stacked(lambda m: np.int64((decompositions.svd(m)[1] > tol).sum()), x),
    doc="How many singular values are above tol.",
    example="tenora.linalg.matrix_rank(tenora.eye(3), 0.5)",
    public="linalg.matrix_rank",
    out=True,
)


def _rank_by(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    _need_tolerances("linalg.matrix_rank", atol=atol, rtol=rtol)
    if not A.numel():  # nothing is compared, as in PyTorch
        atol = rtol = 0.0
    atol, rtol = (t.detach() if isinstance(t, Tensor) else t for t in (atol, rtol))
    return _rank(A.detach(), atol, rtol, hermitian)


def _some(draw: Draw) -> Any:
    """Tolerances of a few sizes."""
    return np.array([0.0, 0.5, 2.0, 1.0]).astype(draw.array(1).real.dtype)


linalg_matrix_rank_by = op(
    "linalg_matrix_rank_by(A: Tensor, *, atol: Tensor | Scalar | None = None, rtol: Tensor | Scalar | None = None, "
    "hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=_rank_by,
    differentiable=False,
    samples=lambda draw: [
        sample(spread(draw, 3, 3), atol=_some(draw)[1:2].reshape(())),
        sample(spread(draw, 4, 2, 3), atol=_some(draw)),
        sample(spread(draw, 2, 3), rtol=_some(draw) / 2),
        sample(spread(draw, 2, 3, 3), atol=_some(draw).reshape(4, 1), rtol=0.3),
        sample(spread(draw, 2, 3, 3), atol=0.5, rtol=_some(draw)[:2] / 2),
        sample(spread(draw, 2, 4, 3), atol=_some(draw)[:2], rtol=_some(draw).reshape(4, 1) / 4),
    ],
    oracle=lambda x, atol=0.0, rtol=0.0: _rank_oracle(x, atol, rtol),
    doc="How many singular values are above max(atol, rtol times the largest), of tensors for the matrices of a stack.",
    example="tenora.linalg.matrix_rank(tenora.eye(3), atol=tenora.tensor([0.5, 2.0]))",
    public="linalg.matrix_rank",
    display="linalg.matrix_rank",
    out=True,
)
linalg_matrix_rank_tol_by = op(
    "linalg_matrix_rank_tol_by(A: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=lambda A, tol, hermitian: _rank_by(A, tol, 0.0, hermitian),
    differentiable=False,
    samples=lambda draw: [
        sample(spread(draw, *shape), _some(draw).reshape(form))
        for shape, form in (
            *(((3, 3), (4,)), ((4, 2, 3), (4,)), ((2, 3, 3), (4, 1)), ((2, 3), (2, 2)), ((1, 3, 2), (4,))),
            ((4, 1, 3, 3), (4, 1)),
        )
    ],
    oracle=lambda x, tol: _rank_oracle(x, tol, 0.0),
    doc="How many singular values are above tol, one for each matrix of a stack.",
    example="tenora.linalg.matrix_rank(tenora.eye(3), tenora.tensor(0.5))",
    public="linalg.matrix_rank",
    display="linalg.matrix_rank",
    out=True,
)


def _rank_oracle(x: Any, atol: Any, rtol: Any) -> Any:
    values = stacked(lambda m: decompositions.svd(m)[1], x)
    zero = np.maximum(
        np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * values.max(-1, keepdims=True)
    )
    return (values > zero).sum(-1)


def _pinv_gradient(g: Any, a: Any, r: Any) -> Any:
    """Golub and Pereyra 1973, equation 4.12, conjugated."""
    gh, rh = H(g), H(r)
    left, right = product(gh, r, rh), product(rh, r, gh)
    return left - product(a, r, left) + right - product(right, r, a) - H(product(r, gh, r))


def _pinv_shape(operands: Operands, attributes: Operands) -> Any:
    shape = tuple(operands[0][0])
    check_matrix("linalg.pinv", shape, square=bool(attributes[2]))
    return (*shape[:-2], shape[-1], shape[-2])


def _pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if hermitian:
        values, v = ops.linalg_eigh(A)
        inverse = _kept_inverse(values, ops.abs(values), A.shape, atol, rtol)
        return product(v * ops.unsqueeze(inverse, -2), H(v))
    u, s, vh = ops.linalg_svd(A, False)
    return product(H(vh) * ops.unsqueeze(_kept_inverse(s, s, A.shape, atol, rtol), -2), H(u))


def _kept_inverse(values: Any, sizes: Any, shape: Sequence[int], atol: Any, rtol: Any) -> Any:
    kept = ops.gt(sizes, _tolerances(sizes, shape, atol, rtol))
    return ops.where(kept, 1 / ops.where(kept, values, 1.0), 0.0)


linalg_pinv = op(
    "linalg_pinv(A: Tensor, *, atol: float? = None, rtol: float? = None, hermitian: bool = False) -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.pinv", "v"),
    shape=_pinv_shape,
    function=_pinv,
    vjp=_pinv_gradient,
    samples=lambda draw: [*oblong(draw), sample(spread(draw, 3, 3), rtol=1e-3)],
    oracle=lambda x, rtol=None: stacked(lambda m: decompositions.pinv(m), x),
    doc="The Moore-Penrose pseudo-inverse; singular values up to max(atol, rtol times the largest) count as zero.",
    example="tenora.linalg.pinv(tenora.ones(2, 3))",
    public="linalg.pinv",
    out=True,
)


def _within_shape(operands: Operands, attributes: Operands) -> Any:
    *batch, rows, columns = tuple(operands[0][0])
    stack = broadcast_shape("linalg.pinv", [batch, *(tuple(shape) for shape, _ in operands[1:])])
    return (*stack, columns, rows)


linalg_pinv_within = op(
    "linalg_pinv_within(A: Tensor, atol: Tensor, rtol: Tensor, hermitian: bool = False) -> Tensor",
    family=FACTOR,
    dtype=lambda operands, attributes: operands[0][1],
    shape=_within_shape,
    function=_pinv,
    vjp=lambda g, a, atol, rtol, r: (ops.sum_to(_pinv_gradient(g, a, r), a), None, None),
    samples=lambda draw: [
        sample(spread(draw, *shape), _small(draw)[:2].reshape(first), _small(draw)[2:].reshape(second))
        for shape, first, second in (
            *(
                ((3, 3), (2,), (2,)),
                ((2, 2, 3), (2,), (2,)),
                ((3, 2), (2, 1), (2,)),
                ((1, 3, 2), (2,), (2, 1)),
            ),
            *(((2, 1, 2, 2), (2,), (2,)), ((0, 2), (2,), (2,))),
        )
    ],
    gradient_samples=lambda draw: [
        sample(spread(draw, *shape), _small(draw)[:2], _small(draw)[2:]) for shape in ((3, 3), (2, 2, 3))
    ],
    oracle=lambda x, atol, rtol: _pinv_oracle(x, atol, rtol),
    doc="The pseudo-inverse; singular values up to max(atol, rtol times the largest), of their matrix, are zero.",
    example="tenora.linalg.pinv(tenora.ones(2, 3), atol=tenora.tensor(0.5), rtol=tenora.tensor(0.0))",
    public="",
    display="linalg.pinv",
)


def _pinv_by(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix("linalg.pinv", A.shape, square=hermitian)
    check_dtype("linalg.pinv", A.dtype)
    _need_tolerances("linalg.pinv", atol=atol, rtol=rtol)
    _need_no_history("linalg.pinv", atol=atol, rtol=rtol)
    if not A.numel():
        atol = rtol = 0.0
    if rtol is None:
        rtol = _relative(linalg_steps.epsilon(A.dtype) * max(A.shape[-2:]), atol)

    def tensor(tolerance: Any) -> Any:
        if isinstance(tolerance, Tensor):
            return tolerance
        return ops.full((), tolerance or 0.0, dtype=linalg_steps.real_dtype(A.dtype), device=A.device)

    return ops.linalg_pinv_within(A, tensor(atol), tensor(rtol), hermitian)


linalg_pinv_by = op(
    "linalg_pinv_by(A: Tensor, *, atol: Tensor | Scalar | None = None, rtol: Tensor | Scalar | None = None, "
    "hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=_pinv_by,
    samples=lambda draw: [
        sample(spread(draw, 3, 3), atol=_small(draw)[1:2].reshape(())),
        sample(spread(draw, 4, 2, 3), atol=_small(draw)),
        sample(spread(draw, 3, 2), rtol=_small(draw)),
        sample(spread(draw, 2, 3, 3), atol=_small(draw).reshape(4, 1), rtol=1e-3),
        sample(spread(draw, 2, 3, 3), atol=1e-3, rtol=_small(draw)[:2]),
        sample(spread(draw, 2, 4, 3), atol=_small(draw)[:2], rtol=_small(draw).reshape(4, 1)),
    ],
    oracle=lambda x, atol=0.0, rtol=0.0: _pinv_oracle(x, atol, rtol),
    doc="The pseudo-inverse; singular values up to max(atol, rtol times the largest), tensors for a stack, are zero.",
    example="tenora.linalg.pinv(tenora.ones(2, 3), atol=tenora.tensor(0.5))",
    public="linalg.pinv",
    display="linalg.pinv",
    out=True,
)
linalg_pinv_rcond = op(
    "linalg_pinv_rcond(A: Tensor, rcond: Tensor | Scalar, hermitian: bool = False) -> Tensor",
    family=PARTS,
    function=lambda A, rcond, hermitian: ops.linalg_pinv_by(A, atol=0.0, rtol=rcond, hermitian=hermitian),
    samples=lambda draw: [
        sample(spread(draw, 3, 3), 1e-3),
        sample(spread(draw, 2, 2, 3), 1e-3),
        *[
            sample(spread(draw, *shape), _small(draw).reshape(form))
            for shape, form in (((3, 3), (4,)), ((4, 2, 3), (4,)), ((2, 3, 3), (4, 1)), ((1, 3, 2), (2, 2)))
        ],
    ],
    gradient_samples=lambda draw: [sample(spread(draw, *shape), 1e-3) for shape in ((3, 3), (2, 2, 3))],
    oracle=lambda x, rcond: _pinv_oracle(x, 0.0, rcond),
    doc="linalg.pinv with rtol by its older argument, which may be given by position.",
    example="tenora.linalg.pinv(tenora.ones(2, 3), 1e-3)",
    public="linalg.pinv",
    display="linalg.pinv",
    out=True,
)


def _small(draw: Draw) -> Any:
    """Tolerances that leave all singular values of the samples."""
    return np.array([0.0, 1e-3, 1e-2, 2e-3]).astype(draw.array(1).real.dtype)


def _pinv_oracle(x: Any, atol: Any, rtol: Any) -> Any:
    whole = stacked(lambda m: decompositions.pinv(m), x)
    batch = np.broadcast_shapes(x.shape[:-2], np.shape(atol), np.shape(rtol))
    return np.broadcast_to(whole, (*batch, *whole.shape[-2:]))


pinverse = op(
    "pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor",
    family=PARTS,
    function=lambda input, rcond: ops.linalg_pinv(input, atol=0.0, rtol=rcond),
    samples=oblong,
    oracle=lambda x: stacked(lambda m: decompositions.pinv(m), x),
    doc="linalg.pinv under its older name.",
    example="tenora.pinverse(tenora.ones(2, 3))",
    method=True,
    renames="linalg.pinv",
)


LSTSQ_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq(input: Any, b: Any, rcond: Any, driver: Any) -> Any:
    check_matrix("linalg.lstsq", input.shape)
    check_dtype("linalg.lstsq", input.dtype)
    if driver not in LSTSQ_DRIVERS:
        raise errors.OperationError(
            f"[linalg.lstsq] unknown driver: got {driver!r}, expected one of {', '.join(LSTSQ_DRIVERS)}. Name one."
        )
    vector = b.ndim == input.ndim - 1
    right = ops.unsqueeze(b, -1) if vector else b
    rtol = linalg_steps.epsilon(input.dtype) * max(input.shape[-2:]) if rcond is None else rcond
    solution = product(ops.linalg_pinv(input, rtol=rtol), right)
    values = ops.linalg_svdvals(input)
    rows, columns = input.shape[-2:]
    largest = ops.amax(values, [-1], True) if rows and columns else 0
    rank = ops.sum(ops.gt(values, largest * rtol), [-1])
    full = rows > columns and bool(ops.all(ops.eq(rank, columns)))
    rest = product(input, solution) - right
    squares_ = rest * conj(rest)
    residuals = ops.sum(ops.real(squares_) if is_complex(rest) else squares_, [-2])
    if not full or driver == "gelsy":
        residuals = ops.zeros([0], dtype=residuals.dtype, device=input.device)
    if driver not in ("gelsd", "gelss"):
        values = ops.zeros([0], dtype=values.dtype, device=input.device)
    if driver == "gels":
        rank = ops.zeros([0], dtype=rank.dtype, device=input.device)
    return (ops.squeeze(solution, [-1]) if vector else solution), residuals, rank, values


linalg_lstsq = op(
    "linalg_lstsq(A: Tensor, B: Tensor, rcond: float? = None, *, driver: str? = 'gelsy')"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    family=PARTS,
    function=lambda A, B, rcond, driver: _lstsq(A, B, rcond, "gelsy" if driver is None else driver),
    samples=lambda draw: [
        sample(spread(draw, *shape), draw.array(*shape[:-1], k))
        for shape, k in (((3, 3), 2), ((4, 3), 2), ((3, 4), 1), ((2, 3, 2), 2), ((5, 2), 3), ((2, 2), 1))
    ],
    not_differentiable=(2, 3),
    oracle=lambda a, b: _lstsq_oracle(a, b),
    doc="The X of least norm that minimises |A X - B|, the residuals, the rank, the singular values (gelsd, gelss).",
    example="tenora.linalg.lstsq(tenora.eye(2), tenora.ones(2, 1)).solution",
    public="linalg.lstsq",
    result=("solution", "residuals", "rank", "singular_values"),
)


def _lstsq_oracle(a: Any, b: Any) -> Any:
    x = stacked(lambda m, v: decompositions.lstsq(m, v)[0], a, b)
    rank = np.full(a.shape[:-2], min(a.shape[-2:]), np.int64)
    return x, np.empty(0), rank, np.empty(0)
