"""Instruction counts under callgrind: repeatable where times are noisy.

    python -m bench.instructions

A program runs twice under valgrind, with n and with 2 n repetitions; the difference divided by n is the count of one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SETUP = """
import sys
import numpy as np
import tenora as f
{before}
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
loop(50)
loop(int(sys.argv[1]))
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


def _total(program: str, repeat: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(program, encoding="utf-8")
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/out",
                sys.executable,
                str(script),
                str(repeat),
            ],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(f"[bench] callgrind: no total in its output: {done.stderr[-500:]}")
    return int(found.group(1))


def count(body: str, before: str = "", repeat: int = 2000) -> float:
    """Instructions of one `body`, the interpreter's own included."""
    program = SETUP.format(body=body, before=before)
    return (_total(program, 2 * repeat) - _total(program, repeat)) / repeat


def figures() -> dict[str, float]:
    """Instructions per `pass`, `a + b`, taped `a + b` and operation of the chain, all with the interpreter's share."""
    empty = count("pass")
    return {
        "a + b": count("a + b") - empty,
        "a + b, taped": count("g + b") - empty,
        "chain, per operation, forward and backward": (count("chain()", repeat=200) - empty) / 20,
    }


def plugin_overhead() -> float:
    """Relative change of 10,000 adds when the plugin machinery is loaded but no plugin is installed."""
    without = count("a + b", repeat=10_000)
    loaded = count("a + b", before=PLUGIN_MACHINERY, repeat=10_000)
    return loaded / without - 1


if __name__ == "__main__":
    for name, value in figures().items():
        print(f"{name}: {value:.0f}")
    print(f"plugin machinery, 10,000 adds: {plugin_overhead():+.3%}")
