"""The examples in the docstrings of `nn` run and say what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tenora

FILES = [found.name for found in pkgutil.iter_modules(tenora.nn.__path__) if not found.ispkg]


@pytest.mark.parametrize("name", [*(f"tenora.nn.{file}" for file in FILES), "tenora.nn", "tenora.nn.modules"])
def test_examples(name: str) -> None:
    tenora.manual_seed(0)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_most_files_have_some() -> None:
    finder = doctest.DocTestFinder()
    counts = {
        file: sum(len(test.examples) for test in finder.find(importlib.import_module(f"tenora.nn.{file}")))
        for file in FILES
    }
    assert sum(counts.values()) > 150 and sum(count > 0 for count in counts.values()) > 25
