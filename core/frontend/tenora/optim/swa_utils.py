"""Averages of a model's weights over training (SWA, Izmailov et al. 2018; EMA, Polyak and Juditsky 1992).

- An average is a function of one tensor (`avg_fn`) or of lists of tensors of one device and dtype (`multi_avg_fn`).
- Averages of whole numbers are rounded towards zero, as PyTorch's are.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor, _engine

from .. import creation
from ..nn.module import Module
from ..nn.normalisation import _BatchNorm
from .lr_scheduler.base import Rates, Schedule, per_group

# (average so far, model's value, how many values are in the average) -> the new average.
Average = Callable[[Tensor, Tensor, Any], Tensor]
# The same for lists, in place.
MultiAverage = Callable[[list[Tensor], list[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise errors.ArgumentValueError(
            f"[swa_utils] decay: got {decay}, expected 0 to 1. Pass the share of the average that stays."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An exponential moving average: `decay * average + (1 - decay) * value`. Raises ValueError outside 0 to 1.

    >>> import tenora
    >>> from tenora.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.75)(tenora.ones(2), tenora.zeros(2), 1)
    tensor([0.7500, 0.7500])
    """
    _check_decay(decay)

    def ema(average: Tensor, value: Tensor, number: Any) -> Tensor:
        with no_grad():
            return decay * average + (1 - decay) * value

    return ema


def get_swa_avg_fn() -> Average:
    """The mean of all values, each with the same weight: `average + (value - average) / (number + 1)`.

    >>> import tenora
    >>> from tenora.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(tenora.ones(2), tenora.zeros(2), 1)
    tensor([0.5000, 0.5000])
    """

    def swa(average: Tensor, value: Tensor, number: Any) -> Tensor:
        with no_grad():
            return average + (value - average) / (number + 1)

    return swa


def _in_place(weight: Callable[[Any], Any], average: Average) -> MultiAverage:
    """Moves every average by `weight(number)` of the way to its value; whole numbers take the general form."""

    def update(averages: list[Tensor], values: list[Tensor], number: Any) -> None:
        with no_grad():
            for mean, value in zip(averages, values, strict=True):
                if mean.is_floating_point() or mean.is_complex():
                    mean.lerp_(value, weight(number))
                else:
                    mean.copy_(average(mean, value, number))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """The exponential moving average of `get_ema_avg_fn`, in place over lists.

    >>> import tenora
    >>> from tenora.optim.swa_utils import get_ema_multi_avg_fn
    >>> averages = [tenora.ones(2)]
    >>> get_ema_multi_avg_fn(0.75)(averages, [tenora.zeros(2)], 1)
    >>> averages
    [tensor([0.7500, 0.7500])]
    """
    return _in_place(lambda number: 1 - decay, get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> MultiAverage:
    """The mean of `get_swa_avg_fn`, in place over lists.

    >>> import tenora
    >>> from tenora.optim.swa_utils import get_swa_multi_avg_fn
    >>> averages = [tenora.ones(2)]
    >>> get_swa_multi_avg_fn()(averages, [tenora.zeros(2)], 1)
    >>> averages
    [tensor([0.5000, 0.5000])]
    """
    return _in_place(lambda number: 1 / (int(number) + 1), get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of `model` whose parameters are the average of those given to `update_parameters`.

    The average is the mean, or what `avg_fn` or `multi_avg_fn` says. Buffers are copied from the last model, or with
    `use_buffers` averaged too. Calling it calls the copy; `n_averaged` is a buffer, so `state_dict` has it.

    Raises AssertionError when both functions are given.

    Source: stochastic weight averaging, Izmailov et al. 2018, https://arxiv.org/abs/1803.05407.

    >>> import tenora
    >>> model = tenora.nn.Linear(1, 1, bias=False)
    >>> averaged = tenora.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     _ = tenora.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.tolist()
    [[1.5]]
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise errors.ConditionError(
                "[AveragedModel] avg_fn and multi_avg_fn: got both, expected at most one. Leave one out."
            )
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", creation.zeros((), dtype=_engine.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of `model` into the average.

        >>> import tenora
        >>> model = tenora.nn.Linear(1, 1)
        >>> averaged = AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged.item()
        1
        """
        pairs = [
            (mean.detach(), value.detach().to(mean.device))
            for mean, value in zip(self._averaged(self.module), self._averaged(model), strict=False)
        ]
        if int(self.n_averaged) == 0:
            for mean, value in pairs:
                mean.copy_(value)
        elif self.multi_avg_fn is not None:
            self._update_lists(pairs, self.multi_avg_fn)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, value in pairs:
                mean.copy_(average(mean, value, self.n_averaged.to(mean.device)))
        if not self.use_buffers:
            for own, given in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(given.detach().to(own.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())

    def _update_lists(self, pairs: list[tuple[Tensor, Tensor]], update: MultiAverage) -> None:
        alike: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for mean, value in pairs:
            means, values = alike.setdefault((mean.device, mean.dtype), ([], []))
            means.append(mean)
            values.append(value)
        for (device, _), (means, values) in alike.items():
            update(means, values, self.n_averaged.to(device))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of the model's batch normalisations anew: the mean over the batches of `loader`.

    A batch is the model's input, or a list or tuple that begins with it; it is moved to `device` if one is given.
    Without batch normalisation nothing is run. Training mode and momenta are as before afterwards.

    >>> import tenora
    >>> model = tenora.nn.BatchNorm1d(1, affine=False)
    >>> batches = [tenora.tensor([[0.0], [2.0]]), tenora.tensor([[2.0], [4.0]])]
    >>> tenora.optim.swa_utils.update_bn(batches, model)
    >>> model.running_mean
    tensor([2.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    model.train()
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the statistics become plain means
        with no_grad():
            for batch in loader:
                given = batch[0] if isinstance(batch, list | tuple) else batch
                model(given if device is None else given.to(device))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


# The share of the way to the averaging rate, at a share of the epochs.
_WAYS: dict[str, Callable[[float], float]] = {
    "cos": lambda t: (1 - math.cos(math.pi * t)) / 2,
    "linear": lambda t: t,
}


class SWALR(Schedule):
    """Moves the rate of each group to `swa_lr` in `anneal_epochs` epochs, on a cosine or a line, and keeps it there.

    Raises ValueError for an `anneal_strategy` other than "cos" and "linear", and for `anneal_epochs` that is no whole
    number from 0 on.

    Source: Izmailov et al. 2018, https://arxiv.org/abs/1803.05407.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tenora.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [0.75])
    """

    def __init__(
        self,
        optimizer: Any,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in _WAYS:
            raise errors.ArgumentValueError(
                f"[SWALR] anneal_strategy: got {anneal_strategy!r}, expected 'cos' or 'linear'. Pass one of them."
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise errors.ArgumentValueError(
                f"[SWALR] anneal_epochs: got {anneal_epochs!r}, expected a whole number from 0 on. Pass an int."
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The share of the way at share `t` of the epochs.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
        >>> SWALR(optimizer, swa_lr=0.5, anneal_strategy="linear").anneal_func(0.25)
        0.25
        """
        return _WAYS[self._anneal_strategy](t)

    def _rates(self) -> Rates:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (
            self.anneal_func(max(0, min(1, number / max(1, self.anneal_epochs))))
            for number in (step - 1, step)
        )
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # The rate without this schedule, from the one in use: others may change it as well.
            free = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + free * (1 - now))
        return rates


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
