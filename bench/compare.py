"""Interleaved comparison of two worker processes: warm-up, rounds in alternating order, medians, results checked."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np


class Worker:
    """A `bench.worker` process."""

    def __init__(self, *arguments: str) -> None:
        self.name = " ".join(arguments)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Sends one request and waits for the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"[bench] worker {self.name}: ended with exit code {self._process.wait()}.")
        return dict(json.loads(line))

    def kill(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.wait(timeout=30)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@dataclass
class Comparison:
    """Seconds per repetition, one value per round, of both sides."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Median over the rounds of ours over theirs: what slows both for a while falls out of the quotient."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def best_ratio(self) -> float:
        """Minimum over minimum: what noise hides least."""
        return min(self.ours) / min(self.theirs)


def _calibrate(worker: Worker, case: str, seconds: float) -> int:
    repeat = 1
    while True:
        elapsed = worker.ask(case=case, repeat=repeat)["seconds"]
        if elapsed >= seconds / 4:
            return max(1, int(repeat * seconds / elapsed))
        repeat *= 4


def check_agreement(ours: Worker, theirs: Worker, case: str, tolerance: float = 1e-4) -> None:
    """Raises AssertionError when the two sides do not compute the same."""
    a, b = (np.array(worker.ask(case=case, result=True)["result"]) for worker in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"case {case}: results differ")


def compare(
    ours: Worker,
    theirs: Worker,
    case: str,
    rounds: int = 101,
    seconds: float = 0.03,
    tolerance: float = 1e-4,
) -> Comparison:
    """Times `case` on both sides, alternating, after checking that they agree."""
    check_agreement(ours, theirs, case, tolerance)
    repeats = {worker: _calibrate(worker, case, seconds) for worker in (ours, theirs)}
    times: dict[Worker, list[float]] = {ours: [], theirs: []}
    for number in range(rounds):
        for worker in (ours, theirs) if number % 2 else (theirs, ours):
            answer = worker.ask(case=case, repeat=repeats[worker])
            times[worker].append(answer["seconds"] / repeats[worker])
    return Comparison(times[ours], times[theirs])


def beside_python(worker: Worker, case: str, seconds: float = 0.4, rounds: int = 5) -> tuple[float, float]:
    """Shares of their speed alone that `case` and a Python-bound second thread keep when they run together."""
    repeat = _calibrate(worker, case, seconds)
    kept_case, kept_thread = [], []
    for _ in range(rounds):
        alone = worker.ask(case=case, repeat=repeat)["seconds"]
        thread_alone = worker.ask(case=case, spin=seconds)["per_second"]
        together = worker.ask(case=case, repeat=repeat, python_thread=True)
        kept_case.append(alone / together["seconds"])
        kept_thread.append(together["per_second"] / thread_alone)
    return statistics.median(kept_case), statistics.median(kept_thread)
