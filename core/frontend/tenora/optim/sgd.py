"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .checks import check_numbers, check_options
from .optimizer import Optimizer, Params, decay, number, pick
from .states import Group

BUFFER = ("momentum_buffer",)


class SGD(Optimizer):
    """`p -= lr * d`, where `d` is the gradient, its running mean (momentum) or Nesterov's look-ahead.

    The formula is the op `sgd_step` (Sutskever et al. 2013 in PyTorch's form: the momentum buffer starts as the
    gradient). `foreach` and `fused` are accepted and make no difference: the step is one call either way.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> tenora.optim.SGD([weight], lr=0.1, momentum=0.9).defaults["momentum"]
    0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(self, lr=lr, momentum=momentum, weight_decay=weight_decay)
        check_numbers(self, dampening=dampening)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise errors.ArgumentValueError(
                f"[SGD] nesterov: got momentum={momentum}, dampening={dampening}, expected a momentum above 0 and no "
                "dampening."
                " Set momentum, and dampening=0."
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        hyper = [number(group["lr"]), group["momentum"], group["dampening"], decay(group)]
        hyper += [group["nesterov"], group["maximize"]]
        if not group["momentum"]:
            nothing: list[dict[str, Any]] = [{}] * len(parameters)
            tenora_ops.optimizer_step_("sgd_step", parameters, nothing, (), gradients, [*hyper, False])
            return
        states = [self.state[parameter] for parameter in parameters]
        fresh = [state.get("momentum_buffer") is None for state in states]
        for state, gradient, first in zip(states, gradients, fresh, strict=True):
            if first:
                state["momentum_buffer"] = tenora_ops.zeros_like(gradient)
        for first in (True, False):
            at = [i for i, own in enumerate(fresh) if own == first]
            if at:
                members, grads = pick(parameters, at), pick(gradients, at)
                tenora_ops.optimizer_step_(
                    "sgd_step", members, pick(states, at), BUFFER, grads, [*hyper, first]
                )
