"""Measures what the conformance suite takes, and how small a backend of level L1 is; writes both into docs/figures.md.

    python -m bench.suite            the native CPU backend, on all cores of an idle machine: about ten minutes

- Wall time of the whole command, from its start to its exit: what a person waits for.
- A new backend is what `tenora new-backend` writes: the files of its package that hold code or its manifest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bench.__main__ import environment, replace_block
from tenora.cli.new_backend import TEMPLATES, template_files

NAME = "suite"
BACKEND = "cpu_mkl"
#: What is asked, the exit code of a run without a failure, and the seconds it may take.
RUNS = (("--level L3", 0, 600.0), ("--quick", 4, 60.0))
FILES, LINES = 6, 800


def seconds_of(options: str, expected: int) -> float:
    """The wall time of one run. Raises: RuntimeError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tenora_conformance",
            "run",
            BACKEND,
            "--out",
            folder,
            *options.split(),
        ]
        begin = time.monotonic()
        done = subprocess.run(command, check=False)
        took = time.monotonic() - begin
    if done.returncode != expected:
        raise RuntimeError(f"{' '.join(command)}: got exit code {done.returncode}, expected {expected}.")
    return took


def package_size() -> tuple[int, int]:
    """Files and lines of the package that passes L1 as it is written."""
    files = [source for source, _ in template_files(TEMPLATES / "backend_python" / "tenora_newbackend")]
    held = [source for source in files if source.stat().st_size]
    return len(held), sum(len(source.read_text(encoding="utf-8").splitlines()) for source in held)


def block(took: dict[str, float], size: tuple[int, int]) -> str:
    """The text of the figures."""
    files, lines = size
    machine = environment().replace("one thread each", f"{os.cpu_count()} worker processes")
    rows = [
        f"| `tenora-conformance run {BACKEND} {options}`, s | {took[options]:.0f} | {limit:.0f} |"
        for options, _, limit in RUNS
    ]
    return "\n".join(
        [
            "## The conformance suite",
            "",
            machine,
            "",
            "| what | measured | budget |",
            "| --- | --- | --- |",
            *rows,
            f"| a new backend passing L1 (`tenora new-backend`): files | {files} | {FILES} |",
            f"| the same: lines | {lines} | {LINES} |",
        ]
    )


def main() -> int:
    """The exit code is 1 where something is beyond its budget."""
    took = {options: seconds_of(options, expected) for options, expected, _ in RUNS}
    size = package_size()
    replace_block(NAME, block(took, size))
    within = (
        all(took[options] <= limit for options, _, limit in RUNS) and size[0] <= FILES and size[1] <= LINES
    )
    print(f"docs/figures.md: {'within' if within else 'BEYOND'} the budgets")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
