"""The reports beside the manifests of this repository's backends are of their present sources."""

import dataclasses
import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from report_cases import CASES, built, header, plan_of, sound_run, use_small_plan

import renew_reports
import tenora_dispatch
import tenora_ops
from tenora_conformance import must_run
from tenora_conformance.model import Case, Level
from tenora_dispatch import attestation

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = {
    tomllib.loads(path.read_text())["name"]: path
    for path in sorted(ROOT.glob("backends/*/*/tenora-backend.toml"))
}
#: Those of which a report is attached.
ATTACHED = {
    name: path.with_name(attestation.FILE_NAME)
    for name, path in MANIFESTS.items()
    if path.with_name(attestation.FILE_NAME).is_file()
}
ADVICE = "run `make conformance` and commit what it writes"


INSTALLED = {row.name: row for row in tenora_dispatch.backends() if row.name in MANIFESTS}


def test_what_serves_by_itself_has_a_report() -> None:
    """Else everybody computes with the reference, slowly."""
    willing = {name for name, path in MANIFESTS.items() if tomllib.loads(path.read_text()).get("auto")}
    assert willing and willing <= ATTACHED.keys(), ADVICE


def test_the_reports_are_current() -> None:
    stale = []
    for name in sorted(ATTACHED.keys() & INSTALLED.keys()):
        for kind in attestation.read(ATTACHED[name]):
            said = attestation.objection(
                MANIFESTS[name], INSTALLED[name].package, kind, tenora_ops.OPSET_VERSION
            )
            stale += [f"{name} on {kind}: {said}"] if said else []
    assert not stale, ADVICE


def test_what_is_installed_was_built_from_the_tree() -> None:
    """Else a report of yesterday's library would be attached to today's sources."""
    assert "reference" in INSTALLED
    for name, row in INSTALLED.items():
        home = MANIFESTS[name].parents[1]
        listed = attestation.package_files(row.package).get(attestation.SOURCES_FILE)
        if name in ATTACHED and (home / "CMakeLists.txt").is_file():
            assert listed is not None, (
                f"{name}: its report is bound to a library: call tenora_backend_sources"
            )
        for line in listed.read_text().splitlines() if listed else ():
            total, _, file = line.partition("  ")
            found = hashlib.sha256((home / file).read_bytes()).hexdigest()
            assert found == total, f"{name}: {file} was changed after the build: run `make build`"


def test_the_table_of_coverage_is_of_the_attached_reports() -> None:
    if not renew_reports.COVERAGE.exists():
        assert not ATTACHED
        return
    text = renew_reports.COVERAGE.read_text()
    for name, path in ATTACHED.items():
        for kind, entry in attestation.read(path).items():
            row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
            told = rf"\| {kind}(:0)? \| {entry.level} \| {re.escape(entry.opset)} \| {entry.date} \|"
            assert re.search(told, row), ADVICE


def test_a_backend_is_renewed_when_its_report_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renew_reports, "FOLDER", tmp_path)
    assert renew_reports.names() == sorted(MANIFESTS)
    assert not renew_reports.is_current("no_such_backend")
    asked: list[str] = []
    monkeypatch.setattr(renew_reports, "names", lambda: ["one", "two"])
    monkeypatch.setattr(renew_reports, "is_current", lambda name: name == "one")
    monkeypatch.setattr(renew_reports, "renew", lambda name: bool(asked.append(name)) or name == "one")
    assert renew_reports.main([]) == 1 and asked == ["two"]
    assert renew_reports.main(["one"]) == 0 and asked == ["two", "one"]
    assert renew_reports.main(["--all"]) == 1 and asked[2:] == ["one", "two"]


def test_current_means_attached_of_these_sources_and_with_these_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, place = "reference", tmp_path / "package"
    use_small_plan(monkeypatch)
    monkeypatch.setattr(renew_reports, "FOLDER", tmp_path)
    monkeypatch.setattr(renew_reports, "read", lambda path: attestation.read(place))
    assert not renew_reports.is_current(name)
    report = built(tmp_path / name, sound_run())
    entry = attestation.Attestation(
        "L3", "1.0", "1.0", report["backend"]["sources"], "2026-11-30", report["digest"]
    )
    for changed, current in (({}, True), ({"digest": "sha256:0"}, False), ({"report": "sha256:0"}, False)):
        place.write_text(attestation.text_of(name, {"cpu": dataclasses.replace(entry, **changed)}))
        assert renew_reports.is_current(name) is current, changed
    place.write_text(attestation.text_of(name, {"cpu": entry}))
    more = [*CASES, Case("new", "float32", "-", "0", Level.L1)]
    monkeypatch.setattr(must_run, "plan", lambda level, subject: plan_of(level, more))
    assert not renew_reports.is_current(name)


def test_coverage_waits_for_every_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(renew_reports, "ROOT", tmp_path)
    monkeypatch.setattr(renew_reports, "FOLDER", tmp_path)
    monkeypatch.setattr(renew_reports, "COVERAGE", tmp_path / "coverage.md")
    built(tmp_path / "reference", sound_run())
    assert not renew_reports.write_coverage(["reference", "other"])
    assert "other has no report" in capsys.readouterr().out and not (tmp_path / "coverage.md").exists()
    assert renew_reports.write_coverage(["reference"])
    assert f"| {header().backend} |" in (tmp_path / "coverage.md").read_text()
