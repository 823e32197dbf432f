"""Losses: composites of ring 0, each may be overridden by a fused kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.formula import max_number, min_number, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.oracles import along
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    REALS,
    Domain,
    Draw,
    Sample,
    sample,
)

LOSS = Family("loss", "float_same", "loss", "plain", lambda draw: targets(draw), REALS, tolerance="reduction")

REDUCTIONS = ("mean", "sum", "none")


def targets(draw: Draw) -> Iterable[Sample]:
    shapes = ((5,), (3, 4), (), (2, 3, 2, 2), (1, 2, 1, 3, 2), (7,))
    return [
        sample(draw.array(*shape), draw.array(*shape), reduction=REDUCTIONS[i % 3])
        for i, shape in enumerate(shapes)
    ]


def classes(draw: Draw) -> Iterable[Sample]:
    """Scores, class numbers, with weights, with ignored rows, per pixel, for one row."""
    weight = np.abs(draw.array(4)) + draw.array(4).dtype.type(0.5)
    ignored = draw.indices(4, 6)
    ignored[::3] = -100
    return [
        sample(draw.array(6, 4), draw.indices(4, 6)),
        sample(draw.array(6, 4), draw.indices(4, 6), reduction="sum"),
        sample(draw.array(6, 4), draw.indices(4, 6), reduction="none"),
        sample(draw.array(6, 4), ignored, weight),
        sample(draw.array(6, 4), ignored, weight, reduction="none"),
        sample(draw.array(2, 4, 3, 2), draw.indices(4, 2, 3, 2)),
        sample(draw.array(4), draw.indices(4)),
        sample(draw.array(6, 4), np.where(ignored < 0, 1, ignored), ignore_index=1),
        sample(draw.array(4), draw.indices(4), weight),
    ]


def _softmax_row(row: Any) -> Any:
    shifted = [math.exp(v - max(row.tolist())) for v in row.tolist()]
    return np.array(shifted) / math.fsum(shifted)


def reduce_loss(values: Any, reduction: str) -> Any:
    if reduction == "none":
        return values
    return ops.sum(values) if reduction == "sum" else ops.mean(values)  # the shape rule knows no fourth


def reduced_loss(values: Any, reduction: str) -> Any:
    if reduction == "none":
        return values
    total = math.fsum(np.reshape(values, -1).tolist())
    return np.array(total if reduction == "sum" else total / values.size)


def _spread(g: Any, x: Any, reduction: str) -> Any:
    """The gradient of a loss, as every element of its input sees it."""
    return g / max_number(x.numel, 1) if reduction == "mean" else g


mse_loss = op(
    "mse_loss(input: Tensor, target: Tensor, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="loss_real",
    composite=lambda x, y, reduction: reduce_loss(ops.square(x - y), reduction),
    vjp=lambda g, x, y, r, reduction: _squares_gradient(_spread(g, x, reduction), x, y),
    oracle=lambda x, y, reduction="mean": reduced_loss((x - y) ** 2, reduction),
    doc="Mean, sum or list of squared differences.",
    example="tenora.nn.functional.mse_loss(tenora.ones(3), tenora.zeros(3))",
    public="nn.functional.mse_loss",
)


def _squares_gradient(g: Any, x: Any, y: Any) -> tuple[Any, Any]:
    slope = (x - y) * (g * 2)
    return slope, -slope


l1_loss = op(
    "l1_loss(input: Tensor, target: Tensor, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="loss_modulus",
    domain=Domain(distinct=True),
    samples=lambda draw: [
        sample(s.arguments[0], s.arguments[1] + s.arguments[1].dtype.type(9), **s.options)
        for s in targets(draw)
    ],
    composite=lambda x, y, reduction: reduce_loss(ops.abs(x - y), reduction),
    oracle=lambda x, y, reduction="mean": reduced_loss(np.abs(x - y), reduction),
    doc="Mean, sum or list of absolute differences.",
    example="tenora.nn.functional.l1_loss(tenora.ones(3), tenora.zeros(3))",
    public="nn.functional.l1_loss",
)

smooth_l1_loss = op(
    "smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = 'mean', beta: float = 1.0) -> Tensor",
    family=LOSS,
    dtype="promote_float_real",
    composite=lambda x, y, reduction, beta: reduce_loss(
        ops.where(ops.lt(ops.abs(x - y), beta), ops.square(x - y) * 0.5 / beta, ops.abs(x - y) - beta * 0.5),
        reduction,
    ),
    oracle=lambda x, y, reduction="mean", beta=1.0: reduced_loss(
        np.where(np.abs(x - y) < beta, 0.5 * (x - y) ** 2 / beta, np.abs(x - y) - beta / 2), reduction
    ),
    doc="Squares near zero, absolute differences beyond beta.",
    example="tenora.nn.functional.smooth_l1_loss(tenora.ones(3), tenora.zeros(3))",
    public="nn.functional.smooth_l1_loss",
)


def _chosen(x: Any, target: Any, weight: Any, ignore_index: Any) -> tuple[Any, Any, Any]:
    """The class dim, the target without ignored entries, and the weight of every entry (0 where ignored)."""
    dim = min_number(x.ndim - 1, 1)
    counted = ops.ne(target, ignore_index)
    safe = ops.where(counted, target, 0)
    weights = (
        ops.to(counted, x.dtype) if weight is None else ops.where(counted, ops.index(weight, [safe]), 0.0)
    )
    return dim, safe, weights


def _nll_loss(x: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    dim, safe, weights = _chosen(x, target, weight, ignore_index)
    picked = ops.squeeze(ops.gather(x, dim, ops.unsqueeze(safe, dim)), dim)
    losses = ops.where(ops.ne(target, ignore_index), -picked * weights, 0)
    if reduction == "none":
        return losses
    return ops.sum(losses) if reduction == "sum" else ops.sum(losses) / ops.sum(weights)


def _nll_loss_backward(g: Any, x: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    dim, safe, weights = _chosen(x, target, weight, ignore_index)
    shares = weights / ops.sum(weights) if reduction == "mean" else weights
    each = ops.to(-g * shares, x.dtype)
    return ops.scatter(ops.zeros_like(x), dim, ops.unsqueeze(safe, dim), ops.unsqueeze(each, dim))


def _nll_weight_gradient(
    g: Any, x: Any, target: Any, weight: Any, r: Any, ignore_index: Any, reduction: str
) -> Any:
    """Of -sum(w x) / sum(w) by a class's w: the sum of its (-x - r) / sum(w); without the division, of its -x."""
    dim, safe, weights = _chosen(x, target, weight, ignore_index)
    each = -ops.squeeze(ops.gather(x, dim, ops.unsqueeze(safe, dim)), dim)
    if reduction == "mean":
        each = (each - r) / ops.sum(weights)
    each = ops.where(ops.ne(target, ignore_index), each * g, 0)
    return ops.index_put(ops.zeros_like(weight), ops.to(each, weight.dtype), [safe], accumulate=True)


