"""Times single ops against PyTorch: which composites are slow on a backend?

    python -m bench.ops [NAME ...] [--backend cpu_mkl] [--all] [--markdown]

Without names: every row of `bench/op_rows.py` for whose op the backend has no kernel (`--all`: every row). Same data on
both sides, one thread each, interleaved rounds, median; the results are compared before anything is timed. The table is
sorted by the ratio; a failed comparison is a line of its own, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import tenora  # noqa: F401 - declares the ops
import tenora_ops
from bench.compare import Comparison, Worker, compare
from bench.op_rows import ROWS

BACKENDS = Path(__file__).parent.parent / "backends"


@dataclass
class Measured:
    """One line of the table."""

    name: str
    ratio: float
    ours: float  # milliseconds
    theirs: float

    def text(self, markdown: bool) -> str:
        if markdown:
            return f"| {self.name} | {self.ours:.3f} | {self.theirs:.3f} | {self.ratio:.1f} |"
        return f"{self.name:40}{self.ours:12.3f}{self.theirs:12.3f}{self.ratio:10.2f}"


def kernels_of(backend: str) -> set[str]:
    """The ops that the backend has kernels for: its committed list."""
    lines = (BACKENDS / backend / "kernels.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def chosen(names: list[str], backend: str, everything: bool) -> list[str]:
    """The rows to time: those named (the start of a name is enough), or all without a kernel."""
    if names:
        return [row for row in ROWS if any(row == name or row.startswith(name) for name in names)]
    kernels = set() if everything else kernels_of(backend)
    return [row for row in ROWS if row not in kernels]


def unmeasured(backend: str) -> list[str]:
    """Ops that a backend may override and does not, and that have no row."""
    kernels, rows = kernels_of(backend), {row.split()[0] for row in ROWS}
    rest = {r.name for r in tenora_ops.records() if r.overridable and r.kind in ("composite", "function")}
    return sorted(rest - kernels - rows)


def measure(
    rows: list[str], backend: str, rounds: int, seconds: float, markdown: bool = False
) -> tuple[list[Measured], list[str]]:
    """The lines of the table, slowest first, and the rows whose results differ or that failed."""
    sides = Worker("tenora", backend), Worker("torch")
    found, failed = [], []
    try:
        for name in rows:
            try:
                comparison: Comparison = compare(*sides, f"op {name}", rounds, seconds, tolerance=2e-3)
            except AssertionError as error:
                failed.append(f"{name}: {str(error).strip().splitlines()[0]}")
                continue
            except RuntimeError:
                failed.append(f"{name}: a worker ended")
                for worker in sides:
                    worker.kill()
                sides = Worker("tenora", backend), Worker("torch")
                continue
            ours, theirs = (statistics.median(side) * 1e3 for side in (comparison.ours, comparison.theirs))
            found.append(Measured(name, comparison.ratio, ours, theirs))
            print(found[-1].text(markdown), flush=True)
    finally:
        for worker in sides:
            worker.close()
    return sorted(found, key=lambda line: -line.ratio), failed


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows, or how their names begin")
    parser.add_argument("--backend", default="cpu_mkl")
    parser.add_argument("--all", action="store_true", help="also the ops that have a kernel")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.02, help="per round and side")
    arguments = parser.parse_args()
    rows = chosen(arguments.names, arguments.backend, arguments.all)
    found, failed = measure(rows, arguments.backend, arguments.rounds, arguments.seconds)
    print(f"\n{'op':40}{'ours, ms':>12}{'PyTorch, ms':>12}{'ratio':>10}")
    for line in found:
        print(line.text(arguments.markdown))
    for text in failed:
        print("FAILED", text)
    if not arguments.names:
        print("\nwithout kernel and not measured:", " ".join(unmeasured(arguments.backend)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
