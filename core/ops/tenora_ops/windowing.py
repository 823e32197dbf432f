"""Sliding windows along one dim, and their adjoint."""

from __future__ import annotations

from typing import Any

from tenora_ops.checks import wrap_dim
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, FLOATING, sample, unary

WINDOW = Family("movement", "", "", "", unary, ALL)

unfold_dim = op(
    "unfold_dim(input: Tensor, dimension: int, size: int, step: int) -> Tensor",
    family=WINDOW,
    dtype="same",
    shape="unfold",
    view=True,
    vjp=lambda g, x, r, dimension, size, step: ops.fold_windows(g, x, dimension, size, step),
    samples=lambda draw: [
        sample(draw.array(7), 0, 3, 2),
        sample(draw.array(3, 4), 1, 2, 1),
        sample(draw.array(3, 4), 0, 1, 1),
        sample(draw.array(2, 3, 2, 2), -3, 2, 1),
        sample(draw.array(2, 0, 3), 2, 2, 1),
        sample(draw.array(5), 0, 5, 3),
    ],
    oracle=lambda x, dim, size, step: _windows(x, dim, size, step),
    doc="Windows of `size` elements every `step` along a dim, as a last dim; a view.",
    example="tenora.arange(7).unfold(0, 3, 2)",
    public="",
    method="unfold",
)


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    moved = np.moveaxis(x, dim, -1)
    found = [moved[..., a : a + size] for a in range(0, moved.shape[-1] - size + 1, step)]
    return np.moveaxis(np.stack(found, -2), -2, dim % x.ndim)


def _fold_windows(grad: Any, like: Any, dimension: int, size: int, step: int) -> Any:
    """Adds window by window where they overlap, else all at once."""
    dim = wrap_dim("unfold", dimension, like.ndim)
    if not like.ndim:
        return ops.reshape(ops.narrow(grad, 0, 0, 1), ()) if size else ops.zeros_like(like)
    windows = grad.shape[dim]
    total = ops.zeros_like(like)
    for offset in range(size):  # the elements at one offset of all windows never meet
        stop = offset + (windows - 1) * step + 1
        part = ops.select(grad, like.ndim, offset)
        total = total + ops.embed_slice(part, like, dim, offset, stop, step)
    return total


fold_windows = op(
    "fold_windows(grad: Tensor, like: Tensor, dimension: int, size: int, step: int) -> Tensor",
    family=WINDOW,
    dtypes=FLOATING,
    tolerance="reduction",
    function=_fold_windows,
    shape_only=("like",),
    samples=lambda draw: [
        sample(draw.array(3, 3), draw.array(7), 0, 3, 2),
        sample(draw.array(3, 3, 2), draw.array(3, 4), 1, 2, 1),
        sample(draw.array(3, 4, 1), draw.array(3, 4), 0, 1, 1),
        sample(draw.array(2, 2, 2, 2, 2), draw.array(2, 3, 2, 2), -3, 2, 1),
        sample(draw.array(2, 0, 2, 2), draw.array(2, 0, 3), 2, 2, 1),
        sample(draw.array(1, 5), draw.array(5), 0, 5, 3),
    ],
    oracle=lambda g, like, dim, size, step: _added_windows(g, like, dim, size, step),
    doc="The adjoint of unfold: every window added at its place.",
    example="tenora.ones(5, requires_grad=True).unfold(0, 3, 1).sum().backward()",
    public="",
)


def _added_windows(g: Any, like: Any, dim: int, size: int, step: int) -> Any:
    out = np.zeros(like.shape, dtype=g.dtype)
    moved, parts = np.moveaxis(out, dim, -1), np.moveaxis(g, dim if dim >= 0 else dim - 1, 0)
    for k, part in enumerate(parts):
        moved[..., k * step : k * step + size] += part
    return out
