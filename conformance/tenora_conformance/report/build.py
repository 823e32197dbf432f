"""Makes of a run's `results.jsonl` the report beside it, which is a folder:

- `report.json`: everything, for machines; `report.schema.json` says what it holds, and its digest finds a changed byte.
- `report.md`, `report.html`: the same for people; the page is one file without anything from outside.
- `junit.xml`, `badge.json`: for CI services.
"""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tenora_conformance.model import Result
from tenora_conformance.report import schema, summary
from tenora_conformance.report.badge import badge_text
from tenora_conformance.report.failures import failures_of
from tenora_conformance.report.html import page_text
from tenora_conformance.report.junit import junit_text
from tenora_conformance.report.markdown import markdown_text
from tenora_conformance.report.read import Run, read_run
from tenora_dispatch import ArgumentValueError

SCHEMA = 1
REPORT = "report.json"
COLUMNS = ["case", "check", "status", "level", "worst", "milliseconds"]
#: The files that are made of the results themselves.
RESULT_FILES = {"junit.xml": junit_text}

Report = dict[str, Any]


def build(folder: Path) -> Report:
    """Writes the report of the run in a folder, and returns what `report.json` holds.

    Raises: ArgumentValueError or FileNotFoundError where no run can be read; OSError where nothing can be written.
    """
    run = read_run(folder)
    report = report_of(run)
    for name, text in files_of(report).items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, make in RESULT_FILES.items():
        (folder / name).write_text(make(run), encoding="utf-8")
    return report


def files_of(report: Report) -> dict[str, str]:
    """The files that are made of `report.json`'s content alone, it first, by name."""
    return {
        REPORT: dumped(report),
        "report.md": markdown_text(report),
        "report.html": page_text(report),
        "badge.json": badge_text(report),
    }


def report_of(run: Run) -> Report:
    """The content of `report.json`."""
    header = run.header
    results = sorted(run.results, key=lambda result: result.case)
    levels = summary.levels_of(run)
    failures, left_out = failures_of(results, header)
    own = next(each for each in header.distributions if each["package"])
    report: Report = {
        "schema": SCHEMA,
        "backend": {
            "name": header.backend,
            "device": header.device,
            "distribution": own["name"],
            **{name: own[name] for name in ("version", "package", "sources")},
        },
        "run": {
            "level": header.level,
            "started": header.started,
            "seconds": round(run.end.seconds, 3) if run.end else 0.0,
            "ended": run.end is not None,
            "selection": header.selection,
            "shard": header.shard,
            "complaints": run.end.complaints if run.end else [],
            "seeds": header.seeds,
        },
        "met": summary.met_level(levels),
        "levels": summary.as_json(levels),
        "environment": header.environment,
        "distributions": header.distributions,
        "declared": header.declared,
        "left_out": header.left_out,
        "waivers": header.waivers,
        "fallbacks": run.end.fallbacks if run.end else [],
        "provenance": provenance(results),
        "columns": COLUMNS,
        "results": [_row(result) for result in results],
        "failures": failures,
        "details_left_out": left_out,
    }
    return {"digest": digest(report), **report}


def digest(report: Report) -> str:
    """The digest over everything but itself."""
    content = {name: value for name, value in report.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def dumped(report: Report) -> str:
    """`report.json`'s text: a line for each field and each result, so that two reports can be compared line by line."""
    parts = []
    for name, value in report.items():
        text = json.dumps(value)
        if name == "results" and value:
            text = "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
        elif name == "failures" and value:
            rows = (f"{json.dumps(case)}: {json.dumps(told)}" for case, told in value.items())
            text = "{\n" + ",\n".join(rows) + "\n}"
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def parsed(folder: Path) -> Report:
    """The JSON object in a folder's `report.json`, whatever it holds.

    Raises: ArgumentValueError where it is no JSON object; FileNotFoundError without one.
    """
    path = folder / REPORT
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"[report] {path} is missing: got no such file, expected the report of a run. "
            "Run `tenora-conformance run NAME --out DIR` first."
        ) from None
    except ValueError as error:
        raise ArgumentValueError(
            f"[report] {path} cannot be read: got {error}, expected JSON. Build the report again from its results."
        ) from error
    if not isinstance(report, dict):
        raise ArgumentValueError(
            f"[report] {path} is wrong: got {type(report).__name__}, expected an object. Run again."
        )
    return report


def load(folder: Path) -> Report:
    """The report of a folder. Raises: ArgumentValueError where it is not of the schema; FileNotFoundError."""
    report = parsed(folder)
    problem = next(schema.problems(report), "")
    if problem:
        raise ArgumentValueError(
            f"[report] {folder / REPORT} is no report of schema {SCHEMA}: got {problem}. Build it again: "
            "tenora-conformance report DIR."
        )
    return report


def provenance(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """The kernels that ran in all cases: backend -> kernel -> calls."""
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for result in results:
        for name, calls in result.kernels.items():
            backend, _, kernel = name.partition(":")
            found[backend][kernel] += calls
    return {backend: dict(sorted(kernels.items())) for backend, kernels in sorted(found.items())}


def _row(result: Result) -> list[Any]:
    worst: float | str = float(f"{result.worst:.3g}") if result.worst != float("inf") else "inf"
    if worst != worst:  # a share that is no number has no place in JSON
        worst = "inf"
    milliseconds = round(result.seconds * 1000, 2)
    return [result.case, result.check, result.status.value, result.level, worst, milliseconds]
