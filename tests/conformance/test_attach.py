"""A report is laid beside the manifest only when it proves something; the choice of a backend reads it there."""

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_cases import CASES, NAME, built, fail, plan_of, sound_run, use_small_plan, waive

import tenora_dispatch
from tenora_conformance.model import Level, Status
from tenora_conformance.report.attach import attach
from tenora_conformance.report.commands import ENVIRONMENT, MET, NOT_MET, add_commands
from tenora_conformance.report.read import Run
from tenora_dispatch import ArgumentValueError, attestation


@pytest.fixture(autouse=True)
def small_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_plan(monkeypatch)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package whose manifest the backend is said to have."""
    folder = tmp_path / "package"
    folder.mkdir()
    row = next(row for row in tenora_dispatch.backends() if row.name == NAME)
    assert row.manifest is not None
    moved = dataclasses.replace(row.manifest, path=folder / row.manifest.path.name)
    monkeypatch.setattr(row, "manifest", moved)
    return folder


def attached(home: Path) -> dict[str, attestation.Attestation]:
    return attestation.read(home / attestation.FILE_NAME)


def test_a_sound_report_is_attached(home: Path, tmp_path: Path) -> None:
    report = built(tmp_path / "report", sound_run())
    assert attach(tmp_path / "report") == home / "tenora-conformance.json"
    assert attached(home) == {
        "cpu": attestation.Attestation(
            level="L3",
            opset=report["environment"]["opset"],
            protocol=report["environment"]["protocol"],
            digest=attestation.package_digest("tenora_reference"),
            date="2026-11-30",
            report=report["digest"],
        )
    }
    assert json.loads((home / "tenora-conformance.json").read_text())["backend"] == NAME
    path = home / "tenora-backend.toml"
    assert attestation.objection(path, "tenora_reference", "cpu", report["environment"]["opset"]) == ""


def test_it_does_not_count_itself(home: Path, tmp_path: Path) -> None:
    """The digest is the same before and after, so that a report can be attached twice."""
    built(tmp_path / "report", sound_run())
    attach(tmp_path / "report")
    first = (home / "tenora-conformance.json").read_text()
    attach(tmp_path / "report")
    assert (home / "tenora-conformance.json").read_text() == first


def end_early(run: Run) -> None:
    run.end = None


def stand_in(run: Run) -> None:
    assert run.end is not None
    run.end.fallbacks = [["conv2d", NAME, 3]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (end_early, "a run that was ended early"),
        (lambda run: setattr(run.header, "shard", "1/2"), "shard 1/2 alone"),
        (lambda run: setattr(run.header, "selection", "--quick"), "a part of the plan (--quick)"),
        (stand_in, "stand-ins for conv2d"),
        (lambda run: fail(run, "relu/bool/contiguous/0"), "L3 asked for and L1 met (L2 is not met)"),
        (
            lambda run: waive(run, "add/int64/strided/1"),
            "add/int64/strided/1 of L1, where nothing can be waived",
        ),
        (lambda run: waive(run, "@loading/-/-/0:loading"), "0:loading of L0, where nothing can be waived"),
        (
            lambda run: fail(run, "relu/bool/contiguous/0", Status.WAIVED, waiver="mine"),
            "1 results are WAIVED without a waiver, relu/bool/contiguous/0 first",
        ),
        (
            lambda run: waive(run, "relu/bool/contiguous/0", "2026-11-30"),
            "a waiver that has expired on 2026-11-30 (issue 7)",
        ),
        (
            lambda run: waive(run, "relu/bool/contiguous/0", "2026-11-29"),
            "expired on 2026-11-29; fix issue 7 or renew it",
        ),
        (lambda run: run.results.pop(), "planned case without a result: @train/float32/-/mlp:training"),
        (lambda run: run.results[0].kernels.update({"other:add": 1}), "kernels of other ran"),
        (lambda run: run.header.environment.update(opset="0.9"), "it is of op set 0.9"),
    ],
)
def test_a_report_that_proves_too_little_is_refused(
    home: Path, tmp_path: Path, change: Callable[[Run], Any], said: str
) -> None:
    run = sound_run()
    change(run)
    built(tmp_path / "report", run)
    with pytest.raises(ArgumentValueError, match="does not count") as refusal:
        attach(tmp_path / "report")
    assert said in str(refusal.value)
    assert not (home / "tenora-conformance.json").exists()


def test_an_edited_report_is_refused(home: Path, tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/bool/contiguous/0")
    built(tmp_path / "report", run)
    path = tmp_path / "report" / "report.json"
    path.write_text(path.read_text().replace('"FAIL"', '"PASS"').replace('"met": "L1"', '"met": "L3"'))
    with pytest.raises(ArgumentValueError, match="its content has been changed"):
        attach(tmp_path / "report")


def test_waivers_above_l1_count(home: Path, tmp_path: Path) -> None:
    run = sound_run()
    waive(run, "relu/bool/contiguous/0")
    built(tmp_path / "report", run)
    attach(tmp_path / "report")
    assert attached(home)["cpu"].level == "L3"


def test_a_lower_level_is_attached_as_what_it_is(home: Path, tmp_path: Path) -> None:
    built(tmp_path / "report", sound_run(Level.L1))
    attach(tmp_path / "report")
    assert attached(home)["cpu"].level == "L1"
    objection = attestation.objection(home / "tenora-backend.toml", "tenora_reference", "cpu", "1.0")
    assert objection == "its conformance report is of level L1, below L3"


def test_other_devices_keep_their_entries_while_the_sources_are_the_same(home: Path, tmp_path: Path) -> None:
    built(tmp_path / "report", sound_run(device="rock:0"))
    attach(tmp_path / "report")
    built(tmp_path / "report", sound_run(Level.L2))
    attach(tmp_path / "report")
    assert {kind: entry.level for kind, entry in attached(home).items()} == {"cpu": "L2", "rock": "L3"}
    stale = {kind: dataclasses.replace(entry, digest="sha256:0") for kind, entry in attached(home).items()}
    (home / "tenora-conformance.json").write_text(attestation.text_of(NAME, stale))
    attach(tmp_path / "report")
    assert list(attached(home)) == ["cpu"]


def test_the_command_ends_with_its_codes(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    folder = tmp_path / "report"

    def run(*words: str) -> int:
        arguments = parser.parse_args(list(words))
        code: int = arguments.run(arguments)
        return code

    built(folder, sound_run(selection="--quick"))
    assert run("verify", str(folder)) == MET and run("attach", str(folder)) == NOT_MET
    assert "a part of the plan (--quick)" in capsys.readouterr().err
    built(folder, sound_run())
    assert run("attach", str(folder)) == MET
    assert capsys.readouterr().out.strip() == str(home / "tenora-conformance.json")
    (home / "tenora-conformance.json").unlink()
    (home / "tenora-conformance.json").mkdir()
    assert run("attach", str(folder)) == ENVIRONMENT
    assert "the package cannot be written to" in capsys.readouterr().err
    (folder / "report.md").unlink()
    assert run("verify", str(folder)) == NOT_MET
    with pytest.raises(FileNotFoundError, match="report.json is missing"):
        run("attach", str(tmp_path / "nowhere"))


def test_the_small_plan_has_every_level() -> None:
    assert {case.level for case in plan_of(Level.L3).cases} == set(Level) - {Level.L4} and len(CASES) == 12
