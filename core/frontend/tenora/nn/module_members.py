"""What a module owns: parameters, buffers and modules, registered by name.

- The one place of truth is the instance's `__dict__`: reading `self.weight` is an ordinary attribute look-up.
- Beside the members, `__dict__` holds the names of each kind, in order of registration. `_parameters`, `_buffers` and
  `_modules` are views over both, made when they are asked for: a module holds no cycle, its memory goes with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from tenora_dispatch import errors
from tenora_engine import Tensor

from . import module_hooks as hooks
from .parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

NAMES = ("_parameter_names", "_buffer_names", "_module_names")
# What modules are told by a number, a word or a truth value; a tensor there was meant for the call.
_SETTINGS = frozenset({"dim", "inplace", "reduction", "negative_slope", "alpha", "approximate", "p"})
_KIND = {"_parameter_names": "parameter", "_buffer_names": "buffer", "_module_names": "module"}


def called_to_build(module: str, argument: str) -> errors.ArgumentTypeError:
    """The error for `nn.ReLU(x)`."""
    return errors.ArgumentTypeError(
        f"[{module}] {argument}: got a Tensor, expected a setting of the module. Build the module first, then call it: "
        f"nn.{module}()(...)."
    )


class Members(MutableMapping[str, Any]):
    """The members of one kind: a view over the module's `__dict__` and the names of that kind."""

    __slots__ = ("_attributes", "_names")

    def __init__(self, attributes: dict[str, Any], names: dict[str, None]) -> None:
        self._attributes = attributes
        self._names = names

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

    def copy(self) -> dict[str, Any]:
        """An ordinary dict of what is there now."""
        return dict(self)


class MemberView:
    """The attribute `_parameters`, `_buffers` or `_modules` of a module; assigning a mapping replaces all members."""

    def __init__(self, names: str) -> None:
        self._names = names

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self
        attributes = module.__dict__
        if self._names not in attributes:
            raise hooks.not_ready(module, f"a use of the {_KIND[self._names]}s")
        return Members(attributes, attributes[self._names])

    def __set__(self, module: Any, members: Mapping[str, Any]) -> None:
        attributes = module.__dict__
        new = dict(members)
        for name in attributes.get(self._names, ()):
            attributes.pop(name, None)
        attributes[self._names] = dict.fromkeys(new)
        attributes.update(new)


class SetByInit:
    """An attribute that `__init__` sets: asking for it before is an error that says so."""

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self
        raise hooks.not_ready(module, "a use")


