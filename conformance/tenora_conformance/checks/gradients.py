"""Every differentiable op: its gradient, and the gradient of its gradient, against differences of the oracle.

- Differences are taken on the host, in double precision, of the record's oracle (`judge/differences.py`); a gradient
  in a lower precision is compared with the same ones, within the class `gradient`.
- Double backward takes the gradient with `create_graph=True`; its derivative along a random direction is judged by
  mixed differences, and its derivative by the cotangents by the slope of the op itself.
- What has no gradient, or none that differences see, is stated by the record: `shape_only`, `no_gradient`,
  `not_differentiable`, `no_differences`, `gradient_samples`, `hermitian`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge import differences
from tenora_conformance.judge.calls import Call, prepare, samples_of
from tenora_conformance.judge.compare import Scale, fetched, judge
from tenora_conformance.judge.differences import Question, question
from tenora_conformance.judge.layouts import LAYOUT_BOUND, LAYOUTS
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import FLOATING, Draw, Sample, numpy_dtype

DOUBLE = ("float64", "complex128")
#: One in so many samples is tried in a dtype that is neither double nor float32.
EVERY = 3
#: Elements of a sample that is differentiated for what it says beside its arrays.
WIDEST = 96
TAPE = "@tape"


def samples(record: Record, dtype: str) -> tuple[Sample, ...]:
    """The samples that are differentiated in a dtype."""
    if record.gradient_samples is None:
        return () if record.no_differences else samples_of(record.name, dtype)
    return tuple(record.gradient_samples(Draw(dtype, record.domain, record.name)))


def scripts() -> Iterator[Case]:
    """The one that is of no op."""
    yield Case(TAPE, "float32", "-", "freed:gradient", Level.L3, "gradients")


def cases_of(name: str) -> tuple[Case, ...]:
    """First gradients in every floating dtype; second ones in double precision and float32; in a stable order."""
    record, found = tenora_ops.record(name), []
    if not record.differentiable or record.random:
        return ()
    layouts = tuple(layout for layout in LAYOUTS if not LAYOUTS[layout].host_only)
    if name in LAYOUT_BOUND:
        layouts = layouts[:1]
    # Gradients of factorisations divide by the gaps of a spectrum: single precision has no digits to tell.
    tried = DOUBLE if record.family.name == "linalg" or record.tolerance == "factorised" else FLOATING
    for turn, dtype in enumerate(d for d in record.dtypes if d in tried):
        whole = dtype in DOUBLE or dtype == "float32"
        for number, _ in chosen(record, dtype):
            if not whole and (number + turn) % EVERY:
                continue
            layout = layouts[(number + turn) % len(layouts)]
            found.append(Case(name, dtype, layout, f"{number}:gradient", Level.L3, "gradients"))
            if whole:
                found.append(Case(name, dtype, layout, f"{number}:second", Level.L3, "gradients"))
    return tuple(found)


def differentiable(record: Record, sample: Sample) -> bool:
    """Whether a sample has a floating tensor that moves, and no result that is rounded."""
    named = [
        v for v in (*sample.arguments, sample.options.get("dtype")) if isinstance(v, str) and v in FLOATING
    ]
    rounds = any(name not in DOUBLE for name in named)
    return not rounds and any(differences.slots_of(record, sample))


def chosen(record: Record, dtype: str) -> list[tuple[int, Sample]]:
    """The samples through which differences walk: small ones, and in float64 the smallest of each other form.

    A gradient has terms of its own for a stride, a factor, a reduction: for what a sample says beside its arrays.
    """
    fit = [(i, s) for i, s in enumerate(samples(record, dtype)) if differentiable(record, s)]
    most = max([differences.LARGEST, *sorted(size(s) for _, s in fit)[:1]])
    found = [(i, s) for i, s in fit if size(s) <= most]
    if dtype != DOUBLE[0]:
        return found
    seen = {said_beside(s) for _, s in found}
    for i, s in sorted(fit, key=lambda row: size(row[1])):
        if size(s) <= WIDEST and said_beside(s) not in seen:
            seen.add(said_beside(s))
            found.append((i, s))
    return found


def said_beside(sample: Sample) -> str:
    """What a sample says beside its arrays."""
    values = [*enumerate(sample.arguments), *sorted(sample.options.items())]
    return repr([(where, None if has_array(v) else v) for where, v in values])


def has_array(value: Any) -> bool:
    """Whether a value is an array or holds one."""
    return isinstance(value, np.ndarray) or (isinstance(value, list) and any(map(has_array, value)))


def size(value: Any) -> int:
    """Elements of a sample, or of a value of one."""
    if isinstance(value, Sample):
        return sum(size(v) for v in value.arguments if isinstance(v, np.ndarray | list))
    return sum(map(size, value)) if isinstance(value, list) else int(np.size(value))


def _question(record: Record, sample: Sample, seed: str) -> Question:
    with np.errstate(all="ignore"):
        return question(record, sample, seed)


def run(case: Case, subject: Subject) -> Outcome:
    """One gradient, or one gradient of a gradient."""
    outcome = Outcome()
    if case.op == TAPE:
        with judged_by(subject):
            freed(subject, outcome)
        return outcome
    record = tenora_ops.record(case.op)
    sample = samples(record, case.dtype)[int(case.number)]
    asked = _question(record, sample, case.id)
    with asking(record, sample), judged_by(subject), np.errstate(all="ignore"):
        call = prepare(record, sample, LAYOUTS[case.layout], subject)
        judging = second if case.sample.endswith(":second") else first
        judging(asked, call, case, subject, outcome)
    return outcome


def leaves_of(asked: Question, call: Call) -> list[Any]:
    """The call's tensors that have a gradient, as leaves."""
    found = []
    for i, j in asked.slots:
        item = call.arguments[i] if j is None else call.arguments[i][j]
        found.append(item.requires_grad_(True))
    return found


