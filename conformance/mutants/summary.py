"""The kill rate, and the page that publishes it."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mutants.known import Known
from mutants.operators import Operators
from mutants.state import Row, Verdict

#: The least share of mutants that are killed, and the largest of those called equivalent.
LEAST, EQUIVALENT = 0.97, 0.02


@dataclass(frozen=True, slots=True)
class Rate:
    """Mutants that were judged: killed, survived, and of those the equivalents."""

    killed: int
    survived: int
    equivalent: int

    @property
    def of(self) -> int:
        """Those that could be killed."""
        return self.killed + self.survived - self.equivalent

    @property
    def share(self) -> float:
        return self.killed / self.of if self.of else 1.0

    @property
    def met(self) -> bool:
        return self.share >= LEAST and self.equivalent <= EQUIVALENT * (self.killed + self.survived)

    def __str__(self) -> str:
        text = f"{self.killed} of {self.of} killed ({self.share:.1%})"
        return text + (f", {self.equivalent} equivalent" if self.equivalent else "")


def rate(rows: Iterable[Row], known: Known) -> Rate:
    """Of the rows that compile."""
    counted = [row for row in rows if row.verdict is not Verdict.NOT_BUILT]
    left = [row for row in counted if row.verdict is Verdict.SURVIVED]
    equivalent = sum(row.mutant in known.equivalents for row in left)
    return Rate(len(counted) - len(left), len(left), equivalent)


def unknown(rows: Iterable[Row], known: Known) -> list[Row]:
    """Survivors of which nothing is written down."""
    listed = {*known.equivalents, *known.survivors}
    return [row for row in rows if row.verdict is Verdict.SURVIVED and row.mutant not in listed]


def page(
    rows: Sequence[Row], known: Known, operators: Operators, seed: int, count: int, day: datetime.date
) -> str:
    """`docs/mutants.md`."""
    all_of = rate(rows, known)
    verdicts = collections.Counter(row.verdict.value for row in rows)
    lines = [
        "# Mutants",
        "",
        "How many seeded faults of tenora's own sources the conformance suite finds. Written by `make mutants`; the",
        "operators are `conformance/mutants/operators.toml`.",
        "",
        f"{day.isoformat()}, seed {seed}: {len(rows)} of {count} drawn mutants judged, {all_of}.",
        "By verdict: " + ", ".join(f"{name} {n}" for name, n in sorted(verdicts.items())) + ".",
        "",
        *_table("source", rows, known, lambda row: [row.source]),
        *_table(
            "operator", rows, known, lambda row: [row.operator], {o.name: o.models for o in operators.rows}
        ),
        *_survivors(rows, known),
        *_table("op", rows, known, lambda row: row.ops or ["(none by name)"]),
    ]
    return "\n".join(lines) + "\n"


def _table(
    what: str,
    rows: Sequence[Row],
    known: Known,
    groups: Callable[[Row], Sequence[str]],
    told: dict[str, str] | None = None,
) -> list[str]:
    found: dict[str, list[Row]] = collections.defaultdict(list)
    for row in rows:
        for group in groups(row):
            found[group].append(row)
    heading = [
        f"## By {what}",
        "",
        f"| {what} | " + ("what it models | " if told else "") + "killed | of | share |",
    ]
    heading.append("| --- |" + (" --- |" if told else "") + " --: | --: | --: |")
    body = []
    for name in sorted(found):
        this = rate(found[name], known)
        models = f"{told[name]} | " if told else ""
        body.append(f"| {name} | {models}{this.killed} | {this.of} | {this.share:.0%} |")
    return [*heading, *body, ""]


def _survivors(rows: Sequence[Row], known: Known) -> list[str]:
    lines = ["## Survivors", ""]
    for row in sorted((r for r in rows if r.verdict is Verdict.SURVIVED), key=lambda r: r.mutant):
        if row.mutant in known.equivalents:
            said = f"equivalent: {known.equivalents[row.mutant]}"
        else:
            reading, why = known.survivors.get(row.mutant, ("not read yet", ""))
            said = f"{reading}{': ' if why else ''}{why}"
        change = f"`{_one_line(row.old)}` to `{_one_line(row.new)}`"
        lines.append(f"- `{row.mutant}`, line {row.line}: {change}. {said}")
    return [*(lines if len(lines) > 2 else [*lines, "None."]), ""]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80].replace("`", "'") or " "
