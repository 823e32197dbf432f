"""Each argument with a default is tried with another value, or it is said why not."""

from __future__ import annotations

import argument_forms
import pytest

import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Draw

RECORDS = tenora_ops.records()


@pytest.mark.parametrize("record", RECORDS, ids=[r.name for r in RECORDS])
def test_arguments_are_varied(record: Record) -> None:
    left = argument_forms.unvaried(record)
    formed: set[str] = set()
    if record.name in argument_forms.FORMS:
        places = [p.name for p in record.schema.parameters if not p.keyword_only]
        draw = Draw(record.dtypes[-1], record.domain, record.name)
        for form in argument_forms.FORMS[record.name](draw):
            formed |= {*places[: len(form.arguments)], *form.options}
    said = {
        argument for name, argument in (*argument_forms.HINTS, *argument_forms.SAID) if name == record.name
    }
    assert left <= formed | said, (
        f"{record.name}: give {sorted(left - formed - said)} another value in a sample"
    )
    assert said <= left | formed, (
        f"{record.name}: samples vary {sorted(said - left)} now: take it off the lists"
    )


def test_lists_name_records_and_arguments() -> None:
    known = {r.name: {p.name for p in r.schema.parameters} for r in RECORDS}
    assert set(argument_forms.FORMS) <= set(known)
    for name, argument in (*argument_forms.HINTS, *argument_forms.SAID):
        assert argument in known[name], (name, argument)
    assert all(argument_forms.SAID.values())
