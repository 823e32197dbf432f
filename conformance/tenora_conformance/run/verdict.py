"""What a run comes to, in a word and as an exit code.

0 met, 1 not met (also where a backend's own code keeps it from being loaded), 2 usage, 3 environment.
4: only a part of the plan ran (`--quick`, `--last-failed`, `--op`), nothing
failed in it, and nothing is proven. A shard without failures is 0: `merge` judges the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenora_conformance.model import Status
from tenora_conformance.report.read import Run
from tenora_conformance.report.summary import levels_of

MET, NOT_MET, USAGE, ENVIRONMENT, UNPROVEN = 0, 1, 2, 3, 4
#: What shells give a program that an interrupt ended.
INTERRUPTED = 130


@dataclass(frozen=True)
class Verdict:
    """A sentence and the exit code."""

    text: str
    code: int


def verdict(run: Run) -> Verdict:
    """The verdict on a run that has ended."""
    header, end = run.header, run.end
    failing = any(result.status not in (Status.PASS, Status.WAIVED) for result in run.results)
    if end is None or failing or end.complaints:
        return Verdict("NOT MET", NOT_MET)
    if header.selection:
        return Verdict(f"NOTHING PROVEN, only {header.selection} ran and nothing failed", UNPROVEN)
    if header.shard:
        return Verdict(f"shard {header.shard} without failures; merge all shards to prove it", MET)
    met = all(state.met for state in levels_of(run).values())
    return Verdict("MET", MET) if met else Verdict("NOT MET", NOT_MET)
