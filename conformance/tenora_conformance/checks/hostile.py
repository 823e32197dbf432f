"""Every op at the edges of its dtypes, its shapes and its memory (`judge/hostile.py`), against its record's oracle.

- Beyond values: of an op that rounds a few times, a zero has the oracle's sign, unless its record says that either
  will do; a result that is no view lies row by row in memory of its own.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tenora_ops
from tenora_conformance.checks.asking import asking, level_of
from tenora_conformance.judge.calls import answer, prepare
from tenora_conformance.judge.compare import Scale, compare, fetched
from tenora_conformance.judge.hostile import Hostile, hostile_samples
from tenora_conformance.judge.pointwise import arrays_of
from tenora_conformance.model import Case, Check, Detail, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record

#: Kinds whose elements are judged by the expected ones alone; the others have few, of operands of about 1.
STRICT = frozenset(("edges", "long"))
SIGNED_ZEROS = frozenset(("exact", "exact_or_1ulp", "few_ulp"))


def cases_of(name: str) -> tuple[Case, ...]:
    """The hostile samples of one record."""
    record = tenora_ops.record(name)
    return tuple(
        Case(name, dtype, made.kind, f"{made.number}:hostile", level_of(record), "hostile")
        for dtype in record.dtypes
        for made in hostile_samples(name, dtype).values()
    )


def run(case: Case, subject: Subject) -> Outcome:
    """One call: values, signs of zeros, shape, dtype, strides, inputs as they were, kernels of this backend only."""
    record = tenora_ops.record(case.op)
    made = hostile_samples(case.op, case.dtype)[f"{case.layout}/{case.number}"]
    outcome = Outcome()
    with asking(record, made.sample), judged_by(subject):
        call = prepare(record, made.sample, made.layout, subject, alias=made.alias)
        with watch(subject, outcome):
            got = call()
        wanted = answer(record, made.sample)
        scale = scale_of(record, made)
        outcome.worst = compare(record, case.dtype, made.sample, got, wanted, scale)
        judge_zeros(record, made, got, wanted)
        judge_memory(record, got)
        call.check_inputs()
    return outcome


def scale_of(record: Record, made: Hostile) -> Scale:
    """What a sample's results are measured by."""
    sizes = None
    if made.kind == "edges" and record.edges == "cancels":
        finite = [np.where(np.isfinite(a), np.abs(a), 0) for a in arrays_of(made.sample)]
        sizes = functools.reduce(np.maximum, [a.astype(np.float64) for a in finite])
    return Scale(made.terms, 0.0 if made.kind in STRICT else 1.0, made.kind == "edges", sizes)


def judge_zeros(record: Record, made: Hostile, got: Any, wanted: Any) -> None:
    """Raises: Failed where a zero has another sign than the oracle's."""
    if (
        made.kind != "edges"
        or record.tolerance not in SIGNED_ZEROS
        or record.either_zero
        or isinstance(wanted, tuple)
    ):
        return
    found = fetched(got)
    if np.asarray(wanted).dtype.kind != "f" or found.dtype.kind in "biuc":
        return
    with np.errstate(over="ignore"):
        right = np.asarray(wanted).astype(found.dtype)
    wrong = (found == 0) & (right == 0) & (np.signbit(found) != np.signbit(right))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Failed(
            f"the sign of zero is wrong at {at}: got {found[at]!s}, expected {right[at]!s}",
            Detail(first_wrong=str(at), got=str(found[at]), expected=str(right[at])),
        )


def judge_memory(record: Record, got: Any) -> None:
    """Raises: Failed where the result of a kernel does not lie row by row."""
    if record.kind == "kernel" and hasattr(got, "is_contiguous") and not got.is_contiguous():
        raise Failed(
            f"strides of the result: got {tuple(got.stride())} for shape {tuple(got.shape)}, expected rows"
        )


CHECK = Check("hostile", run, cases_of, lowest=Level.L1)
