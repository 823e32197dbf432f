"""Schedules that let the rate rise and fall within a run, with momentum the other way round (Smith 2017, 2018)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors

from ..checks import check_numbers
from .base import Rates, Schedule, check_groups, check_optimizer, per_group, set_option
from .factors import function_state


class _Cycle(Schedule):
    """Rates and momentum of a cycle; momentum is `momentum`, or the first of `betas`."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(
        self, base_momentum: Any, max_momentum: Any, last_epoch: int
    ) -> tuple[list[Any], list[Any]]:
        """Takes the bounds for each group and starts at the upper one; raises ValueError where there is none."""
        optimizer = self.optimizer
        defaults = getattr(optimizer, "defaults", optimizer.param_groups[0])
        if "momentum" not in defaults and "betas" not in defaults:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] cycle_momentum: got True for {type(optimizer).__name__}, expected an "
                "optimizer with momentum or betas. Pass cycle_momentum=False."
            )
        self.use_beta1 = "betas" in defaults
        highest = per_group("max_momentum", optimizer, max_momentum)
        lowest = per_group("base_momentum", optimizer, base_momentum)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lowest, highest

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def _triangular(gamma: float, x: float) -> float:
    return 1.0


def _triangular2(gamma: float, x: float) -> float:
    return 1 / (2.0 ** (x - 1))


def _exp_range(gamma: float, x: float) -> float:
    return float(gamma**x)


# What a mode multiplies the height of a cycle by, as a function of gamma and x, and what x is.
_MODES: dict[str, tuple[Callable[[float, float], float], str]] = {
    "triangular": (_triangular, "cycle"),
    "triangular2": (_triangular2, "cycle"),
    "exp_range": (_exp_range, "iterations"),
}


class CyclicLR(_Cycle):
    """Moves the rate between `base_lr` and `max_lr` on a triangle, and momentum between its bounds the other way.

    A cycle rises for `step_size_up` steps and falls for `step_size_down` (as many, if not given); call `step` after
    each batch. The height stays ("triangular"), halves with every cycle ("triangular2") or falls by `gamma` with every
    step ("exp_range"); `scale_fn(x)` is a height of one's own, with x the number of the cycle or of the step, as
    `scale_mode` says ("cycle", "iterations").

    Raises ValueError for an unknown mode, for bounds whose number is not that of the groups, and with
    `cycle_momentum` for an optimizer that has neither momentum nor betas.

    Source: Smith 2017, https://arxiv.org/abs/1506.01186.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = tenora.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=3.0, step_size_up=2)
    >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
    (None, None, [2.0])
    >>> round(optimizer.param_groups[0]["momentum"], 3)
    0.85
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        check_numbers(self, step_size_up=step_size_up, gamma=gamma)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        if not up + down:
            raise errors.ZeroNumberError(
                "[CyclicLR] step_size_up: got a cycle of 0 steps, expected more. Pass the number of steps of a rise."
            )
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in _MODES and scale_fn is None:
            raise errors.ArgumentValueError(
                f"[CyclicLR] mode: got {mode!r} without scale_fn, expected one of {', '.join(_MODES)}. "
                "Pass one of them, or a scale_fn."
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _MODES[mode][1]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """What the height of a cycle is multiplied by, at cycle or step number `x`.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], momentum=0.9)
        >>> scheduler = CyclicLR(optimizer, base_lr=1.0, max_lr=3.0, mode="triangular2")
        >>> [scheduler.scale_fn(cycle) for cycle in (1, 2, 3)]
        [1.0, 0.5, 0.25]
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _MODES[self.mode][0](self.gamma, x)

    def _rates(self) -> Rates:
        turns = self.last_epoch / self.total_size
        cycle = math.floor(1 + turns)
        x = 1.0 + turns - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        check_groups(self, len(self.base_lrs))
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                self._set_momentum(group, high - (high - low) * share * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * share * scale for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """The attributes without the optimizer; of `scale_fn` only what a callable object remembers."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        return {**state, "_scale_fn_custom": None if function is None else function_state(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave; `scale_fn` stays, a callable object takes its attributes."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


def _cosine(first: Any, last: Any, share: float) -> Any:
    return last + (first - last) / 2.0 * (math.cos(math.pi * share) + 1)


def _linear(first: Any, last: Any, share: float) -> Any:
    return (last - first) * share + first


_ANNEALING = {"cos": _cosine, "linear": _linear}


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The last step of each phase, and which options of a group the rate and the momentum go between."""
    rates, momenta = ["initial_lr", "max_lr", "min_lr"], ["max_momentum", "base_momentum", "max_momentum"]
    ends: list[float] = [float(pct_start * total_steps) - 1, total_steps - 1]
    if three_phase:
        rates.insert(2, "initial_lr")
        momenta.append("max_momentum")
        ends.insert(1, float(2 * pct_start * total_steps) - 2)
    return [
        {
            "end_step": end,
            "start_lr": rates[place],
            "end_lr": rates[place + 1],
            "start_momentum": momenta[place],
            "end_momentum": momenta[place + 1],
        }
        for place, end in enumerate(ends)
    ]


def _count_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    given = {"total_steps": total_steps}
    if total_steps is None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise errors.ArgumentValueError(
                f"[OneCycleLR] {name}: got {value!r}, expected a whole number above 0. "
                "Pass total_steps, or both epochs and steps_per_epoch."
            )
    return math.prod(given.values())


class OneCycleLR(_Cycle):
    """One rise from `max_lr / div_factor` to `max_lr` and one fall to far below the beginning, momentum the other way.

    The rise takes the share `pct_start` of the steps, and the last rate is the first one divided by
    `final_div_factor`; with `three_phase` the fall to the first rate mirrors the rise and the rest follows. The number
    of steps is `total_steps`, or `epochs * steps_per_epoch`; call `step` after each batch.

    Raises ValueError for numbers of steps that are not whole and above 0, for `pct_start` outside 0 to 1, for an
    `anneal_strategy` other than "cos" and "linear", and by a step beyond the last.

    Source: Smith and Topin 2019, https://arxiv.org/abs/1708.07120.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
    >>> scheduler = tenora.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, div_factor=4)
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise errors.ArgumentValueError(
                f"[OneCycleLR] pct_start: got {pct_start!r}, expected a float from 0 to 1. "
                "Pass the share of the steps in which the rate rises."
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in _ANNEALING:
            raise errors.ArgumentValueError(
                f"[OneCycleLR] anneal_strategy: got {anneal_strategy!r}, expected 'cos' or 'linear'. Pass one of them."
            )
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> Rates:
        number = self.last_epoch
        if number > self.total_steps:
            raise errors.ArgumentValueError(
                f"[OneCycleLR] step: got number {number}, expected at most {self.total_steps}, the total. "
                "Pass a larger total_steps."
            )
        for place, group in enumerate(self.optimizer.param_groups):
            if "min_lr" not in group:
                raise errors.MissingKeyError(
                    f"[OneCycleLR] initial_lr, max_lr, min_lr: got none in group {place}, expected the rates of its "
                    "cycle. Make the scheduler after the last group was added, or give the group these three."
                )
        anneal = _ANNEALING[self._anneal_func_type]
        place = 0
        while place + 1 < len(self._schedule_phases) and number > self._schedule_phases[place]["end_step"]:
            place += 1
        phase = self._schedule_phases[place]
        begin = self._schedule_phases[place - 1]["end_step"] if place else 0.0
        share = (number - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                bounds = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*bounds, share))
        return [
            anneal(group[phase["start_lr"]], group[phase["end_lr"]], share)
            for group in self.optimizer.param_groups
        ]
