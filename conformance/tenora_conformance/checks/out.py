"""out=: the result in the given tensor, whatever its memory; what cannot take it is refused and stays as it was.

- `empty`: a target of no elements gets the result's shape, in silence. `resized`: one of elements does so too, and
  that is told by a warning. `strided`: a window whose neighbours stay as they are.
- `wider`: a dtype of the next category takes the values. `narrower`: one that loses the category refuses.
- `overlap`: a target that is an operand, or begins inside one, has the result of the plain call, or is refused.
- Only samples that a kind fits are listed, so that every case compares something: the first ones of a record. No id
  hangs on how many samples or dtypes it has.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.calls import prepare, samples_of
from tenora_conformance.judge.compare import fetched
from tenora_conformance.judge.layouts import LAYOUTS, Placed
from tenora_conformance.judge.pointwise import arrays_of
from tenora_conformance.judge.results import answers, category, judge_written, refused
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import ALL, Sample, Seed, numpy_dtype

KINDS = ("empty", "strided", "wider", "narrower", "overlap", "resized")
WIDER = {0: "int64", 1: "float64", 2: "complex128"}
NARROWER = {1: "bool", 2: "int64", 3: "float32"}
#: Samples that a kind is tried with: in float32 or the first dtype, and elsewhere.
MOST, ELSEWHERE = 3, 1
#: Sums are made in the dtype of out=, so that no category is lost.
SUMMED = frozenset(("sum", "prod", "mean", "creation", "attr", "attr_or_same", "sum_as_given"))


def cases_of(name: str) -> tuple[Case, ...]:
    """Every kind in float32 (or the first dtype), one of the first three in each other dtype."""
    record, found = tenora_ops.record(name), []
    if not record.out or record.random or record.tolerance == "unspecified":
        return ()
    whole = "float32" if "float32" in record.dtypes else record.dtypes[0]
    for dtype in record.dtypes:
        kinds, most = (KINDS, MOST) if dtype == whole else ((KINDS[ALL.index(dtype) % 3],), ELSEWHERE)
        for kind in kinds:
            for number in itertools.islice(fitting(record, dtype, kind), most):
                found.append(Case(name, dtype, kind, f"{number}:target", Level.L2, "out"))
    return tuple(found)


def fitting(record: Record, dtype: str, kind: str) -> Iterator[int]:
    """The numbers of the samples that a kind fits: those with elements, whose results are tensors with elements."""
    for number, sample in enumerate(samples_of(record.name, dtype)):
        if not all(array.size for array in arrays_of(sample)):
            continue
        wanted = answers(record, dtype, sample)
        if not wanted or not all(array.size for array, _ in wanted):
            continue
        if kind == "narrower" and not loses(record, sample, wanted):
            continue
        if kind == "overlap" and shared(sample, wanted) is None:
            continue
        yield number


def loses(record: Record, sample: Sample, wanted: list[tuple[np.ndarray, str]]) -> bool:
    """Whether a result has a category to lose, in a dtype that is not the target's to say."""
    named = record.dtype in SUMMED or record.dtype == "" or "dtype" in sample.options
    return len(wanted) == 1 and not named and bool(record.schema.operands) and category(wanted[0][1]) > 0


def shared(sample: Sample, wanted: list[tuple[np.ndarray, str]]) -> int | None:
    """The place of an operand that has the only result's shape and dtype, of more than one element; None without."""
    if len(wanted) != 1 or any(isinstance(value, Seed) for value in sample.options.values()):
        return None
    ((result, name),) = wanted
    for place, value in enumerate(sample.arguments):
        alike = isinstance(value, np.ndarray) and (value.shape, value.dtype.name) == (result.shape, name)
        if alike and value.size > 1:
            return place
    return None


def run(case: Case, subject: Subject) -> Outcome:
    """One call with out=."""
    record, outcome = tenora_ops.record(case.op), Outcome()
    sample = samples_of(case.op, case.dtype)[int(case.number)]
    with asking(record, sample), judged_by(subject):
        wanted = answers(record, case.dtype, sample)
        if case.layout == "overlap":
            outcome.worst = max(_shared(record, sample, wanted, shift, subject, outcome) for shift in (0, 1))
        elif case.layout == "narrower":
            _narrower(record, sample, wanted, subject)
        else:
            outcome.worst = _filled(record, sample, wanted, case.layout, subject, outcome)
    return outcome


