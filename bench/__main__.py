"""Measures the budgets of small operations and writes them into docs/figures.md.

    python -m bench [--smoke] [--no-write] [--case NAME ...] [--mistakes]

Every figure is a ratio of two sides measured in the same run: worker processes take turns, results are compared
first, the median of the rounds' ratios counts (and the ratio of the minima is shown beside it).
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path

from bench import instructions
from bench.compare import Comparison, Worker, beside_python, compare
from bench.mistakes import score
from bench.startup import compare_startup

FIGURES = Path(__file__).parent.parent / "docs" / "figures.md"
BENCH, MISTAKES = "bench", "mistakes"  # the blocks of the file


def verdict_of(met: bool) -> str:
    """How a budget's cell reads."""
    return "met" if met else "**not met**"


@dataclass
class Row:
    """One line of the table."""

    what: str
    against: str
    comparison: Comparison
    budget: float | None  # None: only shown

    def text(self) -> str:
        """The line in Markdown."""
        ours, theirs = (
            statistics.median(side) * 1e6 for side in (self.comparison.ours, self.comparison.theirs)
        )
        ratio = self.comparison.ratio
        verdict = verdict_of(ratio <= self.budget) if self.budget else ""
        budget = f"1/{1 / self.budget:.1f}" if self.budget else "none"
        return (
            f"| {self.what} | {self.against} | {ours:,.2f} | {theirs:,.2f} | 1/{1 / ratio:.1f} "
            f"| 1/{1 / self.comparison.best_ratio:.1f} | {budget} | {verdict} |"
        )


# The budgets of small operations; cases without one are shown beside them.
BUDGETS: list[tuple[str, str, str, float | None]] = [
    ("add", "`a + b`, 16 floats", "numpy", 1 / 4),
    ("add", "`a + b`, 16 floats", "torch", 1 / 15),
    ("add_taped", "`a + b`, 16 floats, taped", "torch", 1 / 12),
    ("chain", "chain of 20 pointwise operations, forward + backward", "torch", 1 / 15),
    ("matmul_chain", "chain of 31 matmul/add/relu 8 x 8, forward + backward", "torch", 1 / 10),
    ("mlp_1", "MLP 64-64-64-10, step with Adam, batch 1", "torch", 1 / 12),
    ("mlp_32", "MLP 64-64-64-10, step with Adam, batch 32", "torch", 1 / 12),
    ("lstm", "LSTM cell in Python, 20 steps, forward + backward", "torch", None),
    ("step_sgd", "fused step of SGD, 20 parameters, 1,000,000 floats", "torch", None),
    ("step_adam", "fused step of Adam, the same", "torch", None),
    ("step_adagrad", "fused step of Adagrad, the same", "torch", None),
]


def measure_cases(names: list[str], rounds: int, seconds: float) -> None:
    """Prints the comparisons of the cases `names`."""
    for case, what, against, budget in BUDGETS:
        if case in names:
            sides = Worker("tenora"), Worker(against)
            try:
                print(Row(what, against, compare(*sides, case, rounds, seconds), budget).text(), flush=True)
            finally:
                for worker in sides:
                    worker.close()


def measure(rounds: int, seconds: float) -> list[Row]:
    """All comparisons against NumPy and PyTorch."""
    ours = Worker("tenora")
    reference = Worker("tenora", "reference")
    others = {name: Worker(name) for name in ("torch", "numpy")}
    rows = []
    try:
        for case, what, against, budget in BUDGETS:
            rows.append(Row(what, against, compare(ours, others[against], case, rounds, seconds), budget))
            print(rows[-1].text(), flush=True)
        row = compare(reference, others["numpy"], "add", rounds, seconds)
        rows.append(Row("`a + b`, 16 floats, reference backend", "numpy", row, 2.0))
        print(rows[-1].text(), flush=True)
    finally:
        for worker in (ours, reference, *others.values()):
            worker.close()
    rows.append(
        Row("import + first backward of a small CNN, fresh process", "torch", compare_startup(), 1 / 6)
    )
    print(rows[-1].text(), flush=True)
    return rows


