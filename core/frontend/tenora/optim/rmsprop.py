"""RMSprop."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_options
from .optimizer import Optimizer, Params, decay, number
from .states import Group


class RMSprop(Optimizer):
    """Gradients divided by the root of their mean square (Tieleman and Hinton 2012); the formula is the op
    `rmsprop_update`, or `centered_rmsprop_update` with `centered`, which divides by the root of the variance
    (Graves 2013, https://arxiv.org/abs/1308.0850). `foreach` makes no difference: a step is one call.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.RMSprop([weight], lr=0.01)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(self, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        centered, momentum = group["centered"], group["momentum"]
        states = (
            "square_avg",
            *(("grad_avg",) if centered else ()),
            *(("momentum_buffer",) if momentum else ()),
        )
        hyper = [number(group["lr"]), group["alpha"], group["eps"], decay(group), momentum]
        hyper.append(group["maximize"])
        op = "centered_rmsprop_update" if centered else "rmsprop_update"
        self._run_step(op, states, group, parameters, gradients, hyper, lambda state, step: ())
