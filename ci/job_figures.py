"""The block of docs/figures.md that says when each job was last green, and what its steps counted.

A step counts by appending lines to the file that `TENORA_COUNTED` names: how many calls were made, what was compared.
"""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

BEGIN = "<!-- jobs:begin -->"
END = "<!-- jobs:end -->"
HEADER = "| job | last green | minutes | cases | counted |\n| --- | --- | --- | --- | --- |"


def read_rows(text: str) -> dict[str, str]:
    """The rows between the markers by job name; a text without markers is a ValueError."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"the figures lack the markers {BEGIN} and {END}")
    block = text.split(BEGIN)[1].split(END)[0]
    rows = [line for line in block.strip().split("\n") if line.startswith("| ")][2:]
    return {row.split("|")[1].strip(): row for row in rows}


def green_row(name: str, day: datetime.date, seconds: float, cases: int, counted: Sequence[str] = ()) -> str:
    """The row of a job that has just been green."""
    return f"| {name} | {day.isoformat()} | {seconds / 60:.1f} | {cases} | {'; '.join(counted)} |"


def update(text: str, known: list[str], green: Mapping[str, str]) -> str:
    """Replaces the rows of the green jobs; the others keep theirs, and one never green says so."""
    rows = read_rows(text) | dict(green)
    lines = [rows.get(name, f"| {name} | never | | | |") for name in known]
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return head + "\n".join([BEGIN, HEADER, *lines, END]) + tail


def write(path: Path, known: list[str], green: Mapping[str, str]) -> None:
    """Updates the file in place."""
    path.write_text(update(path.read_text(), known, green))
