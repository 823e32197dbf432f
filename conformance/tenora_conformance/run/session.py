"""One run from beginning to end: load, plan, select, estimate, run, attribute, waive, write.

- The backend is loaded by workers only; this process plans by what the first of them says it declares.
- `results.jsonl` grows while cases end and is replaced as a whole at the end (`docs/decisions/0017`); an interrupt
  leaves what there is, without an end.
- Nothing is written outside of the run's folder.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tenora_ops
from tenora_conformance import manifest, must_run, waivers
from tenora_conformance.header import End, Header
from tenora_conformance.model import SEEDS, Case, Level, Result
from tenora_conformance.must_run import Plan
from tenora_conformance.report.read import RESULTS, Run, read_run, write_run
from tenora_conformance.run import selection
from tenora_conformance.run.attribution import attribute
from tenora_conformance.run.estimate import estimate, rates_of
from tenora_conformance.run.pool import Pool, cores, threads_of
from tenora_conformance.run.process import Worker
from tenora_conformance.run.selection import Shard
from tenora_conformance.subject import Subject
from tenora_conformance.waivers import Waiver
from tenora_dispatch.errors import did_you_mean


class UsageError(ValueError):
    """What was asked for cannot be done; the text says what can."""


@dataclass
class Wish:
    """What the command line, or a program, asks for."""

    backend: str
    level: Level = Level.L3
    device: str = ""
    jobs: int = field(default_factory=lambda: cores())
    shard: Shard = field(default_factory=Shard)
    last_failed: bool = False
    quick: bool = False
    ops: tuple[str, ...] = ()
    out: Path | None = None
    waivers: tuple[Waiver, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the run is written."""
        return self.out or Path(f"conformance-{self.backend}")

    @property
    def selection(self) -> str:
        """What narrows the plan, as the command line says it."""
        words = ["--quick"] * self.quick + ["--last-failed"] * self.last_failed
        return " ".join(words + [f"--op {op}" for op in self.ops])


@dataclass
class Prepared:
    """A run that can begin."""

    wish: Wish
    subject: Subject
    plan: Plan
    cases: list[Case]
    seconds: float
    """The estimate."""
    rates: dict[str, float]
    complaints: list[str]
    worker: Worker


def check_ops(ops: Sequence[str]) -> None:
    """Raises: UsageError for a name that is neither an op's nor a script's."""
    for op in ops:
        if not must_run.is_op(op):
            known = [record.name for record in tenora_ops.records()]
            raise UsageError(
                f"[conformance] --op: got {op!r}, expected the name of an op.{did_you_mean(op, known)}"
                " `tenora ops` lists them."
            )


def check_folder(folder: Path) -> None:
    """Before an hour of cases is spent; makes nothing. Raises: UsageError where a run's folder cannot be written."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UsageError(
            f"[conformance] --out: got {folder} ({error.strerror}), expected a folder that can be written."
            " Name another."
        ) from error


def load(wish: Wish) -> Worker:
    """A worker that has loaded the backend. Raises: `process.CannotLoad`."""
    return Worker(wish.backend, wish.device, threads_of(wish.jobs))


def prepare(wish: Wish) -> Prepared:
    """Loads the backend, plans and selects. Raises: `process.CannotLoad`, UsageError."""
    check_ops(wish.ops)
    check_folder(wish.folder)
    earlier = _earlier(wish.folder)
    worker = load(wish)
    try:
        subject = worker.subject
        listed = list(
            must_run.all_cases(wish.level, wish.ops) if wish.ops else must_run.all_cases(wish.level)
        )
        plan = must_run.plan(wish.level, subject, listed)
        cases = _select(wish, plan.cases, earlier)
        rates = rates_of(earlier.results) if earlier else {}
        return Prepared(
            wish=wish,
            subject=subject,
            plan=plan,
            cases=cases,
            seconds=estimate(cases, rates, wish.jobs),
            rates=rates,
            complaints=[] if wish.ops else manifest.lacking(wish.level, listed),
            worker=worker,
        )
    except BaseException:
        worker.kill()
        raise


def _earlier(folder: Path) -> Run | None:
    """What an earlier run left in the folder; None where that cannot be read."""
    try:
        return read_run(folder)
    except (OSError, ValueError):
        return None


def _select(wish: Wish, planned: Sequence[Case], earlier: Run | None) -> list[Case]:
    cases = list(planned)
    if wish.last_failed:
        if earlier is None or earlier.header.backend != wish.backend:
            raise UsageError(
                f"[conformance] --last-failed: got no earlier run of {wish.backend} in {wish.folder}, expected one."
                " Run all first, or name its folder with --out."
            )
        ended = {result.case for result in earlier.results if result.passed}
        known = {result.case for result in earlier.results}
        cases = [case for case in cases if case.id in known and case.id not in ended]
    if wish.quick:
        cases = selection.quick(cases)
    cases = selection.in_shard(cases, wish.shard)
    if not cases:
        raise UsageError(
            f"[conformance] nothing to run: got {wish.selection or 'a plan'} with no case, expected at least one."
            " Ask for more, or for another level."
        )
    return cases


def execute(prepared: Prepared, heard: Callable[[Result], None]) -> Run:
    """Runs the cases and writes the run; `heard` is told of each result. An interrupt leaves what there is."""
    wish, cases = prepared.wish, prepared.cases
    header = Header.of(
        prepared.plan,
        prepared.subject,
        seeds=SEEDS,
        waivers=[waiver.as_json() for waiver in wish.waivers],
        selection=wish.selection,
        shard=str(wish.shard),
    )
    begin = time.monotonic()
    results: dict[str, Result] = {}
    with Pool(prepared.worker, wish.jobs) as pool:
        with _appending(wish.folder, header) as append:
            for result in pool.results(cases, prepared.rates):
                results[result.case] = result
                append(result)
                heard(result)
        fallbacks = pool.fallbacks
    attribute(cases, results)
    complaints = prepared.complaints + judge(wish.waivers, cases, results, whole=header.whole)
    ordered = [results[case.id] for case in cases if case.id in results]
    run = Run(header, ordered, End(time.monotonic() - begin, fallbacks, complaints))
    replace_run(wish.folder, run)
    return run


def judge(
    given: Sequence[Waiver], cases: Sequence[Case], results: dict[str, Result], *, whole: bool
) -> list[str]:
    """Applies waivers, and says what is missing."""
    today = datetime.datetime.now(datetime.UTC).date()
    complaints = waivers.apply(given, cases, results, whole=whole, today=today)
    missing = [case.id for case in cases if case.id not in results]
    if missing:
        complaints.append(f"{len(missing)} of {len(cases)} cases have no result, {missing[0]} first")
    return complaints


@contextlib.contextmanager
def _appending(folder: Path, header: Header) -> Iterator[Callable[[Result], None]]:
    """Writes the header, then gives what writes a result; each line is in the file when it returns."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / RESULTS, "w", encoding="utf-8", buffering=1) as file:
        file.write(json.dumps(header.as_json()) + "\n")
        yield lambda result: print(json.dumps(result.as_json()), file=file)


def replace_run(folder: Path, run: Run) -> None:
    """Puts a run in the place of what is in the folder, at once."""
    beside = folder / ".new"
    write_run(beside, run)
    os.replace(beside / RESULTS, folder / RESULTS)
    beside.rmdir()
