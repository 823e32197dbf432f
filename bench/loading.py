"""Peak memory and time of loading one large file, beside the library safetensors (docs/decisions/0016).

    python -m bench.loading [MEBIBYTES]

Each side is a fresh process that loads the file once; they take turns. Memory is the process's peak less the peak
before it loads, so that what the imports take does not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import tenora

PROGRAM = """
import time
{before}
def peak():  # not that of getrusage, which a child takes over from its parent
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
start, begin = peak(), time.perf_counter()
found = {load}
print(peak() - start, time.perf_counter() - begin, float(found["weight"].reshape(-1)[-1]))
"""

SIDES = {
    "tenora.load": ("import tenora", "tenora.load({path!r})"),
    "tenora.load, mmap": ("import tenora", "tenora.load({path!r}, mmap=True)"),
    "safetensors.numpy.load_file": ("from safetensors.numpy import load_file", "load_file({path!r})"),
}


def _measure(side: str, path: str) -> tuple[float, float, float]:
    before, load = SIDES[side]
    program = PROGRAM.format(before=before, load=load.format(path=path))
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    memory, seconds, last = map(float, said.split())
    return memory, seconds, last


def table(mebibytes: int, rounds: int = 9) -> list[str]:
    """The least of the rounds, which other work disturbs least, as lines in Markdown."""
    lines = [f"| a file of {mebibytes} MiB | memory beyond the start, MiB | seconds |", "| --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "weights.safetensors")
        tenora.save({"weight": tenora.ones(mebibytes, 1 << 18)}, path)
        runs = [{side: _measure(side, path) for side in SIDES} for _ in range(rounds)]
    for side in SIDES:
        memory, seconds, last = (min(run[side][i] for run in runs) for i in range(3))
        assert last == 1.0, f"{side} read {last}"
        lines.append(f"| `{side}` | {memory:,.0f} | {seconds:.3f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table(int(sys.argv[1]) if len(sys.argv) > 1 else 256)))
