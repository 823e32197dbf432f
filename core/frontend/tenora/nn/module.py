"""`Module`: a callable that owns parameters, buffers and other modules.

- The one place of truth is the instance's `__dict__`: reading `self.weight` is an ordinary attribute look-up.
  `_parameters`, `_buffers` and `_modules` are live mappings over it that remember which names belong to them, and in
  which order.
- Hooks cost one truth test per call when there are none.
- `state_dict` keys, order and the meaning of `strict` are PyTorch's.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, TypeVar

from tenora_engine import Tensor

from .parameter import Buffer, Parameter

Self = TypeVar("Self", bound="Module")


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` found: names the module wanted and names it does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class _Members(MutableMapping[str, Any]):
    """The attributes of one kind of a module, stored in the module's `__dict__`, listed in order of registration."""

    __slots__ = ("_attributes", "_names")

    def __init__(self, attributes: dict[str, Any]) -> None:
        self._attributes = attributes
        self._names: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._attributes[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._names[name] = None
        self._attributes[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._attributes.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class HookHandle:
    """Removes the hook it was returned for: `handle.remove()`, or as a context manager."""

    _numbers = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks
        self.id = next(self._numbers)

    def remove(self) -> None:
        """Takes the hook away; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Module:
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
    _parameters: _Members
    _buffers: _Members
    _modules: _Members
    _transient_buffers: set[str]
    _forward_hooks: dict[int, Callable[[Module, tuple[Any, ...], Any], Any]]
    _forward_pre_hooks: dict[int, Callable[[Module, tuple[Any, ...]], Any]]

    def __init__(self) -> None:
        attributes = self.__dict__
        attributes["training"] = True
        for kind in ("_parameters", "_buffers", "_modules"):
            attributes[kind] = _Members(attributes)
        attributes["_transient_buffers"] = set()
        attributes["_forward_hooks"] = {}
        attributes["_forward_pre_hooks"] = {}

    # ---- calling -------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; every subclass defines its own."""
        raise NotImplementedError(
            f"[Module] {type(self).__name__}.forward is not defined: got a call, expected a method forward(self, ...)."
            " Define it in the subclass."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for before in tuple(self._forward_pre_hooks.values()):
            changed = before(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        output = self.forward(*args, **kwargs)
        for after in tuple(self._forward_hooks.values()):
            changed = after(self, args, output)
            if changed is not None:
                output = changed
        return output

    def register_forward_hook(self, hook: Callable[[Module, tuple[Any, ...], Any], Any]) -> HookHandle:
        """Calls `hook(module, args, output)` after every `forward`; a result other than None replaces the output."""
        handle = HookHandle(self._forward_hooks)
        self._forward_hooks[handle.id] = hook
        return handle

    def register_forward_pre_hook(self, hook: Callable[[Module, tuple[Any, ...]], Any]) -> HookHandle:
        """Calls `hook(module, args)` before every `forward`; a result other than None replaces the arguments."""
        handle = HookHandle(self._forward_pre_hooks)
        self._forward_pre_hooks[handle.id] = hook
        return handle

    # ---- attributes ----------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if "_modules" not in attributes:
            if isinstance(value, (Parameter, Buffer, Module)):
                raise AttributeError(
                    f"[Module] {type(self).__name__}.{name}: got an assignment before Module.__init__(), expected "
                    "super().__init__() to run first. Call it at the top of __init__."
                )
            object.__setattr__(self, name, value)
            return
        kind = self._kind_of(name, value)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != kind:
                attributes[other]._names.pop(name, None)
        if kind is None:
            object.__setattr__(self, name, value)
        else:
            attributes[kind][name] = value
            if kind == "_buffers" and isinstance(value, Buffer) and not value.persistent:
                self._transient_buffers.add(name)

    def _kind_of(self, name: str, value: Any) -> str | None:
        if isinstance(value, Parameter):
            return "_parameters"
        if isinstance(value, Module):
            return "_modules"
        if isinstance(value, Buffer):
            return "_buffers"
        if name in self._parameters and value is not None:
            raise TypeError(
                f"[Module] {type(self).__name__}.{name}: got {type(value).__name__}, expected a Parameter or None. "
                "Wrap the tensor in tenora.nn.Parameter, or delete the parameter first."
            )
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind] and (
                value is None or (kind == "_buffers" and isinstance(value, Tensor))
            ):
                return kind
        return None

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under `name`; None reserves the name (a layer without bias)."""
        self._check_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"[register_parameter] {name}: got {type(param).__name__}, expected a Parameter or None. "
                "Wrap the tensor in tenora.nn.Parameter."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer under `name`; `persistent=False` keeps it out of `state_dict`."""
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"[register_buffer] {name}: got {type(tensor).__name__}, expected a Tensor or None."
                " Wrap the value in a tensor."
            )
        self._buffers[name] = tensor
        if not persistent:
            self._transient_buffers.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child under `name`, as an assignment would."""
        self._check_name(name, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"[add_module] {name}: got {type(module).__name__}, expected a Module or None. Pass a Module."
            )
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: str, what: str) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"[Module] {what} name: got {type(name).__name__}, expected a string. Pass a string."
            )
        if "." in name or not name:
            raise KeyError(
                f"[Module] {what} name: got {name!r}, expected a non-empty name without a dot."
                " Choose another name."
            )
        if hasattr(self, name) and not any(
            name in members for members in (self._parameters, self._buffers, self._modules)
        ):
            raise KeyError(
                f"[Module] {what} name: got {name!r}, an attribute already, expected a new name. Choose another."
            )

    # ---- listing -------------------------------------------------------------------------------------------------

    def named_modules(
        self, prefix: str = "", *, _seen: set[int] | None = None
    ) -> Iterator[tuple[str, Module]]:
        """Yields (path, module) for this module and everything below it, each module once."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name, _seen=seen)

    def modules(self) -> Iterator[Module]:
        """Yields this module and everything below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yields (name, module) of the direct children."""
        return ((name, child) for name, child in self._modules.items() if child is not None)

    def children(self) -> Iterator[Module]:
        """Yields the direct children."""
        return (child for _, child in self.named_children())

    def _named_members(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else ((prefix, self),):
            for name, member in module.__dict__[kind].items():
                if member is not None and id(member) not in seen:
                    seen.add(id(member))
                    yield (f"{path}.{name}" if path else name), member

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yields (path, parameter), each parameter once even when it is shared."""
        return self._named_members("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the parameters, each once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yields (path, buffer), each buffer once."""
        return self._named_members("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yields the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    # ---- state ---------------------------------------------------------------------------------------------------

    def train(self: Self, mode: bool = True) -> Self:
        """Puts this module and everything below it in training mode (or evaluation mode)."""
        if not isinstance(mode, bool):
            raise ValueError(f"[Module.train] mode: got {mode!r}, expected True or False. Pass a bool.")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of every parameter."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach()
                parameter.grad.zero_()

    def apply(self: Self, function: Callable[[Module], Any]) -> Self:
        """Calls `function` on every module, children first."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def _apply(self: Self, function: Callable[[Tensor], Tensor]) -> Self:
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameter.data = function(parameter.detach())
                    if parameter.grad is not None:
                        parameter.grad = function(parameter.grad.detach())
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = function(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers in place, as `Tensor.to`; integer tensors keep their dtype."""

        def convert(tensor: Tensor) -> Tensor:
            target = tensor.to(*args, **kwargs)
            if target.dtype != tensor.dtype and not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor.to(target.device)
            return target

        return self._apply(convert)

    def double(self: Self) -> Self:
        """Casts floating parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def float(self: Self) -> Self:
        """Casts floating parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by path, sharing storage, in PyTorch's order."""
        state: OrderedDict[str, Tensor] = OrderedDict()
        self._save_to(state, prefix, keep_vars)
        return state

    def _save_to(self, state: OrderedDict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and name not in self._transient_buffers:
                state[prefix + name] = value if keep_vars else value.detach()
        for name, child in self.named_children():
            child._save_to(state, f"{prefix}{name}.", keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies `state_dict` into the parameters and buffers.

        Nothing is written unless every shape fits (and, with `strict`, every name).

        Raises RuntimeError naming all missing, unexpected and misshapen entries at once.
        """
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = [
            f"{name}: got shape {tuple(state_dict[name].shape)}, expected {tuple(target.shape)}"
            for name, target in own.items()
            if name in state_dict and tuple(state_dict[name].shape) != tuple(target.shape)
        ]
        if strict:
            problems += [f"missing: {name}" for name in missing] + [
                f"unexpected: {name}" for name in unexpected
            ]
        if problems:
            raise RuntimeError(
                f"[load_state_dict] {type(self).__name__} does not fit the state: "
                + "; ".join(problems)
                + "."
            )
        for name, target in own.items():
            if name in state_dict:
                source = state_dict[name].detach()
                if assign:
                    target.data = source
                else:
                    target.detach().copy_(source)
        return IncompatibleKeys(missing, unexpected)

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as `encoder.layers.3`; AttributeError names the part that is missing."""
        module = self
        for part in filter(None, target.split(".")):
            child = module._modules.get(part)
            if child is None:
                raise AttributeError(
                    f"[get_submodule] {target!r}: {type(module).__name__} got {part!r}, expected one of "
                    f"{list(module._modules)}. Check the path."
                )
            module = child
        return module

    # ---- copying, printing ---------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {
            "attributes": {
                name: value
                for name, value in self.__dict__.items()
                if name not in ("_parameters", "_buffers", "_modules")
            },
            "members": {kind: list(self.__dict__[kind]) for kind in ("_parameters", "_buffers", "_modules")},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = self.__dict__
        attributes.update(state["attributes"])
        for kind, names in state["members"].items():
            members = attributes[kind] = _Members(attributes)
            members._names.update(dict.fromkeys(names))

    def extra_repr(self) -> str:
        """The text between the parentheses of the repr; a subclass gives its arguments."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [
            f"({name}): " + "\n  ".join(repr(child).split("\n")) for name, child in self.named_children()
        ]
        if not children:
            return f"{self._get_name()}({', '.join(lines)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()))
