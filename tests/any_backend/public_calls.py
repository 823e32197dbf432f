"""Calls of all public functions that are ops, by their public names: what tests of faces walk over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import op_cases

import tenora
import tenora_ops
from tenora_ops.functions import public_functions

NAMES = [
    f"{module}.{name}" if module else name
    for module in ("", "nn.functional", "linalg", "fft", "special")
    for name in sorted(public_functions(module))
]


def public(name: str) -> Any:
    """The function of a public name such as `linalg.inv`."""
    place: Any = tenora
    for part in name.split("."):
        place = getattr(place, part)
    return place


def calls(name: str) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """A call for each overload that its samples have in float32, or in their first dtype."""
    *module, short = name.split(".")
    for entry in map(tenora_ops.record, public_functions(".".join(module))[short].ops):
        dtypes = op_cases.dtypes_of(entry)
        dtype = "float32" if "float32" in dtypes else dtypes[0]
        sample = op_cases.samples_of(entry.name, dtype)[0]
        yield op_cases.arguments_of(entry, sample), op_cases.options_of(entry, sample)
