"""NAdam."""

from __future__ import annotations

from tenora_engine import Tensor
from tenora_ops.steps import nadam_momentum

from .checks import check_betas, check_options
from .optimizer import Optimizer, Params, decay, number, scalar
from .states import Group, State, held, numbered, put


class NAdam(Optimizer):
    """Adam with Nesterov's look-ahead (Dozat 2016); the formula is the op `nadam_update`. `foreach` makes no
    difference. `decoupled_weight_decay` is AdamW's.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.NAdam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.8944
    """

    _numbers = ("step", "mu_product")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(self, betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        beta1, beta2 = group["betas"]
        fading = group["momentum_decay"]

        def own(state: State, step: int) -> tuple[float, int]:
            product = numbered(self, state, "mu_product")
            put(product, scalar(product) * nadam_momentum(beta1, fading, step))
            return scalar(product), step

        hyper = [number(group["lr"]), beta1, beta2, group["eps"], decay(group)]
        hyper += [group["decoupled_weight_decay"], group["maximize"], fading]
        states = ("exp_avg", "exp_avg_sq")
        self._run_step("nadam_update", states, group, parameters, gradients, hyper, own)

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        begun = super()._begin(group, parameter, names)
        return {"step": begun.pop("step"), "mu_product": held(1), **begun}
