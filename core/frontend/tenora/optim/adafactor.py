"""Adafactor."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor
from tenora_ops.limits import finfo

from .checks import check_numbers, check_options, check_real, check_sequence, refuse
from .optimizer import Optimizer, Params, number, scalar
from .states import Group, State, counted, held


class Adafactor(Optimizer):
    """Steps relative to the parameters' size, whose second moments take the space of rows and columns only (Shazeer and
    Stern 2018, https://arxiv.org/abs/1804.04235), as PyTorch reads it: `lr` bounds the relative step, and decays the
    weights. `eps` are the least second moment (None: the dtype's own) and the least size; `d` bounds an update's root
    mean square. `foreach` makes no difference. Complex parameters are refused.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(2, 2))
    >>> optimizer = tenora.optim.Adafactor([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight[0, 0].item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_options(self, lr=lr, weight_decay=weight_decay)
        check_numbers(self, beta2_decay=beta2_decay, d=d)
        check_sequence(self, "eps", eps, 2)
        check_options(self, **{"eps[0]": 0 if eps[0] is None else eps[0], "eps[1]": eps[1]})
        if not beta2_decay <= 0:
            refuse(self, "beta2_decay", beta2_decay, "a number that is not positive")
        if not d >= 1:
            refuse(self, "d", d, "a number from 1 on")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        if parameter.ndim < 2:
            return {"step": held(0), "variance": tenora_ops.zeros_like(parameter)}
        rows, columns = list(parameter.shape), list(parameter.shape)
        rows[-1] = columns[-2] = 1
        return {
            "step": held(0),
            "row_var": parameter.new_zeros(rows),
            "col_var": parameter.new_zeros(columns),
        }

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        check_real(self, parameters, gradients)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            state = self.state[parameter]
            if not state:
                state.update(self._begin(group, parameter, ()))
            step = counted(self, state)
            self._step(group, state, step, parameter, -gradient if group["maximize"] else gradient)

    @staticmethod
    def _step(group: Group, state: State, step: int, parameter: Tensor, gradient: Tensor) -> None:
        lr = number(group["lr"])
        least, smallest = group["eps"]
        least = finfo(parameter.dtype).eps if least is None else least
        size = max(smallest, _root_mean_square(parameter)) * min(lr, step**-0.5)
        if group["weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        update = _second_moment(state, gradient, step ** group["beta2_decay"], least)
        update = update.clamp_(min=least * least).rsqrt_().mul_(gradient)
        parameter.add_(update, alpha=-size / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(x: Tensor) -> float:
    return scalar(x.norm()) / max(x.numel(), 1) ** 0.5


def _second_moment(state: State, gradient: Tensor, fresh: float, least: float) -> Tensor:
    """The mean of squared gradients, to which this one contributes `fresh`; a new tensor."""
    squares = gradient * gradient
    if gradient.ndim < 2:
        return state["variance"].lerp_(squares, fresh).clone()
    rows = state["row_var"].lerp_(squares.mean(dim=-1, keepdim=True), fresh)
    columns = state["col_var"].lerp_(squares.mean(dim=-2, keepdim=True), fresh)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
