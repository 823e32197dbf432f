"""One case by its id, in this process: for reproductions and debuggers."""

from __future__ import annotations

import difflib

import tenora_ops
from tenora_conformance import subject as subjects
from tenora_conformance.model import Case, Result
from tenora_conformance.must_run import all_cases, is_op
from tenora_conformance.run.one import run_case
from tenora_dispatch.errors import did_you_mean


def find(case_id: str) -> Case:
    """The case of an id. Raises: LookupError."""
    op = case_id.partition("/")[0]
    cases = {case.id: case for case in all_cases(ops=(op,))} if is_op(op) else {}
    if case_id in cases:
        return cases[case_id]
    raise LookupError(
        f"[conformance] case: got {case_id!r}, expected the id of one, such as add/float32/contiguous/0."
        f"{_nearest(case_id, op, list(cases))} The files below must_run/ list them."
    )


def _nearest(case_id: str, op: str, ids: list[str]) -> str:
    if ids:
        near = difflib.get_close_matches(case_id, ids, n=3, cutoff=0.3) or ids[:3]
        return f" {op} has {len(ids):,}; near it: {', '.join(near)}."
    if op.startswith("@"):
        return did_you_mean(op, sorted({case.op for case in all_cases() if case.op.startswith("@")}))
    return did_you_mean(op, [record.name for record in tenora_ops.records()])


def run_alone(backend: str, case_id: str, device: str = "") -> Result:
    """Loads a backend here and runs one case; prints how it ended.

    Raises: what `tenora.use_backend` raises; LookupError for an unknown case.
    """
    result = run_case(find(case_id), subjects.load(backend, device))
    print(f"{result.case}: {result.status} {result.message}".rstrip())
    if result.detail is not None and result.detail.traceback:
        print(result.detail.traceback)
    return result
