"""Fresh processes: import and the first backward of a small network, one after the other in alternation."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.compare import Comparison

PROGRAM = """
import {framework} as f
net = f.nn.Sequential(f.nn.Linear(64, 32), f.nn.ReLU(), f.nn.Linear(32, 10))
loss = f.nn.CrossEntropyLoss()(net(f.ones(8, 64)), f.zeros(8, dtype=f.int64))
loss.backward()
"""


def _seconds(framework: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM.format(framework=framework)], check=True)
    return time.perf_counter() - begin


def compare_startup(rounds: int = 7) -> Comparison:
    """Wall seconds of the whole process, tenora against torch."""
    _seconds("tenora"), _seconds("torch")  # warm the page cache
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_seconds("tenora"))
        theirs.append(_seconds("torch"))
    return Comparison(ours, theirs)
