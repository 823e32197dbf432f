"""Adam and AdamW."""

from __future__ import annotations

from tenora_engine import Tensor

from .checks import check_betas, check_options
from .optimizer import Optimizer, Params, decay, number
from .states import Group

# The op of a step and the states that it reads and writes.
PLAIN = ("adam_update", ("exp_avg", "exp_avg_sq"))
AMSGRAD = ("amsgrad_update", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))


class Adam(Optimizer):
    """Adaptive moments (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980); the formula is the op
    `adam_update` (`amsgrad_update` with `amsgrad`). `foreach` and `fused` make no difference: a step is one call.

    `amsgrad` keeps the largest second moment (Reddi et al. 2018). `decoupled_weight_decay` is AdamW's.

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Adam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    _numbers = ("step",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        name, states = AMSGRAD if group["amsgrad"] else PLAIN
        beta1, beta2 = group["betas"]
        hyper = [number(group["lr"]), number(beta1), number(beta2), group["eps"], decay(group)]
        hyper += [group["decoupled_weight_decay"], group["maximize"]]
        self._run_step(name, states, group, parameters, gradients, hyper)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101).

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.tensor([1.0], requires_grad=True)
    >>> optimizer = AdamW([weight], lr=0.1, weight_decay=0.5)
    >>> (2 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight.detach()
    tensor([0.8500])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
