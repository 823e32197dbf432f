"""The table of docs/figures.md: what each framework's text of a mistake leaves unsaid."""

from __future__ import annotations

import json
import subprocess
import sys

from bench.mistakes.all_mistakes import MISTAKES
from bench.mistakes.seeded import CRITERIA

Named = dict[str, dict[str, bool]]

METHOD = (
    "Method: {count} mistakes that users make, written beside the errors of this repository (`bench/mistakes`), each "
    "one source for both frameworks, each framework in a process of its own. A text is asked for the path of the "
    "module that the failing call belongs to, the operation, the offending values and the line at fault; the table "
    "says what it leaves out. Where no module takes part the path counts as named. An operation counts where it is the "
    "name in brackets at the beginning, or in a text without one a whole word of it; notes of the module and paths "
    "name no operation and no value, nor do phrases that are the same for all values (`bench/mistakes/seeded.py`)."
)


def named_by(framework: str) -> Named:
    """What the texts of one framework name, from a fresh process."""
    command = [sys.executable, "-m", "bench.mistakes", framework, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def unsaid(named: dict[str, bool]) -> str:
    """A cell."""
    return ", ".join(name for name in CRITERIA if not named[name]) or "-"


def table(ours: Named, theirs: Named) -> list[str]:
    """The method and the table, in Markdown."""
    lines = [METHOD.format(count=len(MISTAKES)), "", "| mistake | tenora leaves out | PyTorch leaves out |"]
    lines.append("| --- | --- | --- |")
    for mistake in MISTAKES:
        cells = [unsaid(side[mistake.name]) for side in (ours, theirs)]
        lines.append(f"| {mistake.kind}: {mistake.name} | {cells[0]} | {cells[1]} |")
    for name in CRITERIA:
        counts = [sum(named[name] for named in side.values()) for side in (ours, theirs)]
        lines.append(f"| *{name} named* | {counts[0]} of {len(MISTAKES)} | {counts[1]} of {len(MISTAKES)} |")
    counts = [sum(all(named.values()) for named in side.values()) for side in (ours, theirs)]
    lines.append(
        f"| *all four named* (budget: 22) | {counts[0]} of {len(MISTAKES)} | {counts[1]} of {len(MISTAKES)} |"
    )
    return lines