def cotangents_of(asked: Question, results: list[Any], subject: Subject) -> list[Any]:
    """The cotangents, in the results' dtypes and on their device."""
    return [
        on_device(u, str(r.dtype).rpartition(".")[2], subject)
        for u, r in zip(asked.cotangents, results, strict=True)
    ]


def on_device(array: np.ndarray, dtype: str, subject: Subject) -> Any:
    """A dense tensor of the values of an array."""
    dense = np.ascontiguousarray(array).astype(numpy_dtype(dtype)).reshape(array.shape)  # 0-d stays so
    return tenora.from_numpy(dense).to(subject.device)


def results_of(asked: Question, found: Any) -> list[Any]:
    """The results that should have a gradient."""
    whole = found if isinstance(found, tuple | list) else (found,)
    return [whole[i] for i in asked.outputs]


def gradients_of(results: list[Any], inputs: list[Any], weights: list[Any], **options: Any) -> list[Any]:
    """Of results without a history, which are constant, the gradient is None: it counts as zero."""
    kept = [i for i, result in enumerate(results) if result.requires_grad]
    if not kept:
        return [None] * len(inputs)
    chosen = ([part[i] for i in kept] for part in (results, weights))
    outputs, cotangents = chosen
    return list(tenora.autograd.grad(outputs, inputs, cotangents, allow_unused=True, **options))


def first(asked: Question, call: Call, case: Case, subject: Subject, outcome: Outcome) -> None:
    """The gradient of the loss for each operand."""
    leaves = leaves_of(asked, call)
    with watch(subject, outcome):
        results = results_of(asked, call())
    weights = cotangents_of(asked, results, subject)
    with watch(subject, outcome):
        found = gradients_of(results, leaves, weights)
    wanted = differences.gradient(asked)
    outcome.worst = compared(asked, leaves, found, wanted, "gradient", "differences")
    call.check_inputs()


def compared(
    asked: Question, leaves: list[Any], found: Any, wanted: list[np.ndarray], low: str, double: str
) -> float:
    """The worst share of the tolerance over the gradients of all operands. Raises: Failed."""
    worst, magnitude = 0.0, max([1.0, *(float(np.abs(w).max(initial=0.0)) for w in wanted)])
    for (i, j), leaf, got, answer in zip(asked.slots, leaves, found, wanted, strict=True):
        where = f"gradient of operand {i}" + ("" if j is None else f"[{j}]")
        dtype = str(leaf.dtype).rpartition(".")[2]
        if got is None:
            array = np.zeros(answer.shape, numpy_dtype(dtype))
        elif tuple(got.shape) != answer.shape or got.dtype != leaf.dtype:
            raise Failed(f"{where}: got {got.dtype}{tuple(got.shape)}, expected {leaf.dtype}{answer.shape}")
        else:
            array = fetched(got)
        if asked.record.hermitian:
            array = differences.hermitian(array)
        try:
            worst = max(
                worst, judge(array, answer, dtype, double if dtype in DOUBLE else low, Scale(least=magnitude))
            )
        except Failed as failure:
            raise Failed(f"{where}: {failure}", failure.detail, worst=failure.worst) from failure
    return worst


