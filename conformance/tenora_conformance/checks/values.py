"""Every op x dtype x layout on its record's samples, against the record's oracle.

- The cases are a covering design over the op's dtypes, samples and layouts (`covering.py`).
- Ops of ring 0 are judged at L1, all others at L2.
- A kernel is its own proof: an op of ring 0 that answers elements without one in the event log is no pass.
- An op whose meaning is tied to its input's memory (`LAYOUT_BOUND`) is tried with contiguous inputs.
"""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_conformance.checks.asking import asking, level_of
from tenora_conformance.covering import covering_rows
from tenora_conformance.judge.calls import answer, has_arrays, prepare, samples_of
from tenora_conformance.judge.compare import compare
from tenora_conformance.judge.layouts import LAYOUT_BOUND, LAYOUTS
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import Sample


def cases_of(name: str) -> tuple[Case, ...]:
    """The covering design of one record, in a stable order."""
    record = tenora_ops.record(name)
    layouts = ("contiguous",) if name in LAYOUT_BOUND else tuple(LAYOUTS)
    counts = [len(samples_of(name, dtype)) for dtype in record.dtypes]
    found: dict[str, Case] = {}
    for dtype, sample, layout in sorted(covering_rows(counts, len(layouts))):
        drawn = samples_of(name, record.dtypes[dtype])[sample]
        placed = layouts[layout] if has_arrays(drawn) else "contiguous"  # of nothing there is one layout
        case = Case(name, record.dtypes[dtype], placed, str(sample), level_of(record))
        found.setdefault(case.id, case)
    return tuple(found.values())


def needs(case: Case, subject: Subject) -> str:
    """Layouts that only host memory can have do not apply elsewhere."""
    if LAYOUTS[case.layout].host_only and not subject.host_memory:
        return f"layout {case.layout} needs memory that the host shares"
    return ""


def sample_of(case: Case) -> tuple[Record, Sample]:
    """The record and the sample that a case names."""
    return tenora_ops.record(case.op), samples_of(case.op, case.dtype)[int(case.number)]


def run(case: Case, subject: Subject) -> Outcome:
    """One call: values, dtype, shape, inputs as they were, kernels of this backend only."""
    record, sample = sample_of(case)
    outcome = Outcome()
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    with asking(record, sample), judged_by(subject):
        with watch(subject, outcome):
            got = call()
        outcome.worst = compare(record, case.dtype, sample, got, answer(record, sample))
        call.check_inputs()
        if record.kind == "kernel" and not outcome.kernels and has_elements(got):
            raise Failed(
                f"kernels in the event log: got none, expected one of {subject.name}, which has to compute it"
            )
    return outcome


def has_elements(result: Any) -> bool:
    """Whether a result, or one of several, has any element."""
    return any(part.numel() for part in (result if isinstance(result, tuple) else (result,)))


CHECK = Check("values", run, cases_of, needs=needs, lowest=Level.L1)
