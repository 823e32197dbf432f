"""Calling a module: the way with hooks, and what an error on its way out learns about modules.

- Without hooks a call is one truth test and `forward`; this file is not on that way unless `forward` raises.
- An exception gets one note and two fields, from the innermost module out: `error.modules` (outermost first) and
  `error.module_path`, as `named_modules` of the outermost module would call the innermost one.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tenora_dispatch import errors
from tenora_dispatch.errors import did_you_mean
from tenora_engine import Tensor

from . import module_hooks as hooks
from .module_backward_hooks import backward_hooks, hang_old_hooks
from .parameter import is_lazy

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`forward` with every hook of this module and of all modules around it."""
    hooks.need_ready(module, "a call")
    attributes = module.__dict__
    if not hooks.has_call_hooks(attributes) and not hooks.ACTIVE:
        attributes["_hooked"] = hooks.ACTIVE  # the last of its own hooks has gone
        return module.forward(*args, **kwargs)
    done: set[int] = set()
    result = None
    try:
        args, kwargs = _before(module, args, kwargs)
        gates = backward_hooks(module)
        if gates is not None:
            args = gates.enter(args)
        result = module.forward(*args, **kwargs)
        result = _after(module, args, kwargs, result, done)
        if gates is not None:
            result = gates.leave(result)
        hang_old_hooks(module, result)
        return result
    except Exception:
        _always(module, args, kwargs, result, done)
        raise


def _before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    with_kwargs = module.__dict__.get("_forward_pre_hooks_with_kwargs", ())
    own = module.__dict__.get("_forward_pre_hooks", {})
    for number, hook in (*hooks.forward_pre_hooks.items(), *own.items()):
        if number in with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise errors.OperationError(
                    f"[{type(module).__name__}] forward pre-hook: got {type(changed).__name__}, expected None or a "
                    "tuple (new_args, new_kwargs). Return one of these."
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _after_hooks(module: Any) -> list[tuple[int, Callable[..., Any], bool, bool]]:
    """(number, hook, takes keyword arguments, is always called), those of all modules first."""
    attributes = module.__dict__
    tables = (
        (hooks.forward_hooks, hooks.forward_hooks_with_kwargs, hooks.forward_hooks_always_called),
        tuple(
            attributes.get(name, {})
            for name in ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
        ),
    )
    return [
        (number, hook, number in with_kwargs, number in always)
        for table, with_kwargs, always in tables
        for number, hook in table.items()
    ]


def _after(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, done: set[int]) -> Any:
    for number, hook, with_kwargs, _ in _after_hooks(module):
        done.add(number)
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _always(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, done: set[int]) -> None:
    """After an error: the hooks that are always called and were not yet."""
    for number, hook, with_kwargs, always in _after_hooks(module):
        if not always or number in done:
            continue
        try:
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if changed is None else changed
        except Exception as error:  # the first error is the one to report
            warnings.warn(
                f"[{type(module).__name__}] a forward hook with always_call=True raised after forward had: {error}",
                stacklevel=2,
            )


def path_within(outer: Any, inner: Any) -> str:
    """What `outer.named_modules()` calls `inner`; its class in angle brackets if it is not registered there."""
    seen: set[int] = set()
    waiting = [("", outer)]
    while waiting:
        path, module = waiting.pop()
        if module is inner:
            return path
        if id(module) not in seen:
            seen.add(id(module))
            below = f"{path}." if path else ""
            attributes = module.__dict__  # one without __init__ has no children
            children = [(f"{below}{name}", attributes[name]) for name in attributes.get("_module_names", ())]
            # The first child is next, as in named_modules.
            waiting += [(path, child) for path, child in reversed(children) if child is not None]
    return f"<{type(inner).__name__}>"


def _described(value: Any) -> str:
    if isinstance(value, Tensor) and not is_lazy(value):
        return f"a {value.dtype} tensor of shape {tuple(value.shape)}"
    if isinstance(value, bool | int | float | None):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


class _Trail:
    """What an exception has told about modules so far, kept in its `__dict__`."""

    def __init__(self, error: Exception, ending: str, alone: str) -> None:
        self.ending, self.alone = ending, alone
        self.modules: tuple[Any, ...] = ()
        self.path = ""
        self.note = ""
        #: A class of a program's own may have fields of these names; they stay the program's.
        self.shows = {"modules", "module_path"}.isdisjoint(vars(error))

    def lead_through(self, module: Any) -> None:
        """Puts `module` in front."""
        if self.modules:
            self.path = ".".join(filter(None, (path_within(module, self.modules[0]), self.path)))
        self.modules = (module, *self.modules)

    def text(self) -> str:
        """The note."""
        inner, outer = type(self.modules[-1]).__name__, type(self.modules[0]).__name__
        where = f"{self.path} ({inner}) of {outer}" if self.path else f"{inner}{self.alone}"
        return f"In module {where}{self.ending}"


def name_module(error: Exception, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Puts `module` in front of the modules that `error` has left so far, and their path into its one note."""
    fields = vars(error)
    trail = fields.get("_module_trail")
    if trail is None:  # this is the innermost module
        values = [_described(value) for value in args] + [f"{k}={_described(v)}" for k, v in kwargs.items()]
        ending = f", called with {', '.join(values) or 'nothing'}.{_suggestion(error)}"
        trail = fields["_module_trail"] = _Trail(error, ending, ", in its own forward")
    elif trail.modules[0] is module:
        return
    _lead_through(trail, module, fields)


def name_member(error: Exception, module: Any, member: str) -> None:
    """The same for an error that is about one member of `module`, outside of any `forward`."""
    fields = vars(error)
    trail = fields.get("_module_trail")
    if trail is None:
        trail = fields["_module_trail"] = _Trail(error, f", at its {member}.", "")
    _lead_through(trail, module, fields)


def _lead_through(trail: _Trail, module: Any, fields: dict[str, Any]) -> None:
    trail.lead_through(module)
    kept = [note for note in fields.get("__notes__", ()) if note != trail.note]
    trail.note = trail.text()
    fields["__notes__"] = [*kept, trail.note]
    if trail.shows:
        fields["modules"], fields["module_path"] = trail.modules, trail.path


def _suggestion(error: Exception) -> str:
    """For a missing attribute of a module: what it has instead. Tracebacks say it themselves at top level only."""
    if not isinstance(error, AttributeError) or not hasattr(type(error.obj), "_modules"):
        return ""
    return did_you_mean(error.name or "", error.obj.__dict__)


def trace_lines(call: CodeType) -> list[str]:
    """The stack of a forward op, and the path of the module it belongs to; `call` is the code of `Module.__call__`."""
    frame: FrameType | None = sys._getframe(2)  # this function's caller was called by the engine
    lines = traceback.format_stack(frame)
    modules: list[Any] = []
    while frame is not None:
        if frame.f_code is call:
            modules.insert(0, frame.f_locals["self"])
        frame = frame.f_back
    if modules:
        steps = [path_within(outer, inner) for outer, inner in zip(modules, modules[1:], strict=False)]
        path = ".".join(filter(None, steps))
        inner, outer = type(modules[-1]).__name__, type(modules[0]).__name__
        lines.append(f"  in module {path} ({inner}) of {outer}\n" if path else f"  in module {outer}\n")
    return lines
