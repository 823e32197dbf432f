"""Muon."""

from __future__ import annotations

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, _engine

from .checks import check_numbers, check_options, check_real, check_sequence, refuse
from .optimizer import Optimizer, Params, number
from .states import Group

# What the directions are made in. The iteration drives their singular values to about 1, whatever they were rounded to.
NARROW = _engine.bfloat16
# How the learning rate follows the shape of a matrix.
ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Momentum whose singular values are driven to 1 before each step, for matrices (Jordan et al. 2024,
    https://kellerjordan.github.io/posts/muon/), with decoupled weight decay (Liu et al. 2025,
    https://arxiv.org/abs/2502.16982). Other parameters belong to another optimizer.

    `adjust_lr_fn` scales the rate of a matrix of A rows and B columns: "original" (or None) by sqrt(max(1, A / B)),
    "match_rms_adamw" by 0.2 sqrt(max(A, B)).

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.eye(2))
    >>> optimizer = tenora.optim.Muon([weight], lr=0.1, weight_decay=0.0)
    >>> weight.trace().backward(); optimizer.step(); bool(weight[0, 0] < 0.95)
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_options(self, lr=lr, weight_decay=weight_decay, momentum=momentum, eps=eps, ns_steps=ns_steps)
        check_sequence(self, "ns_coefficients", ns_coefficients, 3)
        check_numbers(self, **{f"ns_coefficients[{i}]": each for i, each in enumerate(ns_coefficients)})
        if adjust_lr_fn not in ADJUSTMENTS:
            refuse(self, "adjust_lr_fn", repr(adjust_lr_fn), f"one of {ADJUSTMENTS}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    refuse(self, "params", f"a parameter of shape {tuple(parameter.shape)}", "matrices")

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        lr, momentum = number(group["lr"]), group["momentum"]
        check_real(self, parameters, gradients)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = tenora_ops.zeros_like(gradient)
            mean = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
            direction = gradient.lerp(mean, momentum) if group["nesterov"] else mean
            update = orthogonalised(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
            parameter.mul_(1 - lr * group["weight_decay"])
            parameter.add_(update, alpha=-lr * _rate(group["adjust_lr_fn"], *parameter.shape))


def _rate(adjustment: str | None, rows: int, columns: int) -> float:
    if adjustment == "match_rms_adamw":
        return float(0.2 * max(rows, columns) ** 0.5)
    return float(max(1.0, rows / max(columns, 1)) ** 0.5)


def orthogonalised(matrix: Tensor, coefficients: tuple[float, ...], steps: int, eps: float) -> Tensor:
    """The matrix with singular values near 1, by Newton and Schulz's iteration in `NARROW`, which is bfloat16.

    Each step is x -> a x + (b G + c G^2) x with G = x x^T, on the wide side. Raises ValueError for anything but three
    coefficients, and from 100 steps on.
    """
    if len(coefficients) != 3 or steps >= 100:
        raise errors.ArgumentValueError(
            f"[Muon] ns_coefficients and ns_steps: got {coefficients} and {steps}, expected three numbers and fewer "
            "than 100 steps. The defaults are (3.4445, -4.775, 2.0315) and 5."
        )
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.t() if tall else matrix).to(NARROW)
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = tenora_ops.addmm(x, tenora_ops.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x
