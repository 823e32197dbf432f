"""Lets the suite judge mutants, one after the other, in processes of their own.

- The first failure that the backend does not have without the mutant is the verdict; nothing is run after it.
- A failing case is asked once more of the backend as it is, in the process that is kept for that: a case that fails
  there too, now and in this order, is no kill. Neither is one that took too long and does not when asked again.
- What no case finds has met those that lead to it and a thin rest, or every case of the level (`order.py`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mutants.build import TARGETS, Builder, NotBuilt
from mutants.order import Leads, stages
from mutants.reach import Reach
from mutants.sandbox import OVERLAY, Sandbox
from mutants.sites import Mutant
from mutants.state import Row, Verdict
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.must_run import plan
from tenora_conformance.report.read import read_run
from tenora_conformance.run.process import CannotLoad, Worker

#: Cases that are sent at a time: few at first, as most mutants are found by the first ones.
FIRST, MOST = 8, 512
_KILLS = {Status.CRASH: Verdict.CRASH, Status.TIMEOUT: Verdict.TIMEOUT}


def baseline(sandbox: Sandbox, subject: str, level: Level, jobs: int) -> Path:
    """The folder of a run of the suite on a backend as it is; made once, and kept as advice when the sources change."""
    folder = sandbox.folder / f"baseline-{subject}-{level.name}"
    if not (folder / "results.jsonl").exists() or read_run(folder).end is None:
        command = [sys.executable, "-m", "tenora_conformance", "run", subject, "--level", level.name]
        command += ["--jobs", str(jobs), "--out", str(folder)]
        subprocess.run(command, check=False, env=sandbox.environment())
    return folder


class Trials:
    """The trials of one backend in this process, which imports from the sandbox. Close it.

    `advised`: a run on the backend as it is, and the record of what reaches what, lead to cases.
    """

    def __init__(
        self, sandbox: Sandbox, subject: str, level: Level, number: int = 0, *, advised: bool = True
    ) -> None:
        self.sandbox, self.level, self.suite = sandbox, level, sandbox.suite
        self.name = subject
        self.builder = Builder(sandbox, number)
        self._sound = Worker(subject, "", 1)
        run = read_run(sandbox.folder / f"baseline-{subject}-{level.name}").results if advised else []
        self._baseline: Mapping[str, Result] = {result.case: result for result in run}
        self._cases = plan(level, self._sound.subject).cases
        self._reach = Reach(sandbox, subject, level) if advised else None

    def close(self) -> None:
        self._sound.kill()

    def judge(self, mutant: Mutant, killer: str = "", *, whole: bool = False) -> Row:
        """The verdict on a mutant. `killer`: the case that found it before; `whole`: no case is left out."""
        begin = time.monotonic()
        try:
            with self._overlay(mutant) as overlay, _in_environment(overlay):
                row = self._met(mutant, killer, whole)
        except NotBuilt as error:
            row = Row(mutant.id, Verdict.NOT_BUILT, message=str(error)[:300])
        row.seconds = round(time.monotonic() - begin, 2)
        row.file, row.suite = self.sandbox.digest_of(mutant.path), self.suite
        return row

    def _overlay(self, mutant: Mutant) -> contextlib.AbstractContextManager[Path]:
        if mutant.source.language == "cpp":
            return self.sandbox.native_overlay(
                TARGETS[mutant.source.name].package, self.builder.build(mutant)
            )
        text = (self.sandbox.tree / mutant.path).read_text(encoding="utf-8")
        return self.sandbox.overlay(mutant.path, mutant.splice.apply(text))

    def _met(self, mutant: Mutant, killer: str, whole: bool) -> Row:
        count = 0
        leads = Leads(self._baseline, killer, lambda: self._reach.of(mutant) if self._reach else None)
        try:
            worker = Worker(self.name, "", 1)
        except CannotLoad as refusal:
            return Row(mutant.id, Verdict.BROKEN, message=str(refusal)[:300])
        try:
            for portion in _portions(stages(mutant, self._cases, leads, whole=whole)):
                alone = CHECKS[portion[0].check].isolated
                used = Worker(self.name, "", 1) if alone else worker
                try:
                    for result in used.run(portion):
                        count += 1
                        if not result.passed and self._is_found(result, portion):
                            verdict = _KILLS.get(result.status, Verdict.KILLED)
                            said = result.message[:300]
                            return Row(mutant.id, verdict, case=result.case, message=said, cases=count)
                finally:
                    if alone:
                        used.kill()
        except CannotLoad as refusal:
            return Row(mutant.id, Verdict.BROKEN, message=str(refusal)[:300], cases=count)
        finally:
            worker.kill()
        return Row(mutant.id, Verdict.SURVIVED, cases=count)

    def _is_found(self, failed: Result, portion: Sequence[Case]) -> bool:
        """Whether a case that failed passes on the backend as it is; one that took too long does so once more."""
        case = next(case for case in portion if case.id == failed.case)
        (sound,) = self._sound.run([case])
        if sound.status in _KILLS:
            with _in_environment(None):
                self._sound = Worker(self.name, "", 1)
        if sound.passed and failed.status is Status.TIMEOUT:
            again = Worker(self.name, "", 1)
            try:
                return not next(again.run([case])).passed
            finally:
                again.kill()
        return sound.passed


@contextlib.contextmanager
def _in_environment(overlay: Path | None) -> Iterator[None]:
    """Workers that are started inside take their modules from the overlay first."""
    before = os.environ.pop(OVERLAY, None)
    if overlay is not None:
        os.environ[OVERLAY] = str(overlay)
    try:
        yield
    finally:
        os.environ.pop(OVERLAY, None)
        if before is not None:
            os.environ[OVERLAY] = before


def _portions(staged: Iterable[Sequence[Case]]) -> Iterator[list[Case]]:
    """The cases of each stage, a few at a time; those of isolated checks last and one by one."""
    alone: list[Case] = []
    for stage in staged:
        shared = [case for case in stage if not CHECKS[case.check].isolated]
        alone += [case for case in stage if CHECKS[case.check].isolated]
        begin, size = 0, FIRST
        while begin < len(shared):
            yield shared[begin : begin + size]
            begin, size = begin + size, min(size * 4, MOST)
    yield from ([case] for case in alone)
