"""Calling a module with other parameters and buffers than its own.

- `tenora.func.functional_call` is the newer name of `functional_call`; this one is PyTorch's old place, and warns.
- The members of the tree are exchanged for the time of the call and put back whatever happens.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

from ..module import Module
from ..parallel import DataParallel

_ABSENT = object()


def _place(module: Module, path: str) -> tuple[Any, str]:
    """The module that holds the tensor at `path`, and the tensor's name there."""
    parent, _, name = path.rpartition(".")
    holder: Any = module
    for part in parent.split(".") if parent else ():
        if not hasattr(holder, part):
            raise errors.MissingAttributeError(
                f"[functional_call] {path!r}: got {part!r}, expected a module of {type(holder).__name__}: "
                f"{list(holder._modules)}. Check the name."
            )
        holder = getattr(holder, part)
    if not name:
        raise errors.MissingKeyError(
            f"[functional_call] name: got {path!r}, expected that of a tensor. Check the name."
        )
    return holder, name


def _exchange(module: Module, path: str, value: Any) -> Any:
    """Puts `value` at `path`, as a member of the kind that is there; gives what was there."""
    holder, name = _place(module, path)
    if value is not _ABSENT and value is not None and not isinstance(value, Tensor):
        raise errors.ArgumentTypeError(
            f"[functional_call] {path}: got {type(value).__name__}, expected a Tensor. Pass tensors by name."
        )
    for members in (holder._parameters, holder._buffers):
        if name in members:
            old = members[name]
            members[name] = value
            return old
    old = getattr(holder, name, _ABSENT)
    if old is not _ABSENT and old is not None and not isinstance(old, Tensor):
        raise errors.ArgumentTypeError(
            f"[functional_call] {path}: got the name of a {type(old).__name__}, expected that of a tensor. "
            "Check the name."
        )
    if value is _ABSENT:
        delattr(holder, name)
    else:
        setattr(holder, name, value)
    return old


def _tensors(module: Module) -> dict[str, Tensor]:
    named: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    named.update(module.named_buffers(remove_duplicate=False))
    return named


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """`given`, and every other name of the same tensors."""
    groups: dict[int, list[str]] = {}
    for path, tensor in _tensors(module).items():
        groups.setdefault(id(tensor), []).append(path)
    whole = dict(given)
    for paths in groups.values():
        named = [path for path in paths if path in given]
        if len({id(given[path]) for path in named}) > 1:
            raise errors.ArgumentValueError(
                f"[functional_call] {', '.join(sorted(named))}: got several tensors for one that the module shares, "
                "expected one. Pass tie_weights=False to give each name its own."
            )
        if named:
            whole.update(dict.fromkeys(paths, given[named[0]]))
    return whole


def _check_names(module: Module, given: dict[str, Tensor]) -> None:
    own = _tensors(module)
    missing, unknown = [k for k in own if k not in given], [k for k in given if k not in own]
    if missing or unknown:
        raise errors.OperationError(
            f"[functional_call] names for {type(module).__name__}: got unexpected {unknown}, missing {missing}, "
            "expected those of all parameters and buffers. Pass them, or strict=False."
        )


@contextmanager
def exchanged(
    module: Module, given: dict[str, Tensor], tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """Inside, the tensors of `module` are those given; what the module assigned to them meanwhile goes into `given`."""
    whole = _with_tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_names(module, whole)
    old: dict[str, Any] = {}
    try:
        for path, tensor in whole.items():
            old[path] = _exchange(module, path, tensor)
        yield
    finally:
        for path, tensor in reversed(old.items()):
            present = _exchange(module, path, tensor)
            if path in given:
                given[path] = present


def call(
    module: Module,
    given: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What `functional_call` does, without a warning."""
    if isinstance(module, DataParallel):
        raise errors.OperationError(
            "[functional_call] module: got a DataParallel, expected a module of one device. Pass its `module`."
        )
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with exchanged(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old name of `tenora.func.functional_call`, for one dict of tensors; it warns.

    >>> import tenora, warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = tenora.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": tenora.ones(1, 1), "bias": tenora.ones(1)}, tenora.ones(1)).tolist()
    [2.0]
    """
    warnings.warn(
        "[stateless.functional_call] is the old name: use tenora.func.functional_call.",
        FutureWarning,
        stacklevel=2,
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


__all__ = ["functional_call"]
