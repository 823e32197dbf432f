"""Classes and functions that the user vouches for, beyond those that every file may name.

They are found by module and name in files that PyTorch wrote, and called as the file says.
"""

from __future__ import annotations

from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable, Iterable
from typing import Any

_Entry = Callable[..., Any] | tuple[Callable[..., Any], str]
_added: dict[str, Any] = {}


def _name(entry: _Entry) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        return entry[1], entry[0]
    return f"{entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(safe_globals: Iterable[_Entry]) -> None:
    """Lets `load` use these classes and functions, or (callable, "module.name") pairs, with `weights_only=True`.

    >>> import fractions, tenora
    >>> tenora.serialization.add_safe_globals([fractions.Fraction])
    >>> tenora.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> tenora.serialization.clear_safe_globals()
    """
    _added.update(_name(entry) for entry in safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added, in the order of adding.

    >>> import fractions, tenora
    >>> with tenora.serialization.safe_globals([fractions.Fraction]):
    ...     tenora.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    """
    return list(_added.values())


def clear_safe_globals() -> None:
    """Takes back all that was added.

    >>> import fractions, tenora
    >>> tenora.serialization.add_safe_globals([fractions.Fraction])
    >>> tenora.serialization.clear_safe_globals()
    >>> tenora.serialization.get_safe_globals()
    []
    """
    _added.clear()


class safe_globals:
    """Adds classes and functions for the length of a `with` block.

    >>> import fractions, tenora
    >>> with tenora.serialization.safe_globals([fractions.Fraction]):
    ...     len(tenora.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals: Iterable[_Entry]) -> None:
        self._entries = list(safe_globals)

    def __enter__(self) -> None:
        self._before = dict(_added)
        add_safe_globals(self._entries)

    def __exit__(self, *exception: object) -> None:
        _added.clear()
        _added.update(self._before)


def find_added(name: str) -> Any:
    """What was added under a name; None where nothing was. Files of protocol 2 use Python 2's names (`__builtin__`)."""
    found = _added.get(name)
    if found is not None:
        return found
    module, _, last = name.rpartition(".")
    module, last = NAME_MAPPING.get((module, last), (IMPORT_MAPPING.get(module, module), last))
    return _added.get(f"{module}.{last}")


def is_added(value: Any) -> bool:
    """Whether exactly this was added."""
    return any(each is value for each in _added.values())
