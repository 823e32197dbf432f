"""The must-run list: which cases a backend has to pass for a level, as a function of what it declares.

- `plan(level, subject)`: every case of every check up to the level, less those that an undeclared dtype, capability or
  kind of device takes out. What is taken out is counted by reason and printed: it is never silent.
- `must_run/MAJOR.MINOR.txt` is the committed list of an op-set version, for a backend that declares everything. A test
  compares it with the checks; removing a case needs a row in the changelog. A run that has fewer results than its plan
  is a failure.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import tenora_ops
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level
from tenora_conformance.subject import Subject


@dataclass
class Plan:
    """The cases of a run, in order, and how many were left out, by reason."""

    level: Level
    cases: list[Case]
    left_out: dict[str, int] = field(default_factory=dict)


def is_op(name: str) -> bool:
    """Whether cases may be of that name: an op's, or a script's, which begins with `@`."""
    return name.startswith("@") or name in {record.name for record in tenora_ops.records()}


def all_cases(level: Level = Level.L4, ops: Collection[str] = ()) -> Iterator[Case]:
    """Every case up to a level, whatever a backend declares; check after check. `ops`: of these only."""
    for check in CHECKS.values():
        if check.lowest > level:
            continue
        yield from (case for case in check.cases(ops) if case.level <= level)


def reason_to_leave_out(case: Case, subject: Subject) -> str:
    """Why a case does not apply to a backend; "" where it must pass."""
    if case.dtype not in subject.dtypes and case.dtype != "-":
        return f"dtype {case.dtype} is not declared"
    if not case.op.startswith("@") and tenora_ops.record(case.op).complex_within:
        within = "complex128" if case.dtype in ("float64", "complex128") else "complex64"
        if within not in subject.dtypes:
            return f"dtype {within}, to which the op leads, is not declared"
    needs = CHECKS[case.check].needs
    return needs(case, subject) if needs else ""


def plan(level: Level, subject: Subject, listed: Iterable[Case] | None = None) -> Plan:
    """What a backend has to pass for a level. `listed`: `all_cases(level)`, where somebody has it already.

    Raises: ValueError where two cases have one name, of which a run would keep one result.
    """
    left_out: collections.Counter[str] = collections.Counter()
    cases: list[Case] = []
    names: set[str] = set()
    for case in all_cases(level) if listed is None else listed:
        if case.id in names:
            raise ValueError(
                f"[conformance] cases: got two of the name {case.id}, expected one. Name the samples of check"
                f" {case.check!r} apart."
            )
        names.add(case.id)
        reason = reason_to_leave_out(case, subject)
        if reason:
            left_out[reason] += 1
        else:
            cases.append(case)
    return Plan(level, cases, dict(left_out))
