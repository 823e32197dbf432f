"""Calls that an op has to refuse, each with the nearest one that it has to take: stated in `tenora_ops.refusals`.

The two fix a border. A check that is left out or comes too late lets the one through, one that is too strict refuses
the other; what the other computes is judged by its values elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import tenora
import tenora_ops
from tenora_conformance.checks.errors import waited
from tenora_conformance.judge.calls import prepare
from tenora_conformance.judge.layouts import LAYOUT_BOUND, LAYOUTS
from tenora_conformance.judge.pointwise import arrays_of
from tenora_conformance.judge.results import told
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by
from tenora_ops.record import Record
from tenora_ops.refusals import Refusal
from tenora_ops.refusals.makers import unwindowed, windowed
from tenora_ops.refusals.tables import refusals_of
from tenora_ops.samples import ALL, Sample

LAYOUT, SUFFIX = "refused", ":refusal"


def cases_of(name: str) -> tuple[Case, ...]:
    """Those of one record."""
    record = tenora_ops.record(name)
    dtype = "float32" if "float32" in record.dtypes else record.dtypes[0]
    return tuple(
        Case(name, dtype, LAYOUT, wrong + SUFFIX, Level.L2, "refusals") for wrong in sorted(refusals_of(name))
    )


def stated(case: Case) -> Refusal:
    """What a case is about."""
    return refusals_of(case.op)[case.sample.removesuffix(SUFFIX)]


def needs(case: Case, subject: Subject) -> str:
    """Operands and results of other dtypes than the backend has cannot be made."""
    refusal = stated(case)
    calls = [call for call in (refusal.call, refusal.taken) if call is not None]
    given = {array.dtype.name for call in calls for array in arrays_of(unwindowed(call))}
    words = [value for call in calls for value in (*call.arguments, *call.options.values())]
    given |= {value for value in words if isinstance(value, str) and value in ALL}
    undeclared = given - subject.dtypes
    return f"dtype {min(undeclared)}, which the op has to refuse, is not declared" if undeclared else ""


def run(case: Case, subject: Subject) -> Outcome:
    """One call that is refused, and one that is not."""
    record, refusal = tenora_ops.record(case.op), stated(case)
    with judged_by(subject):
        wrong, check = _called(record, refusal.call, subject)
        expect_refusal(wrong, refusal.code, names_of(record), refusal.says)
        check()
        if refusal.taken is not None:
            sound, check = _called(record, refusal.taken, subject)
            expect_result(sound)
            check()
    return Outcome()


def _called(record: Record, sample: Sample, subject: Subject) -> tuple[Callable[[], Any], Callable[[], None]]:
    """A call that returns when the device is done with it, and the check that it left its inputs alone."""
    call = prepare(record, unwindowed(sample), LAYOUTS["contiguous"], subject)
    if record.name in LAYOUT_BOUND:
        # They reach to the ends of a storage: of one without room around the tensor.
        call.arguments = [a.clone() if isinstance(a, tenora.Tensor) else a for a in call.arguments]
    call.arguments = windowed(sample, call.arguments)
    return waited(lambda: call.function(*call.arguments, **call.options), subject), call.check_inputs


def names_of(record: Record) -> frozenset[str]:
    """What an error may call the op: as it is shown, in place, or by the name that it gives a second one."""
    named = {record.shown, record.inplace_name, record.renames.removeprefix("nn.functional.")}
    return frozenset(named - {""})


def expect_refusal(call: Callable[[], Any], code: str, names: Collection[str], says: str = "") -> None:
    """Asks for an error of a code whose text begins with a name of the op, and says something.

    Raises: Failed where there is another error, or none.
    """
    try:
        got = call()
    except tenora.NotSupportedError:
        raise  # what a backend cannot do is no answer to what is wrong
    except tenora.TenoraError as error:
        if error.code != code or error.op not in names or not str(error).startswith(f"[{error.op}"):
            raise Failed(
                f"a wrong call: got code {error.code} of op {error.op} ({told(error)}), expected code {code} and a"
                f" text that begins with one of {sorted(names)}"
            ) from error
        if says not in str(error):
            raise Failed(f"a wrong call: got the text {told(error)}, expected {says!r} in it") from error
        return
    raise Failed(f"a wrong call: got {type(got).__name__}, expected a refusal with code {code}")


def expect_result(call: Callable[[], Any]) -> None:
    """Raises: Failed where the nearest sound call is refused."""
    try:
        call()
    except tenora.NotSupportedError:
        raise
    except tenora.TenoraError as error:
        raise Failed(f"a sound call beside a wrong one: got {told(error)}, expected a result") from error


CHECK = Check("refusals", run, cases_of, needs=needs, lowest=Level.L2)
