"""Utilities. Nothing here is loaded before it is asked for (PEP 562).

>>> import tenora
>>> loader = tenora.utils.data.DataLoader([1, 2, 3], batch_size=2)
>>> list(loader)
[tensor([1, 2]), tensor([3])]
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

_MODULES = ("data", "dlpack", "hooks")
# Functions and the modules that hold them; a module of the function's own name would take its place here.
_FUNCTIONS = {"draw_graph": "graph_drawing", "progress": "progress_bar", "summary": "module_summary"}


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if name in _FUNCTIONS:
        return globals().setdefault(name, getattr(_import_module(f".{_FUNCTIONS[name]}", __name__), name))
    raise AttributeError(
        f"[tenora.utils] module attribute: got {name!r}, expected one of {__dir__()}. Check the name.",
        name=name,
        obj=None,
    )


def __dir__() -> list[str]:
    return sorted({*_MODULES, *_FUNCTIONS})
