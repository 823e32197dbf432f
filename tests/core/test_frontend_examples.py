"""The examples in the docstrings of tenora's own modules run and say what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tenora

#: Packages whose files' examples are run by a test of their own, and the command line, which runs when imported.
ELSEWHERE = ("tenora.nn", "tenora.serialization", "tenora.utils.data", "tenora.cli")
NAMES = [
    found.name
    for found in pkgutil.walk_packages(tenora.__path__, "tenora.")
    if found.name.rpartition(".")[0] not in ELSEWHERE and found.name not in (*ELSEWHERE, "tenora.__main__")
]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    tenora.manual_seed(0)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    counts = [sum(len(t.examples) for t in finder.find(importlib.import_module(name))) for name in NAMES]
    assert sum(counts) > 250 and sum(count > 0 for count in counts) > 40
