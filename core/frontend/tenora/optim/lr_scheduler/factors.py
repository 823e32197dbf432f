"""Schedules that multiply: what an epoch does to the rate in use, and what all epochs so far do to the first one.

- `_ratio(epoch)` multiplies the rate in use, so schedules of one optimizer work together; 1 leaves it.
- `_factor(epoch)` multiplies the rate of the beginning: the product of the ratios, for a jump to an epoch.
"""

from __future__ import annotations

import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors

from ..checks import check_numbers
from .base import Rates, Schedule, check_groups


class _Multiplying(Schedule):
    def _rates(self) -> Rates:
        ratio = self._ratio(self.last_epoch)
        return [group["lr"] * ratio for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> Rates:
        factor = self._factor(self.last_epoch)
        return [lr * factor for lr in self.base_lrs]

    def _ratio(self, epoch: int) -> float:
        raise errors.NotImplementedOperationError(
            f"[{type(self).__name__}] _ratio is not defined: got a call, expected a number. Define it."
        )

    def _factor(self, epoch: int) -> float:
        raise errors.NotImplementedOperationError(
            f"[{type(self).__name__}] _factor is not defined: got a call, expected a number. Define it."
        )


class StepLR(_Multiplying):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    At epoch t it is the first rate times gamma^(t // step_size).

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(4):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [2.0]
    """

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        check_numbers(self, step_size=step_size, gamma=gamma)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, epoch: int) -> float:
        if epoch and not self.step_size:
            raise errors.ZeroNumberError(
                "[StepLR] step_size: got 0, expected a number of epochs. Make the scheduler with another one."
            )
        return 1 if epoch == 0 or epoch % self.step_size else self.gamma

    def _factor(self, epoch: int) -> float:
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(_Multiplying):
    """Multiplies the rate by `gamma` at each of the `milestones`; one that is named twice counts twice.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> tenora.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[30, 80]).get_last_lr()
    [8.0]
    """

    def __init__(
        self, optimizer: Any, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not isinstance(milestones, Iterable):
            raise errors.ArgumentTypeError(
                f"[MultiStepLR] milestones: got {milestones!r:.60}, expected epochs in a row. Pass a list."
            )
        self.milestones = Counter(milestones)
        check_numbers(self, gamma=gamma, **{f"milestones ({each})": each for each in self.milestones})
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, epoch: int) -> float:
        return float(self.gamma ** self.milestones[epoch]) if epoch in self.milestones else 1

    def _factor(self, epoch: int) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch))


class ConstantLR(_Multiplying):
    """Multiplies the rate by `factor` for the first `total_iters` epochs. Raises ValueError unless 0 <= factor <= 1.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> tenora.optim.lr_scheduler.ConstantLR(optimizer, factor=0.25).get_last_lr()
    [2.0]
    """

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        check_numbers(self, factor=factor, total_iters=total_iters)
        if factor > 1 or factor < 0:
            raise errors.ArgumentValueError(
                f"[ConstantLR] factor: got {factor}, expected 0 to 1. Pass the share of the rate to begin with."
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self, epoch: int) -> float:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else 1

    def _factor(self, epoch: int) -> float:
        return self.factor + (epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_Multiplying):
    """Goes from `start_factor` to `end_factor` of the rate on a line of `total_iters` epochs.

    Raises ValueError unless 0 < start_factor <= 1 and 0 <= end_factor <= 1.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> tenora.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5).get_last_lr()
    [4.0]
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        check_numbers(self, start_factor=start_factor, end_factor=end_factor, total_iters=total_iters)
        if start_factor > 1 or start_factor <= 0:
            raise errors.ArgumentValueError(
                f"[LinearLR] start_factor: got {start_factor}, expected above 0 and up to 1. "
                "Pass the share of the rate to begin with."
            )
        if end_factor > 1 or end_factor < 0:
            raise errors.ArgumentValueError(
                f"[LinearLR] end_factor: got {end_factor}, expected 0 to 1. Pass the share of the rate to end with."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self, epoch: int) -> float:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return 1
        slope = self.end_factor - self.start_factor
        return 1.0 + slope / (self.total_iters * self.start_factor + (epoch - 1) * slope)

    def _factor(self, epoch: int) -> float:
        slope = self.end_factor - self.start_factor
        return self.start_factor + slope * min(self.total_iters, epoch) / self.total_iters


class ExponentialLR(_Multiplying):
    """Multiplies the rate by `gamma` every epoch.

    At epoch t it is the first rate times gamma^t.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [4.0])
    """

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        check_numbers(self, gamma=gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, epoch: int) -> float:
        return 1 if self._is_initial else self.gamma

    def _factor(self, epoch: int) -> float:
        return float(self.gamma**epoch)


class PolynomialLR(_Multiplying):
    """Lets the rate fall to 0 in `total_iters` epochs: by the share of epochs left, to the power `power`.

    At epoch t it is the first rate times (1 - t / total_iters)^power, and 0 after the last.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [6.0])
    """

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        check_numbers(self, total_iters=total_iters, power=power)
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _left(self, epoch: int) -> float:
        return 1.0 - epoch / self.total_iters

    def _ratio(self, epoch: int) -> float:
        if self._is_initial or epoch > self.total_iters:
            return 1
        return float((self._left(epoch) / self._left(epoch - 1)) ** self.power)

    def _factor(self, epoch: int) -> float:
        return float(self._left(min(self.total_iters, epoch)) ** self.power)


def function_state(function: Any) -> dict[str, Any] | None:
    """What a callable remembers: the attributes of an object, nothing of a function."""
    attributes = None if isinstance(function, types.FunctionType) else getattr(function, "__dict__", None)
    return None if attributes is None else dict(attributes)


class _ByFunction(Schedule):
    """Holds a function of the epoch for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        name, count = type(self).__name__, len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], Any]] = (
            list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise errors.ArgumentValueError(
                f"[{name}] lr_lambda: got {len(self.lr_lambdas)} functions, expected one for each of {count} groups. "
                "Pass one function for all, or as many as the optimizer has groups."
            )
        for function in self.lr_lambdas:
            if not callable(function):
                raise errors.ArgumentTypeError(
                    f"[{name}] lr_lambda: got {type(function).__name__}, expected a function of the epoch. "
                    "Pass a function, or a list with one for each group."
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The attributes without the optimizer; of the functions only what callable objects remember."""
        state = super().state_dict()
        state.pop("lr_lambdas")
        return {**state, "lr_lambdas": [function_state(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave; the functions stay, callable objects take their attributes."""
        saved = state_dict["lr_lambdas"]
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, saved, strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_ByFunction):
    """The first rate times `lr_lambda(epoch)`: one function for all groups, or a list with one for each.

    ValueError for a list of another length than there are groups.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [4.0])
    """

    def _rates(self) -> Rates:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]


class MultiplicativeLR(_ByFunction):
    """The rate in use times `lr_lambda(epoch)`, from the second epoch on: one function, or a list with one a group.

    ValueError for a list of another length than there are groups.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [4.0])
    """

    def _rates(self) -> Rates:
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        check_groups(self, len(self.lr_lambdas))
        return [
            group["lr"] * function(self.last_epoch)
            for group, function in zip(groups, self.lr_lambdas, strict=True)
        ]
