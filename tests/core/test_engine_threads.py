"""Threads: the GIL during backward, several backwards at once, errors and objects that cross threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tenora


def long_graph(x: tenora.Tensor, steps: int) -> tenora.Tensor:
    y = x
    for _ in range(steps):
        y = y * 1.0001
    return y.sum()


def test_many_backwards_at_once(backend: str) -> None:
    def work(seed: int) -> list[float]:
        with tenora.use_backend(backend):
            x = tenora.full((64,), float(seed), requires_grad=True)
            for _ in range(5):
                (x * x).sum().backward()
            return x.grad.tolist()

    with ThreadPoolExecutor(4) as pool:
        for seed, grad in enumerate(pool.map(work, range(8))):
            assert grad == [10.0 * seed] * 64


def test_one_graph_from_several_threads(backend: str) -> None:
    x = tenora.ones(16, requires_grad=True)
    loss = long_graph(x, 50)

    def work(_: int) -> list[float]:
        with tenora.use_backend(backend):
            (grad,) = tenora.autograd.grad(loss, [x], retain_graph=True)
            return grad.tolist()

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(work, range(6)))
    assert all(r == results[0] for r in results)


def test_hooks_and_attributes_under_threads() -> None:
    seen: list[int] = []

    def work(_: int) -> None:
        x = tenora.ones(8, requires_grad=True)
        x.label = [1]
        y = x * 2
        y.register_hook(lambda grad: seen.append(1))
        (y * y).sum().backward()
        assert x.label == [1]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(40)))
    assert len(seen) == 40


def test_error_in_a_thread_reaches_its_caller() -> None:
    class Failing(tenora.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: tenora.Tensor) -> tenora.Tensor:
            raise KeyError("mine")

    def work() -> None:
        x = tenora.ones(4, requires_grad=True)
        long_graph(Failing.apply(x), 3000).backward()

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyError, match="mine"):
        pool.submit(work).result()


def test_collector_during_backward_in_another_thread() -> None:
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    try:
        for _ in range(5):
            x = tenora.ones(256, requires_grad=True)
            x.me = x
            x.register_hook(lambda grad: None)
            long_graph(x, 2000).backward()
            assert x.grad is not None
            del x.me
    finally:
        stop.set()
        thread.join()


def test_modes_belong_to_the_thread() -> None:
    with tenora.no_grad():
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(tenora.is_grad_enabled).result() is True
        assert tenora.is_grad_enabled() is False


#: The main thread waits for the first round: a thread that still imports NumPy's companions is theirs to end.
DAEMON = """
import threading, tenora
running = threading.Event()
def forever():
    with tenora.use_backend({backend!r}):
        while True:
            x = tenora.ones(64, requires_grad=True)
            (x * 2).sum().backward()
            running.set()
threading.Thread(target=forever, daemon=True).start()
running.wait()
print((tenora.ones(3) + 1).tolist())
"""


def test_the_interpreter_ends_beside_a_daemon_thread(backend: str) -> None:
    """CPython ends such a thread where it asks for the GIL, which may be deep inside of an op."""
    for _ in range(4):
        command = [sys.executable, "-c", DAEMON.format(backend=backend)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "[2.0, 2.0, 2.0]\n", "")
