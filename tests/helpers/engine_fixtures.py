"""What `core` and `any_backend` share: which backends are installed, and that a test leaves nothing behind."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator

import pytest

import tenora
import tenora_dispatch

COUNTED = ("tensors", "storages", "nodes", "extras")


def installed(device_type: str = "") -> list[str]:
    """Names of the backends whose manifests can be read, of one device type or of any. None of their code runs."""
    rows = [row for row in tenora_dispatch.backends() if row.device_types]
    return [row.name for row in rows if not device_type or device_type in row.device_types]


@functools.cache
def set_aside() -> None:
    """Takes what imports have made out of the collector's sight, once: thousands of collections would walk it."""
    gc.collect()
    gc.freeze()


def counts() -> dict[str, int]:
    """Live engine objects, after everything unreachable has gone."""
    set_aside()
    gc.collect()
    live = tenora.live()
    return {name: live[name] for name in COUNTED}


@pytest.fixture
def live_baseline() -> Iterator[None]:
    """Fails a test that leaves tensors, storages, nodes or their extras alive."""
    before = counts()
    yield
    after = counts()
    assert after == before, f"left alive by the test: { ({k: after[k] - before[k] for k in COUNTED}) }"
