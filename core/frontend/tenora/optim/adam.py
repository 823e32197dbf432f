"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable

from tenora_dispatch import errors
from tenora_engine import Tensor

from .optimizer import Group, Optimizer

# The op of a step and the states that it reads and writes.
PLAIN = ("adam_update", ("exp_avg", "exp_avg_sq"))
AMSGRAD = ("amsgrad_update", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))


class Adam(Optimizer):
    """Adaptive moments (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980); the formula is the op
    `adam_update` (`amsgrad_update` with `amsgrad`). `foreach` and `fused` make no difference: a step is one call.

    `amsgrad` keeps the largest second moment (Reddi et al. 2018). `decoupled_weight_decay` is AdamW's.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.Adam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); round(weight.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self._check_not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        for number, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] betas[{number}]: got {beta}, expected 0 <= beta < 1."
                    " Choose a number below 1."
                )
        defaults = {
            "lr": lr,
            "betas": betas,
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
        hyper = [group["lr"], *group["betas"], group["eps"], group["weight_decay"]]
        hyper += [group["decoupled_weight_decay"], group["maximize"]]
        self._run_step(name, states, parameters, gradients, hyper)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101)."""

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
