"""Softmax and normalisation: composites of ring 0, each may be overridden by a fused kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.families import ALONG, COMPOSITE
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.oracles import along
from tenora_ops.record import op
from tenora_ops.samples import Domain, Draw, Sample, dims, sample


def dims_twice(draw: Draw) -> Iterable[Sample]:
    return [sample(draw.array(*s.arguments[0].shape), *s.arguments) for s in dims(draw)]


def _softmax_row(row: Any) -> Any:
    shifted = [math.exp(v - max(row.tolist())) for v in row.tolist()]
    return np.array(shifted) / math.fsum(shifted)


def _softmax(x: Any, dim: Any) -> Any:
    powers = ops.exp(x - ops.softmax_shift(x, dim, True))
    return powers / ops.sum(powers, dim, True)


softmax = op(
    "softmax(input: Tensor, dim: int) -> Tensor",
    family=ALONG,
    composite=_softmax,
    vjp=lambda g, x, r, dim: ops.softmax_backward(g, r, dim),
    oracle=lambda x, dim: along(_softmax_row, x, dim),
    doc="exp(x) over its sum along a dim.",
    example="tenora.softmax(tenora.tensor([1.0, 2.0]), 0)",
    method=True,
)

softmax_dtype = op(
    "softmax_dtype(input: Tensor, dim: int, dtype: dtype?) -> Tensor",
    family=COMPOSITE,
    tolerance="normalised",
    composite=lambda x, dim, dtype: ops.softmax(x if dtype is None else ops.to(x, dtype), dim),
    samples=lambda draw: [sample(*s.arguments, dtype="float64") for s in dims(draw)],
    oracle=lambda x, dim, dtype: along(_softmax_row, x, dim),
    doc="softmax computed in another dtype.",
    example="tenora.softmax(tenora.tensor([1, 2]), 0, dtype=tenora.float32)",
    public="softmax",
    method=True,
)

softmax_backward = op(
    "softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor",
    family=ALONG,
    samples=dims_twice,
    composite=lambda g, y, dim: y * (g - ops.sum(g * y, dim, True)),
    oracle=lambda g, y, dim: y * (g - np.sum(g * y, axis=dim if y.ndim else None, keepdims=True)),
    doc="The gradient of softmax from its output y: y (grad - sum(grad y)).",
    example="tenora.softmax(tenora.ones(3, requires_grad=True), 0).sum().backward()",
    public="",
)

log_softmax = op(
    "log_softmax(input: Tensor, dim: int) -> Tensor",
    family=ALONG,
    composite=lambda x, dim: _log_softmax(x, dim),
    vjp=lambda g, x, r, dim: ops.log_softmax_backward(g, r, dim),
    oracle=lambda x, dim: along(lambda row: np.log(_softmax_row(row)), x, dim),
    doc="log(softmax(x)) without overflow.",
    example="tenora.log_softmax(tenora.tensor([1.0, 2.0]), 0)",
    method=True,
)


def _log_softmax(x: Any, dim: Any) -> Any:
    shifted = x - ops.softmax_shift(x, dim, True)
    return shifted - ops.log(ops.sum(ops.exp(shifted), dim, True))


log_softmax_dtype = op(
    "log_softmax_dtype(input: Tensor, dim: int, dtype: dtype?) -> Tensor",
    family=COMPOSITE,
    tolerance="normalised",
    composite=lambda x, dim, dtype: ops.log_softmax(x if dtype is None else ops.to(x, dtype), dim),
    samples=lambda draw: [sample(*s.arguments, dtype="float64") for s in dims(draw)],
    oracle=lambda x, dim, dtype: along(lambda row: np.log(_softmax_row(row)), x, dim),
    doc="log_softmax computed in another dtype.",
    example="tenora.log_softmax(tenora.tensor([1, 2]), 0, dtype=tenora.float32)",
    public="log_softmax",
    method=True,
)

log_softmax_backward = op(
    "log_softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor",
    family=ALONG,
    domain=Domain(-2.0, 0.5),
    samples=dims_twice,
    composite=lambda g, y, dim: g - ops.exp(y) * ops.sum(g, dim, True),
    oracle=lambda g, y, dim: g - np.exp(y) * np.sum(g, axis=dim if y.ndim else None, keepdims=True),
    doc="The gradient of log_softmax from its output y: grad - exp(y) sum(grad).",
    example="tenora.log_softmax(tenora.ones(3, requires_grad=True), 0).sum().backward()",
    public="",
)


def _standardise(x: Any, dim: Any, eps: Any, centred: bool) -> Any:
    if centred:
        x = x - ops.mean(x, dim, True)
    return x * ops.rsqrt(ops.mean(x * x, dim, True) + eps)


def _standardise_backward(g: Any, x: Any, dim: Any, eps: Any, centred: bool) -> Any:
    if centred:
        x = x - ops.mean(x, dim, True)
        g = g - ops.mean(g, dim, True)
    scale = ops.rsqrt(ops.mean(x * x, dim, True) + eps)
    normal = x * scale
    return scale * (g - normal * ops.mean(g * normal, dim, True))


def _standards(draw: Draw) -> Iterable[Sample]:
    """Over last dims, over others, with the mean and without."""
    return [
        sample(draw.array(7), (0,), 1e-3, True),
        sample(draw.array(3, 5), (1,), 1e-5, False),
        sample(draw.array(2, 3, 4), (1, 2), 1e-3, True),
        sample(draw.array(2, 3, 2, 4), (3,), 1e-2, True),
        sample(draw.array(3, 5, 2), (0, 1), 1e-3, True),
        sample(draw.array(1, 2, 1, 3, 4), (3, 4), 1e-3, False),
        sample(draw.array(0, 3), (1,), 1e-3, True),
        sample(draw.array(3, 40), (1,), 1e-3, True),
    ]


def _standards_twice(draw: Draw) -> Iterable[Sample]:
    return [sample(draw.array(*s.arguments[0].shape), *s.arguments) for s in _standards(draw)]


def _standard_parts(x: Any, dim: tuple[int, ...], eps: float, centred: bool) -> tuple[Any, Any]:
    away = x - x.mean(axis=dim, keepdims=True) if centred else x
    return away, np.sqrt((away**2).mean(axis=dim, keepdims=True) + eps)


def _standard_gradient(g: Any, x: Any, dim: tuple[int, ...], eps: float, centred: bool) -> Any:
    """By the quotient rule, of away / root."""
    away, root = _standard_parts(x, dim, eps, centred)
    of_away = g / root - away * (g * away).mean(axis=dim, keepdims=True) / root**3
    return of_away - of_away.mean(axis=dim, keepdims=True) if centred else of_away


standardise = op(
    "standardise(input: Tensor, dim: int[], eps: float, centred: bool) -> Tensor",
    family=ALONG,
    dtype="float_same_real",
    shape="same",
    tolerance="statistics",
    composite=_standardise,
    vjp=lambda g, x, r, dim, eps, centred: ops.standardise_backward(g, x, dim, eps, centred),
    samples=_standards,
    oracle=lambda x, dim, eps, centred: np.divide(*_standard_parts(x, dim, eps, centred)),
    doc="x / sqrt(mean(x^2) + eps) over dims, of x less its mean if centred: what layers normalise by.",
    example="tenora.nn.functional.layer_norm(tenora.ones(2, 3), (3,))",
    public="",
)
standardise_backward = op(
    "standardise_backward(grad: Tensor, input: Tensor, dim: int[], eps: float, centred: bool) -> Tensor",
    family=ALONG,
    dtype="float_same_real",
    shape="broadcast",
    tolerance="statistics",
    composite=_standardise_backward,
    samples=_standards_twice,
    oracle=_standard_gradient,
    doc="The gradient of standardise for its input.",
    example="tenora.nn.functional.layer_norm(tenora.ones(2, 3, requires_grad=True), (3,)).sum().backward()",
    public="",
)


def _layer_norm(x: Any, weight: Any, bias: Any, normalized_shape: Any, eps: Any) -> Any:
    normal = ops.standardise(x, x.trailing_dims(normalized_shape), eps, True)
    if weight is not None:
        normal = normal * weight
    return normal if bias is None else normal + ops.straight(bias)


def _layer_norm_oracle(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    centred = x - x.mean(axis=dims, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=dims, keepdims=True) + eps)
    return normal * (1 if weight is None else weight) + (0 if bias is None else bias)


layer_norm = op(
    "layer_norm(input: Tensor, normalized_shape: int[], weight: Tensor? = None, bias: Tensor? = None, "
    "eps: float = 1e-05) -> Tensor",
    family=ALONG,
    dtype="layer",
    shape="layer_norm",
    tolerance="statistics",
    composite=_layer_norm,
    samples=lambda draw: [
        sample(draw.array(3, 5), (5,)),
        sample(draw.array(3, 5), (5,), draw.array(5), draw.array(5)),
        sample(draw.array(2, 3, 4), (3, 4), draw.array(3, 4)),
        sample(draw.array(2, 3, 2, 4), (4,), None, draw.array(4)),
        sample(draw.array(7), (7,), eps=1e-3),
        sample(draw.array(1, 2, 1, 3, 4), (3, 4)),
    ],
    oracle=_layer_norm_oracle,
    doc="(x - mean) / sqrt(variance + eps) over the last dims, then weight and bias (Ba et al. 2016).",
    example="tenora.nn.functional.layer_norm(tenora.ones(2, 3), (3,))",
    public="nn.functional.layer_norm",
)
