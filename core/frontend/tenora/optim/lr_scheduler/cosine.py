"""Schedules along a cosine (SGDR, Loshchilov and Hutter 2017)."""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors

from ..checks import check_numbers
from .base import Rates, Schedule


class _Cosine(Schedule):
    """Between the first rate and `eta_min`, at an angle."""

    eta_min: float

    def _at(self, angle: float) -> Rates:
        height = 1 + math.cos(angle)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]


class CosineAnnealingLR(_Cosine):
    """Moves the rate to `eta_min` and back on a cosine whose half period is `T_max` epochs.

    The recursive form is used, so that schedules of one optimizer work together:
    `lr = eta_min + (lr - eta_min) * (1 + cos(pi t / T)) / (1 + cos(pi (t - 1) / T))`.

    Source: Loshchilov and Hutter 2017, https://arxiv.org/abs/1608.03983, without its restarts.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.0]
    """

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        check_numbers(self, T_max=T_max, eta_min=eta_min)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _rates(self) -> Rates:
        epoch, groups = self.last_epoch, self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if not self.T_max:
            raise errors.ZeroNumberError(
                "[CosineAnnealingLR] T_max: got 0, expected a number of epochs. Make the scheduler with another one."
            )
        # Just after the minimum, where the ratio has no value.
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = 1 - math.cos(math.pi / self.T_max)
            pairs = zip(groups, self.base_lrs, strict=False)
            return [group["lr"] + (lr - self.eta_min) * rise / 2 for group, lr in pairs]
        ratio = self._height(epoch) / self._height(epoch - 1)
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        return self._at(math.pi * self.last_epoch / self.T_max)


class CosineAnnealingWarmRestarts(_Cosine):
    """Lets the rate fall to `eta_min` on half a cosine, then starts again at the full rate.

    The first fall takes `T_0` epochs, each next one `T_mult` times as many. `step` takes a fractional epoch too, for
    steps within epochs: `scheduler.step(epoch + i / batches)`.

    Raises ValueError unless T_0 and T_mult are whole numbers from 1 on and eta_min a number.

    Source: Loshchilov and Hutter 2017, https://arxiv.org/abs/1608.03983.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = tenora.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> scheduler.step(1.5)
    >>> round(scheduler.get_last_lr()[0], 3)
    1.172
    """

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise errors.ArgumentValueError(
                    f"[CosineAnnealingWarmRestarts] {name}: got {value!r}, expected a whole number from 1 on. "
                    "Pass an int."
                )
        if not isinstance(eta_min, int | float):
            raise errors.ArgumentValueError(
                f"[CosineAnnealingWarmRestarts] eta_min: got {type(eta_min).__name__}, expected a number. "
                "Pass a float."
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        return self._at(math.pi * self.T_cur / self.T_i)

    def step(self, epoch: float | None = None) -> None:
        """Goes on by an epoch, or to `epoch`, which may lie between two. Raises ValueError for a negative one."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = epoch or 0
            self._find_period(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr)

    def _find_period(self, epoch: float) -> None:
        """`T_i` and `T_cur` of an epoch, from the sum of a geometric series."""
        if epoch < 0:
            raise errors.ArgumentValueError(
                f"[CosineAnnealingWarmRestarts] epoch: got {epoch}, expected 0 or more. Call step() to go on by one."
            )
        if epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            periods = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            grown = self.T_mult**periods
            self.T_cur = epoch - self.T_0 * (grown - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * grown
