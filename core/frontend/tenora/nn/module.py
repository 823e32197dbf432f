"""`Module`: a callable that owns parameters, buffers and other modules.

- What it owns is in `module_members`, its state in `module_state`, the tree below it in `module_tree`, dtypes and
  devices in `module_moving`; here is how it is called, copied and printed.
- A call without hooks costs one truth test, of `_hooked` (see `module_hooks`). An exception on its way out learns the
  module's path (see `module_call`).
- `state_dict` keys, order and the meaning of `strict` are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from tenora_dispatch import errors
from tenora_engine import _engine

from ..utils.hooks import RemovableHandle
from . import module_hooks as hooks
from .module_call import call_with_hooks, name_module, trace_lines
from .module_failures import failure_lines
from .module_members import NAMES
from .module_moving import Movable
from .module_state import IncompatibleKeys


class Module(Movable):
    """Base class of everything with parameters.

    A subclass calls `super().__init__()`, assigns parameters and modules as attributes and defines `forward`.

    >>> import tenora
    >>> class Twice(tenora.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = tenora.nn.Linear(3, 3)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> [name for name, _ in Twice().named_parameters()]
    ['layer.weight', 'layer.bias']
    """

    training: bool
    #: Whether Module.__init__ hands its arguments on to the next class of the method resolution order.
    call_super_init: bool = False
    dump_patches: bool = False

    _hooked: Any = True  # see module_hooks; of a module without __init__, whose call is to say so
    _is_full_backward_hook: bool | None = None
    _forward_pre_hooks = hooks.HookTable(calls=True)
    _forward_pre_hooks_with_kwargs = hooks.HookTable()
    _forward_hooks = hooks.HookTable(calls=True)
    _forward_hooks_with_kwargs = hooks.HookTable()
    _forward_hooks_always_called = hooks.HookTable()
    _backward_pre_hooks = hooks.HookTable(calls=True)
    _backward_hooks = hooks.HookTable(calls=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise errors.ArgumentTypeError(
                f"[Module] {type(self).__name__}: Module.__init__ got arguments {list(args) + list(kwargs)}, expected "
                "none. Take them in the subclass, or set call_super_init = True."
            )
        attributes = self.__dict__
        attributes["training"] = True
        for names in NAMES:
            attributes[names] = {}
        attributes["_non_persistent_buffers_set"] = set()
        attributes["_hooked"] = hooks.ACTIVE
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- calling -------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; every subclass defines its own, with the arguments that it likes.

        Call the module, not `forward`: hooks run then. NotImplementedError where a subclass defines none.

        >>> import tenora
        >>> class Double(tenora.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(tenora.ones(2))
        tensor([2., 2.])
        """
        raise errors.NotImplementedOperationError(
            f"[Module] {type(self).__name__}.forward is not defined: got a call, expected a method forward(self, ...)."
            " Define it in the subclass."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._hooked:
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            name_module(error, self, args, kwargs)
            raise

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after every `forward`; a result other than None replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `prepend` it goes before the hooks that
        are there; with `always_call` it runs (once, output None) even if `forward` raises.

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> with layer.register_forward_hook(lambda module, args, output: output + 1):
        ...     layer(tenora.zeros(2)).tolist()
        [1.0, 1.0]
        """
        marks = []
        if with_kwargs:
            marks.append(self._forward_hooks_with_kwargs)
        if always_call:
            marks.append(self._forward_hooks_always_called)
        return hooks.add(self._forward_hooks, hook, *marks, first=prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before every `forward`; a result other than None replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)` and gives None or (new_args, new_kwargs).

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] - 1,))
        >>> layer(tenora.tensor([3.0])).item()
        2.0
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return hooks.add(self._forward_pre_hooks, hook, *marks, first=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, grad_output)` in backward, first; a result other than None replaces the gradients.

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> handle = layer.register_full_backward_pre_hook(lambda module, gradients: (10 * gradients[0],))
        >>> x = tenora.ones(1, requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad.item()
        10.0
        """
        return hooks.add(self._backward_pre_hooks, hook, first=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the inputs are there.

        A result other than None replaces those of the inputs. Only positional arguments count as inputs.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 1)
        >>> _ = layer.register_full_backward_hook(lambda module, inputs, outputs: print(outputs))
        >>> layer(tenora.ones(2, requires_grad=True)).backward()
        (tensor([1.]),)
        """
        self._need_backward_kind(full=True)
        return hooks.add(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old form of `register_full_backward_hook`: it sees the last op of `forward` only.

        RuntimeError beside hooks of the new form.

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(tenora.ones(1, requires_grad=True)).backward()
        (tensor([1.]),)
        """
        self._need_backward_kind(full=False)
        return hooks.add(self._backward_hooks, hook)

    def _need_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise errors.OperationError(
                f"[Module] {type(self).__name__}: got backward hooks of both kinds, expected one kind. "
                "Use register_full_backward_hook for all of them."
            )
        self._is_full_backward_hook = full

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Changes nothing: tenora replays its traced programs without a compiler. Arguments are accepted.

        >>> import tenora
        >>> tenora.nn.ReLU().compile(mode="max-autotune")
        """

    # ---- state ---------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Puts this module and everything below it in training mode (or evaluation mode).

        ValueError unless `mode` is a bool.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.Dropout(0.5))
        >>> net.train(False)[0].training, net.train()[0].training
        (False, True)
        """
        if not isinstance(mode, bool):
            raise errors.ArgumentValueError(
                f"[Module.train] mode: got {mode!r}, expected True or False. Pass a bool."
            )
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`: dropout is off, and batch normalisation uses its running statistics.

        >>> import tenora
        >>> tenora.nn.Dropout(0.5).eval()(tenora.ones(2)).tolist()
        [1.0, 1.0]
        """
        return self.train(False)

    def _replicate_for_data_parallel(self) -> Self:
        copy = type(self).__new__(type(self))
        copy.__setstate__(self.__getstate__())
        return copy

    # ---- copying, printing ---------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_hooked"] = hooks.has_call_hooks(state)
        for names in NAMES:
            if names in state:
                state[names] = dict(state[names])
        if "_non_persistent_buffers_set" in state:
            state["_non_persistent_buffers_set"] = set(state["_non_persistent_buffers_set"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = self.__dict__
        attributes.update(state)
        attributes["_hooked"] = True if hooks.has_call_hooks(attributes) else hooks.ACTIVE

    def extra_repr(self) -> str:
        """The text between the parentheses of the repr; a subclass gives its arguments.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        hooks.need_ready(self, "a repr")
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): " + "\n  ".join(repr(child).split("\n")) for name, child in self._modules.items()
        ]
        inside = lines + children
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not inside:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(inside) + "\n)"

    def __dir__(self) -> list[str]:
        return sorted({name for name in super().__dir__() if name and not name[0].isdigit()})


def _forward_trace() -> list[str]:
    return trace_lines(Module.__call__.__code__)


def _failure_lines(node: Any, code: str, text: str, tensors: tuple[Any, ...]) -> str:
    return failure_lines(Module, node, code, text, tensors)


_engine.set_trace_lines(_forward_trace)
_engine.set_failure_lines(_failure_lines)

register_module_backward_hook = hooks.register_module_backward_hook
register_module_buffer_registration_hook = hooks.register_module_buffer_registration_hook
register_module_forward_hook = hooks.register_module_forward_hook
register_module_forward_pre_hook = hooks.register_module_forward_pre_hook
register_module_full_backward_hook = hooks.register_module_full_backward_hook
register_module_full_backward_pre_hook = hooks.register_module_full_backward_pre_hook
register_module_module_registration_hook = hooks.register_module_module_registration_hook
register_module_parameter_registration_hook = hooks.register_module_parameter_registration_hook
_IncompatibleKeys = IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
