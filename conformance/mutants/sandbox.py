"""A copy of the sources, in which mutants are made: the working tree is only read, and may change meanwhile.

- `FOLDER/tree` holds the copied files, `FOLDER/native` the native modules as they were installed.
- `refresh` copies them anew where they differ; builds and verdicts beside them stay. A run on the backends as they
  are stays too, as advice; what was recorded of functions goes, as they have moved.
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
#: Of an installed package, what its sources do not hold.
NATIVE = ("*.so", "_march.txt")
#: What judges: a survivor is judged again when it changed.
SUITE = ("conformance/tenora_conformance", "core/ops/tenora_ops")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", "mutants", *NATIVE)
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

    @property
    def suite(self) -> str:
        """Digest of the copied suite: its checks, and the records of ops with samples and tolerances."""
        return digest_of(self.tree, *SUITE)

    def digest_of(self, path: str) -> str:
        """Of a copied file."""
        return hashlib.sha256((self.tree / path).read_bytes()).hexdigest()[:16]

    def refresh(self, root: Path = ROOT) -> None:
        """Copies what differs from the sources, or all."""
        if not self.made or self.digest != digest_of(root, *COPIED):
            self.make(root)

    def forget(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, root: Path = ROOT) -> None:
        """Copies the sources and the native modules in the place of those that were there."""
        for old in (self.tree, self.folder / "hook"):
            shutil.rmtree(old, ignore_errors=True)
        for old in self.folder.glob("reach-*"):
            old.unlink()
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
        (self.folder / "digest.txt").write_text(digest_of(self.tree, *COPIED), encoding="utf-8")

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
    return [path for folder in folders for name in NATIVE for path in Path(folder).glob(name)]


def digest_of(root: Path, *names: str) -> str:
    """Digest of files and folders below a root, less what is left out of a copy."""
    found = hashlib.sha256()
    for path in sorted(path for name in names for path in files(root, name)):
        found.update(path.as_posix().encode() + b"\0" + (root / path).read_bytes())
    return found.hexdigest()[:16]


def files(root: Path, name: str = "") -> Iterator[Path]:
    """A file, or those below a folder less what is left out of a copy; from the root."""
    if (root / name).is_file():
        yield Path(name)
    for folder, below, names in os.walk(root / name):
        left_out = _LEFT_OUT(folder, [*below, *names])
        below[:] = [each for each in below if each not in left_out]
        yield from ((Path(folder) / each).relative_to(root) for each in names if each not in left_out)
