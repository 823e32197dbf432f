"""The must-run list: which cases a backend has to pass for a level, as a function of what it declares.

- `plan(level, subject)`: every case of every check up to the level, less those that an undeclared dtype, capability or
  kind of device takes out. What is taken out is counted by reason and printed: it is never silent.
- `must_run/MAJOR.MINOR.txt` is the committed list of an op-set version, for a backend that declares everything. A test
  compares it with the checks; removing a case needs a row in the changelog. A run that has fewer results than its plan
  is a failure.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level
from tenora_conformance.subject import Subject


@dataclass
class Plan:
    """The cases of a run, in order, and how many were left out, by reason."""

    level: Level
    cases: list[Case]
    left_out: dict[str, int] = field(default_factory=dict)


def all_cases(level: Level = Level.L4) -> Iterator[Case]:
    """Every case up to a level, whatever a backend declares; check after check."""
    for check in CHECKS.values():
        for case in check.cases():
            if case.level <= level:
                yield case


def reason_to_leave_out(case: Case, subject: Subject) -> str:
    """Why a case does not apply to a backend; "" where it must pass."""
    if case.dtype not in subject.dtypes and case.dtype != "-":
        return f"dtype {case.dtype} is not declared"
    needs = CHECKS[case.check].needs
    return needs(case, subject) if needs else ""


def plan(level: Level, subject: Subject, listed: Iterable[Case] | None = None) -> Plan:
    """What a backend has to pass for a level. `listed`: `all_cases(level)`, where somebody has it already."""
    left_out: collections.Counter[str] = collections.Counter()
    cases = []
    for case in all_cases(level) if listed is None else listed:
        reason = reason_to_leave_out(case, subject)
        if reason:
            left_out[reason] += 1
        else:
            cases.append(case)
    return Plan(level, cases, dict(left_out))
