"""Which cases enter which functions of the sources in Python: `python -m mutants.reach SUBJECT LEVEL FILE` records it.

- Recorded once for a state of the sources, on the backend as it is, in one process.
- A function that is entered while modules are imported may leave something behind for every case, so nothing is said
  of it; nor is anything of cases that need a process of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from mutants import entered
from mutants.sandbox import Sandbox
from mutants.sites import SOURCES, Mutant
from tenora_conformance import subject as subjects
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Level
from tenora_conformance.must_run import plan
from tenora_conformance.run.one import run_case


@dataclass(frozen=True, slots=True)
class Recorded:
    """Ids of the cases that were run; functions entered before any; numbers of cases by the function they entered."""

    cases: list[str]
    always: list[str]
    entered: dict[str, list[int]]


class Reach:
    """The record of a backend, made when it is asked for first."""

    def __init__(self, sandbox: Sandbox, subject: str, level: Level) -> None:
        self._sandbox, self._subject, self._level = sandbox, subject, level
        self._file = sandbox.folder / f"reach-{subject}-{level.name}.json"

    def of(self, mutant: Mutant) -> frozenset[str] | None:
        """Ids of the cases that enter the function in which a mutant is; None where that is not known."""
        if mutant.source.language != "python":
            return None
        text = (self._sandbox.tree / mutant.path).read_text(encoding="utf-8")
        name = entered.innermost(mutant.path, text, mutant.splice.begin)
        if not name or name in self._recorded.always:
            return None
        return frozenset(self._recorded.cases[number] for number in self._recorded.entered.get(name, ()))

    @cached_property
    def _recorded(self) -> Recorded:
        if not self._file.exists():
            packages = ",".join(Path(source.folder).name for source in SOURCES if source.language == "python")
            command = [
                sys.executable,
                "-m",
                "mutants.reach",
                self._subject,
                self._level.name,
                str(self._file),
            ]
            environment = self._sandbox.environment() | {entered.VARIABLE: packages}
            subprocess.run(command, check=True, env=environment)
        return Recorded(**json.loads(self._file.read_text(encoding="utf-8")))


def record(name: str, level: Level) -> Recorded:
    """Runs every case of a level in this process, in which functions note that they are entered."""
    subject = subjects.load(name)
    cases = [case for case in plan(level, subject).cases if not CHECKS[case.check].isolated]
    always, found = sorted(entered.ENTERED), defaultdict(list)  # by now every family of ops is loaded
    for number, case in enumerate(cases):
        entered.ENTERED.clear()
        run_case(case, subject)
        for function in entered.ENTERED:
            found[function].append(number)
    return Recorded([case.id for case in cases], always, dict(found))


def main() -> int:
    """Writes the record, as a whole or not at all."""
    name, level, file = sys.argv[1:]
    made = Path(f"{file}.{os.getpid()}")
    made.write_text(json.dumps(asdict(record(name, Level.parse(level)))), encoding="utf-8")
    made.replace(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