def _weight_curvature(h: Any, g: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    """nll_loss is linear in its input: what h sees of its gradient is g times the loss of h."""
    loss = ops.nll_loss(h, target, weight, ignore_index, reduction)
    return _nll_weight_gradient(g, h, target, weight, loss, ignore_index, reduction)


def _nll_oracle(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    weight = np.ones(x.shape[min(x.ndim - 1, 1)]) if weight is None else weight
    moved = np.moveaxis(x, min(x.ndim - 1, 1), -1)
    losses, total = np.zeros(target.shape), 0.0
    for place in np.ndindex(*target.shape):
        chosen = int(target[place])
        if chosen != ignore_index:
            losses[place] = -weight[chosen] * moved[place][chosen]
            total += float(weight[chosen])
    if reduction == "none":
        return losses
    return np.array(math.fsum(losses.reshape(-1)) / (total if reduction == "mean" else 1.0))


NLL = (
    "input: Tensor, target: Tensor, weight: Tensor? = None, ignore_index: int = -100, reduction: str = 'mean'"
)

nll_loss = op(
    f"nll_loss({NLL}) -> Tensor",
    family=LOSS,
    dtype="float_first",
    shape="nll_loss",
    samples=classes,
    composite=_nll_loss,
    vjp=lambda g, x, target, weight, r, ignore_index, reduction: (
        ops.constant_in(ops.nll_loss_backward(g, x, target, weight, ignore_index, reduction), x),
        None,
        None if weight is None else _nll_weight_gradient(g, x, target, weight, r, ignore_index, reduction),
    ),
    oracle=_nll_oracle,
    doc="-weight[target] input[target], its mean over the weights, or its sum.",
    example="tenora.nn.functional.nll_loss(tenora.zeros(2, 3), tenora.tensor([0, 2]))",
    public="nn.functional.nll_loss",
)

nll_loss_backward = op(
    "nll_loss_backward(grad: Tensor, input: Tensor, target: Tensor, weight: Tensor?, ignore_index: int, "
    "reduction: str) -> Tensor",
    family=LOSS,
    dtype="same",
    shape="nll_loss_backward",
    shape_only=("input",),
    samples=lambda draw: [_with_gradient(draw, s) for s in classes(draw)],
    composite=_nll_loss_backward,
    vjp=lambda h, g, x, target, weight, r, ignore_index, reduction: (
        _nll_slope(h, g, target, weight, ignore_index, reduction),
        None,
        None,
        None if weight is None else _weight_curvature(h, g, target, weight, ignore_index, reduction),
    ),
    oracle=lambda g, x, target, weight, ignore_index, reduction: _nll_slopes(
        g, x, target, weight, ignore_index, reduction
    ),
    doc="The gradient of nll_loss.",
    example="tenora.nn.functional.nll_loss(tenora.zeros(2, 3, requires_grad=True), tenora.tensor([0, 2])).backward()",
    public="",
)


def _with_gradient(draw: Draw, s: Sample) -> Sample:
    x, target, *weight = s.arguments
    reduction = s.options.get("reduction", "mean")
    g = draw.array(*(target.shape if reduction == "none" else ()))
    return sample(g, x, target, weight[0] if weight else None, s.options.get("ignore_index", -100), reduction)


def _nll_slope(h: Any, g: Any, target: Any, weight: Any, ignore_index: Any, reduction: str) -> Any:
    """nll_loss_backward is linear in g: its adjoint is nll_loss itself, applied to h."""
    losses = ops.nll_loss(h, target, weight, ignore_index, reduction)
    return sum_to(losses, g)


def _nll_slopes(g: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    out = np.zeros_like(x)
    weight = np.ones(x.shape[min(x.ndim - 1, 1)]) if weight is None else weight
    counted = [float(weight[t]) for t in target.reshape(-1).tolist() if t != ignore_index]
    total = math.fsum(counted) if reduction == "mean" else 1.0
    moved = np.moveaxis(out, min(x.ndim - 1, 1), -1)
    for place in np.ndindex(*target.shape):
        chosen = int(target[place])
        if chosen != ignore_index:
            moved[place][chosen] = -weight[chosen] * (g[place] if reduction == "none" else g) / total
    return out


def _log_softmax_oracle(x: Any) -> Any:
    return along(lambda row: np.log(_softmax_row(row)), x, min(x.ndim - 1, 1))


cross_entropy = op(
    f"cross_entropy({NLL}) -> Tensor",
    family=LOSS,
    dtype="same",
    shape="nll_loss",
    tolerance="normalised",
    samples=classes,
    composite=lambda x, target, weight, ignore_index, reduction: ops.nll_loss(
        ops.log_softmax(x, min_number(x.ndim - 1, 1)), target, weight, ignore_index, reduction
    ),
    oracle=lambda x, target, weight=None, ignore_index=-100, reduction="mean": _nll_oracle(
        _log_softmax_oracle(x), target, weight, ignore_index, reduction
    ),
    doc="nll_loss of log_softmax, for targets that are class numbers.",
    example="tenora.nn.functional.cross_entropy(tenora.zeros(2, 3), tenora.tensor([0, 2]))",
    public="nn.functional.cross_entropy",
)


def _smooth(x: Any, target: Any, weight: Any, ignore_index: Any, reduction: str, label_smoothing: Any) -> Any:
    """(1 - s) nll + s / C times the sum over classes (Szegedy et al. 2016, as PyTorch weighs it)."""
    dim, safe, weights = _chosen(x, target, weight, ignore_index)
    scores = ops.log_softmax(x, dim)
    picked = ops.squeeze(ops.gather(scores, dim, ops.unsqueeze(safe, dim)), dim)
    sharp = -picked * weights
    if weight is None:
        flat = -ops.sum(scores, dim)
    else:
        flat = -ops.sum(ops.transpose(ops.transpose(scores, dim, -1) * weight, dim, -1), dim)
    flat = ops.where(ops.ne(target, ignore_index), flat, 0)
    losses = sharp * (1.0 - label_smoothing) + flat * (label_smoothing / x.shape[dim])
    if reduction == "none":
        return losses
    return ops.sum(losses) if reduction == "sum" else ops.sum(losses) / ops.sum(weights)


def _smooth_oracle(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    scores = _log_softmax_oracle(x)
    dim = min(x.ndim - 1, 1)
    weight = np.ones(x.shape[dim]) if weight is None else weight
    moved = np.moveaxis(scores, dim, -1)
    losses, total = np.zeros(target.shape), 0.0
    for place in np.ndindex(*target.shape):
        chosen = int(target[place])
        if chosen != ignore_index:
            flat = -math.fsum((weight * moved[place]).tolist()) / len(weight)
            losses[place] = (
                -weight[chosen] * moved[place][chosen] * (1 - label_smoothing) + label_smoothing * flat
            )
            total += float(weight[chosen])
    if reduction == "none":
        return losses
    return np.array(math.fsum(losses.reshape(-1)) / (total if reduction == "mean" else 1.0))


cross_entropy_smooth = op(
    f"cross_entropy_smooth({NLL}, label_smoothing: float = 0.0) -> Tensor",
    family=LOSS,
    dtype="same",
    shape="nll_loss",
    tolerance="normalised",
    samples=lambda draw: [type(s)(s.arguments, {**s.options, "label_smoothing": 0.2}) for s in classes(draw)],
    composite=_smooth,
    oracle=_smooth_oracle,
    doc="cross_entropy with a share of every label spread over all classes.",
    example="tenora.nn.functional.cross_entropy(tenora.zeros(2, 3), tenora.tensor([0, 2]), label_smoothing=0.1)",
    display="cross_entropy",
    public="",
)


def _probabilities(x: Any, target: Any, weight: Any, reduction: str, label_smoothing: Any) -> Any:
    dim = min_number(x.ndim - 1, 1)
    scores = ops.log_softmax(x, dim)
    spread = target * (1.0 - label_smoothing) + label_smoothing / x.shape[dim]
    products = scores * spread
    if weight is not None:
        products = ops.transpose(ops.transpose(products, dim, -1) * weight, dim, -1)
    losses = -ops.sum(products, dim)
    if reduction == "none":
        return losses
    return ops.sum(losses) if reduction == "sum" else ops.mean(losses)  # NaN of nothing


def likelihoods(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((6, 4), "mean", 0.0),
        ((6, 4), "sum", 0.1),
        ((6, 4), "none", 0.0),
        ((2, 4, 3), "mean", 0.2),
        ((4,), "mean", 0.0),
        ((2, 4, 2, 2), "none", 0.3),
    ]
    found = []
    for i, (shape, reduction, smoothing) in enumerate(rows):
        target = np.abs(draw.array(*shape))
        weight = np.abs(draw.array(4)) if i % 2 else None
        found.append(
            sample(draw.array(*shape), target, weight, reduction=reduction, label_smoothing=smoothing)
        )
    return found


def _probabilities_oracle(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    dim = min(x.ndim - 1, 1)
    scores = np.moveaxis(_log_softmax_oracle(x), dim, -1)
    spread = np.moveaxis(target, dim, -1) * (1 - label_smoothing) + label_smoothing / x.shape[dim]
    losses = np.asarray(-np.sum(scores * spread * (1 if weight is None else weight), axis=-1))
    return reduced_loss(losses, reduction)


cross_entropy_probabilities = op(
    "cross_entropy_probabilities(input: Tensor, target: Tensor, weight: Tensor? = None, reduction: str = 'mean', "
    "label_smoothing: float = 0.0) -> Tensor",
    family=LOSS,
    dtype="promote_float",
    shape="class_probabilities",
    tolerance="normalised",
    samples=likelihoods,
    composite=_probabilities,
    oracle=_probabilities_oracle,
    doc="Cross entropy for targets that are probabilities of all classes.",
    example="tenora.nn.functional.cross_entropy(tenora.zeros(2, 3), tenora.ones(2, 3) / 3)",
    display="cross_entropy",
    public="",
)
