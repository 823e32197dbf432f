"""Modules without starting values."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from tenora_dispatch import errors

from .. import init
from ..module import Module

T = TypeVar("T", bound=Module)


def skip_init(module_cls: type[T], *args: Any, **kwargs: Any) -> T:
    """Makes `module_cls(*args, **kwargs)` without the functions of `nn.init`: its parameters are uninitialised memory.

    For large modules whose state is loaded right after. Raises RuntimeError for a class that is no module, or takes no
    `device`.

    >>> import tenora
    >>> skip_init(tenora.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise errors.OperationError(
            f"[skip_init] module_cls: got {module_cls!r}, expected a subclass of Module. Pass the class itself."
        )
    if "device" not in inspect.signature(module_cls).parameters:
        raise errors.OperationError(
            f"[skip_init] {module_cls.__name__}: got a class without the argument `device`, expected one with it. "
            "Add it, and hand it on to the parameters."
        )
    with init.skipped():
        return module_cls(*args, **kwargs)
