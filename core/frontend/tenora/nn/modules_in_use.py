"""The modules that the functions on the stack work with, for what an error says: found without asking any object.

- Of each function: the values of its variables and of the global names in its code, the items of those that are
  lists, tuples or dicts, and their attributes that the code names (`self.model`).
- Only types and `__dict__` are read: asking the objects could run their code.
- Up to Python 3.12 a frame keeps the dict that `f_locals` makes, and with it every value in it, until the function
  ends. Its entries are taken out again, unless the program itself holds that dict (it called `locals()`).
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

ITEMS = 256  # of a list or dict that are looked at
HELD_BY_FRAME = 3  # references to the dict of `f_locals`: the frame's, ours, the argument's


def modules_by_frame(base: type, frame: FrameType | None) -> Iterator[list[Any]]:
    """The initialised instances of `base`, for each function on the stack that has any, from `frame` outwards."""
    while frame is not None:
        names = _names(frame.f_code)
        found = [
            thing
            for value in [*_variables(frame), *_globals(frame, names)]
            for thing in (value, *_held(value, names))
            if base in type(thing).__mro__ and "_module_names" in object.__getattribute__(thing, "__dict__")
        ]
        if found:
            yield found
        frame = frame.f_back


def _names(code: CodeType) -> frozenset[str]:
    """The globals and attributes that a code names, those of functions and comprehensions in it included."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_names).union(*map(_names, inner))


def _variables(frame: FrameType) -> list[Any]:
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:  # of a module or class: its names are looked up as globals
        return []
    variables = frame.f_locals
    values = list(variables.values())
    if type(variables) is dict and sys.getrefcount(variables) <= HELD_BY_FRAME:
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            variables.pop(name, None)
    return values


def _globals(frame: FrameType, names: Iterable[str]) -> list[Any]:
    known = frame.f_globals
    return [known[name] for name in names if name in known]


def _held(value: Any, names: Iterable[str]) -> Iterable[Any]:
    kind = type(value)
    if kind is list or kind is tuple:
        return value[:ITEMS]
    if kind is dict:
        return list(itertools.islice(value.values(), ITEMS))
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return [attributes[name] for name in names if name in attributes]
