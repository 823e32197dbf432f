"""A look inside the simulated device: what it reported, what ran, what is still queued."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator

import tenora
import tenora_dispatch
import tenora_sim

POLICIES = ("eager", "lazy", "random", "pct")


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library; its functions for tests are named tenora_sim_*."""
    loaded = ctypes.CDLL(str(tenora_sim.library_path()))
    loaded.tenora_sim_pending.restype = ctypes.c_int64
    loaded.tenora_sim_storage.restype = ctypes.c_void_p
    loaded.tenora_sim_storage.argtypes = [ctypes.c_void_p]
    return loaded


def _lines(function: str) -> list[str]:
    buffer = ctypes.create_string_buffer(1 << 20)
    getattr(library(), function)(buffer, ctypes.c_size_t(len(buffer)))
    return buffer.value.decode().splitlines()


def reports() -> list[str]:
    """Missing waits, writes outside of memory: everything since `forget`."""
    return _lines("tenora_sim_reports")


def history() -> list[str]:
    """The last operations that ran, "name@stream"."""
    return _lines("tenora_sim_history")


def pending() -> int:
    """How many operations are queued and have not run."""
    return int(library().tenora_sim_pending())


def forget() -> None:
    """Clears the reports, which otherwise fail every later wait."""
    library().tenora_sim_forget()


@contextlib.contextmanager
def simulated(policy: str = "random", seed: int = 0) -> Iterator[None]:
    """Computes on sim under a schedule; afterwards the device is idle and has no reports and no faults to come."""
    with tenora.use_backend("sim"):
        forget()
        tenora.sim.synchronize()
        tenora.set_backend_option("sim", policy=policy, seed=seed)
        try:
            yield
        finally:
            no_faults = dict.fromkeys(("fail_allocation", "fail_kernel", "lose_device"), 0)
            tenora.set_backend_option("sim", policy="random", seed=0, memory=4096, **no_faults)
            forget()
            with contextlib.suppress(RuntimeError, IndexError):  # told to a test that did not wait for it
                tenora.sim.synchronize()


def everywhere(seeds: int) -> Iterator[tuple[str, int]]:
    """Every policy with so many seeds."""
    for policy in POLICIES:
        for seed in range(seeds):
            yield policy, seed


def state() -> str:
    """The life-cycle state of the backend."""
    return next(row.state.value for row in tenora_dispatch.backends() if row.name == "sim")