def target_dtype(dtype: str, kind: str, subject: Subject) -> str:
    """What a target of a kind has; the result's own where the backend declares no other."""
    from_category = {"wider": WIDER, "narrower": NARROWER}.get(kind, {})
    other = from_category.get(category(dtype), dtype)
    return other if other in subject.dtypes else dtype


def _given(targets: list[Any]) -> Any:
    return tuple(targets) if len(targets) > 1 else targets[0]


def _filled(
    record: Record,
    sample: Sample,
    wanted: list[tuple[np.ndarray, str]],
    kind: str,
    subject: Subject,
    outcome: Outcome,
) -> float:
    call = prepare(record, sample, LAYOUTS["contiguous"], subject)
    bound = record.exact_target or record.dtype in SUMMED or "dtype" in sample.options
    single = kind == "wider" and len(wanted) == 1 and not bound
    dtypes = [target_dtype(name, "wider", subject) if single else name for _, name in wanted]
    layout = LAYOUTS["strided" if kind == "strided" else "contiguous"]
    shapes = [(0,) if kind == "empty" else array.shape for array, _ in wanted]
    places = [
        Placed(np.zeros(s, numpy_dtype(d)), layout, subject) for s, d in zip(shapes, dtypes, strict=True)
    ]
    targets = [place.tensor for place in places]
    if kind in ("empty", "resized"):
        sizes = [0 if kind == "empty" else array.size + 1 for array, _ in wanted]
        targets = [
            tenora.zeros(n, dtype=subject.dtype(d), device=subject.device)
            for n, d in zip(sizes, dtypes, strict=True)
        ]
    call.options["out"] = _given(targets)
    with watch(subject, outcome):
        got = told_of_resizing(call, kind == "resized")
    results = list(got) if isinstance(got, tuple) else [got]
    if len(results) != len(targets) or any(r is not t for r, t in zip(results, targets, strict=True)):
        raise Failed("with out= the call answers something else than the given tensor")
    worst = 0.0
    for (array, name), target, place, dtype in zip(wanted, targets, places, dtypes, strict=True):
        if tuple(target.shape) != array.shape or str(target.dtype) != f"tenora.{dtype}":
            raise Failed(f"out=: got {target.dtype}{tuple(target.shape)}, expected {dtype}{array.shape}")
        worst = max(worst, judge_written(record, fetched(target), array, name, dtype))
        if kind == "strided":
            place.check_around("the target")
    call.check_inputs()
    return worst


def told_of_resizing(call: Callable[[], Any], expected: bool) -> Any:
    """What a call answers. Raises: Failed where it tells of a resized target that was empty or fits, or does not."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        got = call()
    told_of = any("is resized" in str(warning.message) for warning in said)
    if told_of != expected:
        words = ("no warning", "a warning that it is resized")
        raise Failed(f"out=: got {words[told_of]}, expected {words[expected]}")
    return got


def _narrower(record: Record, sample: Sample, wanted: list[tuple[np.ndarray, str]], subject: Subject) -> None:
    ((array, name),) = wanted
    dtype = target_dtype(name, "narrower", subject)
    call = prepare(record, sample, LAYOUTS["contiguous"], subject)
    place = Placed(np.zeros(array.shape, numpy_dtype(dtype)), LAYOUTS["contiguous"], subject)
    call.options["out"] = place.tensor
    refused(call, f"{name} into out= of {dtype}")
    place.check("the target of a refused call")


def _shared(
    record: Record,
    sample: Sample,
    wanted: list[tuple[np.ndarray, str]],
    shift: int,
    subject: Subject,
    outcome: Outcome,
) -> float:
    """An operand that has the result's shape and dtype is the target; or the target begins `shift` elements in it."""
    ((array, name),) = wanted
    place = shared(sample, wanted)
    assert place is not None, "the sample was listed for its operand"
    call = prepare(record, sample, LAYOUTS["contiguous"], subject)
    memory = tenora.zeros(array.size + 1, dtype=subject.dtype(name), device=subject.device)
    operand, target = (memory[s : s + array.size].view(array.shape) for s in (0, shift))
    operand.copy_(call.arguments[place])
    call.arguments[place], call.options["out"] = operand, target
    try:
        with watch(subject, outcome):
            call()
    except RuntimeError as error:
        if not shift or "share" not in str(error):
            raise
        return 0.0
    return judge_written(record, fetched(target), array, name, name)


CHECK = Check("out", run, cases_of, lowest=Level.L2)
