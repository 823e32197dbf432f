"""Views: the same memory seen otherwise. A write through one is seen by the other, and gradients follow it.

- Where a view's elements lie is told by the record's oracle, asked with the numbers of the elements.
- A view that shows an element twice is not written to; what it shows of a write into its base, and the gradient of what
  is read through it, are asked all the same.
- What is no view has memory of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.calls import Call, answer, prepare, samples_of
from tenora_conformance.judge.compare import fetched
from tenora_conformance.judge.layouts import LAYOUT_BOUND, LAYOUTS
from tenora_conformance.judge.pointwise import arrays_of, is_plain
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import Sample

#: Views that read one dtype as another, or two numbers as one: their elements are no numbers of the base's.
RECAST = frozenset(("view_as_real", "view_as_complex", "real", "imag", "view_dtype"))
DTYPES = ("float32", "int64", "bool", "complex64", "float64")


def cases_of(name: str) -> tuple[Case, ...]:
    """Those of one record."""
    record, found = tenora_ops.record(name), []
    if not record.view:
        computes = record.overridable and record.kind != "structural"  # the others may answer with a view
        if computes and "float32" in record.dtypes and record.schema.operands:
            found.append(Case(name, "float32", "contiguous", "0:own", Level.L2, "views"))
        return tuple(found)
    layouts = ("contiguous",) if name in LAYOUT_BOUND else ("contiguous", "strided", "offset")
    for turn, dtype in enumerate(d for d in DTYPES if d in record.dtypes):
        for number, sample in enumerate(samples_of(name, dtype)):
            if is_plain(sample) and arrays_of(sample)[0].size and name not in RECAST:
                layout = layouts[(number + turn) % len(layouts)]
                found.append(Case(name, dtype, layout, f"{number}:write", Level.L2, "views"))
                if dtype == "float32":
                    found.append(Case(name, dtype, layout, f"{number}:slope", Level.L3, "views"))
    return tuple(found)


def run(case: Case, subject: Subject) -> Outcome:
    """One write through a view, one gradient through such a write, or the memory of one result."""
    record, outcome = tenora_ops.record(case.op), Outcome()
    sample = samples_of(case.op, case.dtype)[int(case.number)]
    with asking(record, sample), judged_by(subject):
        {"write": _write, "slope": _slope, "own": _own}[case.sample.partition(":")[2]](
            record, sample, case, subject, outcome
        )
    return outcome


def places_of(record: Record, sample: Sample) -> np.ndarray:
    """The numbers of the base's elements that a view shows."""
    base = arrays_of(sample)[0]
    numbers = np.arange(base.size, dtype=np.int64).reshape(base.shape)
    return np.asarray(answer(record, Sample((numbers, *sample.arguments[1:]), sample.options)))


def _write(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    base, place, places = call.arguments[0], call.placed[0], places_of(record, sample)
    version = base._version
    with watch(subject, outcome):
        view = call()
    if view.untyped_storage().data_ptr() != base.untyped_storage().data_ptr():
        raise Failed("a view has memory of its own, expected that of its base")
    if not shows_twice(places):
        _written_through(view, call, places, sample, case, subject, outcome)
    with watch(subject, outcome):
        base.zero_()
    if base._version <= version or view._version != base._version:
        raise Failed(
            f"versions after a write: got {view._version} and {base._version}, expected one beyond {version}"
        )
    place.check_around("the base")
    if np.any(fetched(view)):
        raise Failed("a view after a write into its base: got the old values, expected zeros")


def shows_twice(places: np.ndarray) -> bool:
    """Whether a view has an element of its base in two places."""
    return len(np.unique(places)) < places.size


def _written_through(
    view: Any,
    call: Call,
    places: np.ndarray,
    sample: Sample,
    case: Case,
    subject: Subject,
    outcome: Outcome,
) -> None:
    """The base after a write into its view."""
    base, version = call.arguments[0], call.arguments[0]._version
    expected = arrays_of(sample)[0].copy()
    flat = expected.reshape(-1)
    other = np.asarray(1 if case.dtype == "bool" else 77, expected.dtype)
    with watch(subject, outcome):
        view.fill_(other.item())
    flat[places.reshape(-1)] = other
    found = fetched(base)
    if not np.array_equal(found, expected):
        at = tuple(int(i) for i in np.argwhere(found != expected)[0])
        raise Failed(
            f"base after a write through its view, at {at}: got {found[at]!s}, expected {expected[at]!s}"
        )
    if places.size and base._version <= version:
        raise Failed(
            f"version after a write through a view: got {base._version}, expected more than {version}"
        )
    call.placed[0].check_around("the base")


def _slope(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    """y = 1 x; the view of y times 3; the gradient of sum(c y) is 3 c where the view is, else c.

    Where the view shows elements twice, that of the sum of 3 times what it shows is 3 for each time.
    """
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    places = places_of(record, sample)
    leaf = call.arguments[0].requires_grad_(True)
    if shows_twice(places):
        with watch(subject, outcome):
            (gradient,) = tenora.autograd.grad((call() * 3).sum(), leaf)
        counts = 3 * np.bincount(places.reshape(-1), minlength=leaf.numel())
        _judge_slope(gradient, counts.astype(np.float32).reshape(tuple(leaf.shape)), "read")
        return
    weights = np.arange(1, leaf.numel() + 1, dtype=np.float32).reshape(tuple(leaf.shape))
    factor = tenora.from_numpy(weights).to(subject.device)
    with watch(subject, outcome):
        call.arguments[0] = leaf * 1 if record.name not in LAYOUT_BOUND else leaf.clone()
        call().mul_(3)
        (gradient,) = tenora.autograd.grad((call.arguments[0] * factor).sum(), leaf)
    expected = weights.copy()
    expected.reshape(-1)[places.reshape(-1)] *= 3
    _judge_slope(gradient, expected, "written")


def _judge_slope(gradient: Any, expected: np.ndarray, how: str) -> None:
    found = fetched(gradient)
    if not np.array_equal(found, expected):
        at = tuple(int(i) for i in np.argwhere(found != expected)[0])
        raise Failed(f"gradient through a {how} view, at {at}: got {found[at]!s}, expected {expected[at]!s}")


def _own(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    call = prepare(record, sample, LAYOUTS["contiguous"], subject)
    with watch(subject, outcome):
        got = call()
    whole = got if isinstance(got, tuple | list) else (got,)
    taken = {item.tensor.untyped_storage().data_ptr() for item in call.placed}
    for number, result in enumerate(
        whole if outcome.kernels else ()
    ):  # where nothing ran, it may be the input
        if result.numel() and result.untyped_storage().data_ptr() in taken:
            raise Failed(f"result {number} lies in the memory of an input, although the op is no view")


CHECK = Check("views", run, cases_of, lowest=Level.L2)
