"""Facts about the tree: a complete package, documents that exist, and nothing that belongs to one machine."""

import re
import tomllib
from pathlib import Path

import pytest
from tree import CORE_PACKAGES, ROOT, files, relative

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Homes, scratch folders and mounts of a single machine. The patterns are written so as not to match themselves.
MACHINE_PATHS = re.compile(
    r"(?<![\w.$}>)-])/(?:home|root|Users|mnt|work|opt)/[\w.]+|(?<![\w.$}>)-])/tmp/tenor[a]"
)
TEXT = {".py", ".pyi", ".cpp", ".h", ".c", ".md", ".toml", ".txt", ".cmake", ".yaml", ".yml", ".sh", ""}


def machine_paths(text: str) -> list[str]:
    """The absolute paths in a text that only one machine has."""
    return MACHINE_PATHS.findall(text)


@pytest.mark.parametrize(
    "name",
    ["LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", ".ci/run", "docs/figures.md"],
)
def test_document_exists(name: str) -> None:
    assert (ROOT / name).stat().st_size > 200


def test_license_is_apache() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


def test_wheel_lists_every_room_and_the_reference() -> None:
    rooms = {f"{folder}/{package}" for package, folder in CORE_PACKAGES.items()}
    assert set(PYPROJECT["tool"]["scikit-build"]["wheel"]["packages"]) == rooms | {
        "backends/reference/tenora_reference"
    }


def test_run_time_needs_neither_oracle_nor_compiler() -> None:
    names = {re.split(r"[<>=! ]", need)[0].lower() for need in PYPROJECT["project"]["dependencies"]}
    assert names == {"numpy", "pluggy", "importlib-metadata", "ml_dtypes"}


def test_ci_is_executable() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_contributing_fits_one_screen() -> None:
    assert (ROOT / "CONTRIBUTING.md").read_text().count("\n") <= 50


def test_no_file_names_a_machine() -> None:
    found = {}
    for path in files():
        if path.suffix in TEXT and path != Path(__file__).resolve():
            paths = machine_paths(path.read_text(errors="replace"))
            if paths:
                found[relative(path)] = paths
    assert found == {}


# Samples are spelled with | for /, so that no search takes them for real paths.
@pytest.mark.parametrize(
    "text", ["open('|home|ada|x')", "see |opt|conda for it", "cd |work|main", "x=|root|.cache"]
)
def test_machine_rule_finds(text: str) -> None:
    assert machine_paths(text.replace("|", "/"))


@pytest.mark.parametrize(
    "text", ["docs|work|plan", "#!|usr|bin|env bash", "a|opt|b", "$HOME|work|x", "|path|to|it"]
)
def test_machine_rule_passes(text: str) -> None:
    assert not machine_paths(text.replace("|", "/"))
