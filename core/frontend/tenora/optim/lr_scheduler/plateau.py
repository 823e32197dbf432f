"""A schedule that waits for a metric to stop improving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsFloat

from tenora_dispatch import errors

from .base import LRScheduler, check_optimizer, group_values, per_group, set_option, warn_of_epoch


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not improved for more than `patience` epochs.

    Better is lower (`mode="min"`) or higher ("max") than the best so far by the share `threshold` of it
    (`threshold_mode="rel"`) or by that amount ("abs"). After a cut, `cooldown` epochs do not count; the rate stays
    above `min_lr`, and cuts up to `eps` are left out.

    Raises ValueError for a factor of 1 or more, unknown modes, and a list `min_lr` whose length is not that of the
    groups.

    >>> import tenora
    >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tenora.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Sequence[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise errors.ArgumentValueError(
                f"[ReduceLROnPlateau] factor: got {factor}, expected less than 1. Pass what the rate is multiplied by."
            )
        check_optimizer(self, optimizer)
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = group_values(optimizer, "lr")
        self._take_modes(mode, threshold, threshold_mode)
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _take_modes(self, mode: str, threshold: float, threshold_mode: str) -> None:
        modes = {"mode": (mode, ("min", "max")), "threshold_mode": (threshold_mode, ("rel", "abs"))}
        for name, (value, known) in modes.items():
            if value not in known:
                raise errors.ArgumentValueError(
                    f"[ReduceLROnPlateau] {name}: got {value!r}, expected {' or '.join(map(repr, known))}. "
                    "Pass one of them."
                )
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    # The one scheduler whose step takes a metric, in PyTorch too: LRScheduler's would not do in its place.
    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Judges an epoch by its metric (a number or a tensor of one element)."""
        if not hasattr(metrics, "__float__"):
            raise errors.ArgumentTypeError(
                f"[ReduceLROnPlateau] metrics: got {metrics!r:.60}, expected a number, or a tensor of one element. "
                "Pass the epoch's loss, for example."
            )
        current = float(metrics)
        if epoch is not None:
            warn_of_epoch(self)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = group_values(self.optimizer, "lr")

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(self.min_lrs) != len(groups):
            if self.default_min_lr is None:
                raise errors.OperationError(
                    f"[ReduceLROnPlateau] min_lrs: got {len(self.min_lrs)}, expected one for each of {len(groups)} "
                    "groups. Was a group added? Append its bound to `min_lrs`."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                set_option(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count now.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = ReduceLROnPlateau(optimizer, patience=0, cooldown=2)
        >>> scheduler.step(1.0), scheduler.in_cooldown, scheduler.step(1.0), scheduler.in_cooldown
        (None, False, None, True)
        """
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        margin = self.threshold if self.mode == "max" else -self.threshold
        bound = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return a > bound if self.mode == "max" else a < bound

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        super().load_state_dict(state_dict)
        self._take_modes(self.mode, self.threshold, self.threshold_mode)
