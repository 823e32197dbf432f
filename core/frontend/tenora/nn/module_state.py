"""The state of modules: `state_dict` and `load_state_dict`, with the methods and hooks that take part.

- Keys, their order, the metadata (`_version` of each module's class) and the hooks are PyTorch's.
- A state that does not fit changes nothing: what the loaders of this package are to write is kept until all of them
  have agreed. A loader that a program overrides, or hooks after loading, see everything written that came before.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..utils.hooks import RemovableHandle
from . import module_hooks as hooks
from .module_members import Registry
from .parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """What `load_state_dict(strict=False)` found: names the module wanted and names it does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<All keys matched successfully>" if not any(self) else super().__repr__()

    __str__ = __repr__


class Writes(list[Callable[[], None]]):
    """Copies that wait until the whole state is known to fit; `metadata["writes"]` of a module that may wait."""

    def flush(self) -> None:
        """Does them."""
        for write in self:
            write()
        self.clear()


class Stateful(Registry):
    """The part of `Module` that gives and takes state."""

    _version: int = 1
    _state_dict_hooks = hooks.HookTable()
    _state_dict_pre_hooks = hooks.HookTable()
    _load_state_dict_pre_hooks = hooks.HookTable()
    _load_state_dict_post_hooks = hooks.HookTable()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by path, sharing storage, in PyTorch's order.

        `destination` is filled and returned where it is given; `keep_vars=True` gives the parameters themselves.

        >>> import tenora
        >>> list(tenora.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "[state_dict] arguments by position are PyTorch's old form: name them.",
                FutureWarning,
                stacklevel=2,
            )
            named = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = named.get("destination") if destination is None else destination
            prefix = prefix or named.get("prefix", "")
            keep_vars = keep_vars or named.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for before in tuple(self._state_dict_pre_hooks.values()):
            before(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for after in tuple(self._state_dict_hooks.values()):
            changed = after(self, destination, prefix, metadata)
            if getattr(after, "_from_public_api", False):
                if changed is not None:
                    raise errors.OperationError(
                        f"[state_dict] hook: got {type(changed).__name__}, expected None. Change the state in place."
                    )
            elif changed is not None:
                destination = changed
        return destination  # a hook may put anything in its place

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Writes this module's own state, not its children's; a subclass may add to it."""
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """What the state holds beside parameters and buffers; a subclass defines it together with `set_extra_state`.

        RuntimeError where a subclass defines none. A dict of plain values is saved by `tenora.save`.

        >>> import tenora
        >>> class Counting(tenora.nn.Module):
        ...     count = 3
        ...     def get_extra_state(self):
        ...         return {"count": self.count}
        ...     def set_extra_state(self, state):
        ...         self.count = state["count"]
        >>> Counting().state_dict()
        OrderedDict([('_extra_state', {'count': 3})])
        """
        raise errors.OperationError(
            f"[get_extra_state] {type(self).__name__}: got a call, expected a subclass with extra state. Define it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave; `load_state_dict` calls it.

        >>> import tenora
        >>> class Counting(tenora.nn.Module):
        ...     count = 0
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> module = Counting()
        >>> module.load_state_dict({"_extra_state": 5})
        <All keys matched successfully>
        >>> module.count
        5
        """
        raise errors.OperationError(
            f"[set_extra_state] {type(self).__name__}: got extra state, expected a subclass that takes it. Define it."
        )

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before the state is collected.

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print(module))
        >>> state = layer.state_dict()
        ReLU()
        """
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after the state is collected; it returns None.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 1)
        >>> def without_bias(module, state_dict, prefix, local_metadata):
        ...     del state_dict[prefix + "bias"]
        >>> handle = layer.register_state_dict_post_hook(without_bias)
        >>> list(layer.state_dict())
        ['weight']
        """
        marked: Any = hook
        marked._from_public_api = True  # as PyTorch tells the two kinds apart
        return RemovableHandle(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)`; a result other than None replaces the state."""
        if getattr(hook, "_from_public_api", False):
            raise errors.OperationError(
                "[_register_state_dict_hook] hook: got one that is a public hook already, expected a new function. "
                "Use register_state_dict_post_hook for both."
            )
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`.

        It runs before this module's own state is loaded and may change the state and the lists.

        >>> import tenora
        >>> layer = tenora.nn.Linear(1, 1, bias=False)
        >>> def old_name(module, state_dict, prefix, *_):
        ...     if prefix + "w" in state_dict:
        ...         state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        >>> handle = layer.register_load_state_dict_pre_hook(old_name)
        >>> layer.load_state_dict({"w": tenora.ones(1, 1)})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, _PreHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after this module and its children are loaded; it returns None.

        >>> import tenora
        >>> layer = tenora.nn.Linear(1, 1)
        >>> def ignore_bias(module, incompatible_keys):
        ...     incompatible_keys.missing_keys.remove("bias")
        >>> handle = layer.register_load_state_dict_post_hook(ignore_bias)
        >>> layer.load_state_dict({"weight": tenora.ones(1, 1)})
        <All keys matched successfully>
        """
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own state, not its children's; a subclass may do something before or after.

        `local_metadata["version"]` is the `_version` of the class that was saved, if the state says it.
        """
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(
                self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
            )  # fmt: skip
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        own = {k: v for k, v in {**dict(self._parameters), **persistent}.items() if v is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        writes = local_metadata.get("writes")
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            source = state_dict[key]
            problem = _misfit(key, source, target)
            if problem:
                error_msgs.append(problem)
                continue
            write = _Write(self, name, key, source, assign, error_msgs)
            write() if writes is None else writes.append(write)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys += _unexpected(state_dict, prefix, own, self._modules)

    def _load_extra_state(
        self, state_dict: Any, prefix: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies `state_dict` into the parameters and buffers; with `assign` puts its tensors in their place.

        Nothing is written unless every shape fits (and, with `strict`, every name), as far as the modules' loaders
        are tenora's own. Returns the names that were missing and those that nothing took.

        Raises RuntimeError naming all missing, unexpected and misshapen entries at once; TypeError for no mapping.

        >>> import tenora
        >>> layer = tenora.nn.Linear(1, 1)
        >>> layer.load_state_dict({"weight": tenora.ones(1, 1), "bias": tenora.zeros(1)})
        <All keys matched successfully>
        >>> layer.weight.item()
        1.0
        >>> layer.load_state_dict({"weight": tenora.ones(1, 1)}, strict=False).missing_keys
        ['bias']
        """
        if not isinstance(state_dict, Mapping):
            raise errors.ArgumentTypeError(
                f"[load_state_dict] state_dict: got {type(state_dict).__name__}, expected a mapping of names to "
                "tensors. Pass what state_dict() gave."
            )
        state: Any = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            state._metadata = metadata
        found = IncompatibleKeys([], [])
        problems: list[str] = []
        writes = Writes()
        _load(self, state, "", metadata or {}, assign, found, problems, writes)
        names = strict and (found.missing_keys or found.unexpected_keys)
        if strict:
            if found.missing_keys:
                problems.insert(0, f"Missing key(s) in state_dict: {_quoted(found.missing_keys)}.")
            if found.unexpected_keys:
                problems.insert(0, f"Unexpected key(s) in state_dict: {_quoted(found.unexpected_keys)}.")
        if not problems:
            writes.flush()
        if problems:
            raise errors.OperationError(
                f"[load_state_dict] Error(s) in loading state_dict for {type(self).__name__}: got "
                f"{len(problems)} problem(s), expected a state of this module:\n\t"
                + "\n\t".join(problems)
                + ("\nNames that are missing or too many are left out with strict=False." if names else "")
                + "\nThe state may be another module's. Check which module gave it."
            )
        return found


class _PreHook:
    """A hook before loading, called with the module or without it."""

    def __init__(self, hook: Callable[..., Any], with_module: bool) -> None:
        self.hook = hook
        self.with_module = with_module

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(module, *args) if self.with_module else self.hook(*args)


class _Write:
    """One entry of the state on its way into a parameter or buffer."""

    def __init__(
        self, module: Any, name: str, key: str, source: Tensor, assign: bool, error_msgs: list[str]
    ) -> None:
        self.module = module
        self.name = name
        self.key = key
        self.source = source
        self.assign = assign
        self.error_msgs = error_msgs

    def __call__(self) -> None:
        target = self.module.__dict__[self.name]
        try:
            with no_grad():
                if is_lazy(target):
                    return
                if not self.assign:
                    target.copy_(self.source if target.ndim == self.source.ndim else self.source[0])
                elif not isinstance(target, Parameter):
                    setattr(self.module, self.name, self.source)
                elif isinstance(self.source, Parameter):
                    self.source.requires_grad_(target.requires_grad)
                    setattr(self.module, self.name, self.source)
                else:
                    setattr(self.module, self.name, Parameter(self.source, target.requires_grad))
        except Exception as error:  # one entry's failure is reported among those of the others
            self.error_msgs.append(f'While copying the entry named "{self.key}": {error}')


def _misfit(key: str, source: Any, target: Tensor) -> str:
    """Why `source` can't go into `target`, or nothing."""
    if not isinstance(source, Tensor):
        return f'While copying the entry named "{key}": got {type(source).__name__}, expected a Tensor.'
    if is_lazy(target) or is_lazy(source):
        same = is_lazy(target) and is_lazy(source)
        return "" if same else f"{key}: got a lazy tensor against one with a shape; initialise both first."
    if target.ndim == 0 and tuple(source.shape) == (1,):  # as very old checkpoints keep scalars
        return ""
    if tuple(source.shape) != tuple(target.shape):
        return (
            f"size mismatch for {key}: got shape {tuple(source.shape)} in the state, expected "
            f"{tuple(target.shape)} of the module."
        )
    return ""


def _unexpected(
    state_dict: Any, prefix: str, own: Mapping[str, Any], modules: Mapping[str, Any]
) -> list[str]:
    found = []
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + EXTRA_STATE:
            first, *rest = key[len(prefix) :].split(".", 1)
            if first not in (modules if rest else own):
                found.append(key)
    return found


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _load(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    found: IncompatibleKeys,
    problems: list[str],
    writes: Writes,
) -> None:
    """Loads `module` and everything below it from the entries of `state` under `prefix`."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    ours = type(module)._load_from_state_dict.__module__.startswith(f"{__package__}.")
    if ours and not module._load_state_dict_pre_hooks:
        local["writes"] = writes
    else:
        writes.flush()
    module._load_from_state_dict(
        state, prefix, local, True, found.missing_keys, found.unexpected_keys, problems
    )
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part: Any = OrderedDict((key, value) for key, value in state.items() if key.startswith(below))
            _load(child, part, below, metadata, assign, found, problems, writes)
    for hook in tuple(module._load_state_dict_post_hooks.values()):
        writes.flush()
        if hook(module, found) is not None:
            raise errors.ConditionError(
                "[load_state_dict] hook after loading: got a result, expected None. "
                "Change the lists of the incompatible keys in place."
            )
