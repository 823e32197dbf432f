"""A report is checked again: whatever is changed by hand, left out or invented is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_cases import SHA, built, fail, plan_of, result_of, sound_run, use_small_plan, waive

from tenora_conformance import must_run, waivers
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.report import build
from tenora_conformance.report.build import Report
from tenora_conformance.report.verify import shown, verify


@pytest.fixture(autouse=True)
def small_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_plan(monkeypatch)


def forge(folder: Path, change: Callable[[Report], Any]) -> list[str]:
    """A sound report that somebody changes, with the digest and every file made anew, as a careful forger would."""
    report = built(folder, sound_run())
    (folder / "results.jsonl").unlink()
    change(report)
    report["digest"] = build.digest(report)
    for name, text in build.files_of(report).items():
        (folder / name).write_text(text)
    return verify(folder).problems


def test_a_sound_report(tmp_path: Path) -> None:
    run = sound_run()
    built(tmp_path, run)
    verdict = verify(tmp_path)
    assert verdict.problems == [] and verdict.notes == []
    assert shown(verdict) == "The report is sound: reference meets L3; 12 PASS."


def test_a_report_of_l0_needs_no_kernels(tmp_path: Path) -> None:
    run = sound_run(Level.L0)
    for result in run.results:
        result.kernels = {}
    assert built(tmp_path, run)["met"] == "L0" and verify(tmp_path).problems == []


def test_a_failing_report_is_sound_as_well(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0", kernels={"stranger:relu": 1})
    waive(run, "relu/bool/contiguous/0")
    built(tmp_path, run)
    assert verify(tmp_path).problems == []


@pytest.mark.parametrize("name", ["report.md", "report.html", "badge.json", "junit.xml", "results.jsonl"])
def test_a_file_that_was_edited_is_found(tmp_path: Path, name: str) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0")
    built(tmp_path, run)
    path = tmp_path / name
    path.write_text(path.read_text().replace("relu", "silu", 1) if name != "badge.json" else "{}")
    assert any(name in problem for problem in verify(tmp_path).problems)


def test_an_edited_report_is_found(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0")
    built(tmp_path, run)
    path = tmp_path / "report.json"
    path.write_text(path.read_text().replace('"FAIL"', '"PASS"'))
    problems = verify(tmp_path).problems
    assert any("digest is another" in problem for problem in problems)
    assert any("level L2 is not what its results say" in problem for problem in problems)


def set_status(case: str, status: str) -> Callable[[Report], None]:
    def change(report: Report) -> None:
        next(row for row in report["results"] if row[0] == case)[2] = status

    return change


def drop(case: str) -> Callable[[Report], None]:
    def change(report: Report) -> None:
        report["results"] = [row for row in report["results"] if row[0] != case]
        report["levels"]["L2"] |= {"planned": 2, "counts": {"PASS": 2}}

    return change


def invent(report: Report) -> None:
    report["results"].append(["relu/int8/contiguous/0", "values", "PASS", 2, 0.0, 0.0])
    report["levels"]["L2"] |= {"planned": 4, "counts": {"PASS": 4}}


def waive_by_hand(report: Report) -> None:
    set_status("relu/bool/contiguous/0", "WAIVED")(report)
    report["levels"]["L2"]["counts"] = {"PASS": 2, "WAIVED": 1}
    report["failures"]["relu/bool/contiguous/0"] = {"message": "known", "waiver": "mine"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_status("relu/bool/contiguous/0", "FAIL"), "level L2 is not what its results say"),
        (
            set_status("relu/bool/contiguous/0", "FAIL"),
            "failure without a description: relu/bool/contiguous/0",
        ),
        (
            set_status("relu/bool/contiguous/0", "WAIVED"),
            "waived without naming a waiver: relu/bool/contiguous/0",
        ),
        (drop("relu/bool/contiguous/0"), "planned case without a result: relu/bool/contiguous/0"),
        (invent, "result of no planned case: relu/int8/contiguous/0"),
        (lambda r: r["results"][2].__setitem__(3, 2), "result at another level than the plan's: add/float32"),
        (lambda r: r["left_out"].update({"capability y": 1}), "what was left out is not the plan's"),
        (lambda r: r["levels"].update(L4=r["levels"]["L3"]), "level that was not asked for: L4"),
        (lambda r: r.update(met="L4"), "the level met is wrong: got L4, expected L3"),
        (lambda r: r["failures"].update({"x": {"message": "y"}}), "description without a failure: x"),
        (
            lambda r: r["provenance"].update({"other": {"add": 1}}),
            "kernels of other ran, and no case failed for it",
        ),
        (lambda r: r.update(provenance={}), "no kernel ran in any case"),
        (lambda r: r["backend"].update(sources=SHA), "is installed from other sources: got sha256:"),
        (
            lambda r: r["declared"].update(dtypes=["bool", "float32", "int64"]),
            "declared dtypes: got ['bool', 'float32', 'int64'], expected ['bfloat16'",
        ),
        (
            lambda r: r["declared"].update(dtypes=["float32"]),
            "declared dtypes: bool, int64 cannot be undeclared",
        ),
        (lambda r: r["declared"].update(capabilities=[]), "declared capabilities: got []"),
        (
            lambda r: r["declared"].update(host_memory=False),
            "declared host_memory: got False, expected True",
        ),
        (lambda r: r["results"][3].__setitem__(4, 1.25), "a pass whose error is beyond its tolerance: add/"),
        (waive_by_hand, "1 results are WAIVED without a waiver, relu/bool/contiguous/0 first"),
    ],
)
def test_a_careful_forger_is_found(tmp_path: Path, change: Callable[[Report], Any], said: str) -> None:
    problems = forge(tmp_path, change)
    assert any(said in problem for problem in problems), problems


def test_more_waivers_than_a_level_takes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sound_run()
    waive(run, "relu/bool/contiguous/0")
    built(tmp_path, run)
    monkeypatch.setattr(waivers, "CAP", 0.3)
    said = "waivers cover 1 of 3 cases of L2, more than 30%"
    assert verify(tmp_path).problems == [f"what its waivers come to is not told: {said}"]
    assert run.end is not None
    run.end.complaints = [said]
    built(tmp_path, run)
    assert verify(tmp_path).problems == []


def test_a_report_of_another_form_is_not_read_further(tmp_path: Path) -> None:
    report = built(tmp_path, sound_run())
    report.pop("levels")
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert verify(tmp_path).problems == [
        "the form is not the schema's: report: got no 'levels', expected one"
    ]


def test_the_same_forgery_without_a_change_is_sound(tmp_path: Path) -> None:
    assert forge(tmp_path, lambda report: None) == []


def test_fewer_results_than_planned_are_named_five_at_a_time(tmp_path: Path) -> None:
    run = sound_run()
    run.results = [result_of(run, "@loading/-/-/0:loading")]
    built(tmp_path, run)
    missing = [problem for problem in verify(tmp_path).problems if "planned case without" in problem]
    assert len(missing) == 6 and missing[-1] == "planned case without a result: 6 more"


def test_what_cannot_be_checked_is_said(tmp_path: Path) -> None:
    run = sound_run(backend="elsewhere")
    run.results = [
        Result(each.case, each.level, each.check, Status.PASS, kernels={"elsewhere:add": 1})
        for each in run.results
    ]
    run.header.environment["opset"] = "0.9"
    built(tmp_path, run)
    verdict = verify(tmp_path)
    assert verdict.problems == []
    assert (
        len(verdict.notes) == 2
        and "not installed here" in verdict.notes[1]
        and "op set 0.9" in verdict.notes[0]
    )


def test_a_part_of_a_run_need_not_be_whole(tmp_path: Path) -> None:
    run = sound_run(selection="--op relu")
    run.results = run.results[7:]
    built(tmp_path, run)
    assert verify(tmp_path).problems == []


def test_the_plan_of_the_real_suite_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Level, Any]] = []

    def plan(level: Level, subject: Any) -> must_run.Plan:
        asked.append((level, subject))
        return plan_of(level, [Case("new", "float32", "-", "0", Level.L0)])

    built(tmp_path, sound_run())
    monkeypatch.setattr(must_run, "plan", plan)
    problems = verify(tmp_path).problems
    assert "planned case without a result: new/float32/-/0" in problems
    ((level, subject),) = asked
    assert level is Level.L3 and "float16" in subject.dtypes and subject.host_memory
