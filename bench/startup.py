"""Fresh processes: import and the first backward of a small network, one after the other in alternation."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bench.compare import Comparison

PROGRAM = """
import {framework} as f
net = f.nn.Sequential(
    f.nn.Conv2d(1, 8, 3, padding=1), f.nn.ReLU(), f.nn.MaxPool2d(2), f.nn.Flatten(), f.nn.Linear(128, 10)
)
loss = f.nn.CrossEntropyLoss()(net(f.ones(8, 1, 8, 8)), f.zeros(8, dtype=f.int64))
loss.backward()
"""


def _seconds(framework: str) -> float:
    # Both sides read compiled modules, as any second run does.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM.format(framework=framework)], check=True, env=env)
    return time.perf_counter() - begin


def compare_startup(rounds: int = 7) -> Comparison:
    """Wall seconds of the whole process, tenora against torch."""
    _seconds("tenora"), _seconds("torch")  # warm the page cache
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_seconds("tenora"))
        theirs.append(_seconds("torch"))
    return Comparison(ours, theirs)
