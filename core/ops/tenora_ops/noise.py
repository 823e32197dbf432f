"""Relatives of dropout: whole channels, and noise that keeps mean and variance for selu.

- They compare the same float32 uniforms with p as dropout does, one for each element or for each channel.
- Python functions: how many masked dims an input has is a question of its rank.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.activation_pieces import SELU_ALPHA, SELU_SCALE
from tenora_ops.checks import need_probability
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import Draw, Sample, sample

#: What dropped elements become: the value of selu at minus infinity.
FLOOR = -SELU_ALPHA * SELU_SCALE

NOISE = Family("random", "", "", "", lambda draw: channels(draw), ("float32", "float64"), tolerance="few_ulp")


def channels(draw: Draw) -> list[Sample]:
    """Calls whose result is certain: without training, and with p = 0 or 1."""
    rows = (
        ((2, 3), 0.5, False),
        ((2, 3, 4), 0.1, False),
        ((1, 2, 2, 3), 0.5, False),
        ((2, 1, 2, 1, 3), 0.9, False),
    )
    certain = [sample(draw.array(*shape), p, training) for shape, p, training in rows]
    return [*certain, sample(draw.array(3, 4), 0.0, True), sample(draw.array(3, 4), 1.0, True)]


def _kept(op_name: str, x: Any, p: float, whole_channels: bool) -> Any:
    """The mask of what stays."""
    need_probability(op_name, p)
    if whole_channels and x.ndim < 2:
        raise errors.OperationError(
            f"[{op_name}] too few dimensions: got {x.ndim}-d, expected at least 2. Unsqueeze the input."
        )
    shape = (*x.shape[:2], *[1] * (x.ndim - 2)) if whole_channels else tuple(x.shape)
    return ops.ge(ops.rand(shape, dtype=_engine.float32, device=x.device), p)


def _feature_dropout(input: Any, p: float, training: bool) -> Any:
    if not training:
        return input
    kept = _kept("feature_dropout", input, p, True)
    return ops.where(kept, input / max(1.0 - p, 2.0**-24), input * 0)  # NaN stays NaN


feature_dropout = op(
    "feature_dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor",
    family=NOISE,
    function=_feature_dropout,
    edges="none",
    oracle=lambda x, p, training: np.zeros_like(x) if training and p == 1 else x,
    doc="Channels (N, C, ...) zeroed with probability p, the others scaled by 1 / (1 - p) (Tompson et al. 2015).",
    example="tenora.nn.functional.dropout2d(tenora.ones(1, 4, 2, 2), 0.5)",
    public="",
)


def _alpha(op_name: str, x: Any, p: float, training: bool, whole_channels: bool) -> Any:
    if not training:
        return x
    kept = _kept(op_name, x, p, whole_channels)
    if p == 1.0:
        return x * ops.zeros((), dtype=x.dtype, device=x.device)  # bool stays bool, NaN stays NaN
    scale = 1.0 / math.sqrt(max(1.0 - p, 2.0**-24) * (1.0 + p * FLOOR**2))
    return ops.where(kept, x, x * 0 + FLOOR) * scale - scale * FLOOR * p


def _alpha_dropout(input: Any, p: float, training: bool) -> Any:
    return _alpha("alpha_dropout", input, p, training, False)


def _feature_alpha_dropout(input: Any, p: float, training: bool) -> Any:
    return _alpha("feature_alpha_dropout", input, p, training, True)


alpha_dropout = op(
    "alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor",
    family=NOISE,
    function=_alpha_dropout,
    either_zero=True,
    oracle=lambda x, p, training: x * 0 if training and p == 1 else x,
    doc="Elements set to selu(-inf) with probability p, then mean and variance restored (Klambauer et al. 2017).",
    example="tenora.nn.functional.alpha_dropout(tenora.ones(4), 0.5, training=True)",
    public="nn.functional.alpha_dropout",
)

feature_alpha_dropout = op(
    "feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor",
    family=NOISE,
    function=_feature_alpha_dropout,
    edges="none",
    oracle=lambda x, p, training: x * 0 if training and p == 1 else x,
    doc="alpha_dropout of whole channels (N, C, ...).",
    example="tenora.nn.functional.feature_alpha_dropout(tenora.ones(1, 4, 2), 0.5, training=True)",
    public="nn.functional.feature_alpha_dropout",
)
