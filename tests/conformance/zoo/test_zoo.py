"""The zoo: each broken backend is named as its README says, whatever it does, and the runner outlives it."""

import fnmatch
import subprocess
from pathlib import Path

import pytest
from broken_cases import Broken, compile_library
from conftest import Install, run_python
from zoo_cases import README, ZOO, table

from tenora_conformance.model import Status
from tenora_conformance.report.read import Run, read_run
from tenora_conformance.run.display import failures
from tenora_conformance.run.verdict import NOT_MET, UNPROVEN

NAMED = table()
PATIENT = (Broken.loading, Broken.silence)


def run_suite(
    broken: Broken, install: Install, distributions: Path, here: Path
) -> "subprocess.CompletedProcess[str]":
    """Installs a backend and runs the command for it, in an empty folder."""
    home = install(broken.name, broken.package, broken.manifest)
    for path, text in broken.files.items():
        (distributions / path).parent.mkdir(exist_ok=True)
        (distributions / path).write_text(text)
    if broken.lie is not None:
        compile_library(broken, home)
    here.mkdir()
    waits = (broken.loading, broken.silence)
    program = ["-m", "tenora_conformance"]
    if waits != PATIENT:
        program = [str(Path(__file__).with_name("zoo_run.py")), *map(str, waits)]
    options = ["--level", broken.level, "--jobs", "1", "--out", "out"]
    options += [word for op in broken.ops for word in ("--op", op)]
    return run_python(*program, "run", broken.name, *options, path=distributions, cwd=here)


@pytest.mark.parametrize("broken", ZOO, ids=lambda broken: broken.name)
def test_it_is_named(broken: Broken, install: Install, distributions: Path, tmp_path: Path) -> None:
    done = run_suite(broken, install, distributions, tmp_path / "here")
    named, said = NAMED[broken.name], done.stdout + done.stderr
    assert done.returncode == named.code, said
    if named.cases or named.code == UNPROVEN:
        assert not done.stderr, done.stderr
        judge(broken, read_run(tmp_path / "here" / "out"), done.stdout)
    else:
        met = f"{broken.name}, L0: NOT MET, the backend cannot be loaded\n" if named.code == NOT_MET else ""
        assert done.stdout == met, said
        assert named.is_said(done.stderr.split("\n")[0]), said


def judge(broken: Broken, run: Run, told: str) -> None:
    """Which cases failed, how, with which sentence; and that what is not broken passed."""
    named, own = NAMED[broken.name], [r for r in run.results if r in failures(run)]
    assert run.end is not None and run.results
    passed = [r.case for r in run.results if r.passed]
    if named.cases:
        first = own[0]
        assert {str(r.status) for r in own} == {named.status}, own[:3]
        assert [r.case for r in own if not fnmatch.fnmatch(r.case, named.cases)] == []
        assert named.is_said(first.message), first
        assert f"{named.status} {failures(run)[0].case}" in told, told
        assert not any(
            r.status is Status.BLOCKED and r.root not in {r.case for r in own} for r in run.results
        )
    else:
        assert own == []
    if broken.passes:
        meant = fnmatch.filter((r.case for r in run.results), broken.passes)
        assert meant and set(meant) <= set(passed), sorted(set(meant) - set(passed))[:5]


def test_the_table_has_a_row_for_each() -> None:
    assert list(NAMED) == [broken.name for broken in ZOO], README.name
    assert len(ZOO) >= 25
    assert all(named.what and (named.sentence or named.code != NOT_MET) for named in NAMED.values())
