"""What changed between two reports, and the table of several."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from report_cases import built, fail, result_of, sound_run

from tenora_conformance.model import Result, Status
from tenora_conformance.report.commands import MET, NOT_MET, add_commands
from tenora_conformance.report.compare import compare_reports, comparison_text
from tenora_conformance.report.matrix import matrix_text
from tenora_dispatch import ArgumentValueError


@pytest.fixture
def before(tmp_path: Path) -> dict[str, Any]:
    run = sound_run()
    fail(run, "relu/bool/contiguous/0", Status.CRASH)
    fail(run, "relu/int64/contiguous/0")
    return built(tmp_path / "a", run)


def test_nothing_changed(before: dict[str, Any]) -> None:
    found = compare_reports(before, before)
    assert not found.worse and comparison_text(found).endswith("Nothing else changed.")


def test_each_kind_of_change(before: dict[str, Any], tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/int64/contiguous/0", Status.TIMEOUT)
    fail(run, "add/int64/strided/0")
    result_of(run, "add/int64/strided/1").worst = 0.75
    result_of(run, "add/int64/strided/2").worst = 0.4  # less than twice as large
    result_of(run, "add/float32/strided/0").seconds = 0.9
    run.results.remove(result_of(run, "add/float32/strided/1"))
    run.results.append(Result("abs/float32/strided/0", 2, "values", Status.PASS))
    found = compare_reports(before, built(tmp_path / "b", run))
    assert found.broken == [("add/int64/strided/0", "PASS", "FAIL")]
    assert found.fixed == [("relu/bool/contiguous/0", "CRASH", "PASS")]
    assert found.otherwise == [("relu/int64/contiguous/0", "FAIL", "TIMEOUT")]
    assert found.grown == [("add/int64/strided/1", 0.25, 0.75)]
    assert found.gone == [("add/float32/strided/1", "PASS")] and found.added == [
        ("abs/float32/strided/0", "PASS")
    ]
    assert found.slower == [("add", 0.005, 0.904)]
    assert found.met == ("L1", "L0") and found.worse
    text = comparison_text(found)
    assert "| add/int64/strided/0 | PASS | FAIL |" in text and "Slower, in seconds: 1" in text


def test_an_exact_result_may_become_inexact_within_reason(before: dict[str, Any], tmp_path: Path) -> None:
    run = sound_run()
    for result in run.results:
        result.worst = 0.0
    exact = built(tmp_path / "exact", run)
    result_of(run, "add/int64/strided/0").worst = 0.005
    result_of(run, "add/int64/strided/1").worst = 0.02
    found = compare_reports(exact, built(tmp_path / "b", run))
    assert [case for case, _, _ in found.grown] == ["add/int64/strided/1"] and not found.worse


def test_the_table_has_a_column_for_each_report(before: dict[str, Any], tmp_path: Path) -> None:
    run = sound_run(backend="other", device="rock:0")
    text = matrix_text([before, built(tmp_path / "b", run)])
    assert "| op | reference (cpu) | other (rock:0) |" in text
    assert "| `relu` | **2 of 4 fail** | 3 / 4 |" in text and "| `add` | 2 / 6 | 2 / 6 |" in text
    assert "`@loading`" not in text and "`@train`" not in text
    row = next(line for line in text.splitlines() if line.startswith("| reference"))
    assert "| L1 |" in row and "| 2026-11-30 | 12 | 10 | 2 | 0 |" in row


def test_the_commands_end_with_their_codes(
    before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    built(tmp_path / "b", sound_run())

    def run(*words: str) -> int:
        arguments = parser.parse_args([word.replace("DIR", str(tmp_path)) for word in words])
        code: int = arguments.run(arguments)
        return code

    assert run("compare", "DIR/a", "DIR/b") == MET
    assert run("compare", "DIR/b", "DIR/a") == NOT_MET
    assert run("matrix", "DIR/a", "DIR/b") == MET
    assert run("report", "DIR/a") == MET
    assert "# What the backends cover" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError, match="report.json is missing"):
        run("compare", "DIR/nowhere", "DIR/b")
    (tmp_path / "b" / "report.json").write_text('{"schema": 1}')
    with pytest.raises(ArgumentValueError, match="is no report of schema 1: got report: got no 'digest'"):
        run("matrix", "DIR/a", "DIR/b")
