"""Draws mutants of tenora's sources and lets the conformance suite judge them.

    python -m mutants run       draw, judge what has no verdict, write verdicts and docs/mutants.md (`make mutants`)
    python -m mutants day       a few of the drawn ones, others each day, afresh; a survivor that is not known fails
    python -m mutants page      write verdicts and docs/mutants.md of what is judged so far, also during a run
    python -m mutants list      how many mutants there are, and which are drawn
    python -m mutants show ID   the change of one

`run` may be ended at any time and goes on where it was, days and commits later (`state.py`); `run ID` judges anew.

Exit codes: 0 when the kill rate is met, 1 when it is not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mutants import draw, known, operators, state, summary
from mutants.sandbox import ROOT, Sandbox
from mutants.sites import SOURCES, Mutant, all_mutants
from mutants.state import Row, Verdict
from mutants.trial import Trials, baseline
from tenora_conformance.model import Level
from tenora_conformance.run.estimate import duration

FOLDER = ROOT / "build" / "mutants"
PAGE = ROOT / "docs" / "mutants.md"
#: Seconds of a mutant, by language, until something has been measured.
SECONDS = {"python": 10.0, "cpp": 45.0}
DAY_COUNT, DAY_MINUTES = 60, 20.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("command", choices=("run", "day", "page", "list", "show"))
    made.add_argument("id", nargs="*", help="mutants, of `show` and `run`")
    made.add_argument("--seed", type=int, default=draw.SEED)
    made.add_argument("--count", type=int, default=draw.COUNT)
    made.add_argument("--source", action="append", default=[], choices=[source.name for source in SOURCES])
    made.add_argument("--jobs", type=int, default=1, help="processes at a time")
    made.add_argument("--minutes", type=float, default=480.0, help="begins no mutant after so long")
    made.add_argument("--level", type=Level.parse, default=Level.L4, help="of the suite; default: L4")
    made.add_argument("--folder", type=Path, default=FOLDER, help="of the copy, the builds and the verdicts")
    made.add_argument(
        "--fresh", action="store_true", help="forget what is in the folder, and believe no verdict"
    )
    made.add_argument("--whole", action="store_true", help="a mutant that survives has met every case")
    made.add_argument("--verdicts", type=Path, default=state.COMMITTED, help="the committed ones")
    made.add_argument("--part", default="0/1", help=argparse.SUPPRESS)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_intermixed_args(given)
    sandbox = Sandbox(options.folder.resolve())
    if not sandbox.entered:
        if options.fresh:
            sandbox.forget()
        if options.command in ("run", "day") or not sandbox.made:
            sandbox.refresh()
        command = [sys.executable, "-m", "mutants", *(word for word in given if word != "--fresh")]
        return subprocess.run(command, check=False, env=sandbox.environment(), cwd=ROOT).returncode
    print(f"seed {options.seed}, sources {sandbox.digest}", flush=True)
    every = all_mutants(sandbox.tree, operators.load(), options.source)
    chosen = _chosen(every, options)
    if options.command == "list":
        return _list(every, chosen)
    if options.command == "show":
        return _show(chosen)
    if options.command == "page":
        return _report(Book(sandbox, chosen, options))
    if not options.part.endswith("/1"):
        return _judge_part(sandbox, chosen, options)
    return _run(sandbox, chosen, options)


def _chosen(every: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    if options.id:
        return [mutant for mutant in every if mutant.id in options.id]
    there = {mutant.source.name for mutant in every}
    shares = {name: share for name, share in operators.load().shares.items() if name in there}
    found = draw.drawn(every, shares, options.count, options.seed)
    if options.command == "day":
        day = os.environ.get("TENORA_DAY") or datetime.date.today().isoformat()
        return draw.of_a_day(found, day, DAY_COUNT)
    return found


def _list(every: Sequence[Mutant], chosen: Sequence[Mutant]) -> int:
    for name, of in (("there are", every), ("drawn are", chosen)):
        counts = collections.Counter(mutant.source.name for mutant in of)
        print(f"{name} {len(of):,}: " + ", ".join(f"{k} {n:,}" for k, n in counts.items()))
    for mutant in chosen:
        print(mutant.id)
    return 0


def _show(chosen: Sequence[Mutant]) -> int:
    for mutant in chosen:
        print(
            f"{mutant.id}\n{mutant.path}:{mutant.line}\n- {mutant.old}\n+ {mutant.new}\nops: {', '.join(mutant.ops)}"
        )
    return 0 if chosen else 2


class Book:
    """The verdicts on some mutants: of the committed file, and of the folder's, to which a run adds."""

    def __init__(self, sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> None:
        self.chosen, self.options, self.suite = chosen, options, sandbox.suite
        self._own = sandbox.folder / "verdicts.jsonl"
        self._committed = state.read(options.verdicts)
        self._files = {mutant.id: sandbox.digest_of(mutant.path) for mutant in chosen}
        self._listed = known.load()
        self._afresh = options.command == "day"

    def rows(self) -> dict[str, Row]:
        """The last row of each mutant, whether it still holds or not."""
        return self._joined(state.read(self._own) if self._afresh else self._committed)

    def killers(self) -> dict[str, str]:
        """The cases that found mutants before, to be asked first: not believed."""
        return {name: row.case for name, row in self._joined(self._committed).items()}

    def _joined(self, first: dict[str, Row]) -> dict[str, Row]:
        return state.joined([first, state.read(self._own)], self._files, self.suite)

    def holding(self) -> list[tuple[Mutant, Row]]:
        """Mutants with a verdict on what their files are now."""
        rows = self.rows()
        return [
            (mutant, rows[mutant.id])
            for mutant in self.chosen
            if mutant.id in rows and rows[mutant.id].holds(self._files[mutant.id])
        ]

    def due(self, mutant: Mutant, row: Row | None) -> bool:
        """Whether a mutant is to be judged: what is proven is not asked of each suite, a known survivor not daily."""
        if self._afresh and mutant.id in {*self._listed.equivalents, *self._listed.survivors}:
            return False
        if row is None or not row.holds(self._files[mutant.id]):
            return True
        return mutant.id not in self._listed.equivalents and row.due(self._files[mutant.id], self.suite)

    def left(self) -> list[Mutant]:
        """Those that are to be judged, survivors of another suite last."""
        rows = self.rows()
        due = [mutant for mutant in self.chosen if self.due(mutant, rows.get(mutant.id))]
        survived = {name for name, row in rows.items() if row.verdict is Verdict.SURVIVED}
        return sorted(due, key=lambda mutant: mutant.id in survived)

    def add(self, row: Row) -> None:
        state.append(self._own, row)


def _run(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> int:
    """Judges what is left, in `--jobs` processes, and says what came of it."""
    book = Book(sandbox, chosen, options)
    left = chosen if options.id else book.left()
    if _advised(options):
        for subject in sorted({mutant.source.subject for mutant in left}):
            baseline(sandbox, subject, options.level, options.jobs)
    seconds = sum(SECONDS[mutant.source.language] for mutant in left) / options.jobs
    print(f"{len(left)} of {len(chosen)} mutants to judge, about {duration(seconds)}", flush=True)
    if options.jobs == 1:
        _judge(sandbox, book, left, 0)
    else:
        words = [word for word in sys.argv[1:] if word != "--fresh"]
        parts = [
            subprocess.Popen(
                [sys.executable, "-m", "mutants", *words, "--part", f"{i}/{options.jobs}"], cwd=ROOT
            )
            for i in range(options.jobs)
        ]
        for part in parts:
            part.wait()
    return _report(book)


def _advised(options: argparse.Namespace) -> bool:
    """Whether it pays to run the suite on the backends as they are first: not for a few mutants."""
    return options.command == "run" and not options.id


def _judge_part(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> int:
    number, of = map(int, options.part.split("/"))
    book = Book(sandbox, chosen, options)
    share = set(chosen[number::of])
    _judge(
        sandbox,
        book,
        [mutant for mutant in (chosen if options.id else book.left()) if mutant in share],
        number,
    )
    return 0


def _judge(sandbox: Sandbox, book: Book, left: Sequence[Mutant], number: int) -> None:
    """In this process, in their order; every verdict is written when it is there."""
    begin, options, killers = time.monotonic(), book.options, book.killers()
    with contextlib.ExitStack() as stack:
        trials = {
            subject: stack.enter_context(
                contextlib.closing(Trials(sandbox, subject, options.level, number, advised=_advised(options)))
            )
            for subject in sorted({mutant.source.subject for mutant in left})
        }
        for mutant in left:
            if time.monotonic() - begin > 60 * options.minutes:
                break
            trial = trials[mutant.source.subject]
            row = trial.judge(mutant, killers.get(mutant.id, ""), whole=options.whole)
            book.add(row)
            print(f"{row.verdict} {row.mutant} {row.seconds:.1f} s {row.cases} {row.case}", flush=True)


def _report(book: Book) -> int:
    """Prints the rate; the draw goes to docs/mutants.md. A day's fails by survivors that nobody knows of."""
    judged, listed, options = book.holding(), known.load(), book.options
    rows = [row for _, row in judged]
    found, new = summary.rate(rows, listed), summary.unknown(rows, listed)
    print(f"{len(rows)} of {len(book.chosen)} judged: {found}")
    for row in new:
        print(f"survived, and not in equivalents.toml: {row.mutant}")
    if options.command == "day" or options.id:
        return 1 if new else 0
    if options.verdicts == state.COMMITTED and not options.source and len(book.chosen) == draw.COUNT:
        state.commit(options.verdicts, book.rows().values())
        PAGE.write_text(
            summary.page(judged, listed, operators.load(), options.seed, len(book.chosen)), encoding="utf-8"
        )
    return 0 if found.met and len(rows) == len(book.chosen) and _sound(rows) else 1


def _sound(rows: Sequence[Row]) -> bool:
    """A draw of which much does not compile proves little."""
    return sum(row.verdict is Verdict.NOT_BUILT for row in rows) <= len(rows) / 4


if __name__ == "__main__":
    sys.exit(main())
