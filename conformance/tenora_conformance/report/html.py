"""`report.html`: the report as one page that needs nothing from outside.

- `page.html` is the page, `page.css` and `page.js` are put into it, and the data as JSON, in columns of numbers that
  stand for words: 60,000 cases are about 2 MB, and the script shows only the rows that are in view.
- The page's content security policy allows what is inside it and no address, so that no text of a failing backend can
  load or run anything.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
#: The parts of a case's id, in order.
PARTS = ("op", "dtype", "layout", "sample")
#: What of the report the page shows as it is.
SHOWN = (
    "digest",
    "backend",
    "run",
    "met",
    "levels",
    "environment",
    "distributions",
    "left_out",
    "waivers",
    "fallbacks",
    "provenance",
    "details_left_out",
)


def page_text(report: Mapping[str, Any]) -> str:
    """The page of a report."""
    text = (_HERE / "page.html").read_text(encoding="utf-8")
    data = json.dumps(page_data(report), separators=(",", ":"))
    parts = {
        "STYLE": (_HERE / "page.css").read_text(encoding="utf-8"),
        "SCRIPT": (_HERE / "page.js").read_text(encoding="utf-8"),
        # `<` would end the element where the text of a failure holds "</script>".
        "DATA": data.replace("<", "\\u003c"),
    }
    for name, part in parts.items():
        before, _, after = text.partition(f"@{name}@")
        text = before + part + after
    return text


def page_data(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page's script reads: words once, each column of the cases as numbers."""
    words: dict[str, dict[str, int]] = {name: {} for name in (*PARTS, "check", "status")}
    columns: dict[str, list[Any]] = {name: [] for name in (*words, "level", "worst", "milliseconds")}
    numbers: dict[str, int] = {}
    for number, (case, check, status, level, worst, milliseconds) in enumerate(report["results"]):
        numbers[case] = number
        told = dict(zip(PARTS, [*case.split("/", 3), "", "", ""], strict=False))
        for name, word in {**told, "check": check, "status": status}.items():
            columns[name].append(words[name].setdefault(word, len(words[name])))
        columns["level"].append(level)
        columns["worst"].append(worst)
        columns["milliseconds"].append(milliseconds)
    backend = report["backend"]
    return {
        "report": {name: report[name] for name in SHOWN},
        "words": {name: list(known) for name, known in words.items()},
        "columns": columns,
        "failures": {numbers[case]: told for case, told in report["failures"].items() if case in numbers},
        "explain": f"tenora-conformance run {shlex.quote(backend['name'])} --device {shlex.quote(backend['device'])}"
        " --explain ",
    }
