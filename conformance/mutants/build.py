"""Builds mutants of C++: one file changes in a copy of the sources, and the build tool does the rest.

- The first build takes minutes (less with a compiler cache), each mutant the one file and the link.
- A folder is for one process: `FOLDER/native-NUMBER` holds the sources and the build of one part of a run. What
  differs there from the sandbox is copied when a run begins, so that a later run builds little.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutants.sandbox import Sandbox, files
from mutants.sites import Mutant


class NotBuilt(Exception):
    """A mutant that does not compile."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is built of a source: the folder of its CMakeLists, the target, the package it goes to."""

    folder: str
    target: str
    package: str


TARGETS = {
    "engine": Target(".", "_engine", "tenora_engine"),
    "sim": Target("backends/sim", "tenora_sim", "tenora_sim"),
}


class Builder:
    """The builds of one process."""

    def __init__(self, sandbox: Sandbox, number: int) -> None:
        self.folder = sandbox.folder / f"native-{number}"
        self.sources = self.folder / "tree"
        _bring(sandbox.tree, self.sources)

    def build(self, mutant: Mutant) -> Path:
        """The library with a mutant in it. Raises: NotBuilt."""
        file = self.sources / mutant.path
        original = file.read_text(encoding="utf-8")
        file.write_text(mutant.splice.apply(original), encoding="utf-8")
        try:
            return self.library(mutant.source.name)
        finally:
            file.write_text(original, encoding="utf-8")

    def library(self, source: str) -> Path:
        """The library of the sources as they stand. Raises: NotBuilt with the compiler's first error."""
        target = TARGETS[source]
        where = self.sources / target.folder / "build" / "mutants"
        if not (where / "build.ninja").exists():
            self._tool("-S", str(self.sources / target.folder), "-B", str(where), "-G", "Ninja", *_hints())
        self._tool("--build", str(where), "--target", target.target, "-j", "1")
        found = sorted(where.rglob(f"*{target.target}*.so"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise NotBuilt(f"[mutants] {target.target}: got no library in {where}, expected one.")
        return found[-1]

    def _tool(self, *arguments: str) -> None:
        cmake = Path(sys.executable).parent / "cmake"
        command = [str(cmake) if cmake.exists() else "cmake", *arguments]
        # As deep as an installed build, and its paths relative: a compiler cache then knows most of it.
        cached = {**os.environ, "CCACHE_BASEDIR": str(self.sources), "CCACHE_NOHASHDIR": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=cached)
        if done.returncode:
            said = done.stdout + done.stderr
            lines = [line for line in said.splitlines() if "rror" in line] or said.splitlines()[-3:]
            raise NotBuilt("\n".join(lines[:3]))


def _bring(tree: Path, to: Path) -> None:
    """Makes a folder's sources those of a tree; a file that is the same stays as it is, and what is built of it."""
    wanted = set(files(tree))
    for path in set(files(to)) - wanted if to.exists() else ():
        (to / path).unlink()
    for path in wanted:
        there = to / path
        if not there.exists() or not filecmp.cmp(tree / path, there, shallow=False):
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree / path, there)


def _hints() -> list[str]:
    """Where what a build needs is found: this interpreter, its build tools."""
    beside = Path(sys.executable).parent
    asked = [sys.executable, "-m", "pybind11", "--cmakedir"]
    bindings = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    ninja = beside / "ninja"
    return [
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython_EXECUTABLE={sys.executable}",
        *([f"-Dpybind11_DIR={bindings}"] if bindings else []),
        *([f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja.exists() else []),
    ]
