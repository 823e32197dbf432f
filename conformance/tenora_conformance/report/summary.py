"""What a run amounts to: counts, and for each level whether it is met and why not.

- A level is met when the levels below it are, and each of its planned cases has exactly one result, which is a PASS, or
  WAIVED at L2 and above. A level of which nothing is planned is not met.
- A run of a selection, a shard, one that was ended early or has complaints meets no level, whatever its results are.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from tenora_conformance.model import Level, Result, Status
from tenora_conformance.report.read import Run

#: The lowest level at which a waiver may stand in for a pass.
FIRST_WAIVABLE = Level.L2


@dataclass
class LevelState:
    """How one level went."""

    planned: int
    counts: dict[str, int] = field(default_factory=dict)
    met: bool = False
    why: str = ""
    """Why it is not met, for a person; "" if it is."""


def counts_of(results: Iterable[Result]) -> dict[str, int]:
    """Number of results by status, in the order of the statuses, without those that none has."""
    found = collections.Counter(result.status for result in results)
    return {status.value: found[status] for status in Status if found[status]}


def levels_of(run: Run) -> dict[str, LevelState]:
    """The state of each level of the plan."""
    by_level: dict[int, list[Result]] = collections.defaultdict(list)
    for result in run.results:
        by_level[result.level].append(result)
    objection = _objection_to(run)
    states: dict[str, LevelState] = {}
    below = ""
    for level in Level:
        if level > Level.parse(run.header.level):
            break
        results = by_level[int(level)]
        planned = run.header.planned.get(level.name, 0)
        state = LevelState(planned, counts_of(results))
        state.why = objection or _why(level, planned, results) or below
        state.met = not state.why
        below = below or (f"{level.name} is not met" if state.why else "")
        states[level.name] = state
    return states


def _objection_to(run: Run) -> str:
    """What keeps a run from meeting any level."""
    if run.end is None:
        return "the run was ended before its last case"
    if run.end.complaints:
        return "; ".join(run.end.complaints)
    if run.header.shard:
        return f"it is shard {run.header.shard}, which `tenora-conformance merge` has not joined"
    return f"only a part of the plan was run: {run.header.selection}" if run.header.selection else ""


def _why(level: Level, planned: int, results: list[Result]) -> str:
    if not planned:
        return "no case is planned for it"
    distinct = {result.case for result in results}
    if len(distinct) < len(results):
        return f"{len(results) - len(distinct)} cases have more than one result"
    accepted = {Status.PASS} | ({Status.WAIVED} if level >= FIRST_WAIVABLE else set())
    bad = counts_of(result for result in results if result.status not in accepted)
    if bad:
        return ", ".join(f"{count} {status}" for status, count in bad.items())
    if len(distinct) != planned:
        return f"{len(distinct)} of {planned} planned cases have a result"
    return ""


def met_level(states: dict[str, LevelState]) -> str:
    """The highest level that is met: `"L2"`, or "" where none is."""
    return max((name for name, state in states.items() if state.met), default="")


def as_json(states: dict[str, LevelState]) -> dict[str, dict[str, Any]]:
    """Plain data."""
    return {name: asdict(state) for name, state in states.items()}
