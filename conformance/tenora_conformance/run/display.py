"""What a person sees of a run: the estimate, how far it is, and a summary of one screen. Plain lines off a terminal."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tenora_conformance import __version__
from tenora_conformance.model import Result, Status
from tenora_conformance.report.read import Run
from tenora_conformance.report.summary import counts_of, levels_of
from tenora_conformance.run.estimate import duration
from tenora_conformance.run.session import Prepared

#: Failures and reasons that a summary names; the rest is counted.
NAMED = 8
WIDTH = 110
#: Said where a run was of a part of the plan.
PROVES_NOTHING = "only a part of the plan ran: this proves nothing about the level"


def console() -> Console:
    """Where everything is printed: as it is, without marks or folds."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def estimate_lines(prepared: Prepared) -> Iterator[str]:
    """What is about to run, how long that takes, and what is left out of it."""
    wish, subject = prepared.wish, prepared.subject
    part = " ".join(filter(None, [wish.selection, f"shard {wish.shard}" if str(wish.shard) else ""]))
    yield (
        f"{subject.name} on {subject.device}, {wish.level.name}: {len(prepared.cases):,} of"
        f" {len(prepared.plan.cases):,} planned cases{f' ({part})' if part else ''}, {wish.jobs} at a time, about"
        f" {duration(prepared.seconds)} where nothing else runs"
    )
    for reason, count in prepared.plan.left_out.items():
        yield f"left out: {count:,} cases, {reason}"
    if wish.selection:
        yield PROVES_NOTHING


class Progressing:
    """Shows how far a run is: a bar on a terminal, else a line for every tenth of the cases."""

    def __init__(self, screen: Console, total: int) -> None:
        self._screen, self._total = screen, total
        self._done = self._bad = 0
        self._bar: Progress | None = None
        if screen.is_terminal:
            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = Progress(*columns, console=screen, transient=True)
            self._task = self._bar.add_task("", total=total)

    def heard(self, result: Result) -> None:
        """Takes in one result."""
        before = self._done * 10 // self._total
        self._done += 1
        self._bad += not result.passed
        if self._bar is not None:
            said = f"{self._bad:,} no pass" if self._bad else ""
            self._bar.update(self._task, advance=1, description=said)
        elif self._done * 10 // self._total > before:
            self._screen.print(f"{self._done:,} of {self._total:,} cases, {self._bad:,} no pass")

    def __enter__(self) -> Progressing:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def summary_lines(run: Run, verdict: str) -> Iterator[str]:
    """One screen: the verdict, each level, what failed first, what was complained of."""
    header = run.header
    yield f"tenora-conformance {__version__}: {header.backend} on {header.device}, {header.level}: {verdict}"
    for name, state in levels_of(run).items():
        counts = ", ".join(f"{count:,} {status}" for status, count in state.counts.items()) or "nothing ran"
        yield f"  {name}: {counts}, of {state.planned:,} planned"
    for complaint in run.end.complaints if run.end else ():
        yield _cut(f"  {complaint}")
    blocked = collections.Counter(r.root for r in run.results if r.status is Status.BLOCKED)
    for result in failures(run)[:NAMED]:
        stand = f" ({blocked[result.case]:,} BLOCKED by it)" if blocked[result.case] else ""
        yield _cut(f"  {result.status} {result.case}{stand}: {result.message}")
    if len(failures(run)) > NAMED:
        yield f"  and {len(failures(run)) - NAMED:,} more"


def failures(run: Run) -> list[Result]:
    """What failed by itself, that on which most others stand first."""
    blocked = collections.Counter(r.root for r in run.results if r.status is Status.BLOCKED)
    own = [r for r in run.results if r.status not in (Status.PASS, Status.WAIVED, Status.BLOCKED)]
    return sorted(own, key=lambda result: -blocked[result.case])


def _cut(line: str) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def explain_lines(result: Result) -> Iterator[str]:
    """Everything that is known of one case."""
    detail = result.detail
    yield f"{result.case}: {result.status}{f', {result.message}' if result.message else ''}"
    yield f"check {result.check}, L{result.level}, {result.seconds:.3f} s"
    yield f"worst error: {result.worst:.3g} of its tolerance"
    if result.kernels:
        yield "kernels: " + ", ".join(f"{name} x {count}" for name, count in result.kernels.items())
    if detail is None:
        return
    if detail.call:
        yield f"call: {detail.call}"
    for number, text in enumerate(detail.inputs):
        yield from _block(f"input {number}", text)
    yield from _block("expected", detail.expected)
    yield from _block("got", detail.got)
    if detail.first_wrong:
        yield f"first wrong index: {detail.first_wrong}"
    yield from _block("output", detail.traceback.strip())


def _block(name: str, text: str) -> Sequence[str]:
    lines = text.split("\n")
    if len(lines) > 1:
        return [f"{name}:", *(f"  {line}" for line in lines)]
    return [f"{name}: {text}"] if text else []


def counted(results: Sequence[Result]) -> str:
    """Results by status, in a line."""
    return ", ".join(f"{count:,} {status}" for status, count in counts_of(results).items())
