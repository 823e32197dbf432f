"""Stacks in which every matrix but one cannot be factorised: each is told by its pivot, and the sound one is as alone.

- Matrix k of a stack has row and column k of zeros, so that its first k leading minors are as they were and pivot k is
  an exact zero: `info` counts it from 1.
- NaN in that place are no pivot that is positive, which a Hermitian factorisation asks for. Elimination divides by it,
  so that it is told or in the result: it never vanishes, and it is no exception, as other matrices are of use.
"""

from __future__ import annotations

import numpy as np

import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.calls import answer, prepare, samples_of
from tenora_conformance.judge.compare import fetched, judge, result_dtype
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import Sample

SPOILED = {"zero": 0.0, "nan": np.nan}
TRIED = ("contiguous", "transposed")


def cases_of(name: str) -> tuple[Case, ...]:
    """Those of a record whose last result is `info`, and whose calls do not ask for an error instead."""
    record = tenora_ops.record(name)
    if record.result[-1:] != ("info",) or alone(record, record.dtypes[0]).options.get("check_errors"):
        return ()
    return tuple(
        Case(name, dtype, kind, f"{number}:pivots", Level.L2, "pivots")
        for dtype in record.dtypes
        for kind in SPOILED
        for number in range(len(TRIED))
    )


def alone(record: Record, dtype: str) -> Sample:
    """The first sample, of one square matrix."""
    first = samples_of(record.name, dtype)[0]
    rows, columns = first.arguments[0].shape
    assert rows == columns > 1, f"{record.name}: the first sample is no square matrix"
    return first


def stack_of(sample: Sample, kind: str) -> Sample:
    """One matrix for every pivot, spoiled there, and one as it is; other operands as often."""
    matrix, *rest = sample.arguments
    count = len(matrix)
    stack = np.stack([matrix] * (count + 1))
    for k in range(count):
        stack[k, k, :] = stack[k, :, k] = SPOILED[kind]
    return Sample((stack, *[np.stack([a] * (count + 1)) for a in rest]), sample.options)


def run(case: Case, subject: Subject) -> Outcome:
    """One call: the pivots, and the result of the matrix that is sound."""
    record, kind, outcome = tenora_ops.record(case.op), case.layout, Outcome()
    sound = alone(record, case.dtype)
    sample = stack_of(sound, kind)
    call = prepare(record, sample, LAYOUTS[TRIED[int(case.number)]], subject)
    with asking(record, sample), judged_by(subject):
        with watch(subject, outcome):
            got = call()
        results = [fetched(result) for result in got]
        check_pivots(kind, results[-1], results[0], positive=record.hermitian)
        wanted = answer(record, sound)
        for array, expected in zip(results, map(np.asarray, wanted), strict=True):
            named = result_dtype(record, case.dtype, expected, sound)
            outcome.worst = max(outcome.worst, judge(array[-1], expected, named, record.tolerance))
        call.check_inputs()
    return outcome


def check_pivots(kind: str, info: np.ndarray, result: np.ndarray, *, positive: bool) -> None:
    """Raises: Failed where a spoiled matrix is not told from the others."""
    wanted = [*range(1, len(info)), 0]
    if kind == "nan" and not positive:
        lost = np.isnan(result).reshape(len(result), -1).any(axis=1)
        wanted = [0 if seen and not told else k for k, told, seen in zip(wanted, info, lost, strict=True)]
    if info.dtype != np.int32 or info.tolist() != wanted:
        raise Failed(f"info of a stack: got {info.dtype} {info.tolist()}, expected int32 {wanted}")


CHECK = Check("pivots", run, cases_of, lowest=Level.L2)
