"""Checks that are a list of named scripts: `@memory/float32/-/round_trip` and the like.

A script takes the subject, a dtype and the outcome it notes kernels in; it returns for a pass and raises `Failed`.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import tenora
from tenora_conformance.model import Case, Check, Detail, Failed, Level, Outcome, Unsupported
from tenora_conformance.subject import Subject, judged_by, watch

Script = Callable[[Subject, str, Outcome], None]


def script_check(
    name: str,
    level: Level,
    scripts: Mapping[str, Script],
    *,
    dtypes: Sequence[str] = ("float32",),
    root: str = "",
    needs: Callable[[Case, Subject], str] | None = None,
    seconds: float = 60.0,
    watches: bool = False,
) -> Check:
    """A check with one case for each script and dtype. `root`: the script of the same check that others stand on.

    Every kernel of a script, in whatever thread it runs, must be the backend's own. `watches`: not of these, which
    look at their kernels themselves, or compute on the host as well.
    """

    def listed() -> Iterator[Case]:
        for dtype in dtypes:
            for script in scripts:
                roots = (f"@{name}/{dtype}/-/{root}",) if root and script != root else ()
                yield Case(f"@{name}", dtype, "-", script, level, name, roots)

    def run(case: Case, subject: Subject) -> Outcome:
        outcome = Outcome()
        try:
            with judged_by(subject), contextlib.nullcontext() if watches else watch(subject, outcome):
                scripts[case.sample](subject, case.dtype, outcome)
        except tenora.NotSupportedError as error:
            raise Unsupported(str(error)) from error
        return outcome

    return Check(name, run, scripts=listed, needs=needs, seconds=seconds, lowest=level)


def run_python(code: str, subject: Subject, seconds: float = 120.0) -> str:
    """What a program prints that runs in a process of its own with this backend; `NAME` and `DEVICE` are known to it.

    Raises: Failed where it does not end with exit code 0, or writes anything to stderr.
    """
    head = f"NAME, DEVICE = {subject.name!r}, {subject.device!r}\n"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", head + code],  # a backend's sources in the current folder are not it
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(
            f"a process with this backend did not end within {seconds:.0f} s", Detail(call=code)
        ) from error
    if done.returncode != 0 or done.stderr.strip():
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise Failed(
            f"a process with this backend ended with {ended}: got {last_line(done.stderr)!r} on stderr, expected exit"
            " code 0 and nothing",
            Detail(call=code, got=done.stdout, traceback=done.stderr),
        )
    return done.stdout


def last_line(text: str) -> str:
    """The last line that says anything."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