def _described(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__


def _remedy(thing: object) -> str:
    """What to do with what is no module."""
    if isinstance(thing, type):
        return f"Pass an instance, {thing.__name__}(...)."
    if isinstance(thing, (list, tuple)):
        return "Pass its modules one by one: *modules."
    return "Pass a Module."


class Registry:
    """The part of `Module` that registers members."""

    _parameters: Any = MemberView("_parameter_names")
    _buffers: Any = MemberView("_buffer_names")
    _modules: Any = MemberView("_module_names")
    _non_persistent_buffers_set: set[str]

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, (Parameter, Registry, Buffer)):
            self._set_member(name, value)
        elif "_module_names" in attributes and (
            name in attributes["_parameter_names"]
            or name in attributes["_module_names"]
            or name in attributes["_buffer_names"]
        ):
            self._set_known(name, value)
        else:
            if (
                name in _SETTINGS
                and isinstance(value, Tensor)
                and value.ndim
                and type(self).__module__.startswith(__package__)
            ):
                raise called_to_build(type(self).__name__, name)
            object.__setattr__(self, name, value)

    def _set_member(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        hooks.need_ready(self, f"an assignment to {name}")
        kind = NAMES[0 if isinstance(value, Parameter) else 1 if isinstance(value, Buffer) else 2]
        self._check_replaced(name, value, kind)
        for other in NAMES:
            if other != kind:
                attributes[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        if kind == "_parameter_names":
            if name not in attributes[kind]:
                attributes.pop(name, None)
            self.register_parameter(name, value)
            return
        if kind == "_buffer_names":
            value = hooks.registered(hooks.buffer_registration_hooks, self, name, value)
            if not getattr(value, "persistent", True):
                self._non_persistent_buffers_set.add(name)
        else:
            value = hooks.registered(hooks.module_registration_hooks, self, name, value)
        attributes[kind][name] = None
        attributes[name] = value

    def _check_replaced(self, name: str, value: Any, kind: str) -> None:
        """A Parameter may take any place, a Module all but a parameter's, a Buffer its own only, as in PyTorch."""
        attributes = self.__dict__
        firmer = {"_module_names": NAMES[:1], "_buffer_names": (NAMES[0], NAMES[2])}.get(kind, ())
        for other in firmer:
            if name in attributes[other]:
                raise self._unfit(name, value, other)
        if kind == "_buffer_names" and name not in attributes[kind] and hasattr(self, name):
            raise errors.MissingKeyError(
                f"[Module] {type(self).__name__}.{name}: got a Buffer, expected a new name: there is an attribute "
                "already. Delete it first."
            )

    def _unfit(self, name: str, value: Any, kind: str) -> errors.ArgumentTypeError:
        expected = {"parameter": "a Parameter", "buffer": "a Tensor", "module": "a Module"}[_KIND[kind]]
        return errors.ArgumentTypeError(
            f"[Module] {type(self).__name__}.{name}: got {type(value).__name__}, expected {expected} or None. "
            f"Wrap the value, or delete the {_KIND[kind]} first."
        )

    def _set_known(self, name: str, value: Any) -> None:
        """Assigns what is no member itself to the name of one: None, or a tensor to a buffer's name."""
        attributes = self.__dict__
        kind = next(kind for kind in NAMES if name in attributes[kind])
        if value is not None and not (kind == "_buffer_names" and isinstance(value, Tensor)):
            raise self._unfit(name, value, kind)
        if kind == "_buffer_names":
            value = hooks.registered(hooks.buffer_registration_hooks, self, name, value)
        attributes[name] = value

    def __delattr__(self, name: str) -> None:
        for kind in NAMES:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                self.__dict__.pop(name, None)
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under `name`; None reserves the name (a layer without bias).

        Raises KeyError for a name that is taken, empty or has a dot, TypeError for what is no Parameter.

        >>> import tenora
        >>> module = tenora.nn.Module()
        >>> module.register_parameter("weight", tenora.nn.Parameter(tenora.ones(2)))
        >>> module.register_parameter("bias", None)
        >>> [name for name, _ in module.named_parameters()], module.bias
        (['weight'], None)
        """
        self._check_name(name, "_parameter_names")
        if param is not None and not isinstance(param, Parameter):
            raise errors.ArgumentTypeError(
                f"[register_parameter] {name}: got {type(param).__name__}, expected a Parameter or None. "
                "Wrap the tensor in tenora.nn.Parameter."
            )
        if param is not None and param.grad_fn is not None:
            raise errors.ArgumentValueError(
                f"[register_parameter] {name}: got a tensor with a history, expected a leaf. "
                "Detach it, or compute it in forward."
            )
        if param is not None:
            param = hooks.registered(hooks.parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer under `name`; `persistent=False` keeps it out of `state_dict`.

        Raises KeyError for a name that is taken, empty or has a dot, TypeError for what is no Tensor.

        >>> import tenora
        >>> module = tenora.nn.Module()
        >>> module.register_buffer("mean", tenora.zeros(2))
        >>> module.register_buffer("seen", tenora.zeros(2), persistent=False)
        >>> [name for name, _ in module.named_buffers()], list(module.state_dict())
        (['mean', 'seen'], ['mean'])
        """
        self._check_name(name, "_buffer_names")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise errors.ArgumentTypeError(
                f"[register_buffer] {name}: got {type(tensor).__name__}, expected a Tensor or None."
                " Wrap the value in a tensor."
            )
        self._buffers[name] = hooks.registered(hooks.buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child under `name`, as an assignment would.

        Raises KeyError for a name that is taken, empty or has a dot, TypeError for what is no Module.

        >>> import tenora
        >>> module = tenora.nn.Module()
        >>> module.add_module("act", tenora.nn.ReLU())
        >>> module.act
        ReLU()
        """
        if module is not None and not isinstance(module, Registry):
            raise errors.ArgumentTypeError(
                f"[add_module] {name}: got {_described(module)}, expected a Module or None. {_remedy(module)}"
            )
        self._check_name(name, "_module_names")
        self._modules[name] = hooks.registered(hooks.module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module` under another name.

        >>> import tenora
        >>> module = tenora.nn.Module()
        >>> module.register_module("act", tenora.nn.ReLU())
        >>> [name for name, _ in module.named_children()]
        ['act']
        """
        self.add_module(name, module)

    def _check_name(self, name: str, kind: str) -> None:
        what = _KIND[kind]
        hooks.need_ready(self, f"a registration of a {what}")
        if not isinstance(name, str):
            raise errors.ArgumentTypeError(
                f"[Module] {what} name: got {type(name).__name__}, expected a string. Pass a string."
            )
        if "." in name or not name:
            raise errors.MissingKeyError(
                f"[Module] {what} name: got {name!r}, expected a non-empty name without a dot."
                " Choose another name."
            )
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise errors.MissingKeyError(
                f"[Module] {what} name: got {name!r}, an attribute already, expected a new name. Choose another."
            )
