"""Types, lint and format over the whole repository, and generated files that match their source."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT, files, relative

PYTHON = sys.executable
CLANG_FORMAT = str(Path(PYTHON).parent / "clang-format")


EXAMPLE_BACKENDS = sorted({path.parent for path in ROOT.glob("examples/backends/*/pyproject.toml")})


def run(*command: str, where: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool with some environment variables and keeps what it says."""
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)


def assert_clean(done: subprocess.CompletedProcess[str]) -> None:
    """Fails with the tool's own words."""
    if done.returncode != 0:
        pytest.fail(f"{' '.join(done.args[:4])}:\n{done.stdout}{done.stderr}", pytrace=False)


def cpp_files() -> list[str]:
    """The C and C++ sources by name."""
    return [relative(path) for path in files() if path.suffix in {".cpp", ".h", ".hpp", ".c", ".cc"}]


def test_core_is_strictly_typed() -> None:
    assert_clean(run(PYTHON, "-m", "mypy"))


def test_tooling_is_strictly_typed() -> None:
    judged = [relative(path) for path in files() if relative(path).startswith(("ci/", "tests/architecture/"))]
    sources = [name for name in judged if name.endswith(".py")]
    assert sources
    assert_clean(run(PYTHON, "-m", "mypy", "--config-file", "pyproject.toml", *sources, "tests/conftest.py"))


@pytest.mark.parametrize("folder", EXAMPLE_BACKENDS, ids=lambda folder: folder.name)
def test_example_backends_are_strictly_typed(folder: Path) -> None:
    """Each by itself: they are distributions of their own, whose tests may have the same names."""
    judged = [relative(path) for path in files() if path.is_relative_to(folder) and path.suffix == ".py"]
    assert judged
    assert_clean(
        run(PYTHON, "-m", "mypy", "--config-file", "pyproject.toml", *judged, MYPYPATH=relative(folder))
    )


def test_mypy_finds_a_seeded_error(tmp_path: Path) -> None:
    (tmp_path / "seeded.py").write_text("def f(x):\n    return x + 1\n")
    done = run(
        PYTHON, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(tmp_path / "seeded.py")
    )
    assert done.returncode == 1 and "no-untyped-def" in done.stdout


def test_every_package_says_it_is_typed() -> None:
    marked = {path.parent for path in files() if path.name == "py.typed"}
    packages = {path.parent for path in ROOT.glob("core/*/tenora*/__init__.py")}
    packages |= {path.parent for path in ROOT.glob("backends/*/tenora*/__init__.py")}
    packages |= {path.parent for path in ROOT.glob("examples/backends/*/tenora*/__init__.py")}
    packages |= {path.parent for path in ROOT.glob("conformance/tenora*/__init__.py")}
    assert packages and packages <= marked


def test_ruff() -> None:
    assert_clean(run(PYTHON, "-m", "ruff", "check", "."))


def test_ruff_format() -> None:
    assert_clean(run(PYTHON, "-m", "ruff", "format", "--check", "."))


def test_ruff_finds_seeded_faults(tmp_path: Path) -> None:
    (tmp_path / "seeded.py").write_text("import os\nx = {  'a':1 }\n")
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache", str(tmp_path)]
    assert "F401" in run(PYTHON, "-m", "ruff", "check", *config).stdout
    assert run(PYTHON, "-m", "ruff", "format", "--check", *config).returncode == 1


def test_clang_format() -> None:
    assert cpp_files()
    assert_clean(run(CLANG_FORMAT, "--dry-run", "--Werror", *cpp_files()))


def test_clang_format_finds_a_seeded_fault(tmp_path: Path) -> None:
    (tmp_path / "seeded.cpp").write_text("int  f( int a ){return a;}\n")
    style = f"--style=file:{ROOT / '.clang-format'}"
    assert run(CLANG_FORMAT, style, "--dry-run", "--Werror", str(tmp_path / "seeded.cpp")).returncode == 1


def test_generated_files_match_their_records() -> None:
    assert importlib.util.find_spec("tenora_ops.generate") is not None
    assert_clean(run(PYTHON, "-m", "tenora_ops.generate", "--check"))