def second_thread() -> list[str]:
    """The case of a Python-bound second thread, as lines of a table."""
    worker = Worker("tenora")
    lines = [
        "| beside a Python-bound thread | case keeps | thread keeps | budget | |",
        "| --- | --- | --- | --- | --- |",
    ]
    try:
        for case in ("add", "chain", "mlp_32"):
            kept, thread = beside_python(worker, case)
            verdict = verdict_of(min(kept, thread) >= 1 / 3)
            lines.append(f"| {case} | {kept:.0%} | {thread:.0%} | 33 % each | {verdict} |")
            print(lines[-1], flush=True)
    finally:
        worker.close()
    return lines


def counts() -> list[str]:
    """Instruction counts, as lines of a table."""
    if not instructions.available():
        return ["Instruction counts: not run (valgrind is not installed)."]
    lines = ["| instructions (callgrind, interpreter included) | count |", "| --- | --- |"]
    lines += [f"| {name} | {value:,.0f} |" for name, value in instructions.figures().items()]
    overhead = instructions.plugin_overhead()
    verdict = verdict_of(abs(overhead) < 0.005)
    lines.append(
        f"| plugin machinery loaded, no plugin: 10,000 adds | {overhead:+.3%} (budget 0.5 %, {verdict}) |"
    )
    return lines


def environment() -> str:
    """Date, machine and versions."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("tenora", "tenora-cpu-mkl", "torch", "numpy")
    )
    return f"{datetime.date.today()}, {processor}, Python {platform.python_version()}, {versions}; one thread each."


def write(rows: list[Row], extra: list[list[str]]) -> None:
    """Replaces the block of docs/figures.md between the markers."""
    table = [
        "| what | against | ours, us | theirs, us | ratio | of minima | budget | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(row.text() for row in rows),
    ]
    method = (
        "Method: two worker processes run the same source (`bench/cases.py`) in alternating rounds after a warm-up; "
        "results are compared before anything is timed; the table shows the medians of both sides, the median of the "
        "rounds' ratios and the ratio of the minima."
    )
    block = "\n".join(
        [environment(), "", method, "", *table, "", *("\n".join([*e, ""]) for e in extra)]
    ).rstrip("\n")
    replace_block(BENCH, block)


def replace_block(name: str, block: str) -> None:
    """Puts `block` between the markers of docs/figures.md, or behind its end the first time."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    marked = f"{begin}\n\n{block}\n\n{end}"
    text = FIGURES.read_text(encoding="utf-8")
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    FIGURES.write_text(
        head.rstrip("\n") + "\n\n" + marked + tail if rest else text + "\n" + marked + "\n", encoding="utf-8"
    )


def score_mistakes(writes: bool) -> None:
    """What errors name, beside PyTorch's: no time is measured."""
    lines = score.table(score.named_by("tenora"), score.named_by("torch"))
    print("\n".join(lines), flush=True)
    if writes:
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("tenora", "torch"))
        replace_block(
            MISTAKES,
            "\n".join(["## What errors name", "", f"{datetime.date.today()}, {versions}.", "", *lines]),
        )


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--smoke", action="store_true", help="few rounds, no instruction counts: a smoke test"
    )
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument(
        "--case", nargs="+", choices=sorted({case for case, *_ in BUDGETS}), help="only these, printed only"
    )
    parser.add_argument("--mistakes", action="store_true", help="only what errors name of users' mistakes")
    arguments = parser.parse_args()
    effort = (3, 0.02) if arguments.smoke else (101, 0.03)
    if arguments.case:
        measure_cases(arguments.case, *effort)
        return
    score_mistakes(not arguments.no_write)
    if arguments.mistakes:
        return
    rows = measure(*effort)
    extra = [] if arguments.smoke else [second_thread(), counts()]
    if not arguments.no_write:
        write(rows, extra)


if __name__ == "__main__":
    main()
