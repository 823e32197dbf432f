"""The pytest plugin: the same cases as the command's, each a test."""

import re
from pathlib import Path

import fake_cases
import pytest
from conftest import Install, run_python

from tenora_conformance import must_run
from tenora_conformance.model import Level
from tenora_conformance.subject import load

PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "tenora_conformance")


def test_every_case_is_a_test(tmp_path: Path) -> None:
    options = ("--backend", "reference", "--conformance-level", "L1", "--collect-only", "-q")
    done = run_python(*PYTEST, *options, path=tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"::test_case\[(.+)\]$", done.stdout, re.MULTILINE)
    assert found == [case.id for case in must_run.plan(Level.L1, load("reference")).cases]


def test_statuses_are_outcomes(install: Install, distributions: Path, tmp_path: Path) -> None:
    install("crashes", fake_cases.CRASHES_BELOW)
    options = (
        "--backend",
        "crashes",
        "--conformance-level",
        "L1",
        "-k",
        "floor/float64 or floor/float32",
        "-q",
    )
    done = run_python(*PYTEST, *options, path=distributions, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    counts = re.search(r"(\d+) failed, (\d+) passed", done.stdout)
    assert counts is not None and int(counts[1]) > 3 and int(counts[2]) > 3
    assert "CRASH, the process was ended by SIGSEGV in this case" in done.stdout
    assert "reproduction:" in done.stdout and "tenora_ops.REGISTERED['floor']" in done.stdout
    assert not re.search(r"FAILED .*float32", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "tenora_conformance needs --backend NAME"),
        (["--backend", "nobody"], "unknown backend: got 'nobody'"),
        (["--backend", "reference", "--conformance-level", "L9"], "unknown level: got 'L9'"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run_python(*PYTEST, *arguments, path=tmp_path, cwd=tmp_path)
    assert done.returncode != 0 and said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


LISTED = """
from tenora_conformance import manifest

committed = manifest.committed
manifest.committed = lambda: committed() | {"add/float32/contiguous/999": "L1 values"}
"""


def test_a_suite_that_lacks_a_listed_case_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "listed.py").write_text(LISTED)
    options = ("--backend", "reference", "--conformance-level", "L1", "-p", "listed")
    done = run_python(*PYTEST, *options, path=tmp_path, cwd=tmp_path)
    assert done.returncode != 0 and "passed" not in done.stdout
    assert "are not among the checks, add/float32/contiguous/999 first" in done.stdout + done.stderr
