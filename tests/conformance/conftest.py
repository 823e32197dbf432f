"""What the tests of the conformance suite share: backends written to a folder, and the command in a process of its own.

- `install` writes a distribution (metadata, manifest, package) into `tmp_path`, as broken as a test wants it; nothing
  of this process sees it.
- `conformance(...)` runs the command with what was installed on its path, and keeps what it says.
"""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MANIFEST = """
name = "{name}"
device_types = ["cpu"]
protocol = ">=1,<2"
abi = ">=1,<2"
opset = ">=1.0,<2"
"""
Install = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def distributions(tmp_path: Path) -> Path:
    """The folder that `install` writes to."""
    folder = tmp_path / "distributions"
    folder.mkdir()
    return folder


@pytest.fixture
def install(distributions: Path) -> Install:
    """`install(name, package, manifest=...)` writes a backend and returns the folder of its package."""

    def write(name: str, package: str, manifest: str = MANIFEST) -> Path:
        home = distributions / f"package_of_{name}"
        home.mkdir()
        info = distributions / f"dist_of_{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: dist-of-{name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[tenora.backends]\n{name} = package_of_{name}\n")
        (home / "__init__.py").write_text(textwrap.dedent(package))
        (home / "tenora-backend.toml").write_text(manifest.format(name=name))
        return home

    return write


def heed_interrupts() -> None:
    """For a new process: a shell's background job, which a test run may be, ignores Ctrl-C and bequeaths that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_python(
    *arguments: str, path: Path, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 300
) -> "subprocess.CompletedProcess[str]":
    """Python in a process of its own, with a folder of distributions on its path and no wishes from outside."""
    wishes = ("TENORA_BACKEND", "PYTHONPATH")
    environment = {key: value for key, value in os.environ.items() if key not in wishes}
    environment |= {"PYTHONPATH": str(path), "COLUMNS": "120", **(env or {})}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def conformance(distributions: Path, tmp_path: Path) -> Run:
    """`conformance("run", NAME, ...)`: the command, in an empty folder of its own (`tmp_path / "here"`)."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        here = tmp_path / "here"
        here.mkdir(exist_ok=True)
        return run_python("-m", "tenora_conformance", *arguments, path=distributions, cwd=here, env=env)

    return run
