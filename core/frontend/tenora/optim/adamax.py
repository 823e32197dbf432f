"""Adamax."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_betas, check_options
from .optimizer import Optimizer, Params, decay, number
from .states import Group


class Adamax(Optimizer):
    """Adam with the largest gradient, fading, in place of the second moment (Kingma and Ba 2015, section 7,
    https://arxiv.org/abs/1412.6980); the formula is the op `adamax_update`. `foreach` makes no difference.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Adamax([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        hyper = [number(group["lr"]), *group["betas"], group["eps"], decay(group), group["maximize"]]
        self._run_step("adamax_update", ("exp_avg", "exp_inf"), group, parameters, gradients, hyper)
