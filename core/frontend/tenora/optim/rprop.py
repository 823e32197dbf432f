"""Resilient backpropagation."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_options, check_pair, refuse
from .optimizer import Optimizer, Params, number
from .states import Group, State, filled


class Rprop(Optimizer):
    """Steps by the sign of the gradient: longer while it stays, shorter when it turns (Riedmiller and Braun 1993); the
    formula is the op `rprop_update`. For full batches. `foreach` makes no difference.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Rprop([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(self, lr=lr)
        check_pair(self, "etas", etas)
        check_pair(self, "step_sizes", step_sizes)
        if not 0 < etas[0] < 1 < etas[1]:
            refuse(self, "etas", etas, "0 < etas[0] < 1 < etas[1]")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        hyper = [*group["etas"], *group["step_sizes"], group["maximize"]]
        states = ("prev", "step_size")
        self._run_step("rprop_update", states, group, parameters, gradients, hyper, lambda state, step: ())

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        begun = super()._begin(group, parameter, names)
        return {**begun, "step_size": filled(parameter, number(group["lr"]))}
