"""The programs of examples/ as modules, and as programs in a process of their own."""

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def example(name: str) -> ModuleType:
    """The module `examples/NAME.py`, which finds the others as it does when it runs as a program."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return importlib.import_module(name)


def run_program(
    program: str | Path, *arguments: str | Path, env: Mapping[str, str] | None = None, timeout: float = 600
) -> "subprocess.CompletedProcess[str]":
    """Runs a program, by path or by its name in examples/, in a process of its own, for `timeout` seconds at most."""
    path = program if isinstance(program, Path) else EXAMPLES / f"{program}.py"
    return subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
    )
