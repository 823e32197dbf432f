"""Activations that look along a dim: gated linear units, softmin, Gumbel softmax."""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_real
from tenora_ops.families import ALONG
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.oracles import along
from tenora_ops.random import uniforms
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Draw, Sample, Seed, sample


def _halved(operands: Any, attributes: Any) -> tuple[int, ...]:
    """The shape rule of glu."""
    (shape, _), dim = operands[0], attributes[0]
    if not shape:
        raise errors.OperationError("[glu] too few dimensions: got 0-d, expected at least 1. Unsqueeze it.")
    if not -len(shape) <= dim < len(shape):
        raise errors.IndexRangeError(
            f"[glu] dim out of range: got {dim}, expected {-len(shape)} to {len(shape) - 1}. Name an existing dim."
        )
    size = shape[dim]
    if size % 2:
        raise errors.OperationError(
            f"[glu] odd size: got {size} along dim {dim}, expected an even number. Both halves are needed."
        )
    dim %= len(shape)
    return (*shape[:dim], size // 2, *shape[dim + 1 :])


def _halves(x: Any, dim: Any) -> tuple[Any, Any]:
    half = x.shape[dim] // 2
    return ops.narrow(x, dim, 0, half), ops.narrow(x, dim, half, half)


def _glu(x: Any, dim: Any) -> Any:
    value, gate = _halves(x, dim)
    return value * ops.sigmoid(gate)


def _glu_gradient(g: Any, x: Any, dim: Any) -> Any:
    value, gate = _halves(x, dim)
    opened = ops.sigmoid(gate)
    return ops.cat([g * opened, g * value * opened * (1 - opened)], dim)


def _glu_oracle(x: Any, dim: int = -1) -> Any:
    value, gate = np.split(x, 2, axis=dim)
    return value / (1 + np.exp(-gate))


def _even(draw: Draw) -> list[Sample]:
    rows = (
        ((6,), 0),
        ((3, 4), -1),
        ((4, 3), 0),
        ((2, 3, 4, 2), 2),
        ((1, 2, 1, 3, 2), 1),
        ((0, 4), 1),
        ((3, 0), -1),
    )
    return [sample(draw.array(*shape), dim) for shape, dim in rows] + [sample(draw.array(2, 2))]


glu = op(
    "glu(input: Tensor, dim: int = -1) -> Tensor",
    family=ALONG,
    dtype="float_same_real",
    shape=_halved,
    samples=_even,
    composite=_glu,
    vjp=lambda g, x, r, dim: _glu_gradient(g, x, dim),
    tolerance="transcendental",
    oracle=_glu_oracle,
    doc="The first half along dim times the sigmoid of the second (Dauphin et al. 2017).",
    example="tenora.nn.functional.glu(tenora.ones(4))",
    public="nn.functional.glu",
)


def _softmin_row(row: Any) -> Any:
    shifted = [math.exp(min(row.tolist()) - v) for v in row.tolist()]
    return np.array(shifted) / math.fsum(shifted)


softmin = op(
    "softmin(input: Tensor, dim: int) -> Tensor",
    family=ALONG,
    composite=lambda x, dim: ops.softmax(-x, dim),
    oracle=lambda x, dim: along(_softmin_row, x, dim),
    doc="softmax(-x).",
    example="tenora.nn.functional.softmin(tenora.tensor([1.0, 2.0]), 0)",
    public="nn.functional.softmin",
)

#: Exponential numbers are kept above it, so that their logarithm is finite.
SMALLEST = 2.0**-25
GUMBEL = Family("random", "", "", "", lambda draw: _logits(draw), REALS, tolerance="normalised")


def _logits(draw: Draw) -> list[Sample]:
    rows = (((5,), -1), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2, 2), 1), ((1, 2, 1, 3, 2), 3), ((1, 1), 0))
    return [
        sample(draw.array(*shape), 0.5 + i, hard=i % 2 == 1, dim=dim, generator=Seed(i))
        for i, (shape, dim) in enumerate(rows)
    ]


def _gumbel_softmax(logits: Any, tau: float, hard: bool, eps: float, dim: int, generator: Any) -> Any:
    need_real("gumbel_softmax", logits)
    # Half types draw in float32: one of 256 bfloat16 uniforms is 0, whose noise is that of SMALLEST.
    wide = _engine.float64 if logits.dtype == _engine.float64 else _engine.float32
    drawn = ops.rand(tuple(logits.shape), generator=generator, dtype=wide, device=logits.device)
    gumbels = -ops.log(ops.maximum(-ops.log(1 - drawn), SMALLEST))
    soft = ops.softmax((ops.to(logits, wide) + gumbels) / tau, dim)
    if hard:
        chosen = ops.argmax(soft, dim, True)
        sharp = ops.scatter(ops.zeros_like(soft), dim, chosen, ops.ones_like(ops.to(chosen, wide)))
        soft = sharp - soft.detach() + soft
    return soft if logits.dtype == wide else ops.to(soft, logits.dtype)


def _gumbel_oracle(logits: Any, tau: float, hard: bool, dim: int, generator: Any) -> Any:
    name = str((logits.dtype.metadata or {}).get("drawn", logits.dtype.name))
    name = name if name == "float64" else "float32"
    drawn = np.array(uniforms(generator.seed, logits.size, name)).reshape(logits.shape)
    noise = -np.log(np.maximum(-np.log1p(-drawn), SMALLEST))
    soft = along(lambda row: _softmin_row(-row), (logits + noise) / tau, dim)
    if not hard:
        return soft
    return np.where(soft == soft.max(axis=dim, keepdims=True), 1.0, 0.0)


gumbel_softmax = op(
    "gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, "
    "generator: Generator? = None) -> Tensor",
    no_differences="each call draws anew",
    family=GUMBEL,
    function=_gumbel_softmax,
    oracle=_gumbel_oracle,
    doc="softmax((logits + Gumbel noise) / tau); hard: its one-hot argmax with the gradient of the soft one.",
    example="tenora.nn.functional.gumbel_softmax(tenora.zeros(2, 3), hard=True)",
    public="nn.functional.gumbel_softmax",
)
