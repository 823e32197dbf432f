"""What changed from one report to another: `tenora-conformance compare A B`.

- Named: cases that fail now, that were fixed, that end otherwise, that are new or gone.
- Counted as growth: a worst error that is at least twice what it was and more than a hundredth of its tolerance.
- Time is compared by op, since a case takes less than a millisecond; ops that take twice as long, and 0.1 s more.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenora_conformance.report.markdown import table

GROWTH = 2.0
LEAST_SHARE = 0.01
LEAST_SECONDS = 0.1
#: Rows of one table that are printed.
PRINTED = 40


@dataclass
class Comparison:
    """The differences of report `b` from report `a`."""

    met: tuple[str, str]
    broken: list[tuple[str, str, str]] = field(default_factory=list)
    """Case, status before, status now: it passed and does not any more."""
    fixed: list[tuple[str, str, str]] = field(default_factory=list)
    otherwise: list[tuple[str, str, str]] = field(default_factory=list)
    added: list[tuple[str, str]] = field(default_factory=list)
    """Case and status now."""
    gone: list[tuple[str, str]] = field(default_factory=list)
    grown: list[tuple[str, float, float]] = field(default_factory=list)
    """Case, worst error before and now, as shares of the tolerance; the largest growth first."""
    slower: list[tuple[str, float, float]] = field(default_factory=list)
    """Op, seconds before and now."""
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def worse(self) -> bool:
        """Whether anything that passed does not any more, or is gone."""
        return bool(self.broken or self.gone) or self.met[1] < self.met[0]


def compare_reports(a: Mapping[str, Any], b: Mapping[str, Any]) -> Comparison:
    """Compares two contents of `report.json`."""
    found = Comparison(
        met=(a["met"], b["met"]), seconds=(float(a["run"]["seconds"]), float(b["run"]["seconds"]))
    )
    before = {row[0]: row for row in a["results"]}
    now = {row[0]: row for row in b["results"]}
    for case, row in now.items():
        if case not in before:
            found.added.append((case, row[2]))
            continue
        was, status = before[case][2], row[2]
        if was != status:
            bucket = found.fixed if status == "PASS" else found.broken if was == "PASS" else found.otherwise
            bucket.append((case, was, status))
        elif status == "PASS":
            old, new = float(before[case][4]), float(row[4])
            if new > LEAST_SHARE and new >= GROWTH * old:
                found.grown.append((case, old, new))
    found.gone = [(case, row[2]) for case, row in before.items() if case not in now]
    found.grown.sort(key=lambda item: (-item[2] / max(item[1], 1e-9), item[0]))
    found.slower = list(_slower(before, now))
    return found


def _slower(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Over the cases that both have."""
    old: collections.Counter[str] = collections.Counter()
    new: collections.Counter[str] = collections.Counter()
    for case in before.keys() & now.keys():
        op = case.partition("/")[0]
        old[op] += before[case][5] / 1000
        new[op] += now[case][5] / 1000
    for op in sorted(new, key=lambda op: old[op] - new[op]):
        if new[op] >= GROWTH * old[op] and new[op] - old[op] >= LEAST_SECONDS:
            yield op, round(old[op], 3), round(new[op], 3)


def comparison_text(found: Comparison) -> str:
    """The comparison as Markdown."""
    met = [level or "no level" for level in found.met]
    lines = [
        f"Met: {met[0]} before, {met[1]} now. Seconds: {found.seconds[0]:.1f} before, {found.seconds[1]:.1f} now."
    ]
    sections: list[tuple[str, tuple[str, ...], list[Any]]] = [
        ("Do not pass any more", ("case", "before", "now"), found.broken),
        ("Gone", ("case", "before"), found.gone),
        ("Fixed", ("case", "before", "now"), found.fixed),
        ("End otherwise", ("case", "before", "now"), found.otherwise),
        ("New", ("case", "now"), found.added),
        ("Worst error grew, in shares of the tolerance", ("case", "before", "now"), found.grown),
        ("Slower, in seconds", ("op", "before", "now"), found.slower),
    ]
    for title, header, rows in sections:
        if rows:
            lines += ["", f"{title}: {len(rows)}", "", *table(header, rows[:PRINTED])]
            lines += [f"... and {len(rows) - PRINTED} more"] if len(rows) > PRINTED else []
    if len(lines) == 1:
        lines.append("Nothing else changed.")
    return "\n".join(lines)
