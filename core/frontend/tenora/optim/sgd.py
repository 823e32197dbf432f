"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .optimizer import Group, Optimizer, pick

HYPER = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
BUFFER = ("momentum_buffer",)


class SGD(Optimizer):
    """`p -= lr * d`, where `d` is the gradient, its running mean (momentum) or Nesterov's look-ahead.

    The formula is the op `sgd_step` (Sutskever et al. 2013 in PyTorch's form: the momentum buffer starts as the
    gradient). `foreach` and `fused` are accepted and make no difference: the step is one call either way.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> tenora.optim.SGD([weight], lr=0.1, momentum=0.9).defaults["momentum"]
    0.9
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self._check_not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
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
        hyper = [group[name] for name in HYPER]
        states = [self.state[parameter] for parameter in parameters]
        if not group["momentum"]:
            tenora_ops.optimizer_step_("sgd_step", parameters, states, (), gradients, [*hyper, False])
            return
        fresh = ["momentum_buffer" not in state for state in states]
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
