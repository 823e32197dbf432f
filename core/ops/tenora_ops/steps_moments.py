"""Steps of Adam's relatives: Adamax, NAdam, RAdam."""

from __future__ import annotations

from typing import Any

from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.steps import (
    BETAS,
    STEP,
    decayed,
    decayed_oracle,
    direction,
    moment_options,
    moments,
    nadam_momentum,
    radam_length,
    step_samples,
)


def _adamax(
    p: Any,
    m: Any,
    largest: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    maximize: bool,
    step: Any,
) -> tuple[Any, Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    m = m + (d - m) * (1.0 - beta1)
    largest = ops.maximum(largest * beta2, ops.abs(d) + eps)
    return p - m / largest * (lr / (1.0 - beta1**step)), m, largest


def _adamax_oracle(
    p: Any,
    m: Any,
    largest: Any,
    g: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float | None,
    maximize: bool,
    step: int,
) -> Any:
    g = (-1 if maximize else 1) * g + (weight_decay or 0) * p
    m = beta1 * m + (1 - beta1) * g
    largest = np.maximum(beta2 * largest, np.abs(g) + eps)
    return p - lr / (1 - beta1**step) * m / largest, m, largest


adamax_update = op(
    "adamax_update(param: Tensor, exp_avg: Tensor, exp_inf: Tensor, grad: Tensor, "
    f"{BETAS}, maximize: bool, step: int) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples("sp", moment_options),
    composite=_adamax,
    differentiable=False,
    oracle=_adamax_oracle,
    doc="One step of Adamax, Adam with the largest gradient for scale (Kingma and Ba 2015, section 7).",
    example="tenora.optim.Adamax([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)


def _nadam(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    decoupled: bool,
    maximize: bool,
    momentum_decay: Any,
    mu_product: Any,
    step: Any,
) -> tuple[Any, Any, Any]:
    now, after = (nadam_momentum(beta1, momentum_decay, step + ahead) for ahead in (0, 1))
    p, d = decayed(p, g, lr, weight_decay, decoupled, maximize)
    m, v = moments(m, v, d, beta1, beta2)
    root = ops.sqrt(v / (1.0 - beta2**step)) + eps
    of_gradient = lr * (1.0 - now) / (1.0 - mu_product)
    of_mean = lr * after / (1.0 - mu_product * after)
    return p - d / root * of_gradient - m / root * of_mean, m, v


def _nadam_oracle(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float | None,
    decoupled: bool,
    maximize: bool,
    momentum_decay: float,
    mu_product: float,
    step: int,
) -> Any:
    p, g = decayed_oracle(p, g, lr, weight_decay, decoupled, maximize)
    mu = [beta1 * (1 - 0.96 ** (t * momentum_decay) / 2) for t in (step, step + 1)]
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    estimate = mu[1] * m / (1 - mu_product * mu[1]) + (1 - mu[0]) * g / (1 - mu_product)
    return p - lr * estimate / (np.sqrt(v / (1 - beta2**step)) + eps), m, v


nadam_update = op(
    "nadam_update(param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, grad: Tensor, "
    f"{BETAS}, decoupled: bool, maximize: bool, momentum_decay: float, mu_product: float, step: int) "
    "-> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples(
        "sp",
        lambda i: {
            **moment_options(i),
            "decoupled": i % 2 == 1,
            "momentum_decay": 0.004,
            "mu_product": 0.5 ** (i + 1),
        },
    ),
    composite=_nadam,
    differentiable=False,
    oracle=_nadam_oracle,
    doc="One step of NAdam (Dozat 2016); mu_product is the product of its momenta up to this step.",
    example="tenora.optim.NAdam([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)


def _radam(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    decoupled: bool,
    maximize: bool,
    rectified: bool,
    step: Any,
) -> tuple[Any, Any, Any]:
    p, d = decayed(p, g, lr, weight_decay, decoupled, maximize)
    m, v = moments(m, v, d, beta1, beta2)
    rate = lr / (1.0 - beta1**step)
    if not rectified:
        return p - m * rate, m, v
    most, now = 2.0 / (1.0 - beta2) - 1.0, radam_length(beta2, step)
    rectification = (now - 4.0) * (now - 2.0) * most / ((most - 4.0) * (most - 2.0) * now)
    return p - m / (ops.sqrt(v) + eps) * (rate * (rectification * (1.0 - beta2**step)) ** 0.5), m, v


def _radam_oracle(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float | None,
    decoupled: bool,
    maximize: bool,
    rectified: bool,
    step: int,
) -> Any:
    p, g = decayed_oracle(p, g, lr, weight_decay, decoupled, maximize)
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    mean = m / (1 - beta1**step)
    if not rectified:
        return p - lr * mean, m, v
    most = 2 / (1 - beta2) - 1
    rho = most - 2 * step * beta2**step / (1 - beta2**step)
    r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return p - lr * mean * r * np.sqrt(1 - beta2**step) / (np.sqrt(v) + eps), m, v


radam_update = op(
    "radam_update(param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, grad: Tensor, "
    f"{BETAS}, decoupled: bool, maximize: bool, rectified: bool, step: int) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples(
        "sp",
        lambda i: {
            **moment_options(i),
            "decoupled": i % 2 == 1,
            "rectified": i % 3 > 0,
            "step": i + (7 if i % 3 else 1),
        },
    ),
    composite=_radam,
    differentiable=False,
    oracle=_radam_oracle,
    doc="One step of RAdam (Liu et al. 2020); rectified once the variance is known.",
    example="tenora.optim.RAdam([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
