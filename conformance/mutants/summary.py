"""The kill rate, and the page that publishes it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mutants.known import Known
from mutants.operators import Operators
from mutants.sites import Mutant
from mutants.state import Row, Verdict

#: The least share of mutants that are killed, and the largest of those called equivalent.
LEAST, EQUIVALENT = 0.97, 0.02
#: The head of the page.
ABOUT = (
    "How many seeded faults of tenora's own sources the conformance suite finds: each drawn mutant is a change of",
    "one place in the reference backend, in the formulas of op records, in the engine's rules (shape, dtype, window",
    "of results) or in the simulated device, and the suite has to fail where it passes without. Written by",
    "`make mutants`; the operators are `conformance/mutants/operators.toml`, the verdicts `verdicts.jsonl` and what",
    "is known of survivors `equivalents.toml` beside it.",
    "",
    "A mutant meets the cases of the ops that it is a part of, then those that enter the mutated function or run a",
    "kernel of such an op, then a thin rest: the first cases of each op and check. A case that is left out can only",
    "make the share below smaller. A kill is a fact about the mutated file as it is, and is judged again when that",
    "file changes; a survivor also when the suite changes. A sample of the same mutants is judged afresh every day.",
    "",
    "At least 97 % have to be killed; at most 2 % may be called equivalent, each with a proof. Survivors that are",
    "read as a gap of the suite, or as unreachable by a public call, count as survivors.",
)


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
        return self.killed / self.of if self.of else 0.0

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


Judged = Sequence[tuple[Mutant, Row]]


def page(judged: Judged, known: Known, operators: Operators, seed: int, count: int) -> str:
    """`docs/mutants.md`, of `count` drawn mutants and the verdicts there are."""
    rows = [row for _, row in judged]
    all_of = rate(rows, known)
    verdicts = collections.Counter(row.verdict.value for row in rows)
    left = count - len(rows)
    lines = [
        "# Mutants",
        "",
        *ABOUT,
        "",
        f"Seed {seed}: {len(rows)} of {count} drawn mutants judged"
        + (f" so far, {left} are left. " if left else ". ")
        + f"{all_of}.",
        "By verdict: " + ", ".join(f"{name} {n}" for name, n in sorted(verdicts.items())) + ".",
        "",
        *_table("source", judged, known, lambda mutant: [mutant.source.name]),
        *_table(
            "operator", judged, known, lambda m: [m.operator], {o.name: o.models for o in operators.rows}
        ),
        *_survivors(judged, known),
        *_table("op", judged, known, lambda mutant: mutant.ops or ["(none by name)"]),
    ]
    return "\n".join(lines) + "\n"


def _table(
    what: str,
    judged: Judged,
    known: Known,
    groups: Callable[[Mutant], Sequence[str]],
    told: dict[str, str] | None = None,
) -> list[str]:
    found: dict[str, list[Row]] = collections.defaultdict(list)
    for mutant, row in judged:
        for group in groups(mutant):
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
        share = f"{this.share:.0%}" if this.of else "–"
        body.append(f"| {name} | {models}{this.killed} | {this.of} | {share} |")
    return [*heading, *body, ""]


def _survivors(judged: Judged, known: Known) -> list[str]:
    lines = ["## Survivors", ""]
    survived = [(mutant, row) for mutant, row in judged if row.verdict is Verdict.SURVIVED]
    for mutant, _ in sorted(survived, key=lambda pair: pair[0].id):
        if mutant.id in known.equivalents:
            said = f"equivalent: {known.equivalents[mutant.id]}"
        else:
            reading, why = known.survivors.get(mutant.id, ("not read yet", ""))
            said = f"{reading}{': ' if why else ''}{why}"
        change = f"`{_one_line(mutant.old)}` to `{_one_line(mutant.new)}`"
        lines.append(f"- `{mutant.id}`, line {mutant.line}: {change}. {said}")
    return [*(lines if len(lines) > 2 else [*lines, "None."]), ""]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80].replace("`", "'") or " "