def second(asked: Question, call: Call, case: Case, subject: Subject, outcome: Outcome) -> None:
    """The gradient of Re sum(conj(w) g), of the gradient g, for the operands and for the cotangents."""
    leaves = leaves_of(asked, call)
    one, other = (differences.directions(asked, f"{case.id}:{n}") for n in ("one", "other"))
    with watch(subject, outcome):
        results = results_of(asked, call())
    weights = [u.requires_grad_(True) for u in cotangents_of(asked, results, subject)]
    with watch(subject, outcome):
        gradients = gradients_of(results, leaves, weights, create_graph=True)
    kept = [
        (g, on_device(w, _name(g), subject)) for g, w in zip(gradients, one, strict=True) if _has_history(g)
    ]
    slopes = differences.along(asked, one)
    found: list[Any] = [None] * (len(leaves) + len(weights))
    if kept:
        with watch(subject, outcome):
            found = list(
                tenora.autograd.grad(
                    [g for g, _ in kept], leaves + weights, [w for _, w in kept], allow_unused=True
                )
            )
    outcome.worst = max(
        _judge_curvature(asked, found, one, other),
        _judge_slopes(asked, found[len(leaves) :], weights, slopes),
    )


def _name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _has_history(gradient: Any) -> bool:
    return gradient is not None and bool(gradient.requires_grad)


def _judge_curvature(
    asked: Question, found: list[Any], one: list[np.ndarray], other: list[np.ndarray]
) -> float:
    """Re sum(conj(h) v) over the operands is the mixed derivative along w and v."""
    wanted = differences.second(asked, one, other)
    got, magnitude, dtype = 0.0, 1.0, asked_dtype(asked)
    for gradient, v in zip(found, other, strict=False):
        if gradient is not None:
            terms = (np.conj(fetched(gradient).astype(v.dtype)) * v).real
            got += float(terms.sum())
            magnitude += float(np.abs(terms).sum())
    tolerance = "second_differences" if dtype in DOUBLE else "second_gradient"
    kind = "float64" if dtype in DOUBLE else "float32"
    try:
        return judge(np.array(got, kind), np.array(wanted), kind, tolerance, Scale(least=magnitude))
    except Failed as failure:
        raise Failed(f"gradient of the gradient, along a direction: {failure}", failure.detail) from failure


def asked_dtype(asked: Question) -> str:
    """The dtype of a question's first tensor."""
    return str(differences.taken(asked.sample, asked.slots)[0].dtype.name)


def _judge_slopes(asked: Question, found: list[Any], weights: list[Any], slopes: list[np.ndarray]) -> float:
    """The gradient for the cotangents is the op's own derivative along w."""
    worst, magnitude = 0.0, max([1.0, *(float(np.abs(s).max(initial=0.0)) for s in slopes)])
    for gradient, weight, slope in zip(found, weights, slopes, strict=True):
        dtype = _name(weight)
        array = np.zeros(slope.shape, numpy_dtype(dtype)) if gradient is None else fetched(gradient)
        tolerance = "differences" if dtype in DOUBLE else "gradient"
        try:
            worst = max(worst, judge(array, slope, dtype, tolerance, Scale(least=magnitude)))
        except Failed as failure:
            raise Failed(
                f"gradient of the gradient for its cotangent: {failure}", failure.detail
            ) from failure
    return worst


def freed(subject: Subject, outcome: Outcome) -> None:
    """Backward gives back what the tape has saved, although its result is still there; a second one refuses."""
    x = on_device(np.arange(1.0, 9.0), "float32", subject).requires_grad_(True)
    with watch(subject, outcome):
        result = ((x * 2).exp() * 3).sum()
    before = tenora.live()["storages"]
    with watch(subject, outcome):
        tenora.autograd.grad(result, x)
    after = tenora.live()["storages"]
    if after >= before:
        raise Failed(
            f"storages after backward: got {after}, expected less than the {before} that the tape had saved"
        )
    try:
        tenora.autograd.grad(result, x)
    except RuntimeError:
        return
    raise Failed("a second backward through a tape that was given back: got a gradient, expected an error")


CHECK = Check("gradients", run, cases_of, scripts, lowest=Level.L3)
