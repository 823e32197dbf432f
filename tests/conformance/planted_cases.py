"""Defects planted in kernels of the reference, in this process, and what a check then says of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tenora_conformance import subject
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Result, Status
from tenora_conformance.run.one import run_case
from tenora_conformance.subject import Subject


@functools.cache
def reference() -> Subject:
    return subject.load("reference")


def case_of(check: str, id: str) -> Case:
    """The case of a check that has an id."""
    return next(case for case in CHECKS[check].cases((id.partition("/")[0],)) if case.id == id)


def run(check: str, id: str) -> Result:
    """How a case ends on the reference."""
    return run_case(case_of(check, id), reference())


def passes(check: str, id: str) -> None:
    result = run(check, id)
    assert result.status is Status.PASS, result.message


def plant(monkeypatch: pytest.MonkeyPatch, kernel: Callable[..., Any], defect: Any) -> None:
    """Another body for a kernel: the registry holds the function itself."""
    kernel = inspect.unwrap(kernel)
    monkeypatch.setattr(kernel, "__code__", defect.__code__)
    monkeypatch.setattr(kernel, "__kwdefaults__", defect.__kwdefaults__)


def plant_ufunc(
    monkeypatch: pytest.MonkeyPatch, kernel: Callable[..., Any], ufunc: Callable[..., Any]
) -> None:
    """Something else for a kernel that is one ufunc."""
    assert kernel.__closure__ is not None
    monkeypatch.setattr(kernel.__closure__[0], "cell_contents", ufunc)


def fails(check: str, id: str, words: str) -> None:
    """The case fails and says why."""
    result = run(check, id)
    assert result.status is Status.FAIL and words in result.message, (result.status, result.message)
