"""Steps without gathered squares: averaged gradient descent, and Rprop, which reads signs."""

from __future__ import annotations

from typing import Any

from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.steps import STEP, direction, step_samples


def _asgd(
    p: Any,
    average: Any,
    g: Any,
    lambd: Any,
    weight_decay: Any,
    maximize: bool,
    eta: Any,
    mu: Any,
    averaging: bool,
) -> tuple[Any, Any]:
    p = p * (1.0 - lambd * eta) - direction(p, g, weight_decay, maximize) * eta
    # Without averaging (mu is 1) the sum below would be p but for its rounding.
    return p, average + (p - average) * mu if averaging else p * 1.0


def _asgd_oracle(
    p: Any,
    average: Any,
    g: Any,
    *,
    lambd: float,
    weight_decay: float | None,
    maximize: bool,
    eta: float,
    mu: float,
    averaging: bool,
) -> Any:
    g = (-1 if maximize else 1) * g + (weight_decay or 0) * p
    p = p - eta * (lambd * p + g)
    return p, (1 - mu) * average + mu * p if averaging else p


asgd_update = op(
    "asgd_update(param: Tensor, ax: Tensor, grad: Tensor, lambd: float, weight_decay: float?, maximize: bool, "
    "eta: float, mu: float, averaging: bool) -> (Tensor, Tensor)",
    family=STEP,
    samples=step_samples(
        "s", lambda i: {"lambd": 1e-2, "eta": 0.1, "mu": 0.25 if i % 2 else 1.0, "averaging": i % 2 == 1}
    ),
    composite=_asgd,
    differentiable=False,
    oracle=_asgd_oracle,
    doc="One step of averaged gradient descent (Polyak and Juditsky 1992); ax is the average.",
    example="tenora.optim.ASGD([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)


def _rprop(
    p: Any,
    before: Any,
    size: Any,
    g: Any,
    eta_minus: Any,
    eta_plus: Any,
    smallest: Any,
    largest: Any,
    maximize: bool,
) -> tuple[Any, Any, Any]:
    d = -g if maximize else g
    agreement = d * before
    turned = ops.lt(agreement, 0)
    grown = ops.where(ops.gt(agreement, 0), size * eta_plus, size)
    size = ops.clamp(ops.where(turned, size * eta_minus, grown), smallest, largest)
    d = ops.where(turned, 0, d)
    return p - ops.sign(d) * size, d, size


def _rprop_oracle(
    p: Any,
    before: Any,
    size: Any,
    g: Any,
    *,
    eta_minus: float,
    eta_plus: float,
    smallest: float,
    largest: float,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    sign = np.sign(g * before)
    size = np.clip(size * np.select([sign > 0, sign < 0], [eta_plus, eta_minus], 1.0), smallest, largest)
    g = np.where(sign < 0, 0.0, g)
    return p - np.sign(g) * size, g, size


rprop_update = op(
    "rprop_update(param: Tensor, prev: Tensor, step_size: Tensor, grad: Tensor, eta_minus: float, eta_plus: float, "
    "smallest: float, largest: float, maximize: bool) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=step_samples(
        "sp",
        lambda i: {"eta_minus": 0.5, "eta_plus": 1.2, "smallest": 0.1, "largest": 2.0},
        weight_decay=False,
    ),
    composite=_rprop,
    differentiable=False,
    oracle=_rprop_oracle,
    doc="One step of resilient backpropagation, without weight backtracking (Riedmiller and Braun 1993).",
    example="tenora.optim.Rprop([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
