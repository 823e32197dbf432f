"""Adagrad."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_options
from .optimizer import Optimizer, Params, decay, number
from .states import Group, State, filled, held


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of all their squares (Duchi, Hazan and Singer 2011); the formula is the
    op `adagrad_update`. The state begins when the optimizer is made. `foreach` and `fused` make no difference.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Adagrad([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(self, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)
        check_options(self, initial_accumulator_value=initial_accumulator_value)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self._begin(group, parameter, ())

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        hyper = [
            number(group["lr"]),
            group["lr_decay"],
            group["eps"],
            decay(group),
            group["maximize"],
        ]
        self._run_step("adagrad_update", ("sum",), group, parameters, gradients, hyper)

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        return {"step": held(0), "sum": filled(parameter, self.defaults["initial_accumulator_value"])}
