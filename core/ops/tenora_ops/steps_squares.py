"""Steps that divide by the root of gathered squares: RMSprop, Adagrad, Adadelta."""

from __future__ import annotations

from typing import Any

from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.samples import sample
from tenora_ops.steps import STEP, direction, step_samples


def _rmsprop(
    p: Any,
    v: Any,
    buffer: Any,
    g: Any,
    lr: Any,
    alpha: Any,
    eps: Any,
    weight_decay: Any,
    momentum: Any,
    maximize: bool,
) -> tuple[Any, Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    v = v * alpha + d * d * (1.0 - alpha)
    p, buffer = _along(p, buffer, d / (ops.sqrt(v) + eps), lr, momentum)
    return p, v, buffer


def _centered_rmsprop(
    p: Any,
    v: Any,
    mean: Any,
    buffer: Any,
    g: Any,
    lr: Any,
    alpha: Any,
    eps: Any,
    weight_decay: Any,
    momentum: Any,
    maximize: bool,
) -> tuple[Any, Any, Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    v = v * alpha + d * d * (1.0 - alpha)
    mean = mean + (d - mean) * (1.0 - alpha)
    p, buffer = _along(p, buffer, d / (ops.sqrt(v - mean * mean) + eps), lr, momentum)
    return p, v, mean, buffer


def _along(p: Any, buffer: Any, change: Any, lr: Any, momentum: Any) -> tuple[Any, Any]:
    if buffer is not None:
        change = buffer * momentum + change
    return p - change * lr, change


def _rmsprop_oracle(
    p: Any,
    v: Any,
    *rest: Any,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float | None,
    momentum: float,
    maximize: bool,
) -> Any:
    *mean, buffer, g = rest
    g = (-1 if maximize else 1) * g + (weight_decay or 0) * p
    v = alpha * v + (1 - alpha) * g**2
    mean = [alpha * m + (1 - alpha) * g for m in mean]
    change = g / (np.sqrt(v - sum(m**2 for m in mean)) + eps)
    if buffer is not None:
        change = momentum * buffer + change
    return (p - lr * change, v, *mean, change)


def _rmsprop_options(i: int) -> dict[str, Any]:
    return {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "momentum": 0.8 if i % 3 else 0.0}


RMSPROP = "lr: float, alpha: float, eps: float, weight_decay: float?, momentum: float, maximize: bool"
rmsprop_update = op(
    "rmsprop_update(param: Tensor, square_avg: Tensor, momentum_buffer: Tensor?, grad: Tensor, "
    f"{RMSPROP}) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples("po", _rmsprop_options),
    composite=_rmsprop,
    differentiable=False,
    oracle=_rmsprop_oracle,
    doc="One step of RMSprop (Tieleman and Hinton 2012), with the momentum of Graves 2013.",
    example="tenora.optim.RMSprop([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
centered_rmsprop_update = op(
    "centered_rmsprop_update(param: Tensor, square_avg: Tensor, grad_avg: Tensor, momentum_buffer: Tensor?, "
    f"grad: Tensor, {RMSPROP}) -> (Tensor, Tensor, Tensor, Tensor)",
    family=STEP,
    # Squares well above the mean's: of their difference, little is left where both are equal.
    samples=lambda draw: [
        sample(s.arguments[0], s.arguments[1] + 4, s.arguments[2] / 4, *s.arguments[3:], **s.options)
        for s in step_samples("pso", _rmsprop_options)(draw)
    ],
    composite=_centered_rmsprop,
    differentiable=False,
    oracle=_rmsprop_oracle,
    doc="One step of RMSprop that divides by the root of the variance (Graves 2013).",
    example="tenora.optim.RMSprop([tenora.ones(1, requires_grad=True)], centered=True).step()",
    public="",
)


def _adagrad(
    p: Any,
    total: Any,
    g: Any,
    lr: Any,
    lr_decay: Any,
    eps: Any,
    weight_decay: Any,
    maximize: bool,
    step: Any,
) -> tuple[Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    total = total + d * d
    return p - d / (ops.sqrt(total) + eps) * (lr / (1.0 + (step - 1) * lr_decay)), total


def _adagrad_oracle(
    p: Any,
    total: Any,
    g: Any,
    *,
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float | None,
    maximize: bool,
    step: int,
) -> Any:
    g = (-1 if maximize else 1) * g + (weight_decay or 0) * p
    rate = lr / (1 + (step - 1) * lr_decay)
    return p - rate * g / (np.sqrt(total + g**2) + eps), total + g**2


adagrad_update = op(
    "adagrad_update(param: Tensor, sum: Tensor, grad: Tensor, lr: float, lr_decay: float, eps: float, "
    "weight_decay: float?, maximize: bool, step: int) -> (Tensor, Tensor)",
    family=STEP,
    samples=step_samples("p", lambda i: {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-3, "step": i + 1}),
    composite=_adagrad,
    differentiable=False,
    oracle=_adagrad_oracle,
    doc="One step of Adagrad (Duchi, Hazan and Singer 2011).",
    example="tenora.optim.Adagrad([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)


def _adadelta(
    p: Any,
    v: Any,
    gathered: Any,
    g: Any,
    lr: Any,
    rho: Any,
    eps: Any,
    weight_decay: Any,
    maximize: bool,
) -> tuple[Any, Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    v = v * rho + d * d * (1.0 - rho)
    change = ops.sqrt(gathered + eps) / ops.sqrt(v + eps) * d
    return p - change * lr, v, gathered * rho + change * change * (1.0 - rho)


def _adadelta_oracle(
    p: Any,
    v: Any,
    gathered: Any,
    g: Any,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float | None,
    maximize: bool,
) -> Any:
    g = (-1 if maximize else 1) * g + (weight_decay or 0) * p
    v = rho * v + (1 - rho) * g**2
    change = np.sqrt((gathered + eps) / (v + eps)) * g
    return p - lr * change, v, rho * gathered + (1 - rho) * change**2


adadelta_update = op(
    "adadelta_update(param: Tensor, square_avg: Tensor, acc_delta: Tensor, grad: Tensor, lr: float, rho: float, "
    "eps: float, weight_decay: float?, maximize: bool) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples("pp", lambda i: {"lr": 0.5, "rho": 0.9, "eps": 1e-3}),
    composite=_adadelta,
    differentiable=False,
    edges="none",
    oracle=_adadelta_oracle,
    doc="One step of Adadelta (Zeiler 2012).",
    example="tenora.optim.Adadelta([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
