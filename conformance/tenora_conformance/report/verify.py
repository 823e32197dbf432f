"""Checks a report again, trusting nothing of it: `tenora-conformance verify DIR`.

- Its form is the schema's, its digest fits, and the files beside it are those that are made of it.
- Its counts and levels follow from its results; what is no pass is described, and nothing else is.
- Its cases are those of the must-run plan for what the backend declares: none is missing, none is invented. What it
  says to be declared is what the manifest here says, and the minimum of every level.
- Waivers are applied again: what is WAIVED has one, and what they come to is among its complaints.
- Only kernels of the backend ran in it, and the backend that is installed here is made of the sources it was made of.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tenora_dispatch
import tenora_ops
from tenora_conformance import must_run, waivers
from tenora_conformance.header import End, Header
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.report import schema, summary
from tenora_conformance.report.build import RESULT_FILES, Report, digest, files_of, parsed, report_of
from tenora_conformance.report.read import RESULTS, Run, read_run
from tenora_conformance.subject import HOST, MINIMUM, Subject, declared_by
from tenora_conformance.waivers import Waiver
from tenora_dispatch.attestation import UnusableReport, package_digest

#: Problems of one kind that are named one by one.
NAMED = 5


@dataclass
class Verdict:
    """What was found. `notes` say what could not be checked here, which is no problem of the report."""

    report: Report
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify(folder: Path) -> Verdict:
    """Checks the report in a folder.

    Raises: ArgumentValueError or FileNotFoundError where there is no report that can be read at all.
    """
    verdict = Verdict(parsed(folder))
    report = verdict.report
    verdict.problems += _named("the form is not the schema's", schema.problems(report))
    if verdict.problems:
        return verdict  # what follows takes the form for granted
    if digest(report) != report["digest"]:
        verdict.problems.append("its content has been changed since it was written: the digest is another")
    for check in (_derived, _provenance, _cases, _installed):
        check(verdict)
    verdict.problems += _files(folder, report)
    return verdict


def _named(what: str, found: Iterator[str] | list[str]) -> list[str]:
    every = list(found)
    more = [f"{what}: {len(every) - NAMED} more"] if len(every) > NAMED else []
    return [f"{what}: {one}" for one in every[:NAMED]] + more


def run_of(report: Report) -> Run:
    """The run that a report tells of, without what its results' details were."""
    run, backend = report["run"], report["backend"]
    header = Header(
        backend=backend["name"],
        device=backend["device"],
        planned={name: state["planned"] for name, state in report["levels"].items() if state["planned"]},
        **{name: run[name] for name in ("level", "seeds", "selection", "shard", "started")},
        **{
            name: report[name] for name in ("left_out", "declared", "environment", "distributions", "waivers")
        },
    )
    results = [
        Result(case, level, check, Status(status), worst=float(worst), seconds=milliseconds / 1000)
        for case, check, status, level, worst, milliseconds in report["results"]
    ]
    end = End(run["seconds"], report["fallbacks"], run["complaints"]) if run["ended"] else None
    return Run(header, results, end)


def _derived(verdict: Verdict) -> None:
    """Counts, levels and the list of failures against the results."""
    report = verdict.report
    run = run_of(report)
    states = summary.levels_of(run)
    verdict.problems += _named(
        "level that was not asked for", sorted(report["levels"].keys() - states.keys())
    )
    for name, state in summary.as_json(states).items():
        if report["levels"].get(name) != state:
            verdict.problems.append(
                f"level {name} is not what its results say: got {report['levels'].get(name)}, expected {state}"
            )
    if report["met"] != summary.met_level(states):
        verdict.problems.append(
            f"the level met is wrong: got {report['met'] or 'none'}, expected {summary.met_level(states) or 'none'}"
        )
    failing = {result.case for result in run.results if not result.passed}
    verdict.problems += _named("failure without a description", sorted(failing - set(report["failures"])))
    verdict.problems += _named("description without a failure", sorted(set(report["failures"]) - failing))
    waived = [result.case for result in run.results if result.status is Status.WAIVED]
    unnamed = [case for case in waived if not report["failures"].get(case, {}).get("waiver")]
    verdict.problems += _named("waived without naming a waiver", unnamed)
    beyond = [each.case for each in run.results if each.passed and each.worst > 1]
    verdict.problems += _named("a pass whose error is beyond its tolerance", beyond)


def _provenance(verdict: Verdict) -> None:
    """A kernel of another backend is a failure of its case, so that none can be in a report without failures."""
    report = verdict.report
    strangers = sorted(set(report["provenance"]) - {report["backend"]["name"]})
    if strangers and not report["failures"]:
        verdict.problems.append(f"kernels of {', '.join(strangers)} ran, and no case failed for it")
    if report["met"] not in ("", "L0") and not report["provenance"]:  # L0 asks for no computation
        verdict.problems.append("no kernel ran in any case, and a level is met")


