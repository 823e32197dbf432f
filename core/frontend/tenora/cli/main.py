"""Parses the command line and runs a command; errors of tenora become one readable line."""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence

import tenora_dispatch
from tenora.cli import backends, doctor, new_backend, ops
from tenora_dispatch import TenoraError
from tenora_dispatch.versions import own_version
from tenora_hooks import plugins

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenora ARGUMENTS` and returns its exit code."""
    parser = build_parser()
    try:
        parsed = parser.parse_args(arguments)
    except SystemExit as end:  # argparse ends the process; a function that returns can be tested and embedded
        return int(end.code or 0)
    run: Command | None = getattr(parsed, "run", None)
    if run is None:
        parser.print_help()
        return 2
    try:
        return run(parsed)
    except TenoraError as error:
        print(f"tenora: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `tenora ops | head`
        sys.stderr.close()
        return 0


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, commands of plugins included."""
    parser = argparse.ArgumentParser(
        prog="tenora", description="tenora: deep learning whose backends are plugs."
    )
    parser.add_argument("--version", action="version", version=f"tenora {own_version()}")
    parser.add_argument(
        "--include", action=PrintAndExit, text=tenora_dispatch.get_include, help="folder of the C header"
    )
    parser.add_argument(
        "--cmakedir",
        action=PrintAndExit,
        text=tenora_dispatch.get_cmake_dir,
        help="folder for find_package(tenora_backend)",
    )
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")
    doctor.add_commands(subcommands)
    backends.add_commands(subcommands)
    ops.add_commands(subcommands)
    new_backend.add_commands(subcommands)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        plugins.call("tenora_cli_commands", subcommands=subcommands)
    return parser


class PrintAndExit(argparse.Action):
    """An option that prints one text and ends, such as `--include`."""

    def __init__(
        self, *, text: Callable[[], str], dest: str, option_strings: Sequence[str], help: str
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help, default=argparse.SUPPRESS)
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *unused: object) -> None:
        print(self._text())
        parser.exit(0)
