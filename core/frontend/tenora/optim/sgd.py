"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tenora_ops
from tenora_engine import Tensor

from .optimizer import Group, Optimizer


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
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0:
                raise ValueError(f"[SGD] {name}: got {value}, expected a number that is not negative.")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"[SGD] nesterov: got momentum={momentum}, dampening={dampening}, expected a momentum above 0 and no "
                "dampening."
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
        options: dict[str, Any] = {
            name: group[name]
            for name in ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
        }
        if not group["momentum"]:
            tenora_ops.sgd_step_(parameters, gradients, [], first=False, **options)
            return
        fresh = [i for i, p in enumerate(parameters) if "momentum_buffer" not in self.state.get(p, ())]
        for i in fresh:
            self.state.setdefault(parameters[i], {})["momentum_buffer"] = tenora_ops.zeros_like(gradients[i])
        for first, chosen in ((True, fresh), (False, sorted(set(range(len(parameters))) - set(fresh)))):
            if chosen:
                tenora_ops.sgd_step_(
                    [parameters[i] for i in chosen],
                    [gradients[i] for i in chosen],
                    [self.state[parameters[i]]["momentum_buffer"] for i in chosen],
                    first=first,
                    **options,
                )
