"""The command `tenora-conformance`.

    tenora-conformance run NAME [--level L0..L4]    judge a backend; `run --help` lists all options
    tenora-conformance watch NAME --op add          an op's cases again on every save
    tenora-conformance merge DIR... --out DIR       join the shards of a run
    tenora-conformance manifest [--write]           the committed must-run list
    tenora-conformance workflow github | gitlab     a CI configuration that judges a backend
    tenora-conformance report | verify | compare | matrix | attach DIR...    what is made of a run

Exit codes: 0 met, 1 not met (a backend that cannot be loaded does not meet L0), 2 the command line is wrong, 3 there is
no such backend here or it says that it cannot work here, 4 only a part of the plan ran and nothing failed in it
(`--quick`, `--last-failed`, `--op`): nothing is proven.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from tenora_conformance import __version__
from tenora_conformance.report import commands as report_commands
from tenora_conformance.run import commands as run_commands
from tenora_conformance.run.process import CannotLoad
from tenora_conformance.run.verdict import ENVIRONMENT, NOT_MET, USAGE
from tenora_conformance.subject import UnservedDevice
from tenora_dispatch import BackendNotFoundError, BackendUnavailableError, ConfigurationError

#: Why a backend cannot be loaded that is no fault of its own, and the exit code. For all else it has not met L0.
_NOT_HERE = {
    UnservedDevice.__name__: USAGE,
    BackendNotFoundError.__name__: ENVIRONMENT,
    BackendUnavailableError.__name__: ENVIRONMENT,
    ConfigurationError.__name__: ENVIRONMENT,
}
#: Modules whose `add_commands(subparsers)` adds commands. Each sets `run`: from the arguments to the exit code.
COMMANDS = (run_commands, report_commands)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="tenora-conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--version", action="version", version=f"tenora-conformance {__version__}")
    subparsers = made.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_commands(subparsers)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit code."""
    options = parser().parse_args(arguments)
    # A service that ends a job ends the workers with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return int(options.run(options))
    except CannotLoad as refusal:
        code = _NOT_HERE.get(refusal.kind, NOT_MET)
        if code == NOT_MET:
            print(f"{options.backend}, L0: NOT MET, the backend cannot be loaded")
        print(f"{refusal}\n{refusal.causes}".rstrip(), file=sys.stderr)
        return code
    except (ValueError, LookupError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
