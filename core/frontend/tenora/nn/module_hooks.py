"""Hooks of modules: where they are kept, those of one module and those of all.

- A table of hooks is an ordered dict from the number of a handle to a callable, in the module's `__dict__` from its
  first use on.
- `Module.__call__` asks one question, whether `_hooked` is true. It is the dict `ACTIVE`, which has an entry for each
  hook of all modules, until a table of this module's own that matters to calls is touched; then it is True.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors

from ..utils.hooks import RemovableHandle

Hooks = OrderedDict[int, Callable[..., Any]]

#: The numbers of all hooks on the calls of all modules: what every module's `_hooked` is at first.
ACTIVE: OrderedDict[int, bool] = OrderedDict()


def not_ready(module: object, what: str) -> AttributeError:
    """For `what` of a module whose class forgot `super().__init__()`, or has not got to it yet."""
    return errors.MissingAttributeError(
        f"[Module] {type(module).__name__}: got {what} before Module.__init__(), expected super().__init__() to run "
        "first. Call it at the top of __init__."
    )


def need_ready(module: object, what: str) -> None:
    """Raises `not_ready` unless `Module.__init__` has run."""
    if "_module_names" not in module.__dict__:
        raise not_ready(module, what)


class HookTable:
    """A table of hooks of one module, made when it is first asked for; `calls`: whether calls must look at it."""

    def __init__(self, calls: bool = False) -> None:
        self._calls = calls

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self
        need_ready(module, "a use of the hooks")
        attributes = module.__dict__
        table = attributes.get(self._name)
        if table is None:
            table = attributes[self._name] = OrderedDict()
        if self._calls:
            attributes["_hooked"] = True
        return table

    def __set__(self, module: Any, table: Any) -> None:
        module.__dict__[self._name] = table
        if self._calls:
            module.__dict__["_hooked"] = True


#: The tables that calls look at, by attribute name.
CALL_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def has_call_hooks(attributes: dict[str, Any]) -> bool:
    """Whether a module has hooks of its own that its calls run."""
    return any(attributes.get(name) for name in CALL_TABLES)


forward_pre_hooks: Hooks = OrderedDict()
forward_hooks: Hooks = OrderedDict()
forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
backward_pre_hooks: Hooks = OrderedDict()
backward_hooks: Hooks = OrderedDict()
#: The numbers of those `backward_hooks` that are of the old kind.
old_backward_hooks: OrderedDict[int, bool] = OrderedDict()
buffer_registration_hooks: Hooks = OrderedDict()
module_registration_hooks: Hooks = OrderedDict()
parameter_registration_hooks: Hooks = OrderedDict()


def registered(table: Hooks, module: Any, name: str, member: Any) -> Any:
    """What the registration hooks make of a member that is about to get its name."""
    for hook in tuple(table.values()) if table else ():
        changed = hook(module, name, member)
        if changed is not None:
            member = changed
    return member


def add(table: Hooks, hook: Callable[..., Any], *marks: OrderedDict[int, Any], first: bool = False) -> Any:
    """Enters a hook, and its number into further tables; the handle takes all of it away."""
    handle = RemovableHandle(table, hook, prepend=first, extra_dict=list(marks))
    for mark in marks:
        mark[handle.id] = True
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` before any module gets a buffer; a result other than None replaces it.

    >>> import tenora
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: print(name)):
    ...     tenora.nn.Module().register_buffer("mean", tenora.zeros(2))
    mean
    """
    return add(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, child)` before any module gets a child; a result other than None replaces it.

    >>> import tenora
    >>> with register_module_module_registration_hook(lambda module, name, child: print(name, child)):
    ...     _ = tenora.nn.Sequential(tenora.nn.ReLU())
    0 ReLU()
    """
    return add(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, name, param)` before any module gets a parameter; a result other than None replaces it.

    >>> import tenora
    >>> with register_module_parameter_registration_hook(lambda module, name, param: print(name)):
    ...     _ = tenora.nn.Linear(1, 1)
    weight
    bias
    """
    return add(parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, args)` before the forward of every module, ahead of the module's own hooks.

    >>> import tenora
    >>> seen = []
    >>> with register_module_forward_pre_hook(lambda module, args: seen.append(type(module).__name__)):
    ...     _ = tenora.nn.Sequential(tenora.nn.ReLU())(tenora.ones(1))
    >>> seen
    ['Sequential', 'ReLU']
    """
    return add(forward_pre_hooks, hook, ACTIVE)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the forward of every module; see `Module.register_forward_hook`.

    >>> import tenora
    >>> with register_module_forward_hook(lambda module, args, output: print(module, output.tolist())):
    ...     _ = tenora.nn.ReLU()(tenora.tensor([-1.0]))
    ReLU() [0.0]
    """
    marks = [ACTIVE]
    if with_kwargs:
        marks.append(forward_hooks_with_kwargs)
    if always_call:
        marks.append(forward_hooks_always_called)
    return add(forward_hooks, hook, *marks)


def _need_one_kind(old: bool) -> None:
    if any((number in old_backward_hooks) != old for number in backward_hooks):
        raise errors.OperationError(
            "[Module] backward hooks of all modules: got both the old kind and full ones, expected one kind. "
            "Use register_module_full_backward_hook for all of them."
        )


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The old form of `register_module_full_backward_hook`: it sees the last op of a module only.

    >>> import tenora
    >>> with register_module_backward_hook(lambda module, grad_input, grad_output: print(grad_output)):
    ...     tenora.nn.ReLU()(tenora.ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    _need_one_kind(old=True)
    return add(backward_hooks, hook, ACTIVE, old_backward_hooks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_output)` before the gradients of every module's inputs are computed.

    >>> import tenora
    >>> with register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output)):
    ...     tenora.nn.ReLU()(tenora.ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    return add(backward_pre_hooks, hook, ACTIVE)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` when the gradients of a module's inputs are there.

    >>> import tenora
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input)):
    ...     tenora.nn.ReLU()(tenora.ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    _need_one_kind(old=False)
    return add(backward_hooks, hook, ACTIVE)
