"""The commands that run cases: `run`, `watch`, `merge`, `manifest`; and `workflow`, which runs them elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from tenora_conformance import manifest, must_run, waivers
from tenora_conformance.model import Level
from tenora_conformance.report.build import build
from tenora_conformance.report.read import Run
from tenora_conformance.run import display, watching
from tenora_conformance.run.alone import find
from tenora_conformance.run.display import Progressing
from tenora_conformance.run.merging import merge
from tenora_conformance.run.pool import Pool, cores
from tenora_conformance.run.reproduce import reproduction
from tenora_conformance.run.selection import Shard
from tenora_conformance.run.session import UsageError, Wish, execute, load, prepare
from tenora_conformance.run.verdict import INTERRUPTED, MET, NOT_MET, verdict

T = TypeVar("T")
#: CI configurations, one for each service.
WORKFLOWS = Path(__file__).resolve().parent.parent / "workflows"


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the commands of this module."""
    run = subparsers.add_parser("run", help="judge a backend")
    _common(run)
    run.add_argument("--shard", type=_of(Shard.parse), default=Shard(), metavar="i/n", help="part i of n")
    run.add_argument("--last-failed", action="store_true", help="only what did not pass in the folder's run")
    run.add_argument(
        "--quick", action="store_true", help="a fixed few of the cases, in a minute at most; proves nothing"
    )
    run.add_argument("--op", action="append", default=[], metavar="NAME", help="only the cases of an op")
    run.add_argument("--out", type=Path, metavar="DIR", help="default: ./conformance-NAME")
    run.add_argument("--waivers", type=Path, metavar="FILE", help="known failures, as TOML")
    run.add_argument("--explain", metavar="CASE", help="run one case and say everything about it")
    run.set_defaults(run=command_run)
    watch = subparsers.add_parser("watch", help="run an op's cases again when the backend's files change")
    _common(watch)
    watch.add_argument("--op", action="append", required=True, metavar="NAME")
    watch.set_defaults(run=watching.command_watch, wish=_wish)
    merge = subparsers.add_parser("merge", help="join the shards of a run")
    merge.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    merge.add_argument("--out", type=Path, required=True, metavar="DIR")
    merge.set_defaults(run=command_merge)
    listing = subparsers.add_parser("manifest", help="the committed must-run list of this op set")
    listing.add_argument("--write", action="store_true", help="write it from the checks")
    listing.set_defaults(run=command_manifest)
    workflow = subparsers.add_parser("workflow", help="print a CI configuration that judges a backend")
    workflow.add_argument("service", choices=sorted(path.stem for path in WORKFLOWS.glob("*.yml")))
    workflow.set_defaults(run=command_workflow)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "backend", metavar="NAME", help="the backend's short name; `tenora backends` lists them"
    )
    parser.add_argument(
        "--level", type=_of(Level.parse), default=Level.L3, metavar="L0..L4", help="default: L3"
    )
    parser.add_argument("--device", default="", metavar="DEVICE", help="a device that it serves, such as cpu")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")


def _of(parse: Callable[[str], T]) -> Callable[[str], T]:
    """argparse shows the words of this error only."""

    def given(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return given


def _wish(arguments: argparse.Namespace) -> Wish:
    if arguments.jobs < 1:
        raise UsageError(f"[conformance] --jobs: got {arguments.jobs}, expected at least 1. Leave it out.")
    return Wish(arguments.backend, arguments.level, arguments.device, arguments.jobs, ops=tuple(arguments.op))


def command_run(arguments: argparse.Namespace) -> int:
    """Judges a backend and writes the run's folder. Raises: UsageError, CannotLoad, OSError."""
    if arguments.explain:
        return _explain(arguments)
    wish = _wish(arguments)
    wish.shard, wish.out = arguments.shard, arguments.out
    wish.last_failed, wish.quick = arguments.last_failed, arguments.quick
    wish.waivers = tuple(waivers.read(arguments.waivers)) if arguments.waivers else ()
    screen = display.console()
    prepared = prepare(wish)
    for line in display.estimate_lines(prepared):
        screen.print(line)
    try:
        with Progressing(screen, len(prepared.cases)) as progress:
            run = execute(prepared, progress.heard)
    except KeyboardInterrupt:
        screen.print(
            f"interrupted; what ended before is in {wish.folder}. --last-failed takes what failed of it."
        )
        return INTERRUPTED
    return _report(screen, run, wish.folder)


def _report(screen: Console, run: Run, folder: Path) -> int:
    """Writes the report beside the results, and says what the run comes to."""
    build(folder)
    found = verdict(run)
    for line in display.summary_lines(run, found.text):
        screen.print(line)
    screen.print(f"  report: {folder / 'report.html'}")
    for bad in display.failures(run)[:1]:
        screen.print(
            f"  more: tenora-conformance run {run.header.backend} --device {run.header.device} --explain {bad.case}"
        )
    return found.code


def _explain(arguments: argparse.Namespace) -> int:
    """Runs one case in a process of its own and prints everything about it, with a program that repeats it."""
    wish, screen = _wish(arguments), display.console()
    case = find(arguments.explain)
    with Pool(load(wish)) as pool:
        (result,) = pool.results([case], {})
    for line in display.explain_lines(result):
        screen.print(line)
    screen.print("\nreproduction:\n")
    screen.print(reproduction(case, wish.backend, pool.subject.device))
    return MET if result.passed else NOT_MET


def command_merge(arguments: argparse.Namespace) -> int:
    """Joins shards and judges the whole. Raises: ValueError, OSError."""
    return _report(display.console(), merge(arguments.folders, arguments.out), arguments.out)


def command_manifest(arguments: argparse.Namespace) -> int:
    """Says whether the committed list is that of the checks; `--write` makes it so. Raises: ValueError, OSError."""
    screen, cases = display.console(), list(must_run.all_cases())
    if arguments.write:
        screen.print(f"{manifest.write(cases)}: {len(cases):,} cases")
        return MET
    here, listed = {case.id for case in cases}, manifest.committed()
    added, gone = (
        [case for case in sorted(here) if case not in listed],
        [case for case in listed if case not in here],
    )
    screen.print(f"{manifest.path_of().name}: {len(listed):,} cases; the checks have {len(here):,}")
    for said, found in (("not in the list", added), ("not among the checks", gone)):
        if found:
            screen.print(f"{len(found):,} cases are {said}, {found[0]} first")
    return NOT_MET if added or gone else MET


def command_workflow(arguments: argparse.Namespace) -> int:
    """Prints the configuration for a CI service."""
    print((WORKFLOWS / f"{arguments.service}.yml").read_text(encoding="utf-8"), end="")
    return MET
