"""Calls that ops have to refuse: what the conformance suite asks beside the samples of a record.

- A module holds `REFUSED`: op name -> name of what is wrong -> `Refusal`. The names are parts of case ids, so they
  stay.
- A refusal is a sound call but for one thing, as near to the border as can be; `taken` is the nearest call that is not
  refused. The two together fix the border: a check that is left out fails the one, one that is too strict the other.
- Nothing here is imported with the records: it is for those who judge.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tenora_ops.samples import Sample, sample

#: What can be wrong, as the `code` of the error says it.
CODES = frozenset(("argument", "dim", "dtype", "index", "overflow", "shape", "type", "value"))


@dataclass(frozen=True)
class Refusal:
    """A call that raises an error of one code, and the nearest one that does not (None: there is none)."""

    code: str
    call: Sample
    taken: Sample | None


class Call:
    """Arguments of a call, for `refusal`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.sample = sample(*arguments, **options)


def refusal(code: str, call: Call, taken: Call | None) -> Refusal:
    """A refused call and the nearest taken one.

    >>> refusal("shape", Call(reals(3), 4), Call(reals(3), 3)).code
    'shape'
    """
    if code not in CODES:
        raise ValueError(f"[refusal] code: got {code!r}, expected one of {sorted(CODES)}. Use the error's.")
    return Refusal(code, call.sample, None if taken is None else taken.sample)


def reals(*shape: int, dtype: str = "float32") -> Any:
    """Numbers between 0 and 1, no two equal, of a shape and a floating or complex dtype."""
    count = int(np.prod(shape))
    return ((np.arange(count) + 1) / (count + 1)).reshape(shape).astype(dtype)


def wholes(*shape: int, dtype: str = "int64") -> Any:
    """0, 1, 0, 1, ... in a whole dtype or bool: indices that every dimension with two elements has."""
    return (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(dtype)


@cache
def _tables() -> dict[str, dict[str, Refusal]]:
    """Every module's, in one."""
    found: dict[str, dict[str, Refusal]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        for op, refused in importlib.import_module(f"{__name__}.{module.name}").REFUSED.items():
            mine = found.setdefault(op, {})
            if twice := mine.keys() & refused.keys():
                raise ValueError(
                    f"[{op}] refusals: got {sorted(twice)} twice, expected one each. Rename one."
                )
            mine.update(refused)
    return found


def refusals_of(op: str) -> dict[str, Refusal]:
    """What an op has to refuse, by the name of what is wrong; empty where nothing is stated.

    >>> sorted(refusals_of("topk"))[:1]
    ['k_above_size']
    """
    return _tables().get(op, {})


def refusing_ops() -> list[str]:
    """The ops that state something."""
    return sorted(_tables())
