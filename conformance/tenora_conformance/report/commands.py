"""The commands over reports: `report`, `verify`, `compare`, `matrix`, `attach`; each returns the process's exit code.

0: as wished. 1: the report is unsound, has become worse, or does not count. 3: a package that cannot be written to. A
folder without a report is raised, and wrong usage to the command line (2).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tenora_conformance.report.attach import attach
from tenora_conformance.report.build import build, load
from tenora_conformance.report.compare import compare_reports, comparison_text
from tenora_conformance.report.matrix import matrix_text
from tenora_conformance.report.verify import shown, verify
from tenora_dispatch import TenoraError

MET, NOT_MET, ENVIRONMENT = 0, 1, 3


def add_commands(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the commands of this file."""
    folder = "a folder that `run --out` or `merge` wrote"

    def add(
        name: str, about: str, run: Callable[[argparse.Namespace], int], *positionals: tuple[str, str | None]
    ) -> None:
        parser = subcommands.add_parser(name, help=about, description=about)
        for label, count in positionals:
            parser.add_argument(label, nargs=count, type=Path, metavar=label.upper(), help=folder)
        parser.set_defaults(run=run)

    add("report", "build the report of a run again from its results", run_report, ("folder", None))
    add("verify", "check a report: form, counts, plan, sources", run_verify, ("folder", None))
    add("compare", "show what changed from report A to report B", run_compare, ("a", None), ("b", None))
    add("matrix", "print the table of ops and backends", run_matrix, ("folders", "+"))
    add("attach", "lay a report beside the backend's manifest", run_attach, ("folder", None))


def run_report(arguments: argparse.Namespace) -> int:
    """Builds the files of a report again. Raises: ArgumentValueError, OSError."""
    report = build(arguments.folder)
    print(f"{arguments.folder}: {report['backend']['name']} meets {report['met'] or 'no level'}")
    return MET


def run_verify(arguments: argparse.Namespace) -> int:
    """Checks a report. Raises: ArgumentValueError, OSError."""
    verdict = verify(arguments.folder)
    print(shown(verdict))
    return NOT_MET if verdict.problems else MET


def run_compare(arguments: argparse.Namespace) -> int:
    """Prints what changed; 1 where something became worse. Raises: ArgumentValueError, OSError."""
    found = compare_reports(load(arguments.a), load(arguments.b))
    print(comparison_text(found))
    return NOT_MET if found.worse else MET


def run_matrix(arguments: argparse.Namespace) -> int:
    """Prints the table. Raises: ArgumentValueError, OSError."""
    print(matrix_text([load(folder) for folder in arguments.folders]), end="")
    return MET


def run_attach(arguments: argparse.Namespace) -> int:
    """Attaches a report; 1 where it does not count. Raises: ArgumentValueError, OSError."""
    load(arguments.folder)  # a folder without a report is wrong usage
    try:
        print(attach(arguments.folder))
    except TenoraError as error:
        print(error, file=sys.stderr)
        return NOT_MET
    except OSError as error:
        print(
            f"[attach] the package cannot be written to: got {error}, expected a folder that this user may write. "
            "Install the backend from its sources: pip install -e FOLDER",
            file=sys.stderr,
        )
        return ENVIRONMENT
    return MET
