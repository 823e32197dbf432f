"""Checks `report.json` against `report.schema.json`, with the part of JSON Schema that the file uses.

`type`, `const`, `enum`, `pattern`, `required`, `properties`, `additionalProperties`, `items`, `prefixItems`; another
keyword in the file is an error of ours, and a test finds it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SCHEMA_PATH = Path(__file__).with_name("report.schema.json")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
KEYWORDS = frozenset(
    "$schema title description type const enum pattern required properties additionalProperties items "
    "prefixItems".split()
)


@functools.cache
def schema() -> dict[str, Any]:
    """The committed schema."""
    loaded: dict[str, Any] = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    return loaded


def problems(value: Any, rule: Mapping[str, Any] | None = None, where: str = "report") -> Iterator[str]:
    """What of a value is not as the schema says, each with its place.

    Example:
        >>> list(problems([1, "b"], {"type": "array", "items": {"type": "integer"}}))
        ["report[1]: got 'b', expected integer"]
    """
    rule = schema() if rule is None else rule
    kinds = rule.get("type", list(_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        yield f"{where}: got {str(value)[:40]!r}, expected {' or '.join(kinds)}"
        return
    if "const" in rule and value != rule["const"]:
        yield f"{where}: got {value!r}, expected {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{where}: got {value!r}, expected one of {', '.join(map(str, rule['enum']))}"
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        yield f"{where}: got {value[:80]!r}, expected text like {rule['pattern']}"
    if isinstance(value, dict):
        yield from _in_object(value, rule, where)
    elif isinstance(value, list):
        yield from _in_array(value, rule, where)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _in_object(value: dict[str, Any], rule: Mapping[str, Any], where: str) -> Iterator[str]:
    for name in rule.get("required", ()):
        if name not in value:
            yield f"{where}: got no '{name}', expected one"
    known: Mapping[str, Any] = rule.get("properties", {})
    others = rule.get("additionalProperties", {})
    for name, item in value.items():
        if name in known:
            yield from problems(item, known[name], f"{where}.{name}")
        elif others is False:
            yield f"{where}: got an unknown '{name}', expected one of {', '.join(known)}"
        elif others is not True:
            yield from problems(item, others, f"{where}[{name!r}]")


def _in_array(value: list[Any], rule: Mapping[str, Any], where: str) -> Iterator[str]:
    fixed = rule.get("prefixItems", [])
    if len(value) < len(fixed) or (rule.get("items") is False and len(value) > len(fixed)):
        yield f"{where}: got {len(value)} items, expected {len(fixed)}"
        return
    for i, item in enumerate(value):
        own = fixed[i] if i < len(fixed) else rule.get("items") or {}
        yield from problems(item, own, f"{where}[{i}]")
