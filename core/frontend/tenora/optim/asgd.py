"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tenora_engine import Tensor

from .checks import check_numbers, check_options
from .optimizer import Optimizer, Params, decay, number, scalar
from .states import Group, State, held, numbered, put


class ASGD(Optimizer):
    """Gradient descent with a fading rate, and the average of the parameters from step `t0` on in the state's `ax`
    (Polyak and Juditsky 1992); the formula is the op `asgd_update`. `foreach` makes no difference.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.ASGD([weight], lr=0.1, lambd=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.89
    """

    _numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(self, lr=lr, weight_decay=weight_decay)
        check_numbers(self, lambd=lambd, alpha=alpha, t0=t0)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        lr, lambd, alpha, t0 = number(group["lr"]), group["lambd"], group["alpha"], group["t0"]
        # Once for all parameters that have made the same steps.
        following: dict[Any, tuple[float, float]] = {}

        def own(state: State, step: int) -> tuple[float, float, bool]:
            eta, mu = (numbered(self, state, name) for name in ("eta", "mu"))
            now = scalar(eta), scalar(mu)
            if step not in following:
                # The rate and the weight of the next step.
                rate, weight = lr / (1 + lambd * lr * step) ** alpha, 1 / max(1, step - t0)
                following[step] = rate, weight
            for kept, value in zip((eta, mu), following[step], strict=True):
                put(kept, value)
            return *now, now[1] != 1

        hyper = [lambd, decay(group), group["maximize"]]
        self._run_step("asgd_update", ("ax",), group, parameters, gradients, hyper, own)

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        begun = super()._begin(group, parameter, names)
        return {"step": held(0), "eta": held(number(group["lr"])), "mu": held(1), "ax": begun["ax"]}
