"""What a broken backend of the zoo is made of. What is broken and what the suite says of it is in README.md."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conftest import MANIFEST

import tenora_dispatch
import tenora_ops

#: The library that tells one lie, by its number (`-DLIE=4`).
LIAR = Path(__file__).resolve().parents[2] / "any_backend" / "liar.c"
LIBRARY = "broken.so"
#: A package that is its library.
NATIVE = f"""
def load(registry):
    registry.native({LIBRARY!r})
"""


@dataclass(frozen=True)
class Broken:
    """A backend and the run that it is given.

    `passes`: a glob of cases that must pass, and at least one of them: what is not broken is not blamed.
    """

    name: str
    package: str
    passes: str = ""
    ops: tuple[str, ...] = ("add",)
    level: str = "L1"
    manifest: str = MANIFEST
    lie: int | None = None
    """That of its library; None where it has none."""
    source: Path = LIAR
    """What its library is compiled from."""
    options: tuple[str, ...] = ()
    """More options for the compiler."""
    needs: str = ""
    """A library that its library is linked with, and that is then gone."""
    files: Mapping[str, str] = field(default_factory=dict)
    """More files, by their path in the folder of distributions."""
    loading: float = 120.0
    """Seconds after which loading is ended."""
    silence: float = 60.0
    """Seconds after which a case is ended."""


def compile_library(broken: Broken, home: Path) -> None:
    """Builds the library of a backend into its package."""
    compiler = shutil.which("cc")
    assert compiler, "no cc: the zoo needs a C compiler"
    shared = [compiler, "-std=c11", "-shared", "-fPIC"]
    options = [f"-I{tenora_dispatch.get_include()}", f'-DNAME="{broken.name}"', f"-DLIE={broken.lie}"]
    options += [f'-DOPSET="{tenora_ops.OPSET_VERSION}"', *broken.options]
    linked: list[str] = []
    if broken.needs:
        needed = home / f"lib{broken.needs}.so"
        (home / "needed.c").write_text("int needed(void) { return 0; }\n")
        _run([*shared, str(home / "needed.c"), "-o", str(needed)])
        linked = ["-Wl,--no-as-needed", f"-L{home}", f"-l{broken.needs}"]
    _run([*shared, *options, str(broken.source), "-o", str(home / LIBRARY), *linked])
    if broken.needs:
        needed.unlink()


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=60, capture_output=True)
