"""Shared by the core tests: nothing may be left behind, and most tests run on every installed CPU backend."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import tenora

COUNTED = ("tensors", "storages", "nodes", "extras")
CPU_BACKENDS = ("reference", "cpu_mkl")


def counts() -> dict[str, int]:
    """Live engine objects, after everything unreachable has gone."""
    gc.collect()
    live = tenora.live()
    return {name: live[name] for name in COUNTED}


@pytest.fixture(autouse=True)
def live_baseline() -> Iterator[None]:
    """Fails a test that leaves tensors, storages, nodes or their extras alive."""
    before = counts()
    yield
    after = counts()
    assert after == before, f"left alive by the test: { ({k: after[k] - before[k] for k in COUNTED}) }"


@pytest.fixture(params=CPU_BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test on each CPU backend of the repository."""
    with tenora.use_backend(request.param):
        yield request.param
