"""The examples in the docstrings of optimizers run as they stand."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tenora import optim

MODULES = [
    "optimizer",
    "hooks",
    *sorted({getattr(optim, name).__module__.split(".")[-1] for name in optim.__all__}),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tenora.optim.{name}"))
    assert result.failed == 0 and result.attempted > 0
