"""Prints the requirements of pyproject.toml by group, one a line, so that they are written down once.

    python ci/requirements.py build run test > build/requirements.txt

`build` is [build-system], `run` is [project].dependencies, any other name is an extra.
Runs on the standard library alone: it is asked before anything is installed.
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements(groups: Sequence[str], pyproject: Path = ROOT / "pyproject.toml") -> Iterator[str]:
    """Yields the requirements of the named groups in order; an unknown group is a KeyError."""
    data = tomllib.loads(pyproject.read_text())
    for group in groups:
        if group == "build":
            yield from data["build-system"]["requires"]
        elif group == "run":
            yield from data["project"]["dependencies"]
        else:
            yield from data["project"]["optional-dependencies"][group]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
