"""The table of ops and backends that is published: `tenora-conformance matrix DIR... > docs/coverage.md`."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenora_conformance.report.markdown import table

Cells = dict[str, tuple[int, int, int]]
"""Op -> cases, cases that pass, dtypes."""


def matrix_text(reports: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of the table, from the contents of several `report.json`, a column each."""
    return "\n".join(_lines(reports)) + "\n"


def _lines(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# What the backends cover"
    yield ""
    yield "Written by `tenora-conformance matrix` from the reports of the conformance suite; do not edit."
    yield ""
    yield from table(
        ("backend", "version", "device", "meets", "op set", "date", "cases", "pass", "left out", "waived"),
        [_summary(report) for report in reports],
    )
    yield ""
    yield "A cell says how many dtypes an op was judged with and in how many cases, or how many of its cases failed;"
    yield "layouts, samples and the other kinds of check are among the cases."
    yield ""
    columns = [cells_of(report) for report in reports]
    names = [f"{report['backend']['name']} ({report['backend']['device']})" for report in reports]
    ops = sorted({op for column in columns for op in column})
    yield from table(
        ("op", *names), [(f"`{op}`", *(_cell(column.get(op)) for column in columns)) for op in ops]
    )


def _summary(report: Mapping[str, Any]) -> tuple[str, ...]:
    backend, run = report["backend"], report["run"]
    statuses = collections.Counter(row[2] for row in report["results"])
    return (
        backend["name"],
        f"{backend['distribution']} {backend['version']}",
        backend["device"],
        report["met"] or "no level",
        report["environment"]["opset"],
        run["started"][:10],
        str(len(report["results"])),
        str(statuses["PASS"]),
        str(sum(report["left_out"].values())),
        str(statuses["WAIVED"]),
    )


def cells_of(report: Mapping[str, Any]) -> Cells:
    """The cells of one report's column; what is no op (`@train`, a script) is left out."""
    cases: collections.Counter[str] = collections.Counter()
    passed: collections.Counter[str] = collections.Counter()
    dtypes: dict[str, set[str]] = collections.defaultdict(set)
    for case, _, status, *_ in report["results"]:
        op, dtype = case.split("/", 2)[:2]
        if op.startswith("@"):
            continue
        cases[op] += 1
        passed[op] += status == "PASS"
        dtypes[op].add(dtype)
    return {op: (cases[op], passed[op], len(dtypes[op])) for op in cases}


def _cell(cell: tuple[int, int, int] | None) -> str:
    if cell is None:
        return ""
    cases, passed, dtypes = cell
    return f"{dtypes} / {cases}" if passed == cases else f"**{cases - passed} of {cases} fail**"
