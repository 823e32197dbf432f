"""The import rule of DESIGN section 1, by import-linter; and that the contracts find what they are there for."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tree import CORE_PACKAGES, ROOT

PACKAGES = {
    **CORE_PACKAGES,
    "tenora_reference": "backends/reference",
    "tenora_cpu_mkl": "backends/cpu_mkl",
    "tenora_sim": "backends/sim",
    "tenora_conformance": "conformance",
}


def lint(roots: list[Path], where: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter with the repository's contracts over the packages below roots.

    The base interpreter with PYTHONPATH runs no .pth file, so an editable install cannot put other sources first.
    """
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    path = os.pathsep.join([*map(str, roots), sysconfig.get_path("purelib")])
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [str(python), "-c", code, "--no-cache", str(ROOT / "pyproject.toml")],
        cwd=where,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_room_imports_one_way(tmp_path: Path) -> None:
    done = lint([ROOT / folder for folder in PACKAGES.values()], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* kept, 0 broken", done.stdout)


VIOLATIONS = [
    ("tenora_engine", "tenora_dispatch"),
    ("tenora_engine", "tenora_hooks"),
    ("tenora_dispatch", "tenora_ops"),
    ("tenora_ops", "tenora_autograd"),
    ("tenora_autograd", "tenora"),
    ("tenora_hooks", "tenora_engine"),
    ("tenora_hooks", "tenora"),
    ("tenora_dispatch", "tenora_reference"),
    ("tenora", "tenora_cpu_mkl"),
    ("tenora_reference", "tenora"),
    ("tenora_reference", "tenora_engine"),
    ("tenora_reference", "tenora_hooks"),
    ("tenora_cpu_mkl", "tenora_ops"),
    ("tenora_cpu_mkl", "tenora_reference"),
    ("tenora_sim", "tenora_cpu_mkl"),
    ("tenora_sim", "tenora"),
    ("tenora_conformance", "tenora_engine"),
    ("tenora_conformance", "tenora_reference"),
    ("tenora_hooks", "tenora_conformance"),
    ("tenora", "tenora_conformance"),
    ("tenora_reference", "tenora_conformance"),
]
ALLOWED = [
    ("tenora", "tenora_autograd"),
    ("tenora", "tenora_hooks"),
    ("tenora_autograd", "tenora_ops"),
    ("tenora_ops", "tenora_dispatch"),
    ("tenora_dispatch", "tenora_engine"),
    ("tenora_dispatch", "tenora_hooks"),
    ("tenora_reference", "tenora_dispatch"),
    ("tenora_cpu_mkl", "tenora_dispatch"),
    ("tenora_sim", "tenora_dispatch"),
    ("tenora_conformance", "tenora"),
    ("tenora_conformance", "tenora_ops"),
    ("tenora_conformance", "tenora_dispatch"),
]


def seed(place: Path, extra: tuple[str, str] | None) -> None:
    """Writes packages with only the allowed imports, and one more that is hidden inside a function."""
    for package in PACKAGES:
        (place / package).mkdir()
        lines = [f"import {imported}" for importer, imported in ALLOWED if importer == package]
        (place / package / "__init__.py").write_text("\n".join(lines) + "\n")
    if extra:
        importer, imported = extra
        (place / importer / "deep.py").write_text(
            f"def late():\n    import {imported}\n    return {imported}\n"
        )


def test_contracts_keep_the_allowed(tmp_path: Path) -> None:
    seed(tmp_path, None)
    done = lint([tmp_path], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("importer", "imported"), VIOLATIONS)
def test_contracts_find(tmp_path: Path, importer: str, imported: str) -> None:
    seed(tmp_path, (importer, imported))
    done = lint([tmp_path], tmp_path)
    assert done.returncode != 0
    assert f"{importer}.deep -> {imported}" in done.stdout
