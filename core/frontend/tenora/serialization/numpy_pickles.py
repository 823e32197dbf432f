"""What NumPy's arrays and numbers are made of in a pickle: a function of ours for each name, and no NumPy's.

- A dtype is a `Kind`, which only holds its code; which codes there may be is said in `arrays`.
- NumPy makes an empty array and gives it its state later, so the array is there before what it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import arrays
from .errors import refused, unreadable

# The module has two names, by NumPy's version.
_MODULES = ("numpy._core", "numpy.core")
_ORDERS = {"<": "<", ">": ">", "|": "|", "=": "<"}


@dataclass
class Kind:
    """A dtype: a letter and a size, and with its state an order of bytes and a date's unit."""

    code: str
    order: str = "|"
    unit: str = ""

    @property
    def name(self) -> str:
        """NumPy's code for it."""
        return f"{self.order}{self.code}{self.unit}"

    def take(self, state: Any) -> None:
        """The order and the unit, out of what NumPy writes of a dtype."""
        if type(state) is not tuple or len(state) < 8 or type(state[1]) is not str or state[1] not in _ORDERS:
            raise unreadable("a dtype's state without an order of bytes", "NumPy's")
        if any(part is not None for part in state[2:5]):
            raise refused("a NumPy array of records", "Save its fields.")
        self.order = _ORDERS[state[1]]
        if self.code in ("M8", "m8") and len(state) == 9:
            _, (unit, count, *_) = state[8]
            if type(unit) is not bytes or len(unit) > len("generic") or type(count) is not int:
                raise unreadable("a date without a unit", "a unit and a count")
            name = unit.decode("ascii")
            if name != "generic":
                self.unit = f"[{'' if count == 1 else count}{name}]"


def _dtype(code: Any, align: Any = False, copy: Any = False) -> Kind:
    if type(code) is not str:
        raise unreadable(f"a dtype named by a {type(code).__name__}", "its code")
    if code[:1] in ("O", "V"):
        raise refused(f"NumPy's dtype '{code:.20}'", "Save numbers, or value.tolist().")
    return Kind(code)


def _scalar(kind: Any, data: Any = b"") -> Any:
    if not isinstance(kind, Kind) or type(data) is not bytes:
        raise unreadable("a number without dtype and bytes", "these two")
    if kind.code == "U0":  # the empty text
        return arrays.scalar_of("<U1", bytes(4))
    if kind.code == "S0":
        return arrays.scalar_of("|S1", bytes(1))
    return arrays.scalar_of(kind.name, data)


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    if getattr(kind, "name", None) != "numpy.ndarray":
        raise refused("a NumPy array of another class", "Save numpy.asarray(value).")
    return arrays.empty_array()


def _frombuffer(data: Any, kind: Any, shape: Any, order: Any) -> Any:
    """How protocol 5 writes arrays."""
    if type(data) not in (bytes, bytearray) or not isinstance(kind, Kind):
        raise unreadable("an array without bytes and dtype", "these two")
    if order == "F" and type(shape) is tuple:
        return arrays.array_of(kind.name, shape[::-1], bytes(data)).T
    return arrays.array_of(kind.name, shape, bytes(data))


def _not_called(*args: Any) -> Any:
    raise refused("a call of numpy.ndarray", "Save arrays as they are.")


def functions() -> dict[str, Callable[..., Any]]:
    """By name."""
    found: dict[str, Callable[..., Any]] = {"numpy.dtype": _dtype, "numpy.ndarray": _not_called}
    for module in _MODULES:
        found[f"{module}.multiarray.scalar"] = _scalar
        found[f"{module}.multiarray._reconstruct"] = _reconstruct
        found[f"{module}.numeric._frombuffer"] = _frombuffer
    return found


def takes_state(value: Any) -> bool:
    """Whether a pickle may give this a state of NumPy's form."""
    return isinstance(value, Kind) or arrays.is_array(type(value))


def set_state(value: Any, state: Any) -> Any:
    """Completes a dtype or an array."""
    if isinstance(value, Kind):
        value.take(state)
        return value
    if type(state) is not tuple or len(state) != 5:
        raise unreadable("an array's state of another form", "version, shape, dtype, order and bytes")
    _, shape, kind, columns, data = state
    if not isinstance(kind, Kind):
        raise unreadable(f"an array of {type(kind).__name__}", "a dtype")
    if type(data) is not bytes:
        raise refused("a NumPy array of objects", "Save numbers, or value.tolist().")
    arrays.fill(value, kind.name, shape, columns is True, data)
    return value
