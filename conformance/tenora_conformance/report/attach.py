"""Lays what a report says beside the backend's manifest: `tenora-conformance attach DIR`.

- Only a sound report of a whole run that met what it was asked for is taken; every other is refused with the reason.
- The file is `tenora-conformance.json`, which the choice of a backend reads (`tenora_dispatch.attestation`). It has an
  entry for each device type; entries of other sources are dropped when one is written.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tenora_dispatch
from tenora_conformance.model import Level, Status
from tenora_conformance.report.summary import FIRST_WAIVABLE
from tenora_conformance.report.verify import verify
from tenora_dispatch import ArgumentValueError, attestation
from tenora_dispatch.attestation import UnusableReport


def attach(folder: Path) -> Path:
    """Writes the entry of a report's device type into the backend's package and returns the file's path.

    Raises: ArgumentValueError where the report does not count; FileNotFoundError without one; OSError where the
    package cannot be written to.
    """
    verdict = verify(folder)
    report = verdict.report
    reasons = verdict.problems or [*verdict.notes, *refusals(report)]
    if reasons:
        raise ArgumentValueError(
            f"[attach] the report in {folder} does not count: got {'; '.join(reasons)}, expected a sound report of a "
            "whole run that met its level. Run it again, with a lower --level if need be."
        )
    name = report["backend"]["name"]
    row = next(row for row in tenora_dispatch.backends() if row.name == name)
    assert row.manifest is not None  # its cases have run
    path = row.manifest.path.with_name(attestation.FILE_NAME)
    path.write_text(text_of(report, _kept(path, report["backend"]["sources"])), encoding="utf-8")
    return path


def refusals(report: dict[str, Any]) -> Iterator[str]:
    """Why a report that is sound does not count."""
    run = report["run"]
    if not run["ended"]:
        yield "a run that was ended early"
    if run["shard"]:
        yield f"shard {run['shard']} alone"
    if run["selection"]:
        yield f"a part of the plan ({run['selection']})"
    if report["fallbacks"]:
        yield f"stand-ins for {', '.join(sorted({op for op, _, _ in report['fallbacks']}))}"
    strangers = sorted(set(report["provenance"]) - {report["backend"]["name"]})
    if strangers:
        yield f"kernels of {', '.join(strangers)}"
    waived = [row[0] for row in report["results"] if row[2] == Status.WAIVED and row[3] < FIRST_WAIVABLE]
    if waived:
        yield f"waivers at {' and '.join(level.name for level in Level if level < FIRST_WAIVABLE)}: {waived[0]}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    expired = [waiver for waiver in report["waivers"] if waiver["expires"] < today]
    if expired:
        yield f"a waiver that has expired on {expired[0]['expires']} ({expired[0]['issue']})"
    if report["met"] != run["level"]:
        why = report["levels"][run["level"]]["why"]
        yield f"{run['level']} asked for and {report['met'] or 'no level'} met ({why})"


def _kept(path: Path, sources: str) -> dict[str, attestation.Attestation]:
    """The entries that are there already and of the same sources."""
    try:
        return {kind: entry for kind, entry in attestation.read(path).items() if entry.digest == sources}
    except (FileNotFoundError, UnusableReport):
        return {}


def text_of(report: dict[str, Any], kept: dict[str, attestation.Attestation]) -> str:
    """The file's text: the kept entries and the report's."""
    entry = attestation.Attestation(
        level=report["met"],
        opset=report["environment"]["opset"],
        protocol=report["environment"]["protocol"],
        digest=report["backend"]["sources"],
        date=report["run"]["started"][:10],
        report=report["digest"],
    )
    kind = report["backend"]["device"].partition(":")[0]
    return attestation.text_of(report["backend"]["name"], kept | {kind: entry})
