"""What is known of the mutants so far: JSON lines, to which each verdict is added as soon as it is there.

- A verdict is of a text: of the mutated file as it was. Where that file changed, it is no longer known.
- KILLED stays true when the suite gains cases, so it hangs on the op-set version only, within which cases keep their
  meaning; the case that killed is asked first when the mutant is judged again.
- SURVIVED is of a suite: it counts until the mutant is judged again, which is due as soon as the suite has changed.
- A run adds to a file in its folder; `verdicts.jsonl` beside this module is committed, so that a run goes on elsewhere.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import tenora_ops

COMMITTED = Path(__file__).with_name("verdicts.jsonl")


class Verdict(enum.StrEnum):
    """How a mutant fared. All but SURVIVED and NOT_BUILT are kills."""

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
    file: str = ""
    """Digest of the file that was mutated."""
    suite: str = ""
    """Digest of the suite that judged."""
    op_set: str = tenora_ops.OPSET_VERSION

    def holds(self, file: str) -> bool:
        """Whether it is a verdict on what the file is now."""
        return self.file == file and self.op_set == tenora_ops.OPSET_VERSION

    def due(self, file: str, suite: str) -> bool:
        """Whether the mutant has to be judged again."""
        return not self.holds(file) or (self.verdict is Verdict.SURVIVED and self.suite != suite)

    def as_json(self) -> str:
        data = asdict(self) | {"verdict": self.verdict.value}
        return json.dumps({name: value for name, value in data.items() if value})

    @classmethod
    def from_json(cls, line: str) -> Row:
        data = json.loads(line)
        return cls(**{**data, "verdict": Verdict(data["verdict"])})


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


def joined(sources: Iterable[Mapping[str, Row]], files: Mapping[str, str], suite: str) -> dict[str, Row]:
    """One row of each mutant: what is not due before what holds, before any other; of equals the last source's."""
    found: dict[str, Row] = {}
    for rows in sources:
        for name, row in rows.items():
            if name in files and (
                name not in found
                or _worth(row, files[name], suite) >= _worth(found[name], files[name], suite)
            ):
                found[name] = row
    return found


def _worth(row: Row, file: str, suite: str) -> int:
    return (not row.due(file, suite)) + row.holds(file)


def commit(path: Path, rows: Iterable[Row]) -> None:
    """Writes the committed list: a line for each mutant, in the order of their names."""
    lines = []
    for row in sorted(rows, key=lambda row: row.mutant):
        data = json.loads(row.as_json())
        data.pop("message", None)
        lines.append(json.dumps(data))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
