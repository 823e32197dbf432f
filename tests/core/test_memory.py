"""When memory goes: at once, without the collector, without recursion, also while other threads run."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from engine_fixtures import installed

import tenora
from tenora import nn


def live_bytes() -> int:
    return int(tenora.live()["bytes"])


def test_del_returns_the_bytes_before_the_next_statement(backend: str) -> None:
    before = live_bytes()
    x = tenora.empty(1000, 1000)
    during = live_bytes()
    del x
    after = live_bytes()
    assert during - before >= 4_000_000
    assert after == before


def test_a_thousand_steps_without_the_collector_keep_live_bytes_flat(backend: str) -> None:
    tenora.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = tenora.optim.Adam(net.parameters())
    x, y = tenora.rand(5, 8), tenora.tensor([0, 1, 2, 3, 0])
    gc.collect()
    gc.disable()
    try:
        seen = []
        for _ in range(1000):
            loss = nn.CrossEntropyLoss()(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(live_bytes())
            del loss
        assert min(seen[2:]) == max(seen[2:])
    finally:
        gc.enable()


def test_a_tape_of_a_million_nodes() -> None:
    nodes, bytes_before = tenora.live()["nodes"], live_bytes()
    x = tenora.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    assert tenora.live()["nodes"] - nodes == 1_000_000
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y
    assert tenora.live()["nodes"] == nodes
    del x
    assert live_bytes() == bytes_before


def test_a_tape_of_a_million_nodes_is_freed_without_backward() -> None:
    nodes = tenora.live()["nodes"]
    y = tenora.ones(1, requires_grad=True)
    for _ in range(1_000_000):
        y = y + 1.0
    del y
    assert tenora.live()["nodes"] == nodes


@pytest.mark.serial
@pytest.mark.skipif(
    "cpu_mkl" not in installed("cpu"), reason="needs a native backend: install tenora-cpu-mkl"
)
def test_a_python_thread_makes_progress_during_a_long_backward() -> None:
    with tenora.use_backend("cpu_mkl"):
        x = tenora.rand(64, 64, requires_grad=True)
        y = x
        for _ in range(6000):
            y = (y @ x).tanh()
        loss = y.sum()
        ticks: list[float] = []
        running = threading.Event()
        stop = False

        def spin() -> None:
            running.set()
            while not stop:
                ticks.append(time.perf_counter())

        thread = threading.Thread(target=spin)
        thread.start()
        running.wait()
        begin = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        stop = True
        thread.join()
    during = [tick for tick in ticks if begin < tick < end]
    # With the interpreter lock held throughout, the thread would run in none of ten equal slices of the backward.
    slices = {int(10 * (tick - begin) / (end - begin)) for tick in during}
    assert len(slices) >= 8, (
        f"the thread ran in {len(slices)} of 10 slices of a backward of {end - begin:.3f} s"
    )


def test_several_backwards_at_once_from_python_threads(backend: str) -> None:
    x = tenora.linspace(0.0, 1.0, 64).reshape(8, 8).requires_grad_()
    results: list[list[float]] = []

    def work() -> None:
        for _ in range(20):
            y = x
            for _ in range(20):
                y = (y @ x).tanh()
            (gradient,) = tenora.autograd.grad(y.sum(), [x])
            results.append(gradient.flatten().tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all(result == results[0] for result in results)


def test_an_impossible_request_raises_and_the_process_goes_on(backend: str) -> None:
    for size in ((2**40,), (2**62,), (2**31, 2**31), (2**20, 2**20, 2**20)):
        try:
            tenora.zeros(*size)
        except (tenora.OutOfMemoryError, RuntimeError) as error:
            assert "memory" in str(error) or "overflow" in str(error) or "large" in str(error)
        else:
            raise AssertionError(f"{size} was allocated")
    assert (tenora.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]
