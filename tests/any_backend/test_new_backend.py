"""`tenora new-backend`: the package installs offline, loads, passes its own tests and level L1 as it is written."""

from __future__ import annotations

import re
import shlex
import shutil
import string
import sys
from pathlib import Path

import pytest
import yaml
from conftest import pip_install, run_python

import native_template
from tenora.cli import main
from tenora.cli.new_backend import TEMPLATES, template_files, write_backend
from tenora_dispatch.errors import ArgumentValueError, OperationError

NAME = "tiny_gpu"
KINDS = {"python": [], "native": ["--native"]}


@pytest.fixture(scope="module", params=KINDS)
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a generated package, and `site` with what pip made of it."""
    folder = tmp_path_factory.mktemp("authors")
    command = ["new-backend", NAME, *KINDS[request.param]]
    done = run_python(["-c", f"import os, tenora.cli; os.chdir({str(folder)!r}); tenora.cli.main({command})"])
    assert done.returncode == 0, done.stderr
    pip_install(folder / NAME, folder / "site")
    return folder


def run_here(folder: Path, *arguments: str):
    """Runs Python where the generated backend is installed, in its author's folder: its sources must not hide it."""
    return run_python(arguments, path=folder / "site", cwd=folder / NAME)


def test_it_loads(generated):
    done = run_here(generated, "-m", "tenora", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(line.split()[:3] == [NAME, "READY", "cpu"] for line in done.stdout.splitlines()), done.stdout
    assert f"tenora-{NAME.replace('_', '-')} 0.1.0" in done.stdout


def test_its_own_tests_pass(generated):
    """As its workflow runs them: `pytest tests`, where `python -m pytest` would find the sources, without a library."""
    pytest_command = str(Path(sys.executable).parent / "pytest")
    done = run_here(generated, pytest_command, "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr


def test_it_passes_l1_as_its_workflow_asks(generated):
    """The step that judges, word for word; tests/conformance/test_workflows.py runs all of them."""
    loaded = yaml.safe_load((generated / NAME / ".github" / "workflows" / "conformance.yml").read_text())
    steps = [step["run"] for step in loaded["jobs"]["conformance"]["steps"] if "run" in step]
    (judge,) = [step for step in steps if "tenora_conformance run" in step]
    python, *arguments = shlex.split(string.Template(judge).substitute(loaded["env"]))
    assert python == "python" and arguments[2:6] == ["run", NAME, "--level", "L1"]
    arguments[-1] = str(generated / arguments[-1])
    done = run_here(generated, *arguments)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert f"{NAME} on cpu, L1: MET" in done.stdout


#: Ops whose cases stand for a level's in the test of the README's walk: the whole of it takes minutes.
WALKED = ("signbit", "copysign", "softmax", "layer_norm", "add", "@train")


def judged(generated, level):
    """How the suite judges the ops of the walk; it says 4 of a part of the plan without a failure, and 1 else."""
    chosen = [word for op in WALKED for word in ("--op", op)]
    where = str(generated / f"report-{level}")
    options = ("--level", level, "--out", where, "--jobs", "2", *chosen)
    done = run_here(generated, "-m", "tenora_conformance", "run", NAME, *options)
    assert done.returncode in (1, 4), done.stdout + done.stderr
    return done


def test_the_readme_walks_to_l3(generated):
    """Each step is done as it is written: a block of Python names the file and the table that it goes into."""
    text = (generated / NAME / "README.md").read_text()
    section = text.partition("## L2")[2].partition("## L3")[0]
    steps = re.findall(r"`(\w+)` of `([^`]+)`[^`]*```python\n(.*?)```", section, re.DOTALL)
    for table, file, line in steps:
        assert " FAIL signbit/" in judged(generated, "L2").stdout
        module = generated / "site" / file
        before = module.read_text()
        module.write_text(before.replace(f"{table}: Table = {{\n", f"{table}: Table = {{\n{line}"))
        assert module.read_text() != before
    done = judged(generated, "L3")
    assert done.returncode == 4, done.stdout
    assert re.search(r"L2: [\d,]+ PASS, of", done.stdout) and re.search(r"L3: [\d,]+ PASS, of", done.stdout)


def test_only_the_package_in_python_needs_a_step(generated):
    text = (generated / NAME / "README.md").read_text()
    assert ("```python" in text) == (not (generated / NAME / "src").exists())


def test_the_template_is_small():
    """The budget of a backend that passes L1: 6 files, 800 lines."""
    package, kernels = (
        TEMPLATES / "backend_python" / "tenora_newbackend",
        TEMPLATES / "backend_native" / "src" / "kernels",
    )
    for folder in (package, kernels):
        files = [source for source, _ in template_files(folder) if source.stat().st_size]
        lines = sum(len(source.read_text().splitlines()) for source in files)
        assert 0 < len(files) <= 6 and lines <= 800, (folder, len(files), lines)


def test_the_workflow_is_that_of_the_suite():
    """Written by `python ci/native_template.py`; only the backend's name and the level differ."""
    assert native_template.WORKFLOW.read_text() == native_template.workflow()
    assert "BACKEND: newbackend\n  LEVEL: L1\n" in native_template.workflow()


def test_the_native_kernels_are_those_of_the_simulated_device():
    """Written by `python ci/native_template.py`; only the namespace differs."""
    assert native_template.differing() == []


def test_a_kernel_that_differs_is_seen(tmp_path):
    shutil.copytree(native_template.TEMPLATE, tmp_path / "kernels")
    assert native_template.differing(tmp_path / "kernels") == []
    (tmp_path / "kernels" / "index.cpp").write_text("// mine")
    (tmp_path / "kernels" / "extra.cpp").write_text("// mine")
    assert native_template.differing(tmp_path / "kernels") == ["extra.cpp", "index.cpp"]


def test_nothing_of_the_placeholder_is_left(generated):
    for file in (generated / NAME).rglob("*"):
        assert "newbackend" not in file.name
        assert not file.is_file() or "newbackend" not in file.read_text(), file


def test_the_readme_names_what_is_there(generated):
    text = (generated / NAME / "README.md").read_text()
    named = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(named) >= 8
    assert [name for name in named if not (generated / NAME / name).exists()] == []
    assert [level for level in ("L0", "L1", "L2", "L3") if level not in text] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My-GPU", "lower-case letters"),
        ("", "lower-case letters"),
        ("../up", "lower-case letters"),
        ("lambda", "word of Python"),
        ("cpu", "means something in tenora"),
        ("newbackend", "means something in tenora"),
        ("reference", "no installed backend has"),
        ("dispatch", "package, tenora_dispatch, is not installed"),
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path, name, words):
    with pytest.raises(ArgumentValueError) as caught:
        write_backend(name, tmp_path)
    assert repr(name) in str(caught.value) and words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_left_alone(tmp_path, monkeypatch, capsys):
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "mine.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert main(["new-backend", NAME]) == 1
    assert f"'{NAME}' is there already" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / NAME).iterdir()] == ["mine.txt"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def full(*unused: object, **ignored: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OperationError, match="No space left on device"):
        write_backend(NAME, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_comes_next(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-backend", NAME]) == 0
    told = capsys.readouterr().out
    assert f"pip install ./{NAME}" in told and f"tenora-conformance run {NAME} --level L1" in told
    assert (tmp_path / NAME / "pyproject.toml").is_file()


def test_the_command_says_how_a_native_one_is_built_beside_a_clone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-backend", NAME, "--native"]) == 0
    assert f"pip install --no-build-isolation ./{NAME})" in capsys.readouterr().out
