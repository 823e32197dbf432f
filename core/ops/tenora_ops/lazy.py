"""Modules that are imported at first use.

- NumPy, SciPy and ml_dtypes: oracles and samples are called by tests and conformance only; `import tenora` must not
  pay for them. This is the only file of core's op records that names them.
- opt_einsum: comes with an extra, for the first einsum of three operands. Reading from it raises ImportError without.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule:
    """Stands for a module and imports it when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)

    def __repr__(self) -> str:
        return f"<lazy module {self._name}>"


if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

ml_dtypes: Any = LazyModule("ml_dtypes")
opt_einsum: Any = LazyModule("opt_einsum")
special: Any = LazyModule("scipy.special")
decompositions: Any = LazyModule("scipy.linalg")

__all__ = ["LazyModule", "decompositions", "ml_dtypes", "np", "opt_einsum", "special"]
