"""Draws mutants of tenora's sources and lets the conformance suite judge them.

    python -m mutants run       draw, judge, write docs/mutants.md; goes on where it was ended (`make mutants`)
    python -m mutants day       a few of the drawn ones, others each day; any survivor that is not known fails
    python -m mutants list      how many mutants there are, and which are drawn
    python -m mutants show ID   the change of one

Exit codes: 0 when the kill rate is met, 1 when it is not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mutants import draw, known, operators, summary
from mutants.sandbox import ROOT, Sandbox
from mutants.sites import SOURCES, Mutant, all_mutants
from mutants.state import Row, Verdict, append, read
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
    made.add_argument("command", choices=("run", "day", "list", "show"))
    made.add_argument("id", nargs="*", help="mutants, of `show` and `run`")
    made.add_argument("--seed", type=int, default=draw.SEED)
    made.add_argument("--count", type=int, default=draw.COUNT)
    made.add_argument("--source", action="append", default=[], choices=[source.name for source in SOURCES])
    made.add_argument("--jobs", type=int, default=1, help="processes at a time")
    made.add_argument("--minutes", type=float, default=480.0, help="begins no mutant after so long")
    made.add_argument("--level", type=Level.parse, default=Level.L4, help="of the suite; default: L4")
    made.add_argument("--folder", type=Path, default=FOLDER, help="of the copy, the builds and the verdicts")
    made.add_argument("--fresh", action="store_true", help="copy the sources anew and forget the verdicts")
    made.add_argument("--part", default="0/1", help=argparse.SUPPRESS)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_intermixed_args(given)
    sandbox = Sandbox(options.folder.resolve())
    if not sandbox.entered:
        if options.fresh or not sandbox.made:
            sandbox.make()
        command = [sys.executable, "-m", "mutants", *(word for word in given if word != "--fresh")]
        return subprocess.run(command, check=False, env=sandbox.environment(), cwd=ROOT).returncode
    print(f"seed {options.seed}, sources {sandbox.digest}", flush=True)
    every = all_mutants(sandbox.tree, operators.load(), options.source)
    chosen = _chosen(every, options)
    if options.command == "list":
        return _list(every, chosen)
    if options.command == "show":
        return _show(chosen)
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


def _verdicts(sandbox: Sandbox) -> Path:
    return sandbox.folder / "verdicts.jsonl"


def _run(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> int:
    """Judges what has no verdict yet, in `--jobs` processes, and says what came of it."""
    subjects = {mutant.source.subject for mutant in chosen}
    for subject in sorted(subjects):
        baseline(sandbox, subject, options.level, options.jobs)
    left = [mutant for mutant in chosen if mutant.id not in read(_verdicts(sandbox))]
    seconds = sum(SECONDS[mutant.source.language] for mutant in left) / options.jobs
    print(f"{len(left)} of {len(chosen)} mutants to judge, about {duration(seconds)}", flush=True)
    if options.jobs == 1:
        _judge(sandbox, left, options, 0)
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
    return _report(sandbox, chosen, options)


def _judge_part(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> int:
    number, of = map(int, options.part.split("/"))
    _judge(sandbox, chosen[number::of], options, number)
    return 0


def _judge(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace, number: int) -> None:
    """In this process, backend after backend; every verdict is written when it is there."""
    begin, path = time.monotonic(), _verdicts(sandbox)
    for subject in sorted({mutant.source.subject for mutant in chosen}):
        trials = Trials(sandbox, subject, options.level, number)
        try:
            for mutant in chosen:
                late = time.monotonic() - begin > 60 * options.minutes
                if late or mutant.source.subject != subject or mutant.id in read(path):
                    continue
                row = trials.judge(mutant)
                append(path, row)
                print(f"{row.verdict} {row.mutant} {row.seconds:.1f} s {row.cases} {row.case}", flush=True)
        finally:
            trials.close()


def _report(sandbox: Sandbox, chosen: Sequence[Mutant], options: argparse.Namespace) -> int:
    """Prints the rate; the whole draw goes to docs/mutants.md. A day's fails by survivors that nobody knows of."""
    verdicts, listed = read(_verdicts(sandbox)), known.load()
    rows = [verdicts[mutant.id] for mutant in chosen if mutant.id in verdicts]
    found, new = summary.rate(rows, listed), summary.unknown(rows, listed)
    print(f"{len(rows)} of {len(chosen)} judged: {found}")
    for row in new:
        print(f"survived, and not in equivalents.toml: {row.mutant}")
    if options.command == "day" or options.id:
        return 1 if new else 0
    if len(rows) == len(chosen) and not options.source:
        day = datetime.date.today()
        page = summary.page(rows, listed, operators.load(), options.seed, len(chosen), day)
        PAGE.write_text(page, encoding="utf-8")
    return 0 if found.met and len(rows) == len(chosen) and _sound(rows) else 1


def _sound(rows: Sequence[Row]) -> bool:
    """A draw of which much does not compile proves little."""
    return sum(row.verdict is Verdict.NOT_BUILT for row in rows) <= len(rows) / 4


if __name__ == "__main__":
    sys.exit(main())
