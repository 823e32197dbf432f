"""Instruction counts under callgrind: repeatable where times are noisy.

    python -m bench.instructions

A program runs under valgrind and calls a function of libc before and after its loop, where callgrind dumps its
counts: what lies between is the loop alone, so the start of the interpreter, which differs from run to run, is out.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SETUP = """
import ctypes
import gc
import sys
import numpy as np
import tenora as f
def prepare():
    {before}
prepare()
a = f.tensor(np.linspace(0, 1, 16, dtype=np.float32))
b = f.tensor(np.linspace(1, 2, 16, dtype=np.float32))
g = f.tensor(np.linspace(0, 1, 16, dtype=np.float32), requires_grad=True)
def chain():
    g.grad = None
    y = g
    for _ in range(10):
        y = y * b
        y = y + b
    y.sum().backward()
def loop(n):
    for _ in range(n):
        {body}
mark = ctypes.CDLL(None).srand48  # nobody else calls it
# When the collector runs depends on what was imported before; nothing here makes cycles.
gc.collect()
gc.disable()
# Small objects that stay shift where the loop's own fall in the interpreter's pools; 1 % hangs on that.
kept = [(a + b, float(i)) for i in range({shift})]
loop(50)
mark(1)
loop(int(sys.argv[1]))
mark(1)
"""

# What the first plugin of a process would bring in: pluggy, the hook specifications, a manager that was asked once.
PLUGIN_MACHINERY = """
import pluggy
import tenora_hooks
manager = pluggy.PluginManager("tenora")
manager.add_hookspecs(tenora_hooks.hookspec)
tenora_hooks.plugins.call("tenora_backend_loaded", name="none", manifest=None)
"""


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count(body: str, before: str = "", repeat: int = 2000, shift: int = 0) -> float:
    """Instructions of one `body`, the interpreter's own included."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(
            SETUP.format(body=body, before=before.replace("\n", "\n    ") or "pass", shift=shift),
            encoding="utf-8",
        )
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--dump-before=srand48_r*",
                f"--callgrind-out-file={folder}/out",
                sys.executable,
                str(script),
                str(repeat),
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        text = (Path(folder) / "out.2").read_text(encoding="utf-8")
    found = re.search(r"^summary: (\d+)", text, re.MULTILINE) or re.search(
        r"^totals: (\d+)", text, re.MULTILINE
    )
    if found is None:
        raise RuntimeError(f"[bench] callgrind: no total in its output: {text[-500:]}")
    return int(found.group(1)) / repeat


def figures() -> dict[str, float]:
    """Instructions per `pass`, `a + b`, taped `a + b` and operation of the chain, all with the interpreter's share."""
    empty = count("pass")
    return {
        "a + b": count("a + b", shift=5) - empty,
        "a + b, taped": count("g + b", shift=5) - empty,
        "chain, per operation, forward and backward": (count("chain()", repeat=200, shift=5) - empty) / 20,
    }


def plugin_overhead() -> float:
    """Relative change of 10,000 adds when the plugin machinery is loaded but no plugin is installed.

    The median over three positions in the interpreter's pools, see SETUP.
    """
    changes = []
    for shift in (5, 17, 40):
        without = count("a + b", repeat=10_000, shift=shift)
        changes.append(count("a + b", before=PLUGIN_MACHINERY, repeat=10_000, shift=shift) / without - 1)
    return statistics.median(changes)


if __name__ == "__main__":
    for name, value in figures().items():
        print(f"{name}: {value:.0f}")
    print(f"plugin machinery, 10,000 adds: {plugin_overhead():+.3%}")
