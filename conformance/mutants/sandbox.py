"""A copy of the sources, in which mutants are made: the working tree is only read, and may change meanwhile.

- `FOLDER/tree` holds the copied files, `FOLDER/native` the native modules as they were installed.
- A mutant is an *overlay*: a folder with the one file that differs. `hook.py` puts it before the copy.
- Whatever works on mutants runs in processes that import from the copy; `entered` says whether this one does.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What is copied; folders of Python become packages.
COPIED = ("CMakeLists.txt", "pyproject.toml", "core", "backends", "conformance")
PACKAGES = ("core/*/tenora*", "backends/*/tenora*", "conformance/tenora_conformance")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", "*.so", "mutants")
VARIABLE, OVERLAY, WHERE = "MUTANTS_PACKAGES", "MUTANTS_OVERLAY", "MUTANTS_SANDBOX"


@dataclass(frozen=True)
class Sandbox:
    """The copy in a folder."""

    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def made(self) -> bool:
        return (self.folder / "digest.txt").exists()

    @property
    def digest(self) -> str:
        """Of the copied sources."""
        return (self.folder / "digest.txt").read_text(encoding="utf-8")

    @property
    def entered(self) -> bool:
        """Whether this process imports from the copy."""
        return os.environ.get(WHERE) == str(self.folder)

    def make(self, root: Path = ROOT) -> None:
        """Copies the sources and the native modules; removes what was there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tree.mkdir(parents=True)
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, self.tree / name, ignore=_LEFT_OUT)
            else:
                shutil.copy2(root / name, self.tree / name)
        for package, home in self.packages().items():
            for found in _native(package):
                shutil.copy2(found, home)
        (self.folder / "hook").mkdir()
        shutil.copy2(Path(__file__).with_name("hook.py"), self.folder / "hook" / "sitecustomize.py")
        (self.folder / "digest.txt").write_text(_digest(self.tree), encoding="utf-8")

    def packages(self) -> dict[str, Path]:
        """The folder of each package of the copy."""
        found = (path for pattern in PACKAGES for path in sorted(self.tree.glob(pattern)))
        return {path.name: path for path in found if path.is_dir()}

    def environment(self, overlay: Path | None = None) -> dict[str, str]:
        """The environment of a process that imports from the copy, with an overlay in front."""
        kept = {k: v for k, v in os.environ.items() if k not in (OVERLAY, "PYTHONPATH", "TENORA_BACKEND")}
        path = os.pathsep.join([str(self.folder / "hook"), str(Path(__file__).resolve().parents[1])])
        kept |= {
            "PYTHONPATH": path,
            VARIABLE: json.dumps({name: str(home) for name, home in self.packages().items()}),
            WHERE: str(self.folder),
            # A mutant has no report beside its manifest that would be of its sources.
            "OMP_NUM_THREADS": "1",
        }
        return kept | ({OVERLAY: str(overlay)} if overlay else {})

    @contextlib.contextmanager
    def overlay(self, path: str, text: str) -> Iterator[Path]:
        """A folder in which a Python file of a package, named from the root of the tree, has another text."""
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=self.folder) as name:
            home = next(h for h in self.packages().values() if (self.tree / path).is_relative_to(h))
            file = Path(name) / (self.tree / path).relative_to(home.parent)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            yield Path(name)

    @contextlib.contextmanager
    def native_overlay(self, package: str, library: Path) -> Iterator[Path]:
        """A folder in which a native library stands in the place of a package's own."""
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=self.folder) as name:
            (Path(name) / package).mkdir()
            shutil.copy2(library, Path(name) / package)
            yield Path(name)


def _native(package: str) -> list[Path]:
    """The native files of an installed package."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    names = ("*.so", "_march.txt")
    return [path for folder in folders for name in names for path in Path(folder).glob(name)]


def _digest(tree: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(p for p in tree.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        found.update(path.relative_to(tree).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
