"""RAdam."""

from __future__ import annotations

from tenora_engine import Tensor
from tenora_ops.steps import radam_length

from .checks import check_betas, check_options
from .optimizer import Optimizer, Params, decay, number
from .states import Group, State


class RAdam(Optimizer):
    """Adam that takes plain steps until the variance of the second moment is known, and rectified ones from there (Liu
    et al. 2020, https://arxiv.org/abs/1908.03265); the formula is the op `radam_update`. `foreach` makes no
    difference. `decoupled_weight_decay` is AdamW's.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.RAdam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        beta1, beta2 = group["betas"]

        def own(state: State, step: int) -> tuple[bool, int]:
            return radam_length(beta2, step) > 5.0, step

        hyper = [number(group["lr"]), beta1, beta2, group["eps"], decay(group)]
        hyper += [group["decoupled_weight_decay"], group["maximize"]]
        states = ("exp_avg", "exp_avg_sq")
        self._run_step("radam_update", states, group, parameters, gradients, hyper, own)
