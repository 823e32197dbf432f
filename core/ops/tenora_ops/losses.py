"""Losses element by element: likelihoods, divergences, robust and hinge forms. Composites over ring 0."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.families import BINARY
from tenora_ops.formula import ops, sum_to
from tenora_ops.lazy import np, special
from tenora_ops.loss import LOSS, _spread, reduce_loss, reduced_loss, targets
from tenora_ops.record import op
from tenora_ops.samples import REALS, Domain, Draw, Sample, Samples, sample

INSIDE = Domain(0.05, 0.95)


def signs(draw: Draw, *shape: int) -> Any:
    """1 or -1."""
    return (draw.rng.integers(0, 2, shape) * 2 - 1).astype(draw.array(1).dtype)


def against_signs(*values: Any) -> Samples:
    """Inputs against targets of 1 and -1, with these arguments in half of the calls."""
    return lambda draw: [
        sample(s.arguments[0], signs(draw, *s.arguments[0].shape), *(values if i % 2 else ()), **s.options)
        for i, s in enumerate(targets(draw))
    ]


def weighted(draw: Draw) -> Iterable[Sample]:
    """Input, target and in half of the calls a weight that broadcasts."""
    found = []
    for i, s in enumerate(targets(draw)):
        shape = s.arguments[0].shape
        weight = (draw.array(*shape[-1:]),) if i % 2 else ()
        found.append(sample(*s.arguments, *weight, **s.options))
    return found


def _entropy_gradient(g: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (
        sum_to(g * (x - y) / ops.maximum((1 - x) * x, 1e-12), x),
        sum_to(g * (ops.maximum(ops.log1p(-x), -100.0) - _log(x)), y),
    )


def _log(x: Any) -> Any:
    """log x, at least -100."""
    return ops.maximum(ops.log(x), -100.0)


def _entropy_oracle(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100))


binary_entropy = op(
    "binary_entropy(input: Tensor, target: Tensor) -> Tensor",
    family=BINARY,
    dtype="promote_float_real",
    dtypes=REALS,
    domain=INSIDE,
    samples=lambda draw: [sample(*s.arguments) for s in targets(draw)],
    composite=lambda x, y: (y - 1) * ops.maximum(ops.log1p(-x), -100.0) - y * _log(x),
    vjp=lambda g, x, y, r: _entropy_gradient(g, x, y),
    tolerance="transcendental",
    edges="cancels",
    oracle=_entropy_oracle,
    doc="-(y log x + (1 - y) log(1 - x)), logarithms kept at -100 or more.",
    example="tenora.nn.functional.binary_cross_entropy(tenora.tensor([0.5]), tenora.tensor([1.0]))",
    public="",
)

binary_cross_entropy = op(
    "binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor? = None, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="promote_float",
    domain=INSIDE,
    samples=weighted,
    composite=lambda x, y, weight, reduction: reduce_loss(
        ops.binary_entropy(x, y) if weight is None else ops.binary_entropy(x, y) * weight, reduction
    ),
    edges="cancels",
    oracle=lambda x, y, weight=None, reduction="mean": reduced_loss(
        _entropy_oracle(x, y) * (1 if weight is None else weight), reduction
    ),
    doc="-(y log x + (1 - y) log(1 - x)), weighted, its mean, sum or list.",
    example="tenora.nn.functional.binary_cross_entropy(tenora.tensor([0.5]), tenora.tensor([1.0]))",
    public="nn.functional.binary_cross_entropy",
)


def _logits(x: Any, y: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    """As PyTorch's, in which x = inf costs an inf where y < 1."""
    positive = -ops.logsigmoid(x)
    if pos_weight is not None:
        positive = ((pos_weight - 1) * y + 1) * positive
    losses = x * (1 - y) + positive
    return reduce_loss(losses if weight is None else losses * weight, reduction)


