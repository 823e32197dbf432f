"""What is known of the mutants so far: a file of JSON lines, to which each verdict is added as soon as it is there."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mutants.sites import Mutant


class Verdict(enum.StrEnum):
    """How a mutant fared. All but SURVIVED are kills."""

    KILLED = "KILLED"
    """A case failed that passes without the mutant."""
    CRASH = "CRASH"
    """The process of a case ended."""
    TIMEOUT = "TIMEOUT"
    """A case did not end."""
    BROKEN = "BROKEN"
    """It cannot be loaded, which is L0's."""
    SURVIVED = "SURVIVED"
    NOT_BUILT = "NOT_BUILT"
    """It does not compile: no mutant, and not counted."""


@dataclass(slots=True)
class Row:
    """The verdict on one mutant. `case`: what found it; `cases`: how many were run."""

    mutant: str
    verdict: Verdict
    case: str = ""
    message: str = ""
    cases: int = 0
    seconds: float = 0.0
    source: str = ""
    operator: str = ""
    ops: tuple[str, ...] = ()
    line: int = 0
    old: str = ""
    new: str = ""

    @classmethod
    def of(cls, mutant: Mutant, verdict: Verdict, **more: Any) -> Row:
        return cls(
            mutant.id,
            verdict,
            source=mutant.source.name,
            operator=mutant.operator,
            ops=mutant.ops,
            line=mutant.line,
            old=mutant.old,
            new=mutant.new,
            **more,
        )

    def as_json(self) -> str:
        return json.dumps(asdict(self) | {"verdict": self.verdict.value})

    @classmethod
    def from_json(cls, line: str) -> Row:
        data = json.loads(line)
        return cls(**{**data, "verdict": Verdict(data["verdict"]), "ops": tuple(data["ops"])})


def append(path: Path, row: Row) -> None:
    """Adds a line at once: several processes may add to one file."""
    with open(path, "ab", buffering=0) as file:
        file.write((row.as_json() + "\n").encode())


def read(path: Path) -> dict[str, Row]:
    """The rows by mutant, a later one in the place of an earlier; a line that was cut off is left out."""
    found: dict[str, Row] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = Row.from_json(line)
            except (ValueError, KeyError, TypeError):
                continue
            found[row.mutant] = row
    return found
