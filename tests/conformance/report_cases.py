"""A small run for the tests of reports: a plan of twelve cases, of which each test breaks what it is about."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tenora_dispatch
from tenora_conformance import must_run, waivers
from tenora_conformance.header import End, Header
from tenora_conformance.model import Case, Detail, Level, Result, Status
from tenora_conformance.report.build import build
from tenora_conformance.report.environment import environment
from tenora_conformance.report.read import Run, write_run
from tenora_conformance.subject import declared_by
from tenora_dispatch.attestation import package_digest

NAME = "reference"
SHA = "sha256:" + "0" * 64
CASES = [
    Case("@loading", "-", "-", "0:loading", Level.L0, "loading"),
    *(Case("add", dtype, "strided", str(k), Level.L1) for dtype in ("float32", "int64") for k in range(3)),
    *(Case("relu", dtype, "contiguous", "0", Level.L2) for dtype in ("float32", "int64", "bool")),
    Case("relu", "float32", "contiguous", "0:gradient", Level.L3, "gradient"),
    Case("@train", "float32", "-", "mlp:training", Level.L3, "training"),
]
Change = Callable[[Run], Any]


def plan_of(level: Level, cases: list[Case] = CASES) -> must_run.Plan:
    """The plan of the twelve cases."""
    return must_run.Plan(level, [case for case in cases if case.level <= level], {"capability x": 2})


def header(level: Level = Level.L3, **fields: Any) -> Header:
    """The header of a run of the reference on that plan."""
    plan = plan_of(level)
    row = next(row for row in tenora_dispatch.backends() if row.name == NAME)
    own = {"name": row.distribution, "version": row.version, "kind": "sources", "digest": SHA}
    assert row.manifest is not None
    dtypes, capabilities = declared_by(row.manifest.capabilities)
    given: dict[str, Any] = {
        "backend": NAME,
        "device": "cpu",
        "level": level.name,
        "planned": {
            each.name: count for each in Level if (count := sum(case.level is each for case in plan.cases))
        },
        "left_out": plan.left_out,
        "declared": {
            "dtypes": sorted(dtypes),
            "capabilities": sorted(capabilities),
            "host_memory": fields.get("device", "cpu") == "cpu",
            "host_order": True,
            "kernels": {"add": "python"},
        },
        "environment": environment(),
        "distributions": [own | {"package": row.package, "sources": package_digest(row.package)}],
        "seeds": {"properties": 7},
        "started": "2026-11-30T20:00:00+00:00",
    }
    return Header(**given | fields)


def sound_run(level: Level = Level.L3, **fields: Any) -> Run:
    """A run in which everything passed."""
    results = [
        Result(
            case.id,
            int(case.level),
            case.check,
            Status.PASS,
            worst=0.25,
            seconds=0.001,
            kernels={f"{NAME}:add": 2},
        )
        for case in plan_of(level).cases
    ]
    return Run(header(level, **fields), results, End(12.5))


def result_of(run: Run, case: str) -> Result:
    """The result of a case of a run."""
    return next(result for result in run.results if result.case == case)


def fail(run: Run, case: str, status: Status = Status.FAIL, **fields: Any) -> Result:
    """Makes a case fail, with everything a person needs to see of it."""
    found = result_of(run, case)
    found.status = status
    found.message = "[relu] value at (1,): got 2.0, expected 3.0."
    found.detail = Detail(
        "tenora.relu(x)", ["[1.0, 3.0]"], "[1.0, 3.0]", "[1.0, 2.0]", "(1,)", "Traceback: here"
    )
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def waive(run: Run, case: str, expires: str = "2999-12-31") -> Result:
    """Makes a case fail, and the run know of a waiver for it."""
    run.header.waivers.append(
        {"case": [case], "reason": "no such unit", "issue": "issue 7", "expires": expires}
    )
    return fail(run, case, Status.WAIVED, waiver="no such unit (issue 7)")


def built(folder: Path, run: Run) -> dict[str, Any]:
    """Writes a run and builds its report; returns what `report.json` holds."""
    write_run(folder, run)
    return build(folder)


def use_small_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the twelve cases the must-run plan, of which a few may be waived."""
    monkeypatch.setattr(waivers, "CAP", 0.5)
    monkeypatch.setattr(must_run, "plan", lambda level, subject: plan_of(level))