def _logits_oracle(
    x: Any, y: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    weighed = 1 if pos_weight is None else (pos_weight - 1) * y + 1
    losses = weighed * np.logaddexp(0, -x) + (1 - y) * x
    return reduced_loss(losses * (1 if weight is None else weight), reduction)


def _logits_samples(draw: Draw) -> Iterable[Sample]:
    found = list(weighted(draw))
    for shape in ((3, 4), (2, 3, 2)):
        last = shape[-1:]
        found.append(
            sample(draw.array(*shape), draw.array(*shape), None, pos_weight=np.abs(draw.array(*last)))
        )
    return found


binary_cross_entropy_with_logits = op(
    "binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor? = None, reduction: str = 'mean', "
    "pos_weight: Tensor? = None) -> Tensor",
    family=LOSS,
    dtype="loss_like_target",
    samples=_logits_samples,
    composite=_logits,
    edges="cancels",
    oracle=_logits_oracle,
    doc="Binary cross entropy of sigmoid(x), without overflow; pos_weight weighs the positive part.",
    example="tenora.nn.functional.binary_cross_entropy_with_logits(tenora.zeros(3), tenora.ones(3))",
    public="nn.functional.binary_cross_entropy_with_logits",
)


def _divergence(x: Any, y: Any, reduction: str, log_target: bool) -> Any:
    if log_target:
        return reduce_loss(ops.exp(y) * (y - x), reduction)
    safe = ops.where(ops.eq(y, 0), 1, y)
    return reduce_loss(y * ops.log(safe) - y * x, reduction)


def _divergences(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, s in enumerate(targets(draw)):
        x, y = s.arguments
        options = dict(s.options) | ({"log_target": True} if i % 2 else {})
        found.append(sample(np.log(x.astype(float)).astype(x.dtype), y, **options))
    return found


kl_div = op(
    "kl_div(input: Tensor, target: Tensor, reduction: str = 'mean', *, log_target: bool = False) -> Tensor",
    family=LOSS,
    dtype="promote_float_real",
    domain=Domain(0.1, 1.0),
    samples=_divergences,
    composite=_divergence,
    edges="cancels",
    oracle=lambda x, y, reduction="mean", log_target=False: reduced_loss(
        np.exp(y) * (y - x) if log_target else special.xlogy(y, y) - y * x, reduction
    ),
    tolerance="normalised",
    doc="target (log target - input) for log-probabilities input; target may be a logarithm too.",
    example="tenora.nn.functional.kl_div(tenora.zeros(3), tenora.ones(3) / 3)",
    public="nn.functional.kl_div",
)


def _huber(x: Any, y: Any, reduction: str, delta: Any) -> Any:
    apart = x - y
    distance = ops.abs(apart)  # not below the square, whose second derivative it would take at 0
    losses = ops.where(ops.lt(distance, delta), ops.square(apart) * 0.5, (distance - delta * 0.5) * delta)
    return reduce_loss(losses, reduction)


huber_loss = op(
    "huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0) -> Tensor",
    family=LOSS,
    dtype="loss_like_input",
    samples=lambda draw: [
        sample(*s.arguments, **s.options, **({"delta": 2.5} if i % 2 else {}))
        for i, s in enumerate(targets(draw))
    ],
    composite=_huber,
    oracle=lambda x, y, reduction="mean", delta=1.0: reduced_loss(special.huber(delta, x - y), reduction),
    doc="Half squares up to delta, delta (|x - y| - delta / 2) beyond (Huber 1964).",
    example="tenora.nn.functional.huber_loss(tenora.ones(3), tenora.zeros(3))",
    public="nn.functional.huber_loss",
)


def _poisson(x: Any, y: Any, log_input: bool, full: bool, eps: Any, reduction: str) -> Any:
    losses = ops.exp(x) - y * x if log_input else x - y * ops.log(x + eps)
    if full:
        safe = ops.where(ops.gt(y, 1), y, 2)
        stirling = safe * ops.log(safe) - safe + ops.log(safe * (2 * math.pi)) * 0.5
        losses = losses + ops.where(ops.gt(y, 1), stirling, 0)
    return reduce_loss(losses, reduction)


def _poisson_oracle(
    x: Any,
    y: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    losses = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        with np.errstate(all="ignore"):
            stirling = special.xlogy(y, y) - y + 0.5 * np.log(2 * math.pi * y)
        losses = losses + np.where(y > 1, stirling, 0)
    return reduced_loss(losses, reduction)


poisson_nll_loss = op(
    "poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, *, "
    "eps: float = 1e-08, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="loss_poisson",
    domain=Domain(0.1, 3.0, avoid=(1.0,)),
    samples=lambda draw: [
        sample(*s.arguments, i % 2 == 0, i % 3 == 0, **s.options) for i, s in enumerate(targets(draw))
    ],
    composite=_poisson,
    edges="none",
    oracle=_poisson_oracle,
    tolerance="normalised",
    doc="e^x - y x, or x - y log(x + eps): the Poisson likelihood of counts y; full adds Stirling's log y!.",
    example="tenora.nn.functional.poisson_nll_loss(tenora.zeros(3), tenora.ones(3))",
    public="nn.functional.poisson_nll_loss",
)


def _gaussian(x: Any, y: Any, var: Any, full: bool, eps: Any, reduction: str) -> Any:
    kept = ops.maximum(var, eps)
    losses = (ops.log(kept) + ops.square(x - y) / kept) * 0.5
    return reduce_loss(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _gaussian_gradient(
    g: Any, x: Any, y: Any, var: Any, r: Any, full: bool, eps: Any, reduction: str
) -> tuple[Any, Any, Any]:
    """As PyTorch's: what eps replaces in var has the gradient of eps, so that it can grow again."""
    kept, apart = ops.maximum(var, eps), x - y
    g = _spread(g, apart, reduction)
    slope = apart / kept
    along = g * slope
    return sum_to(along, x), sum_to(-along, y), sum_to(g * (1 / kept - slope * slope) * 0.5, var)


def _gaussian_oracle(
    x: Any, y: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    kept = np.maximum(var, eps)
    losses = 0.5 * (np.log(kept) + (x - y) ** 2 / kept + (math.log(2 * math.pi) if full else 0))
    return reduced_loss(losses, reduction)


gaussian_nll_loss = op(
    "gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-06, "
    "reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="promote_float",
    domain=Domain(0.5, 4.0),
    samples=lambda draw: [
        sample(*s.arguments, draw.array(*s.arguments[0].shape), i % 2 == 0, **s.options)
        for i, s in enumerate(targets(draw))
    ],
    composite=_gaussian,
    vjp=_gaussian_gradient,
    edges="limited",
    oracle=_gaussian_oracle,
    tolerance="normalised",
    doc="(log var + (x - y)^2 / var) / 2, var kept at eps or more; full adds log(2 pi) / 2.",
    example="tenora.nn.functional.gaussian_nll_loss(tenora.ones(3), tenora.zeros(3), tenora.ones(3))",
    public="nn.functional.gaussian_nll_loss",
)

hinge_embedding_loss = op(
    "hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="loss_first",
    samples=against_signs(0.5),
    composite=lambda x, y, margin, reduction: reduce_loss(
        # full_like: among whole numbers the margin is cut to one
        ops.where(ops.ne(y, 1), ops.clamp(ops.full_like(x, margin) - x, 0, None), 0)
        + ops.where(ops.ne(y, -1), x, 0),
        reduction,
    ),
    edges="limited",
    labels=("target",),
    oracle=lambda x, y, margin=1.0, reduction="mean": reduced_loss(
        np.where(y != 1, np.maximum(0, margin - x), 0) + np.where(y != -1, x, 0), reduction
    ),
    doc="x where the target is 1, max(0, margin - x) where it is -1.",
    example="tenora.nn.functional.hinge_embedding_loss(tenora.ones(2), tenora.tensor([1.0, -1.0]))",
    public="nn.functional.hinge_embedding_loss",
)

soft_margin_loss = op(
    "soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="promote_float",
    samples=against_signs(),
    composite=lambda x, y, reduction: reduce_loss(-ops.logsigmoid(x * y), reduction),
    oracle=lambda x, y, reduction="mean": reduced_loss(np.logaddexp(0, -x * y), reduction),
    tolerance="normalised",
    doc="log(1 + e^(-y x)) for targets 1 and -1.",
    example="tenora.nn.functional.soft_margin_loss(tenora.ones(2), tenora.tensor([1.0, -1.0]))",
    public="nn.functional.soft_margin_loss",
)


def _rankings(draw: Draw) -> Iterable[Sample]:
    return [
        sample(*s.arguments, signs(draw, *s.arguments[0].shape), *((0.5,) if i % 2 else ()), **s.options)
        for i, s in enumerate(targets(draw))
    ]


margin_ranking_loss = op(
    "margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, "
    "reduction: str = 'mean') -> Tensor",
    family=LOSS,
    dtype="promote_float",
    samples=_rankings,
    composite=lambda a, b, y, margin, reduction: reduce_loss(
        ops.clamp(y * (b - a) + margin, 0, None), reduction
    ),
    edges="limited",
    oracle=lambda a, b, y, margin=0.0, reduction="mean": reduced_loss(
        np.maximum(0, -y * (a - b) + margin), reduction
    ),
    doc="max(0, -y (a - b) + margin): a should rank above b where the target is 1.",
    example="tenora.nn.functional.margin_ranking_loss(tenora.ones(2), tenora.zeros(2), tenora.tensor([1.0, -1.0]))",
    public="nn.functional.margin_ranking_loss",
)
