"""Reads `results.jsonl`: the header, a result a line, the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenora_conformance.header import End, Header
from tenora_conformance.model import Result
from tenora_dispatch import ArgumentValueError

RESULTS = "results.jsonl"


@dataclass
class Run:
    """What a run left. `end` is None where it was ended before its last case."""

    header: Header
    results: list[Result] = field(default_factory=list)
    end: End | None = None


def read_run(folder: Path) -> Run:
    """The run in a folder; a last line that was cut off by a kill is left out.

    Raises: ArgumentValueError naming the file and line that cannot be read; FileNotFoundError where there is no run.
    """
    path = folder / RESULTS
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise ArgumentValueError(f"[report] {path} is empty: got no line, expected a header. Run again.")
    run = Run(Header.from_json(_parsed(path, 1, lines[0])))
    for number, line in enumerate(lines[1:], start=2):
        try:
            data = _parsed(path, number, line)
        except ValueError:
            if number == len(lines):
                break
            raise
        if "end" in data:
            run.end = End(**data["end"])
        else:
            run.results.append(_result(path, number, data))
    return run


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise ArgumentValueError(
            f"[report] {path}, line {number} cannot be read: got {line[:60]!r} ({error}), expected JSON. Run again."
        ) from error
    if not isinstance(data, dict):
        raise ArgumentValueError(
            f"[report] {path}, line {number} is wrong: got {line[:60]!r}, expected a JSON object. Run again."
        )
    return data


def _result(path: Path, number: int, data: dict[str, Any]) -> Result:
    try:
        return Result.from_json(data)
    except (TypeError, ValueError, KeyError) as error:
        raise ArgumentValueError(
            f"[report] {path}, line {number} is no result: got {error!r}, expected the fields of one. Run again."
        ) from error


def write_run(folder: Path, run: Run) -> None:
    """Writes a run as the runner does: for joining shards, and for tests."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [run.header.as_json(), *(result.as_json() for result in run.results)]
    if run.end is not None:
        lines.append(run.end.as_json())
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / RESULTS).write_text(text, encoding="utf-8")
