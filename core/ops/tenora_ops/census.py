"""How many ops there are, counted so that nothing counts twice.

- An op is a public function, or a method where there is no function: overloads of one name are one op.
- Not counted: names that give another op a second name (aliases, and records that say `renames`), in-place and `out=`
  forms, properties, ops that exist only in place, and the records without any face, which other ops are made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tenora_ops.record import Record, records


@dataclass(frozen=True, slots=True)
class Census:
    """The names of the distinct ops, and for every record or name that is none of them the reason."""

    functions: tuple[str, ...]
    methods: tuple[str, ...]
    overloads: tuple[str, ...]
    renamed: tuple[str, ...]
    aliases: tuple[str, ...]
    only_in_place: tuple[str, ...]
    properties: tuple[str, ...]
    internal: tuple[str, ...]

    @property
    def ops(self) -> int:
        """How many distinct public ops there are."""
        return len(self.functions) + len(self.methods)

    def lines(self) -> list[str]:
        """The breakdown, a line each: how many, and of what."""
        rows = (
            (self.ops, "distinct public ops: functions and methods"),
            (len(self.functions), "  functions"),
            (len(self.methods), "  methods without a function"),
            (0, "not counted:"),
            (len(self.overloads), "  records: overloads of a name that is counted"),
            (len(self.renamed), "  records: a second name, or an argument form, of an op that is counted"),
            (len(self.internal), "  records: internal, without a face (adjoints, steps, other ops' parts)"),
            (len(self.only_in_place), "  records: only in place"),
            (len(self.properties), "  records: properties"),
            (len(self.aliases), "  aliases"),
        )
        return [f"{count:5} {what}" if count or what[0] == " " else what for count, what in rows]


def census(every: Iterable[Record] | None = None) -> Census:
    """Sorts records (all of them without an argument) into distinct ops and what is no op of its own."""
    given = records() if every is None else tuple(every)
    names = {e.public for e in given if e.public}
    sorted_in: dict[str, list[str]] = {field: [] for field in Census.__dataclass_fields__}
    taken: set[str] = set()
    for entry in given:
        place, name = _place(entry, names)
        if place in ("functions", "methods"):
            place, name = ("overloads", entry.name) if name in taken else (place, name)
            taken.add(name)
        sorted_in[place].append(name)
    second = {alias for e in given for alias in e.aliases} - names
    sorted_in["aliases"] = sorted(second)
    return Census(**{field: tuple(found) for field, found in sorted_in.items()})


def _place(entry: Record, names: set[str]) -> tuple[str, str]:
    """Where a record belongs, and under which name."""
    if entry.renames:
        return "renamed", entry.name
    if entry.public:
        return "functions", entry.public
    if entry.method_name:
        return ("overloads", entry.name) if entry.method_name in names else ("methods", entry.method_name)
    if entry.inplace_name and entry.inplace_name[:-1] not in names:
        return "only_in_place", entry.name
    if entry.inplace_name:
        return "overloads", entry.name
    return ("properties", entry.attribute) if entry.attribute else ("internal", entry.name)
