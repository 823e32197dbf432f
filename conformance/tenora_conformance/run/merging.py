"""Joins the shards of a run into one, and judges the whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tenora_conformance import manifest, must_run
from tenora_conformance.header import End, Header, joined
from tenora_conformance.model import Case, Level, Result
from tenora_conformance.report.read import Run, read_run
from tenora_conformance.run.attribution import attribute
from tenora_conformance.run.session import judge, replace_run
from tenora_conformance.subject import Subject
from tenora_conformance.waivers import Waiver


def merge(folders: Sequence[Path], out: Path) -> Run:
    """The run of which the folders hold the shards, written to `out`.

    Raises: ValueError where they are not the shards of one run, or a case has more than one result, or none of them
    knows it; OSError where a folder holds no run.
    """
    runs = [read_run(folder) for folder in folders]
    header = joined([run.header for run in runs])
    results: dict[str, Result] = {}
    for folder, run in zip(folders, runs, strict=True):
        if run.end is None:
            raise ValueError(
                f"[merge] {folder}: got a run without an end, expected one that ended. Run that shard again."
            )
        for result in run.results:
            if result.case in results:
                raise ValueError(
                    f"[merge] {folder}: got a second result of {result.case}, expected one of each case."
                    " Name each shard's folder once."
                )
            results[result.case] = result
    level = Level.parse(header.level)
    listed = list(must_run.all_cases(level))
    cases = must_run.plan(level, _subject(header), listed).cases
    strangers = set(results) - {case.id for case in cases}
    if strangers:
        raise ValueError(
            f"[merge] {len(strangers)} results are of no planned case: got {min(strangers)} first, expected cases of"
            " this version. Merge with the version of tenora-conformance that ran the shards."
        )
    return _judged(header, cases, results, runs, manifest.lacking(level, listed), out)


def _judged(
    header: Header,
    cases: Sequence[Case],
    results: dict[str, Result],
    runs: Sequence[Run],
    complaints: list[str],
    out: Path,
) -> Run:
    attribute(cases, results)
    given = [Waiver.from_json(waiver) for waiver in header.waivers]
    complaints = complaints + judge(given, cases, results, whole=True)
    ends = [run.end for run in runs if run.end is not None]
    end = End(sum(end.seconds for end in ends), [row for end in ends for row in end.fallbacks], complaints)
    merged = Run(header, [results[case.id] for case in cases if case.id in results], end)
    replace_run(out, merged)
    return merged


def _subject(header: Header) -> Subject:
    """The subject that a header tells of."""
    return Subject.from_json({"name": header.backend, "device": header.device, **header.declared})
