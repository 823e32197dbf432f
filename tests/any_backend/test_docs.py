"""Runs what the documents say: files are written, commands and programs executed, outputs compared."""

import dataclasses
import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import pip_install, run_python

import tenora  # noqa: F401 - the examples run where the ops are declared, as in any program
import tenora_ops
from tenora_dispatch.manifest import Manifest
from tenora_ops.census import census

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAME = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```(\w+)(?: (file=\S+|run|output))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str) -> list[tuple[str, str, str]]:
    """(language, role, text) of each fenced block, in order."""
    return FENCE.findall((DOCS / document).read_text(encoding="utf-8"))


@pytest.fixture
def environment(tmp_path):
    """A search path with the commands of tenora, which work on the test's own folder."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for command, module in (("tenora", "tenora"), ("tenora-conformance", "tenora_conformance")):
        (tools / command).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (tools / command).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path / "site")}


def test_write_a_backend(tmp_path, environment):
    assert shutil.which("cc"), "no cc: the tests need a C compiler"
    told: list[str] = []
    for language, role, text in blocks("write-a-backend.md"):
        if role.startswith("file="):
            file = tmp_path / role.removeprefix("file=")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        elif language == "sh":
            for line in text.strip().splitlines():
                run_line(line, tmp_path, environment)
        elif role == "run":
            done = run_python(["-c", text], path=tmp_path / "site")
            assert done.returncode == 0, done.stderr
            told.append(done.stdout)
        elif role == "output":
            assert told.pop() == text
        else:
            raise AssertionError(f"a block that nobody checks: {language} {text[:60]!r}")
    assert not told
    check_the_library(tmp_path / "mine" / "mine.so")


def check_the_library(library: Path) -> None:
    """The document's C: tenora takes its table, and it computes."""
    program = f"""
import tenora
from tenora_engine import _engine
print(_engine.load_native_backend({str(library)!r}, "mine")["kernels"])
a = tenora.tensor([1.0, 2.0])
_engine.set_override_backend("cpu", "mine")
print((a + a).tolist())
"""
    done = run_python(["-c", program])
    assert done.stdout == "['add']\n[2.0, 4.0]\n", done.stdout + done.stderr


def run_line(line: str, folder: Path, environment: dict[str, str]) -> None:
    """Runs a command of the document; pip works on the folder's own site directory."""
    if line.startswith("pip install ./"):
        pip_install(folder / line.removeprefix("pip install ./"), folder / "site")
        return
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    if line == "tenora doctor":
        ready = {row.split()[0] for row in done.stdout.splitlines() if row.split()[1:2] == ["READY"]}
        assert {file.parent.name for file in folder.glob("*/pyproject.toml")} <= ready, done.stdout


def test_one_op_runs():
    (program,) = [text for _, role, text in blocks("one-op.md") if role == "run"]
    (output,) = [text for _, role, text in blocks("one-op.md") if role == "output"]
    done = run_python(["-c", program])
    assert (done.stdout, done.stderr) == (output, "")


def statements() -> list[tuple[list[Path], list[str]]]:
    """Files and names that a paragraph or item of one-op.md mentions."""
    text = re.sub(
        r"^```.*?^```$", "", (DOCS / "one-op.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    found = []
    for item in re.split(r"\n\n|\n- ", text):
        words = NAME.findall(item)
        files = [word for word in words if "/" in word]
        names = [word for word in words if re.fullmatch(r"\w+", word) or word == "mul = op("]
        if files:
            found.append(([ROOT / file for file in files], names))
    return found


def test_one_op_names_what_is_there():
    assert len(statements()) > 15
    for files, names in statements():
        missing = [str(file) for file in files if not file.is_file()]
        assert not missing, missing
        texts = "\n".join(file.read_text(encoding="utf-8") for file in files)
        # Names of the program itself, such as a and b, are not names of the files.
        absent = [name for name in names if len(name) > 1 and not re.search(rf"\b{re.escape(name)}", texts)]
        assert not absent, f"{absent} not in {[file.name for file in files]}"


MODULES = ("attestation choice config errors explanation manifest masks opset runtime versions").split()


@pytest.mark.parametrize("module", [*(f"tenora_dispatch.{name}" for name in MODULES), "tenora_hooks"])
def test_examples_of_docstrings(module, monkeypatch):
    monkeypatch.delenv("TENORA_BACKEND", raising=False)
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_the_changelog_promises_no_more_ops_than_there_are():
    told = re.search(r"About (\d+) public ops", (ROOT / "CHANGELOG.md").read_text())
    assert told and 0 <= census().ops - int(told[1]) < 30


def test_the_guide_tells_what_every_primitive_is_given():
    text = (DOCS / "write-a-backend.md").read_text(encoding="utf-8")
    table = text[text.index("What a kernel of ring 0 is given") : text.index("An index out of range is")]
    told = set(NAME.findall(table))
    primitives = {r.name for r in tenora_ops.records() if r.kind == "kernel" and not r.kernel}
    assert {"sum", "index_put"} <= primitives
    assert sorted(primitives - told) == []


def test_the_guide_explains_every_key_of_a_manifest():
    text = (DOCS / "write-a-backend.md").read_text(encoding="utf-8")
    table = text[text.index("| key | what it says |") : text.index("The package: `probe`")]
    told = {name for line in table.strip().splitlines() for name in NAME.findall(line.split("|")[1])}
    assert told == {field.name for field in dataclasses.fields(Manifest)} - {"path"}
