"""Hooks around steps, and around writing and reading the state: of one optimizer, or of all.

- `step` of every subclass is wrapped once, when the class is made. `Optimizer`'s own looks for hooks itself: a
  wrapper that hands on any arguments costs as much as four parameters' bookkeeping.
- A step that calls its base class's step runs the hooks once: the outermost one does.
- Copies and pickles of an optimizer have no hooks, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors

from ..utils.hooks import RemovableHandle

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]

# The hooks of all optimizers.
BEFORE: Hooks = OrderedDict()
AFTER: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer; `args` begins with the optimizer.

    The hook may return other `(args, kwargs)` for the step.

    >>> import tenora
    >>> from tenora.optim.optimizer import register_optimizer_step_pre_hook
    >>> weight = tenora.ones(1, requires_grad=True)
    >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("step")):
    ...     tenora.optim.SGD([weight]).step()
    step
    """
    return RemovableHandle(BEFORE, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer.

    >>> import tenora
    >>> from tenora.optim.optimizer import register_optimizer_step_post_hook
    >>> weight = tenora.ones(1, requires_grad=True)
    >>> with register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped")):
    ...     tenora.optim.SGD([weight]).step()
    stepped
    """
    return RemovableHandle(AFTER, hook)


def run_with_hooks(
    optimizer: Hooked, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`step(optimizer, *args, **kwargs)` between its hooks."""
    args = (optimizer, *args)
    for hook in (*BEFORE.values(), *optimizer._optimizer_step_pre_hooks.values()):
        changed = hook(optimizer, args, kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise errors.OperationError(
                f"[{type(optimizer).__name__}.step] answer of a step pre-hook: got {changed!r}, expected None or "
                "(args, kwargs). Return nothing to leave the arguments as they are."
            )
        args, kwargs = changed
    result = step(*args, **kwargs)
    for hook in (*optimizer._optimizer_step_post_hooks.values(), *AFTER.values()):
        hook(optimizer, args, kwargs)
    return result


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def run(self: Hooked, *args: Any, **kwargs: Any) -> Any:
        none = not (self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks or BEFORE or AFTER)
        if none or getattr(type(self), "step", None) is not run:
            return step(self, *args, **kwargs)
        return run_with_hooks(self, step, args, kwargs)

    return run


class Hooked:
    """The hooks of one optimizer; each `register_` answers with a handle whose `remove()` takes the hook away."""

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        step = cls.__dict__.get("step")
        if step is not None and cls.__base__ is not Hooked:
            type.__setattr__(cls, "step", _with_hooks(step))

    def _clear_hooks(self) -> None:
        for name in Hooked.__annotations__:
            self.__dict__.setdefault(name, OrderedDict())

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return other `(args, kwargs)`.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optimizer.step()
        after
        """
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` before `state_dict`.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> state = optimizer.state_dict()
        saving
        """
        return RemovableHandle(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` after `state_dict`; it may return another dictionary.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "epoch": 3})
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return RemovableHandle(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` before loading a shallow copy; it may return another dictionary.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: print(sorted(state)))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        ['param_groups', 'state']
        """
        return RemovableHandle(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` after `load_state_dict`.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return RemovableHandle(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)
