"""What the event ring shows to Python: profiles, traces, forbidden copies, the counters of a device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tenora
from tenora.accelerator import accelerator
from tenora_engine import _engine


def test_a_profile_lists_kernels_in_order_and_nothing_after_it(backend: str) -> None:
    a = tenora.ones(4)
    with tenora.profiler.profile() as recorded:
        (a + 1) * 2
    a - 1
    kernels = [event for event in recorded.events if event["kind"] == "kernel"]
    assert [event["op"] for event in kernels] == ["add", "mul"]
    assert {event["backend"] for event in kernels} == {backend}
    assert recorded.dropped == 0


def test_a_full_ring_says_how_much_it_dropped() -> None:
    a = tenora.ones(4)
    with tenora.profiler.profile(capacity=3) as recorded:
        for _ in range(10):
            a + 1
    assert (len(recorded.events), recorded.dropped) == (3, 7)


def test_a_chrome_trace_is_json_with_every_kernel(tmp_path: Path) -> None:
    a = tenora.ones(4)
    with tenora.profiler.profile() as recorded:
        a + 1
        a.exp()
    recorded.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert {"add", "exp"} <= {event["name"] for event in trace["traceEvents"]}


def test_forbidden_copies_are_named_and_allowed_again_afterwards() -> None:
    a, b = tenora.ones(3), tenora.ones(3, dtype=tenora.float64)
    with tenora.no_hidden_copies():
        a + a
        with pytest.raises(tenora.HiddenCopyError, match="add"):
            a + b
    assert (a + b).dtype == tenora.float64


def test_counters_of_a_device_follow_live_tensors() -> None:
    cpu = accelerator("cpu")
    before = cpu.memory_allocated()
    a = tenora.empty(1 << 20)
    assert cpu.memory_allocated() - before >= 4 << 20
    assert cpu.max_memory_allocated() >= cpu.memory_allocated()
    assert cpu.memory_reserved() >= cpu.memory_allocated()
    del a
    assert cpu.memory_allocated() == before


def test_a_profile_inside_another_is_refused_and_the_outer_one_goes_on() -> None:
    a = tenora.ones(4)
    with tenora.profiler.profile() as outer:
        a + 1
        with pytest.raises(RuntimeError, match=r"\[profile\] another profile is running"):
            with tenora.profiler.profile():
                pass
        a * 2
    assert [event["op"] for event in outer.events if event["kind"] == "kernel"] == ["add", "mul"]
    with tenora.profiler.profile() as again:
        a + 1
    assert len(again.events) == 1


def test_fork_rng_leaves_generators_as_they_were() -> None:
    tenora.manual_seed(5)
    expected = tenora.rand(3).tolist()
    tenora.manual_seed(5)
    for devices in (None, (), ["cpu"], [tenora.device("cpu")]):
        with tenora.random.fork_rng(devices):
            tenora.manual_seed(7)
            tenora.rand(10)
    with tenora.random.fork_rng(enabled=False):
        pass
    assert tenora.rand(3).tolist() == expected
    with pytest.raises(RuntimeError):
        with tenora.random.fork_rng(["nowhere:0"]):
            pass


def test_what_is_no_seed_changes_no_generator() -> None:
    tenora.manual_seed(5)
    state = tenora.random.get_rng_state().tolist()
    with pytest.raises(TypeError):
        _engine.manual_seed("5")
    assert tenora.random.get_rng_state().tolist() == state
    with pytest.raises(TypeError, match=r"\[set_state\] state is no tensor: got NoneType"):
        tenora.random.set_rng_state(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\[profile\] capacity: got -1"):
        tenora.profiler.profile(-1)
