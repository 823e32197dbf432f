"""Optimizer steps: one statement of the mathematics per optimizer, for one parameter; lists in one call.

- `sgd_step`, `adam_update` and `amsgrad_update` answer with the new values. `sgd_step_`, `adam_step_` write them in place
  for lists of parameters, through the backend's fused kernel of that name where it has one.
- A fused kernel sees the written tensors, then those only read, and writes the former; attributes as in the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import Draw, Sample, sample

STEP = Family(
    "steps", "", "", "", lambda draw: sgd_samples(draw), ("float32", "float64"), tolerance="transcendental"
)
SHAPES: tuple[tuple[int, ...], ...] = ((5,), (3, 4), (), (0,), (2, 1, 3), (2, 3, 2, 2))


def sgd_samples(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, shape in enumerate(SHAPES):
        buffer = draw.array(*shape) if i % 3 else None
        options = {"momentum": 0.9 if i % 3 else 0.0, "dampening": 0.1, "weight_decay": 0.01 * i}
        flags = {"nesterov": i == 2, "maximize": i == 4, "first": i == 5}
        found.append(sample(draw.array(*shape), buffer, draw.array(*shape), lr=0.1, **options, **flags))
    return found


def _sgd(
    p: Any,
    buffer: Any,
    g: Any,
    lr: Any,
    momentum: Any,
    dampening: Any,
    weight_decay: Any,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> tuple[Any, Any]:
    direction = (-g if maximize else g) + p * weight_decay
    if buffer is None:
        return p - direction * lr, direction
    buffer = direction if first else buffer * momentum + direction * (1.0 - dampening)
    return p - (direction + buffer * momentum if nesterov else buffer) * lr, buffer


def _sgd_oracle(
    p: Any,
    buffer: Any,
    g: Any,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> Any:
    d = weight_decay * p + (-1 if maximize else 1) * g
    if buffer is None:
        return p - lr * d, d
    new = d if first else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * new if nesterov else new), new


sgd_step = op(
    "sgd_step(param: Tensor, momentum_buffer: Tensor?, grad: Tensor, lr: float, momentum: float, dampening: float, "
    "weight_decay: float, nesterov: bool, maximize: bool, first: bool) -> (Tensor, Tensor)",
    family=STEP,
    composite=_sgd,
    differentiable=False,
    oracle=_sgd_oracle,
    doc="One step of gradient descent with momentum; answers the new parameter and buffer (Sutskever et al. 2013).",
    example="tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=0.1).step()",
    public="",
)


def adam_samples(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, shape in enumerate(SHAPES):
        state = [draw.array(*shape), abs(draw.array(*shape))]
        state = [s.astype(draw.array().dtype) for s in state]
        largest = state[1] * state[1].dtype.type(1.5) if i % 2 else None
        options = {"weight_decay": 0.01 * i, "decoupled": i % 3 == 1, "maximize": i == 4, "step": i + 1}
        options["amsgrad"] = largest is not None
        hyper = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3}
        found.append(sample(draw.array(*shape), *state, largest, draw.array(*shape), **hyper, **options))
    return found


def _adam(
    p: Any,
    m: Any,
    v: Any,
    largest: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    decoupled: bool,
    amsgrad: bool,
    maximize: bool,
    step: Any,
) -> tuple[Any, Any, Any, Any]:
    g = -g if maximize else g
    if decoupled:
        p = p * (1.0 - lr * weight_decay)
    else:
        g = g + p * weight_decay
    m = m + (g - m) * (1.0 - beta1)
    v = v * beta2 + g * g * (1.0 - beta2)
    largest = ops.maximum(largest, v) if amsgrad else v
    denominator = ops.sqrt(largest) / (1.0 - beta2**step) ** 0.5 + eps
    return p - (m / denominator) * (lr / (1.0 - beta1**step)), m, v, largest


def _adam_oracle(
    p: Any,
    m: Any,
    v: Any,
    largest: Any,
    g: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    amsgrad: bool,
    maximize: bool,
    step: int,
) -> Any:
    g = -g if maximize else g
    p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    used = np.maximum(largest, v) if amsgrad else v
    return p - lr * (m / (1 - beta1**step)) / (np.sqrt(used / (1 - beta2**step)) + eps), m, v, used


adam_step = op(
    "adam_step(param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, max_exp_avg_sq: Tensor?, grad: Tensor, "
    "lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, decoupled: bool, amsgrad: bool, "
    "maximize: bool, step: int) -> (Tensor, Tensor, Tensor, Tensor)",
    family=STEP,
    samples=adam_samples,
    composite=_adam,
    differentiable=False,
    oracle=_adam_oracle,
    doc="One step of Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019), AMSGrad (Reddi et al. 2018).",
    example="tenora.optim.Adam([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)


def sgd_step_(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor],
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """One SGD step in place on lists of parameters; `momentum_buffers` is empty without momentum."""
    attributes = [lr, momentum, dampening, weight_decay, nesterov, maximize, first]
    written = [*params, *momentum_buffers]
    if _engine.run_step("sgd_step", written, list(grads), attributes):
        return
    buffers: Sequence[Tensor | None] = momentum_buffers or [None] * len(params)
    old = _engine.set_grad_enabled(False)
    try:
        for param, buffer, grad in zip(params, buffers, grads, strict=True):
            values = ops.sgd_step(param, buffer, grad, *attributes)
            _write([param] if buffer is None else [param, buffer], values)
    finally:
        _engine.set_grad_enabled(old)


def adam_step_(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    amsgrad: bool = False,
    maximize: bool = False,
    step: int,
) -> None:
    """One Adam step in place on lists of parameters; `max_exp_avg_sqs` is empty without amsgrad."""
    hyper = [lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step]
    written = [*params, *exp_avgs, *exp_avg_sqs, *max_exp_avg_sqs]
    if _engine.run_step("amsgrad_update" if amsgrad else "adam_update", written, list(grads), hyper):
        return
    largest: Sequence[Tensor | None] = max_exp_avg_sqs or [None] * len(params)
    old = _engine.set_grad_enabled(False)
    try:
        for *state, grad in zip(params, exp_avgs, exp_avg_sqs, largest, grads, strict=True):
            values = ops.adam_step(*state, grad, *attributes)
            _write(state if amsgrad else state[:3], values)
    finally:
        _engine.set_grad_enabled(old)


def _write(targets: Sequence[Tensor], values: Any) -> None:
    for target, value in zip(targets, values, strict=False):
        _engine.assign(target, value)
