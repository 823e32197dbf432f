"""In-place forms: the functional result in the tensor's own memory, or a refusal that changes nothing.

- What fits is told by the record's oracle: the result has the tensor's shape, and its values keep their category.
- A write raises the version, stays inside its window, and backward refuses a value that was overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.covering import covering_rows
from tenora_conformance.judge.calls import Call, prepare, samples_of
from tenora_conformance.judge.compare import fetched
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.judge.results import answers, castable, judge_written, refused
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import Sample

#: Samples of a dtype that are tried.
MOST = 8


def cases_of(name: str) -> tuple[Case, ...]:
    """A covering design of one record, and one case of an overwritten value."""
    record, layouts = tenora_ops.record(name), tuple(LAYOUTS)
    if not record.inplace_name or record.view or record.family.name == "movement":
        return ()
    counts = [min(MOST, len(samples_of(name, dtype))) for dtype in record.dtypes]
    found = []
    for dtype, sample, layout in sorted(covering_rows(counts, len(layouts))):
        drawn = samples_of(name, record.dtypes[dtype])[sample]
        if drawn.arguments and isinstance(drawn.arguments[0], np.ndarray):
            found.append(_case(name, record.dtypes[dtype], layouts[layout], f"{sample}:inplace"))
    if found and "float32" in record.dtypes:
        found.append(_case(name, "float32", "contiguous", "0:saved"))
    return tuple(found)


def _case(name: str, dtype: str, layout: str, sample: str) -> Case:
    return Case(name, dtype, layout, sample, Level.L2, "inplace")


def needs(case: Case, subject: Subject) -> str:
    """Layouts that only host memory can have do not apply elsewhere."""
    if LAYOUTS[case.layout].host_only and not subject.host_memory:
        return f"layout {case.layout} needs memory that the host shares"
    return ""


def run(case: Case, subject: Subject) -> Outcome:
    """One write, or one backward after a write."""
    record = tenora_ops.record(case.op)
    outcome = Outcome()
    if case.sample.endswith(":saved"):
        with judged_by(subject):
            _saved(record, subject, outcome)
        return outcome
    sample = samples_of(case.op, case.dtype)[int(case.number)]
    with asking(record, sample), judged_by(subject):
        _write(record, sample, case, subject, outcome)
    return outcome


def fits(record: Record, dtype: str, sample: Sample) -> bool:
    """Whether the first operand can take the result."""
    found, first = answers(record, dtype, sample), sample.arguments[0]
    if not isinstance(first, np.ndarray) or len(found) != 1:
        return False
    wanted, name = found[0]
    real = record.dtype == "abs" and name != first.dtype.name  # of complex numbers
    return wanted.shape == first.shape and castable(name, first.dtype.name) and not real


def write(record: Record, call: Call) -> Any:
    """Calls the in-place method of the first operand."""
    target, *rest = call.arguments
    return getattr(target, record.inplace_name)(*rest, **call.options)


def _write(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    target, place = call.arguments[0], call.placed[0]
    version = target._version
    if not fits(record, case.dtype, sample):
        refused(lambda: write(record, call), f"{record.inplace_name} of a result that does not fit")
        if target._version != version:
            raise Failed(f"version after a refusal: got {target._version}, expected {version}")
        call.check_inputs()
        return
    with watch(subject, outcome):
        got = write(record, call)
    if got is not target:
        raise Failed(f"{record.inplace_name} answers {type(got).__name__}, expected the tensor itself")
    if target.numel() and target._version <= version:
        raise Failed(
            f"version after {record.inplace_name}: got {target._version}, expected more than {version}"
        )
    ((wanted, name),) = answers(record, case.dtype, sample)
    dtype = sample.arguments[0].dtype.name
    outcome.worst = judge_written(record, fetched(target), wanted, name, dtype)
    place.check_around("the tensor that is written")
    for number, item in enumerate(call.placed[1:], 1):
        item.check(f"input {number}")


def _saved(record: Record, subject: Subject, outcome: Outcome) -> None:
    """z = x * x saves x; after a write into x backward has to refuse."""
    for sample in samples_of(record.name, "float32"):
        first = sample.arguments[0]
        if not isinstance(first, np.ndarray) or first.dtype != np.float32 or not first.size:
            continue
        if fits(record, "float32", sample):
            call = prepare(record, sample, LAYOUTS["contiguous"], subject)
            leaf = call.arguments[0].requires_grad_(True)
            with watch(subject, outcome):
                call.arguments[0] = leaf * 1
                product = (call.arguments[0] * call.arguments[0]).sum()
            with tenora.no_grad(), watch(subject, outcome):
                write(record, call)
            refused(product.backward, f"backward after {record.inplace_name} of a saved value")
            return


CHECK = Check("inplace", run, cases_of, needs=needs, lowest=Level.L2)
