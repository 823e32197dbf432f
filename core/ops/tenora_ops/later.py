"""Families of ops that are loaded when one of their names is first asked for.

- Every start of a process pays for the families that `functions.py` imports; those of `LATER` cost a few
  microseconds until a program uses one of them (docs/decisions/0014).
- Their names come from `later_names.py`, which `tenora_ops.generate` writes from the records: the engine knows the
  ops as announced, so that a backend can register kernels for them, and Tensor has a stand-in for each method.
- Whoever asks for such a name - a function, a method, `ops.name`, a record, the engine's description of an op - loads
  the whole family; `_lock` serialises that, and a family is published once.
- All overloads of a public name lie in one family, or in none of these; the generator refuses anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

from tenora_engine import _engine
from tenora_ops.later_names import FAMILIES

#: The families that no start of a process pays for.
LATER = (
    "attention",
    "bessel",
    "channel_norm",
    "contraction",
    "diagonals",
    "distance",
    "distances",
    "embedding_bags",
    "float_parts",
    "folding",
    "fourier",
    "fourier_frames",
    "fourier_public",
    "fractional_pool",
    "gammas",
    "grid",
    "histograms",
    "linalg_det",
    "linalg_factor",
    "linalg_general",
    "linalg_more",
    "linalg_norm",
    "linalg_rank",
    "linalg_solve",
    "losses",
    "losses_margin",
    "losses_sequence",
    "noise",
    "order_statistics",
    "polynomials",
    "resize",
    "sampling_counts",
    "segments",
    "special",
    "statistics",
    "steps_moments",
    "steps_plain",
    "steps_squares",
    "windowing",
)

_lock = RLock()
_loaded: set[str] = set()
_loading: set[str] = set()  # families whose records are being made
_publish: Callable[[str], None] = lambda family: None  # noqa: E731 - `functions` says how, at start-up


class _Member:
    """Stands on Tensor for a method or property whose family has not been loaded."""

    __slots__ = ("_family", "_name")

    def __init__(self, family: str, name: str) -> None:
        self._family, self._name = family, name

    def __get__(self, tensor: object, owner: type) -> Any:
        load(self._family)
        return getattr(owner if tensor is None else tensor, self._name)


_FAMILY_OF_OP: dict[str, str] = {}
_FAMILY_OF_FUNCTION: dict[str, str] = {}


def announce(publish: Callable[[str], None]) -> None:
    """Tells the engine and Tensor what can be loaded; `publish` gives the records of a family their faces."""
    global _publish
    _publish = publish
    for family, names in FAMILIES.items():
        ops, functions, members = names
        for op, takes_kernels in ops.items():
            _FAMILY_OF_OP[op] = family
            if takes_kernels is not None:  # else a Python op, of which the engine does not know
                _engine.announce_op(op, takes_kernels)
        _FAMILY_OF_FUNCTION.update(dict.fromkeys(functions, family))
        for member in members:
            _engine.set_tensor_method(member, _Member(family, member))
    _engine.set_op_loader(load_op)


def load(family: str) -> None:
    """Registers and publishes a family, once."""
    with _lock:
        if family in _loaded or family in _loading:  # the latter: its own code asks for one of its names
            return
        _loading.add(family)
        try:
            import_module(f"tenora_ops.{family}")
        finally:
            _loading.discard(family)
        _publish(family)
        _loaded.add(family)


def load_op(name: str) -> bool:
    """Loads the family of an op; whether there is one."""
    family = _FAMILY_OF_OP.get(name)
    if family is not None:
        load(family)
    return family is not None


def home_of(op: str) -> str:
    """The module that declares an op of these families, "" for any other op."""
    family = _FAMILY_OF_OP.get(op)
    return f"tenora_ops.{family}" if family else ""


def load_function(name: str) -> bool:
    """Loads the family of a public function (`linalg.det`); whether there is one."""
    family = _FAMILY_OF_FUNCTION.get(name)
    if family is not None:
        load(family)
    return family is not None


def load_module(prefix: str) -> None:
    """Loads every family with a function whose public name starts so; with "" all families."""
    for name, family in _FAMILY_OF_FUNCTION.items():
        if name.startswith(prefix):
            load(family)
    if not prefix:
        for family in LATER:
            load(family)


def function_names(prefix: str) -> list[str]:
    """The public functions with this prefix, without it, loaded or not."""
    names = [n.removeprefix(prefix) for n in _FAMILY_OF_FUNCTION if n.startswith(prefix)]
    return [n for n in names if "." not in n]
