"""`tenora-conformance watch NAME --op OP`: the op's cases again whenever a file of the backend's package changes.

Each round loads the backend in new processes, so that what was saved is what runs. An interrupt ends it.
"""

from __future__ import annotations

import argparse
import contextlib
import stat
import time
from collections.abc import Mapping
from pathlib import Path

import tenora_dispatch
from tenora_conformance.model import Result
from tenora_conformance.must_run import all_cases, plan
from tenora_conformance.run import display
from tenora_conformance.run.attribution import attribute
from tenora_conformance.run.pool import Pool
from tenora_conformance.run.process import CannotLoad
from tenora_conformance.run.session import UsageError, Wish, check_ops, load
from tenora_dispatch.discovery import package_folders

#: Seconds between two looks at the files.
PAUSE = 0.3
#: Failures that a round shows.
SHOWN = 5


def stamps(backend: str) -> Mapping[Path, tuple[int, int]]:
    """Time and size of every file of a backend's package. Raises: UsageError where it is not installed."""
    row = next((row for row in tenora_dispatch.backends() if row.name == backend), None)
    if row is None:
        raise UsageError(
            f"[conformance] watch: got {backend!r}, expected an installed backend. `tenora backends` lists them."
        )
    found = {}
    for folder in package_folders(row.package):
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # replaced at this moment
                status = path.stat()
                if stat.S_ISREG(status.st_mode) and "__pycache__" not in path.parts:
                    found[path] = (status.st_mtime_ns, status.st_size)
    return found


def one_round(wish: Wish) -> list[str]:
    """Runs the op's cases; the lines to show. Raises: UsageError."""
    try:
        worker = load(wish)
    except CannotLoad as refusal:
        return [str(refusal), *str(refusal.causes).splitlines()]
    with Pool(worker, wish.jobs) as pool:
        cases = plan(wish.level, worker.subject, all_cases(wish.level, wish.ops)).cases
        found: dict[str, Result] = {r.case: r for r in pool.results(cases, {})}
    attribute(cases, found)
    results = [found[case.id] for case in cases]
    lines = [f"{' '.join(wish.ops)}: {display.counted(results) or 'no case'}"]
    for result in [result for result in results if not result.passed][:SHOWN]:
        lines.append(f"  {result.status} {result.case}: {result.message}")
    return lines


def command_watch(arguments: argparse.Namespace) -> int:
    """Rounds until an interrupt. Raises: UsageError."""
    wish: Wish = arguments.wish(arguments)
    check_ops(wish.ops)
    screen = display.console()
    before: Mapping[Path, tuple[int, int]] = {}
    try:
        while True:
            now = stamps(wish.backend)
            if now != before:
                before = now
                for line in one_round(wish):
                    screen.print(line)
                screen.print(f"watching {len(now)} files; an interrupt ends it")
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        return 0
