"""Shared by the core tests: nothing may be left behind, and most tests run on every installed backend of the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_fixtures import installed, live_baseline

import tenora

__all__ = ["live_baseline"]


@pytest.fixture(autouse=True)
def nothing_is_left(live_baseline: None) -> None:
    """Every test of this group returns to the baseline."""


@pytest.fixture(params=installed("cpu"))
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test on each installed backend that serves the CPU."""
    with tenora.use_backend(request.param):
        yield request.param
