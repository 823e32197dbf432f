"""`LRScheduler`: counts epochs and sets the learning rate of each group of an optimizer.

- `state_dict` is the scheduler's attributes without the optimizer; their names are PyTorch's, so its checkpoints load.
- A rate that is a tensor stays the same tensor and is filled; what is remembered of it are copies.
- `optimizer.step` is wrapped on the instance, once, to tell whether it was called before the scheduler's.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

# A rate is a float or a tensor of one element.
Rates = list[Any]


def copied(value: Any) -> Any:
    """The value itself, or a copy of a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer: Any, option: str) -> Rates:
    """An option of each group; tensors are copied."""
    return [copied(group[option]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], option: str, value: Any) -> None:
    """Sets an option of a group; a tensor there is filled, so that whoever holds it sees the change."""
    if isinstance(group[option], Tensor):
        group[option].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[option] = value


def per_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """A value for each group, from one for all or a sequence with one for each; tensors are copied."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        value = [value] * count
    elif len(value) != count:
        raise errors.ArgumentValueError(
            f"[lr_scheduler] {name}: got {len(value)} values, expected one for each of {count} groups. "
            "Pass one number for all, or as many as the optimizer has groups."
        )
    for each in value:
        if not hasattr(each, "__float__"):
            raise errors.ArgumentTypeError(
                f"[lr_scheduler] {name}: got {each!r:.60}, expected a number. Pass one for all groups, or a list."
            )
    return [copied(each) for each in value]


def check_optimizer(scheduler: Any, optimizer: Any) -> None:
    """Anything with groups of parameters and a step will do."""
    if not (hasattr(optimizer, "param_groups") and hasattr(optimizer, "step")):
        raise errors.ArgumentTypeError(
            f"[{type(scheduler).__name__}] optimizer: got {type(optimizer).__name__}, expected an Optimizer. "
            "Pass the optimizer whose learning rate it sets."
        )


def check_groups(scheduler: Any, count: int) -> None:
    """Refuses to give rates for some groups only: groups came or went since the scheduler was made."""
    groups = scheduler.optimizer.param_groups
    if len(groups) != count:
        raise errors.ArgumentValueError(
            f"[{type(scheduler).__name__}] rates: got {count}, expected one for each of {len(groups)} groups. "
            "Make the scheduler after the last change of the optimizer's groups."
        )


def _watch_steps(optimizer: Any) -> None:
    """From now on the first `optimizer.step()` leaves a mark."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    # A wrapper that held its optimizer, as a bound method does, would keep it alive.
    owner = weakref.ref(optimizer)
    method = getattr(step, "__func__", None) or _ignoring_owner(step)

    @functools.wraps(method)
    def marked(*args: Any, **kwargs: Any) -> Any:
        own: Any = owner()
        own._opt_called = True
        return method(own, *args, **kwargs)

    vars(marked)["_wrapped_by_lr_sched"] = True
    optimizer.step = marked


def _ignoring_owner(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function that was put in the place of `step`, in a method's form."""

    @functools.wraps(function)
    def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return method


class LRScheduler:
    """Base class: `step()` counts an epoch, asks `get_lr()` for the rates of the groups and sets them.

    A subclass defines `get_lr`, which may use `base_lrs` (the groups' `initial_lr`), `last_epoch` and
    `_is_initial` (true in the step that the constructor makes). With `last_epoch` other than -1 it goes on after that
    epoch, and the groups must have `initial_lr`.

    Raises TypeError for what is no optimizer, KeyError for a missing `initial_lr`.

    >>> import tenora
    >>> class Halving(tenora.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> for epoch in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _step_count: int
    _last_lr: Rates

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise errors.MissingKeyError(
                    f"[{type(self).__name__}] initial_lr: got none in group {place} with last_epoch={last_epoch}, "
                    "expected the rate that the schedule began with. Load the optimizer's state first, "
                    "or leave last_epoch out to begin."
                )
        self.base_lrs: Rates = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "optimizer" in state:  # the copy of an optimizer has its plain step again
            _watch_steps(self.optimizer)

    def _initial_step(self) -> None:
        """Sets the rates of the epoch after `last_epoch`."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """The attributes, without the optimizer (save its state too: the rates now in use are there).

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
        >>> tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5).state_dict()["last_epoch"]
        0
        """
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
        >>> scheduler = tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler.load_state_dict({**scheduler.state_dict(), "last_epoch": 7})
        >>> scheduler.last_epoch
        7
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The rates that the last step set, one for each group.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
        >>> tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5).get_last_lr()
        [8.0]
        """
        return self._last_lr

    def get_lr(self) -> Rates:
        """The rates of `last_epoch`; a subclass defines it, `step` calls it.

        >>> import tenora
        >>> class Constant(LRScheduler):
        ...     def get_lr(self):
        ...         return [0.5 for lr in self.base_lrs]
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
        >>> Constant(optimizer).get_last_lr()
        [0.5]
        """
        raise errors.NotImplementedOperationError(
            f"[{type(self).__name__}] get_lr is not defined: got a call, expected a rate for each group. "
            "Define it in the subclass; a scheduler of schedulers has none, and can't begin anew at a milestone."
        )

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next epoch; call it after `optimizer.step()`. `epoch` is deprecated, as in PyTorch.

        ValueError where the optimizer has other groups than when the schedule began.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=8.0)
        >>> scheduler = tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step(), scheduler.step(), optimizer.param_groups[0]["lr"]
        (None, None, 4.0)
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch(self)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        name = type(self).__name__
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                f"[{name}] optimizer.step was replaced after the scheduler was made, so its calls are not seen. "
                "Call optimizer.step() before scheduler.step().",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                f"[{name}] scheduler.step() was called before optimizer.step(): the first rate of the schedule is "
                "left out. Call optimizer.step() first.",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Goes on by an epoch, or to a given one: by the closed form where there is one."""
        if epoch is None:
            self.last_epoch += 1
            self._set_rates(self.get_lr)
        else:
            self.last_epoch = epoch
            self._set_rates(getattr(self, "_get_closed_form_lr", self.get_lr))

    def _set_rates(self, compute: Callable[[], Rates]) -> None:
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        check_groups(self, len(rates))
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = group_values(self.optimizer, "lr")


def warn_of_epoch(scheduler: LRScheduler) -> None:
    """The warning for an epoch given to `step`."""
    warnings.warn(
        f"[{type(scheduler).__name__}] epoch: step() counts by itself, the argument is deprecated. "
        "Call step() without it.",
        UserWarning,
        stacklevel=3,
    )


class Schedule(LRScheduler):
    """A scheduler of tenora's own: `_rates` is its mathematics, and `get_lr` warns where it is called by others."""

    def get_lr(self) -> Rates:
        """The rates of `last_epoch`, from those now in use: for `step` alone; `get_last_lr` is for programs."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                f"[{type(self).__name__}] get_lr() computes the next rates from those now in use. "
                "Call get_last_lr() for the rates in use.",
                UserWarning,
                stacklevel=2,
            )
        return self._rates()

    def _rates(self) -> Rates:
        raise errors.NotImplementedOperationError(
            f"[{type(self).__name__}] _rates is not defined: got a call, expected the schedule's mathematics. "
            "Define it, or get_lr, in the subclass."
        )
