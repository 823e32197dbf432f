"""Views: the same memory seen otherwise. A write through one is seen by the other, and gradients follow it.

- Where a view's elements lie is told by the record's oracle, asked with the numbers of the elements.
- What is no view has memory of its own.
"""

from __future__ import annotations

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.calls import answer, prepare, samples_of
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
    expected = arrays_of(sample)[0].copy()
    flat = expected.reshape(-1)
    if not places.size or len(np.unique(places)) < places.size:
        return  # nothing to write, or elements shown twice, which are not written
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
    if base._version <= version or view._version != base._version:
        raise Failed(
            f"versions after the write: got {view._version} and {base._version}, expected one beyond {version}"
        )
    place.check_around("the base")
    with watch(subject, outcome):
        base.zero_()
    if np.any(fetched(view)):
        raise Failed("a view after a write into its base: got the old values, expected zeros")


def _slope(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    """y = 1 x; the view of y times 3; the gradient of sum(c y) is 3 c where the view is, else c."""
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    places = places_of(record, sample)
    if not places.size or len(np.unique(places)) < places.size:
        return
    leaf = call.arguments[0].requires_grad_(True)
    weights = np.arange(1, leaf.numel() + 1, dtype=np.float32).reshape(tuple(leaf.shape))
    factor = tenora.from_numpy(weights).to(subject.device)
    with watch(subject, outcome):
        call.arguments[0] = leaf * 1 if record.name not in LAYOUT_BOUND else leaf.clone()
        call().mul_(3)
        (gradient,) = tenora.autograd.grad((call.arguments[0] * factor).sum(), leaf)
    expected = weights.copy()
    expected.reshape(-1)[places.reshape(-1)] *= 3
    found = fetched(gradient)
    if not np.array_equal(found, expected):
        at = tuple(int(i) for i in np.argwhere(found != expected)[0])
        raise Failed(
            f"gradient through a written view, at {at}: got {found[at]!s}, expected {expected[at]!s}"
        )


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
