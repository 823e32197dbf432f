"""What a report shows of each case that is no pass; a backend that does nothing fails in all 60,000.

- Every failure has its message. In full (input, expected, got, a program that repeats it) are at most `IN_FULL` of an
  op and kind of check, and `MOST` in all: first one of each kind, then a second of each. `results.jsonl` has them all.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

from tenora_conformance.header import Header
from tenora_conformance.model import Detail, Result
from tenora_conformance.run.reproduce import case_of, reproduction

IN_FULL = 5
MOST = 1000
#: Characters of one text of a failure shown in full, and of a message alone.
LONGEST, LONGEST_MESSAGE = 2000, 400


def failures_of(results: Iterable[Result], header: Header) -> tuple[dict[str, Any], int]:
    """What to show, by case in the order of the results, and how many are shown without their details."""
    failing = [result for result in results if not result.passed]
    in_full = _in_full(failing)
    found = {result.case: _told(result, header, result.case in in_full) for result in failing}
    return found, sum(result.detail is not None for result in failing) - len(in_full)


def _in_full(failing: Sequence[Result]) -> set[str]:
    """The cases that are shown in full."""
    ranks: collections.Counter[tuple[str, str]] = collections.Counter()
    ranked = []
    for position, result in enumerate(failing):
        if result.detail is None:
            continue
        kind = (result.case.partition("/")[0], result.check)
        ranked.append((ranks[kind], position, result.case))
        ranks[kind] += 1
    return {case for rank, _, case in sorted(ranked)[:MOST] if rank < IN_FULL}


def _told(result: Result, header: Header, in_full: bool) -> dict[str, Any]:
    longest = LONGEST if in_full else LONGEST_MESSAGE
    told = {"message": _cut(result.message, longest)}
    told |= {name: text for name in ("root", "waiver") if (text := getattr(result, name))}
    if in_full and result.detail is not None:
        told |= _detailed(result.detail)
        program = _program(result, header)
        told |= {"program": program} if program else {}
    return told


def _detailed(detail: Detail) -> dict[str, Any]:
    names = ("call", "expected", "got", "first_wrong", "traceback")
    told: dict[str, Any] = {name: _cut(text) for name in names if (text := getattr(detail, name))}
    return told | ({"inputs": [_cut(text) for text in detail.inputs]} if detail.inputs else {})


def _program(result: Result, header: Header) -> str:
    """A program that repeats a case; "" where this version of the suite does not have it."""
    try:
        return reproduction(case_of(result), header.backend, header.device)
    except LookupError:
        return ""


def _cut(text: object, longest: int = LONGEST) -> str:
    told = str(text)
    return told if len(told) <= longest else f"{told[:longest]} ... ({len(told) - longest} more characters)"
