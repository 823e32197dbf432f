"""Adadelta."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_options, refuse
from .optimizer import Optimizer, Params, decay, number
from .states import Group


class Adadelta(Optimizer):
    """Steps in the parameters' own units, from mean squares of gradients and of steps (Zeiler 2012,
    https://arxiv.org/abs/1212.5701); the formula is the op `adadelta_update`. `foreach` makes no difference.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Adadelta([weight], eps=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.2929
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(self, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
        if rho > 1:
            refuse(self, "rho", rho, "0 <= rho <= 1")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        hyper = [number(group["lr"]), group["rho"], group["eps"], decay(group), group["maximize"]]
        states = ("square_avg", "acc_delta")
        self._run_step("adadelta_update", states, group, parameters, gradients, hyper, lambda state, step: ())
