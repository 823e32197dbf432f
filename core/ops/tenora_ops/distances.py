"""Distances between all rows of two stacks of vectors: cdist, and what it and pdist are made of.

- The p-norm of the difference; 0 counts the elements that differ, infinity takes the largest.
- Where two rows are equal the gradient is 0, and for the largest element every one that attains it has a full share,
  both as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import broadcast_shape, need_rank
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Draw, Sample, sample

EXPONENTS = (2.0, 1.0, 3.0, math.inf, 0.5, 0.0, 1.5)


def stacks(draw: Draw) -> Iterable[Sample]:
    """Two stacks of rows and an exponent, one sample for each kind of it."""
    shapes = (
        ((5, 3), (4, 3)),
        ((2, 3, 2), (2, 4, 2)),
        ((1, 70), (2, 70)),
        ((3, 1), (70, 1)),
        ((2, 1, 3, 2), (2, 1, 2, 2)),
        ((0, 2), (3, 2)),
        ((2, 3), (0, 3)),
        ((2, 0), (3, 0)),
    )
    kinds = [*EXPONENTS, 2.0]
    return [sample(draw.array(*a), draw.array(*b), p) for (a, b), p in zip(shapes, kinds, strict=True)]


ROWS = Family(
    "vectors", "float_same_real", "", "plain", stacks, ("float32", "float64"), tolerance="statistics"
)


def _shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    first, second = (tuple(o[0]) for o in operands)
    fits = min(len(first), len(second)) >= 2 and (*first[:-2], first[-1]) == (*second[:-2], second[-1])
    if not fits:
        raise errors.OperationError(
            f"[row_distances] shapes do not fit: got {list(first)} and {list(second)}, expected (..., P, M) and "
            "(..., R, M). Expand the leading dimensions."
        )
    return (*first[:-1], second[-2])


def _backward_shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    """A kernel reads the gradient and the distances as the forward call made them."""
    grad, first, _, distance = (tuple(o[0]) for o in operands)
    made = _shape(operands[1:3], attributes)
    if grad != made or distance != made:
        raise errors.OperationError(
            f"[row_distances] shapes of the gradient and the distances do not fit: got {list(grad)} and "
            f"{list(distance)}, expected {list(made)}. Pass those of the forward call."
        )
    return first


def _differences(x1: Any, x2: Any) -> Any:
    return ops.unsqueeze(x1, -2) - ops.unsqueeze(x2, -3)


def _distances(x1: Any, x2: Any, p: float) -> Any:
    away = ops.abs(_differences(x1, x2))
    if not x1.shape[-1]:
        return ops.sum(away, -1)
    if p == 0:
        differs = ops.to(ops.ne(away, 0), away.dtype)
        return ops.sum(ops.where(ops.isnan(away), away, differs), -1)
    if p == math.inf:
        return ops.amax(away, -1)
    if p == 1:
        return ops.sum(away, -1)
    return ops.pow(ops.sum(ops.pow(away, p), -1), 1 / p)


def _slopes(x1: Any, x2: Any, distance: Any, p: float) -> tuple[Any, Any, Any]:
    """The derivative of a distance by a difference, and that slope's own by the difference and by the distance."""
    away, length = _differences(x1, x2), ops.unsqueeze(distance, -1)
    nothing = ops.zeros_like(away)
    if p == 0:
        return nothing, nothing, nothing
    if p == math.inf:
        return ops.sign(away) * ops.to(ops.eq(ops.abs(away), length), away.dtype), nothing, nothing
    if p == 1:
        return ops.sign(away), nothing, nothing
    flat = ops.logical_or(ops.eq(away, 0), ops.eq(length, 0))
    size, whole = ops.where(flat, 1, ops.abs(away)), ops.where(ops.eq(length, 0), 1, length)
    steep = ops.pow(size, p - 2) / ops.pow(whole, p - 1)
    at_zero = (
        ops.eq(length, 0) if p == 2 else flat
    )  # the slope's own derivative at a difference of 0 is 1 / length
    return (
        ops.where(flat, 0, away * steep),
        ops.where(at_zero, 0, (p - 1) * steep),
        ops.where(flat, 0, (1 - p) * away * steep / whole),
    )


def _backward(grad: Any, x1: Any, x2: Any, distance: Any, p: float) -> Any:
    return ops.sum(ops.unsqueeze(grad, -1) * _slopes(x1, x2, distance, p)[0], -2)


def _backward_gradients(
    h: Any, grad: Any, x1: Any, x2: Any, distance: Any, r: Any, p: float
) -> tuple[Any, Any, Any, Any]:
    slope, by_difference, by_distance = _slopes(x1, x2, distance, p)
    h, g = ops.unsqueeze(h, -2), ops.unsqueeze(grad, -1)
    moved = h * g * by_difference
    return ops.sum(h * slope, -1), ops.sum(moved, -2), -ops.sum(moved, -3), ops.sum(h * g * by_distance, -1)


def _distance(u: Any, v: Any, p: float) -> float:
    """One distance, by definition."""
    away = [abs(s - t) for s, t in zip(u.tolist(), v.tolist(), strict=True)]
    if p == 0:
        return float(len([size for size in away if size]))
    return float(max(away, default=0.0) if p == math.inf else math.fsum(size**p for size in away) ** (1 / p))


def _oracle(a: Any, b: Any, p: float) -> Any:
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b))
    found = np.zeros((*a.shape[:-1], b.shape[-2]), a.dtype)
    for place in np.ndindex(*found.shape):
        *batch, i, j = place
        found[place] = _distance(a[(*batch, i)], b[(*batch, j)], p)
    return found


