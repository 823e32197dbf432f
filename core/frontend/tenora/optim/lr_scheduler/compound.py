"""Schedulers of schedulers: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors

from .base import LRScheduler, group_values, set_option
from .plateau import ReduceLROnPlateau


class _Compound(LRScheduler):
    """Holds schedulers of one optimizer; their states are part of its state."""

    _schedulers: Sequence[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Any) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise errors.ArgumentValueError(
                f"[{name}] schedulers: got none, expected at least one. Pass a list of schedulers."
            )
        for place, scheduler in enumerate(schedulers):
            kind = type(scheduler).__name__
            if not hasattr(scheduler, "optimizer"):
                raise errors.ArgumentTypeError(
                    f"[{name}] schedulers[{place}]: got {kind}, expected a scheduler with an `optimizer`. "
                    "Pass schedulers."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise errors.ArgumentValueError(
                    f"[{name}] schedulers[{place}]: got {kind}, expected a scheduler whose step needs no metric. "
                    "Step it by itself."
                )
            optimizer = scheduler.optimizer if optimizer is None else optimizer
            if scheduler.optimizer is not optimizer:
                raise errors.ArgumentValueError(
                    f"[{name}] schedulers[{place}]: got a {kind} of another optimizer, expected all of one. "
                    "Make them with the same optimizer."
                )
        self._schedulers = schedulers
        self.optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        """The attributes without the optimizer, and the states of the schedulers."""
        state = super().state_dict()
        state.pop("_schedulers")
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        saved = state_dict["_schedulers"]
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, saved, strict=True):
            scheduler.load_state_dict(state)


def _undo_first_steps(scheduler: Any) -> None:
    """Takes back the epoch that each constructor counted."""
    if hasattr(scheduler, "_schedulers"):
        for member in scheduler._schedulers:
            _undo_first_steps(member)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class SequentialLR(_Compound):
    """Runs schedulers one after another: each next one begins at its milestone, with the first rate.

    Raises ValueError unless there is one milestone fewer than schedulers, all of one optimizer, none of them
    ReduceLROnPlateau.

    >>> import tenora
    >>> from tenora.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> parts = [ConstantLR(optimizer, factor=0.125, total_iters=9), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
    >>> for epoch in range(4):
    ...     optimizer.step()
    ...     print(*scheduler.get_last_lr())
    ...     scheduler.step()
    1.0
    1.0
    8.0
    4.0
    """

    def __init__(
        self, optimizer: Any, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise errors.ArgumentValueError(
                f"[SequentialLR] milestones: got {len(milestones)} for {len(schedulers)} schedulers, expected "
                f"{len(schedulers) - 1}. Pass the epochs at which the second and each next scheduler begin."
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        _undo_first_steps(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    # Schedulers of several have no epoch to be set to, in PyTorch neither.
    def step(self) -> None:  # type: ignore[override]
        """Goes on to the next epoch."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Compound):
    """Steps all its schedulers each time; their factors multiply.

    Raises ValueError unless all are of one optimizer and none is ReduceLROnPlateau.

    >>> import tenora
    >>> from tenora.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
    >>> parts = [ConstantLR(optimizer, factor=0.125, total_iters=9), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = ChainedScheduler(parts)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [0.5])
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Any = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = group_values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]  # no epoch, as above
        """Steps every scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = group_values(self.optimizer, "lr")
