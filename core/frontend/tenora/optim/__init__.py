"""Optimizers: a method is its mathematics (an op record where each step is elementwise), its states and its options.

SGD and Adam are loaded with tenora, the others when they are first asked for (PEP 562).
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils
    from .adadelta import Adadelta
    from .adafactor import Adafactor
    from .adagrad import Adagrad
    from .adamax import Adamax
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .muon import Muon
    from .nadam import NAdam
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sparse_adam import SparseAdam

# Name -> its module.
_LATER = {
    "ASGD": "asgd",
    "Adadelta": "adadelta",
    "Adafactor": "adafactor",
    "Adagrad": "adagrad",
    "Adamax": "adamax",
    "LBFGS": "lbfgs",
    "Muon": "muon",
    "NAdam": "nadam",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SparseAdam": "sparse_adam",
}
_MODULES = ("lr_scheduler", "swa_utils")


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if name in _LATER:
        return globals().setdefault(name, getattr(_import_module(f".{_LATER[name]}", __name__), name))
    raise AttributeError(
        f"[tenora.optim] module attribute: got {name!r}, expected an optimizer. Check the name.",
        name=name,
        obj=None,
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULES})


__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
