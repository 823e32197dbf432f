"""One case by its id, in this process: for reproductions and debuggers."""

from __future__ import annotations

from tenora_conformance import subject as subjects
from tenora_conformance.model import Case, Result
from tenora_conformance.must_run import all_cases, is_op
from tenora_conformance.run.one import run_case


def find(case_id: str) -> Case:
    """The case of an id. Raises: LookupError."""
    op = case_id.partition("/")[0]
    if is_op(op):
        for case in all_cases(ops=(op,)):
            if case.id == case_id:
                return case
    raise LookupError(
        f"[conformance] case: got {case_id!r}, expected the id of one, such as add/float32/contiguous/0."
        " The files below must_run/ list them."
    )


def run_alone(backend: str, case_id: str, device: str = "") -> Result:
    """Loads a backend here and runs one case; prints how it ended.

    Raises: what `tenora.use_backend` raises; LookupError for an unknown case.
    """
    result = run_case(find(case_id), subjects.load(backend, device))
    print(f"{result.case}: {result.status} {result.message}".rstrip())
    if result.detail is not None and result.detail.traceback:
        print(result.detail.traceback)
    return result
