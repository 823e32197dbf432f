"""L4: threads. What several compute at once is what one computes alone; a choice of backend is a thread's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by

THREADS, ROUNDS = 6, 25


def _together(subject: Subject, work: Callable[[int], Any]) -> list[Any]:
    """`work(number)` in every thread at once, each with this backend; what the first failing one raised is raised."""
    barrier = threading.Barrier(THREADS)

    def enter(number: int) -> Any:
        with judged_by(subject):
            barrier.wait(timeout=60)
            return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(timeout=120) for future in [pool.submit(enter, n) for n in range(THREADS)]]


def _same(results: list[Any], alone: list[Any], what: str) -> None:
    for number, (got, expected) in enumerate(zip(results, alone, strict=True)):
        if not np.array_equal(got, expected, equal_nan=True):
            raise Failed(
                f"{what} in thread {number} beside {THREADS - 1} others: got {got}, expected {expected}"
            )


def _forward(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Pointwise, reduction, product, scan and sort."""

    def work(number: int) -> Any:
        x = tenora.from_numpy(np.random.default_rng(number).standard_normal((17, 33)).astype(np.float32))
        x = x.to(subject.device)
        for _ in range(ROUNDS):
            y = (x @ x.t()).sum(1, keepdim=True) * x + 1
            y = tenora.sort(y.cumsum(0) / (1 + y.abs()), dim=1)[0]
        return fetched(y)

    _same(_together(subject, work), [work(n) for n in range(THREADS)], "a forward pass")


def _add_gradients(leaf: Any) -> None:
    for _ in range(ROUNDS):
        (leaf * 2).sum().backward()


def _backward(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Each thread's own graph, and one leaf that all share."""

    def work(number: int) -> Any:
        x = tenora.full((5, 4), 0.1 * (number + 1), device=subject.device, requires_grad=True)
        for _ in range(ROUNDS):
            x.grad = None
            tenora.tanh(x @ x.t()).sum().backward()
        return fetched(x.grad)

    _same(_together(subject, work), [work(n) for n in range(THREADS)], "a gradient")
    shared = tenora.ones(8, device=subject.device, requires_grad=True)
    _together(subject, lambda number: _add_gradients(shared))
    total = fetched(shared.grad)
    if not np.array_equal(total, np.full(8, 2.0 * THREADS * ROUNDS, np.float32)):
        raise Failed(
            f"gradients that all threads add into one leaf: got {total}, expected {2 * THREADS * ROUNDS}"
        )


def _memory(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Blocks taken in one thread and given back in another are all given back."""
    module = getattr(tenora, subject.device_type)
    before = module.memory_stats(subject.device)["live_bytes"]
    made = _together(
        subject,
        lambda number: [tenora.full((n,), float(number), device=subject.device) for n in range(1, 200)],
    )
    for number, blocks in enumerate(made):
        if any(fetched(block)[0] != number for block in blocks):
            raise Failed("two threads were given the same memory: a block holds another thread's numbers")
    del made, blocks
    after = module.memory_stats(subject.device)["live_bytes"]
    if after != before:
        raise Failed(f"live bytes after all threads' tensors went: got {after}, expected {before}")


def _choice(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """`use_backend` of one thread says nothing to another."""
    seen: list[str] = []

    def look() -> None:
        try:
            seen.append(tenora.current_backend(subject.device))
        except tenora.TenoraError:  # a device that nobody serves unasked
            seen.append("none")

    with tenora.use_backend(subject.name):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(60)
        inside = tenora.current_backend(subject.device)
    outside = threading.Thread(target=look)
    outside.start()
    outside.join(60)
    if inside != subject.name or len(set(seen)) != 1:
        raise Failed(
            f"the current backend: got {inside!r} inside and {seen} in other threads, expected no difference"
        )


SCRIPTS: dict[str, Script] = {
    "forward": _forward,
    "backward": _backward,
    "memory": _memory,
    "choice": _choice,
}
CHECK = script_check("threads", Level.L4, SCRIPTS, seconds=180.0)
