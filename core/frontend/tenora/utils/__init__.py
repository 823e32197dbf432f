"""Utilities. Nothing here is loaded before it is asked for (PEP 562).

>>> import tenora
>>> loader = tenora.utils.data.DataLoader([1, 2, 3], batch_size=2)
>>> list(loader)
[tensor([1, 2]), tensor([3])]
"""

from __future__ import annotations

from ..lazy_names import lazy_names as _lazy_names

_MODULES = ("data", "dlpack", "hooks")
# Functions and the modules that hold them; a module of the function's own name would take its place here.
_FUNCTIONS = {"draw_graph": "graph_drawing", "progress": "progress_bar", "summary": "module_summary"}

__getattr__, __dir__ = _lazy_names(globals(), _MODULES, _FUNCTIONS)