def _backward_oracle(g: Any, a: Any, b: Any, distance: Any, p: float) -> Any:
    away = a[..., :, None, :] - b[..., None, :, :]
    length = distance[..., None]
    with np.errstate(all="ignore"):
        if p == 0:
            slope = np.zeros_like(away)
        elif p == math.inf:
            slope = np.sign(away) * np.isclose(np.abs(away), length, rtol=1e-6)  # a wider type than its own
        else:
            slope = np.sign(away) * (np.abs(away) / length) ** (p - 1)
    return (g[..., None] * np.where((away == 0) | (length == 0), 0, slope)).sum(-2).astype(a.dtype)


def _with_gradient(draw: Draw) -> Iterable[Sample]:
    found = []
    for s in stacks(draw):
        a, b, p = s.arguments
        distance = _oracle(a, b, p)
        found.append(sample(draw.array(*distance.shape), a, b, distance, p))
    return found


row_distances = op(
    "row_distances(x1: Tensor, x2: Tensor, p: float) -> Tensor",
    family=ROWS,
    shape=_shape,
    function=_distances,
    vjp=lambda g, a, b, r, p: (
        ops.row_distances_backward(g, a, b, r, p),
        ops.row_distances_backward(ops.transpose(g, -2, -1), b, a, ops.transpose(r, -2, -1), p),
    ),
    oracle=_oracle,
    doc="The p-norm of every row of x1 (..., P, M) less every row of x2 (..., R, M): (..., P, R).",
    example="tenora.cdist(tenora.ones(3, 2), tenora.zeros(4, 2))",
    public="",
)
row_distances_backward = op(
    "row_distances_backward(grad: Tensor, x1: Tensor, x2: Tensor, distance: Tensor, p: float) -> Tensor",
    family=ROWS,
    shape=_backward_shape,
    function=_backward,
    vjp=_backward_gradients,
    dynamic_vjp=True,
    samples=_with_gradient,
    gradient_samples=lambda draw: [
        s for s in _with_gradient(draw) if s.arguments[-1] != 0.5
    ],  # no digits are left of second differences of roots
    oracle=_backward_oracle,
    doc="The gradient of row_distances for x1: sums over the rows of x2.",
    example="tenora.cdist(tenora.rand(3, 2).requires_grad_(), tenora.zeros(4, 2)).sum().backward()",
    public="",
)


#: PyTorch's ways to the same distances; here there is one.
COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = COMPUTE_MODES[0]) -> Any:
    if compute_mode not in COMPUTE_MODES:
        raise errors.ArgumentValueError(
            f"[cdist] unknown compute_mode: got {compute_mode!r}, expected one of {COMPUTE_MODES}. All give the same."
        )
    need_rank("cdist", x1, 2)
    need_rank("cdist", x2, 2)
    if x1.shape[-1] != x2.shape[-1]:
        raise errors.OperationError(
            f"[cdist] last dimensions differ: got {tuple(x1.shape)} and {tuple(x2.shape)}, expected equal ones. "
            "Check the shapes."
        )
    for x in (x1, x2):
        if not x.dtype.is_floating_point:
            raise errors.OperationError(
                f"[cdist] wrong dtype: got {x1.dtype} and {x2.dtype}, expected real floating dtypes. "
                + (
                    "Pass view_as_real(x).flatten(-2)."
                    if x.dtype.is_complex
                    else "Cast with .to(tenora.float32)."
                )
            )
    if not p >= 0:  # NaN is refused too
        raise errors.OperationError(f"[cdist] p: got {p}, expected 0 or more. Use 2 for lengths.")
    batch = broadcast_shape("cdist", [x1.shape[:-2], x2.shape[:-2]])
    a, b = (ops.expand(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
    if x1.dtype != x2.dtype:
        if a.numel() and b.numel():  # else nothing is computed, and PyTorch does not look
            raise errors.OperationError(
                f"[cdist] operands have different dtypes: got {x1.dtype} and {x2.dtype}, expected one. Cast one."
            )
        b = ops.to(b, x1.dtype)
    if not a.shape[-1]:
        return ops.full((*batch, a.shape[-2], b.shape[-2]), 0, dtype=x1.dtype, device=x1.device)
    if x1.dtype not in (_engine.float16, _engine.bfloat16):
        return ops.row_distances(a, b, float(p))
    wide = (ops.to(x, _engine.float32) for x in (a, b))
    return ops.to(ops.row_distances(*wide, float(p)), x1.dtype)


cdist = op(
    "cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "
    "'use_mm_for_euclid_dist_if_necessary') -> Tensor",
    family=Family("vectors", "", "", "", stacks, REALS, tolerance="statistics"),
    function=_cdist,
    samples=lambda draw: [
        sample(draw.array(3, 2), draw.array(2, 2)),
        sample(draw.array(2, 3, 2), draw.array(3, 2), 1.0),
        sample(draw.array(3, 2), draw.array(2, 2), 3.0),
        sample(draw.array(3, 2), draw.array(2, 2), math.inf),
        sample(draw.array(2, 1, 3, 2), draw.array(2, 2, 2), 0.5),
        sample(draw.array(0, 2), draw.array(3, 2)),
        sample(draw.array(2, 2), draw.array(2, 2), 0.0),
        sample(draw.array(2, 0), draw.array(3, 0)),
    ],
    oracle=lambda a, b, p=2.0: _oracle(a, b, p),
    doc="All distances between the rows of x1 and of x2: the p-norm of their difference; its gradient at 0 is 0.",
    example="tenora.cdist(tenora.ones(3, 2), tenora.zeros(4, 2))",
)
