"""The repository's files, for the checks of this folder."""

import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORE_PACKAGES = {
    "tenora": "core/frontend",
    "tenora_autograd": "core/autograd",
    "tenora_ops": "core/ops",
    "tenora_dispatch": "core/dispatch",
    "tenora_engine": "core/engine",
    "tenora_hooks": "core/hooks",
}
IGNORED = {".git", ".venv", "build", "dist", "__pycache__"}


@cache
def files() -> tuple[Path, ...]:
    """Every file git tracks or would track; in a copy without history, every file outside build folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if (ROOT / ".git").exists() and listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [path for path in ROOT.rglob("*") if not IGNORED & set(path.relative_to(ROOT).parts)]
    return tuple(sorted(path for path in set(paths) if path.is_file()))


def relative(path: Path) -> str:
    """The path as the repository names it."""
    return path.relative_to(ROOT).as_posix()


def under(folder: str, suffixes: Iterable[str]) -> list[Path]:
    """The files below a folder of the repository with one of the suffixes."""
    wanted = set(suffixes)
    return [path for path in files() if relative(path).startswith(folder + "/") and path.suffix in wanted]


def core_sources(suffixes: Iterable[str]) -> list[str]:
    """Names of core's own sources: its tests and documents may say what they like, and the templates of `new-backend`
    are kernels of backends to come, which core copies and never imports."""
    found = [relative(path) for path in under("core", suffixes)]
    return [name for name in found if not {"tests", "docs", "templates"} & set(name.split("/"))]
