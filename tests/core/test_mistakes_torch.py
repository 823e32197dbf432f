"""The seeded mistakes are mistakes under PyTorch too, and the table of docs/figures.md counts both sides."""

from __future__ import annotations

import re
from typing import Any

import torch
from bench.mistakes.all_mistakes import MISTAKES
from bench.mistakes.score import table
from bench.mistakes.seeded import CRITERIA, named, printed_by

import tenora


def _all_named(framework: Any) -> dict[str, dict[str, bool]]:
    return {mistake.name: named(mistake, printed_by(mistake.program, framework)) for mistake in MISTAKES}


def test_pytorch_refuses_the_same_programs_and_the_table_counts() -> None:
    theirs = _all_named(torch)
    lines = table(_all_named(tenora), theirs)
    assert sum(found["line"] for found in theirs.values()) >= 22
    total = next(line for line in lines if line.startswith("| *all four named*"))
    counts = re.search(r"\| (\d+) of 24 \| (\d+) of 24 \|$", total)
    assert counts and int(counts[1]) >= 22
    assert sum(line.startswith("| ") for line in lines) == 2 + 24 + len(CRITERIA) + 1
