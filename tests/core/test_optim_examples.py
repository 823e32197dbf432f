"""The examples in the docstrings of optimizers run as they stand."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tenora import optim

METHODS = [getattr(optim, name) for name in optim.__all__]
MODULES = [
    "optimizer",
    "hooks",
    "lr_scheduler",
    *sorted({found.__module__.split(".")[-1] for found in METHODS if isinstance(found, type)}),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tenora.optim.{name}"))
    assert result.failed == 0 and result.attempted > 0
