"""Runs one case in this process and says how it ended; whatever a backend raises is a result, never an exception."""

from __future__ import annotations

import gc
import time
import traceback

import tenora
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import (
    Case,
    Detail,
    Failed,
    Outcome,
    Result,
    Status,
    Underclaimed,
    Unsupported,
)
from tenora_conformance.subject import HEARD, Subject

#: What is alive in the engine; a case gives back everything it takes.
COUNTED = ("tensors", "storages", "nodes", "extras")


def alive() -> dict[str, int]:
    """The engine's live objects."""
    live = tenora.live()
    return {name: live[name] for name in COUNTED}


def run_case(case: Case, subject: Subject) -> Result:
    """Runs a case; a pass also needs that nothing stays alive."""
    result = Result(case.id, int(case.level), case.check, Status.PASS)
    heard = Outcome()
    token = HEARD.set(heard)
    before, begin = alive(), time.perf_counter()
    try:
        result.worst = CHECKS[case.check].run(case, subject).worst
    except Failed as failure:
        _fail(result, str(failure), failure.detail)
        result.worst = failure.worst
    except Unsupported as refusal:
        result.status, result.message = Status.UNSUPPORTED, str(refusal)
    except Underclaimed as claim:
        result.status, result.message = Status.UNDERCLAIM, str(claim)
    except Exception as error:  # a backend may raise anything, and that is its result
        _fail(result, f"{type(error).__name__}: {error}", Detail(traceback=traceback.format_exc(limit=-8)))
    finally:
        HEARD.reset(token)
    result.seconds = time.perf_counter() - begin
    result.kernels = heard.kernels
    if result.passed:
        _judge_leaks(result, before, subject)
    return result


def _fail(result: Result, message: str, detail: Detail) -> None:
    result.status, result.message, result.detail = Status.FAIL, message, detail


def _left(before: dict[str, int]) -> dict[str, int]:
    after = alive()
    return {name: after[name] - before[name] for name in COUNTED if after[name] > before[name]}


def _judge_leaks(result: Result, before: dict[str, int], subject: Subject) -> None:
    if not _left(before):
        return
    try:
        getattr(tenora, subject.device_type).synchronize(subject.device)  # what work still uses goes after it
    except tenora.TenoraError as error:
        _fail(result, f"waiting for the device after the case: {error}", Detail())
        return
    gc.collect()  # what only a cycle of Python objects holds is no leak
    left = _left(before)
    if left:
        said = ", ".join(f"{count} {name}" for name, count in left.items())
        _fail(result, f"left alive after the case: {said}", Detail())