def _cases(verdict: Verdict) -> None:
    """The cases against the must-run plan."""
    report = verdict.report
    backend, declared = report["backend"], report["declared"]
    if report["environment"]["opset"] != tenora_ops.OPSET_VERSION:
        verdict.notes.append(
            f"its cases were not compared with the plan: it is of op set {report['environment']['opset']}, "
            f"this tenora has {tenora_ops.OPSET_VERSION}"
        )
        return
    subject = Subject.from_json({"name": backend["name"], "device": backend["device"], **declared})
    plan = must_run.plan(Level.parse(report["run"]["level"]), subject)
    if dict(plan.left_out) != report["left_out"]:
        verdict.problems.append(
            f"what was left out is not the plan's: got {report['left_out']}, expected {dict(plan.left_out)}"
        )
    lacking = MINIMUM - subject.dtypes
    if lacking:
        verdict.problems.append(f"declared dtypes: {', '.join(sorted(lacking))} cannot be undeclared")
    planned = {case.id: int(case.level) for case in plan.cases}
    ran: dict[str, int] = {row[0]: row[3] for row in report["results"]}
    whole = report["run"]["ended"] and not report["run"]["selection"] and not report["run"]["shard"]
    if whole:
        verdict.problems += _named("planned case without a result", sorted(planned.keys() - ran.keys()))
    verdict.problems += _named("result of no planned case", sorted(ran.keys() - planned.keys()))
    moved = [case for case, level in ran.items() if planned.get(case, level) != level]
    verdict.problems += _named("result at another level than the plan's", sorted(moved))
    if report["run"]["ended"]:
        _waivers(verdict, [case for case in plan.cases if case.id in ran], whole=whole)


def _waivers(verdict: Verdict, cases: Sequence[Case], *, whole: bool) -> None:
    """What is waived against the waivers, on the day of the run."""
    run = run_of(verdict.report)
    given = [Waiver.from_json(waiver) for waiver in run.header.waivers]
    day = datetime.date.fromisoformat(run.header.started[:10])
    results = {result.case: result for result in run.results}
    found = waivers.apply(given, cases, results, whole=whole, today=day)
    told = set(verdict.report["run"]["complaints"])
    verdict.problems += _named(
        "what its waivers come to is not told", [each for each in found if each not in told]
    )


def _installed(verdict: Verdict) -> None:
    """The sources of the backend that is installed here."""
    backend = verdict.report["backend"]
    rows = [row for row in tenora_dispatch.backends() if row.name == backend["name"]]
    if not rows:
        verdict.notes.append(
            f"its sources were not compared: backend '{backend['name']}' is not installed here"
        )
        return
    if rows[0].manifest is not None:
        _declared(verdict, rows[0].manifest.capabilities)
    try:
        found = package_digest(rows[0].package)
    except UnusableReport as error:
        verdict.problems.append(f"the installed sources cannot be read: {error}")
        return
    if found != backend["sources"]:
        verdict.problems.append(
            f"backend '{backend['name']}' is installed from other sources: got {found}, the report is of "
            f"{backend['sources']}"
        )


def _declared(verdict: Verdict, words: Sequence[str]) -> None:
    """What the report's plan was made by against the manifest: what is left undeclared is not judged."""
    told = verdict.report["declared"]
    here: dict[str, Any] = dict(zip(("dtypes", "capabilities"), map(sorted, declared_by(words)), strict=True))
    here["host_memory"] = verdict.report["backend"]["device"].partition(":")[0] == HOST
    for name, expected in here.items():
        if told[name] != expected:
            verdict.problems.append(
                f"declared {name}: got {told[name]}, expected {expected}, as the manifest says"
            )


def _files(folder: Path, report: Report) -> Iterator[str]:
    """The files beside the report."""
    for name, text in files_of(report).items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{name} is not what is made of this report"
    if (folder / RESULTS).is_file():
        run = read_run(folder)
        if report_of(run)["digest"] != report["digest"]:
            yield f"{RESULTS} is not what this report is made of"
        for name, make in RESULT_FILES.items():
            if (folder / name).is_file() and (folder / name).read_text(encoding="utf-8") != make(run):
                yield f"{name} is not what is made of {RESULTS}"


def shown(verdict: Verdict) -> str:
    """The verdict for a person."""
    report: dict[str, Any] = verdict.report
    lines = [f"problem: {problem}" for problem in verdict.problems]
    lines += [f"not checked: {note}" for note in verdict.notes]
    if not verdict.problems:
        met = report["met"] or "no level"
        lines.append(f"The report is sound: {report['backend']['name']} meets {met}; {_counts(report)}.")
    return "\n".join(lines)


def _counts(report: dict[str, Any]) -> str:
    counts = summary.counts_of(run_of(report).results)
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "no results"
