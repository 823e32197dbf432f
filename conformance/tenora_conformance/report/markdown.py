"""`report.md`: a report on one screen, with the failures by op below."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from typing import Any

#: Failing ops that are listed, each with one case.
OPS_LISTED = 100


def markdown_text(report: Mapping[str, Any]) -> str:
    """The Markdown of a report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    backend, run, environment = report["backend"], report["run"], report["environment"]
    verdict = f"meets {report['met']}" if report["met"] else "meets no level"
    yield f"# {backend['name']} {verdict}"
    yield ""
    yield (
        f"{backend['distribution']} {backend['version']} on `{backend['device']}`, asked for {run['level']} of op set "
        f"{environment['opset']}; {run['started']}, {run['seconds']:.0f} s, Python {environment['python']}, "
        f"{environment['system']} {environment['machine']}."
    )
    yield ""
    yield from table(("level", "met", "planned", "results", "why not"), _level_rows(report))
    yield from _section("Left out, by what is not declared", ("reason", "cases"), report["left_out"].items())
    yield from _section("Waivers", ("waiver", "reason", "issue", "expires"), _waiver_rows(report))
    yield from _section("Stand-ins that were used", ("op", "backend", "calls"), report["fallbacks"])
    yield from _section("Kernels that ran", ("backend", "kernels", "calls"), _provenance_rows(report))
    yield from _section(
        "Failures, by op", ("op", "cases", "for example", "what is wrong"), _failure_rows(report)
    )
    yield from _section(
        "Distributions",
        ("distribution", "version", "digest"),
        [
            (each["name"], each["version"], f"{each['kind']} {each['digest']}")
            for each in report["distributions"]
        ],
    )
    yield ""
    yield f"Seeds: {', '.join(f'{name} {seed}' for name, seed in run['seeds'].items()) or 'none'}."
    yield f"Digest of this report: `{report['digest']}`."


def table(header: tuple[str, ...], rows: Any) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' for _ in header)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(item) for item in row)} |"


def _section(title: str, header: tuple[str, ...], rows: Any) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield ""
        yield f"## {title}"
        yield ""
        yield from table(header, rows)


def _cell(item: Any) -> str:
    text = " ".join(str(item).split()).replace("|", "\\|")
    return text if len(text) <= 300 else text[:300] + " ..."


def _level_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, state in report["levels"].items():
        counts = ", ".join(f"{count} {status}" for status, count in state["counts"].items())
        yield name, "yes" if state["met"] else "no", str(state["planned"]), counts or "none", state["why"]


def _waiver_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for waiver in report["waivers"]:
        name = waiver.get("case") or waiver.get("cases") or waiver.get("name", "")
        yield str(name), *(str(waiver.get(key, "")) for key in ("reason", "issue", "expires"))


def _provenance_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for backend, kernels in report["provenance"].items():
        yield backend, str(len(kernels)), str(sum(kernels.values()))


def _failure_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    cases: dict[str, list[str]] = collections.defaultdict(list)
    for case in report["failures"]:
        cases[case.partition("/")[0]].append(case)
    ordered = sorted(cases.items(), key=lambda item: (-len(item[1]), item[0]))
    for op, failing in ordered[:OPS_LISTED]:
        yield op, str(len(failing)), f"`{failing[0]}`", report["failures"][failing[0]]["message"]
    if len(ordered) > OPS_LISTED:
        yield f"{len(ordered) - OPS_LISTED} more ops", "", "", "see report.html"
