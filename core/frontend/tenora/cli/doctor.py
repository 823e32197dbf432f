"""`tenora doctor`: tries every backend and says what is wrong, down to the root cause.

- Each backend is loaded in a process of its own: one that crashes or hangs is a row in the table.
- `--no-load` only probes, for machines whose devices are busy.
"""

import argparse
import difflib
import json
import platform
import signal
import subprocess
import sys
import traceback
from dataclasses import asdict, dataclass

import tenora_dispatch
from tenora.cli import text
from tenora.cli.backends import describe_steps, waits_to_be_asked
from tenora_dispatch import BackendError, opset
from tenora_dispatch.config import BACKEND_VARIABLE, config_path, environment_backends
from tenora_dispatch.errors import root_cause
from tenora_dispatch.lifecycle import OUT
from tenora_dispatch.manifest import CAPABILITIES
from tenora_dispatch.masks import DTYPES
from tenora_dispatch.runtime import table
from tenora_dispatch.versions import ABI_VERSION, PROTOCOL_VERSION, own_version
from tenora_hooks import plugins

SECONDS = 120.0


@dataclass(frozen=True)
class Report:
    """What a trial found. `cause` is the text of the error, `root` the exception at its bottom with file and line."""

    name: str
    state: str
    devices: str = ""
    kernels: int = 0
    cause: str = ""
    root: str = ""


def add_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command of this file."""
    doctor = subcommands.add_parser("doctor", help="try every backend and print root causes")
    doctor.add_argument("--no-load", action="store_true", help="probe only, take no device")
    doctor.add_argument("--try-one", metavar="NAME", help=argparse.SUPPRESS)
    doctor.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Prints versions, the table of backends with causes, the choice per device, and plugins that failed."""
    if arguments.try_one:
        print(json.dumps(asdict(try_here(arguments.try_one, load=not arguments.no_load))))
        return 0
    print(text.facts(_versions()))
    reports = [try_apart(row.name, load=not arguments.no_load) for row in tenora_dispatch.backends()]
    print("\nBackends")
    lines = [(r.name, r.state, r.devices or "?", str(r.kernels or "-"), _origin(r.name)) for r in reports]
    print(text.table(("NAME", "STATE", "DEVICES", "KERNELS", "FROM"), lines) if lines else "none installed")
    for report in reports:
        if report.cause:
            print(f"\n{report.name} is {report.state}:\n{text.indented(report.cause)}")
            if report.root:
                print(text.indented(f"root cause: {report.root}"))
    _print_unknown_capabilities()
    bad_choice = _print_choices({report.name: report for report in reports})
    bad_plugins = _print_plugins()
    broken = [report for report in reports if report.state in ("FAILED", "INCOMPATIBLE")]
    return 1 if broken or bad_choice or bad_plugins or not reports else 0


def _versions() -> list[tuple[str, str]]:
    return [
        ("tenora", own_version()),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("protocol", PROTOCOL_VERSION),
        ("C ABI", str(ABI_VERSION)),
        ("op set", f"{opset.version()} ({len(opset.names())} ops)"),
        ("configuration", f"{config_path()}{'' if config_path().exists() else ' (no such file)'}"),
        (BACKEND_VARIABLE, ",".join(environment_backends()) or "not set"),
    ]


def _origin(name: str) -> str:
    row = table.find(name)
    return f"{row.distribution} {row.version}".strip()


def _print_unknown_capabilities() -> None:
    for row in tenora_dispatch.backends():
        for word in row.manifest.unknown_capabilities if row.manifest else ():
            near = difflib.get_close_matches(word, (*CAPABILITIES, *DTYPES), n=1)
            meant = f" Its author may have meant {near[0]!r}." if near else ""
            print(
                f"\n{row.name}: capability {word!r} of its manifest means nothing here, and changes nothing.{meant}"
            )


def _print_choices(reports: dict[str, Report]) -> bool:
    print("\nWho computes")
    bad = False
    for kind in sorted(tenora_dispatch.device_types()):
        choice = tenora_dispatch.explain_choice(kind)
        report = reports.get(choice.name or "")
        fate = f" (which is {report.state})" if report and report.state in OUT else ""
        print(f"{kind}: {choice.name or 'no backend'}{fate}, by {choice.source}")
        unasked = waits_to_be_asked(choice)
        if choice.problem is not None:
            if not unasked:
                print(describe_steps(choice))
            print(text.indented(str(choice.problem)))
        if choice.warning:
            print(text.indented(choice.warning))
        bad = bad or (choice.problem is not None and not unasked)
    return bad


def _print_plugins() -> bool:
    working, failed = plugins.versions(), plugins.failures()
    if working or failed:
        print("\nPlugins")
    for name, origin in working.items():
        print(f"{name}: {origin}")
    for failure in failed:
        print(
            f"{failure.name}: left out during {failure.during}: {type(failure.cause).__name__}: {failure.cause}"
        )
    return bool(failed)


def try_here(name: str, *, load: bool) -> Report:
    """Takes a backend as far as it gets, in this process."""
    row = table.find(name)
    try:
        table.ready(name) if load else table.probed(name)
    except BackendError as error:
        bottom = root_cause(row.cause or error)
        return Report(name, row.state.value, " ".join(row.device_types), 0, str(error), _place(bottom))
    return Report(name, row.state.value, _devices(name), len(row.kernels))


def _devices(name: str) -> str:
    row = table.find(name)
    counts = row.probe.devices if row.probe else {}
    return " ".join(kind + (f" x{counts[kind]}" if kind in counts else "") for kind in row.device_types)


def _place(error: BaseException) -> str:
    """The exception with the line that raised it: the traceback's last frame."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def try_apart(name: str, *, load: bool) -> Report:
    """The same in a process of its own, so that a crash is an answer as well."""
    row = table.find(name)
    if row.state in OUT:  # its metadata is broken: there is nothing to run
        return try_here(name, load=load)
    flags = [] if load else ["--no-load"]
    # -P: the sources of a backend in the current folder must not hide the installed one.
    command = [sys.executable, "-P", "-m", "tenora", "doctor", "--try-one", name, *flags]
    devices = " ".join(row.device_types)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Report(name, "FAILED", devices, 0, f"[doctor] it did not answer within {SECONDS:.0f} s.")
    if done.returncode == 0:
        return Report(**json.loads(done.stdout.strip().splitlines()[-1]))
    ending = f"exit code {done.returncode}"
    if done.returncode < 0:
        ending = f"signal {signal.Signals(-done.returncode).name}"
    last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    return Report(name, "FAILED", devices, 0, f"[doctor] loading it ended the process with {ending}: {last}")
