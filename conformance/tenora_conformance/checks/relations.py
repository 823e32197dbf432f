"""Answers that have to agree with each other: a fused kernel with its formula, a whole with its parts.

- `fused`: an op that the backend has a kernel for, against the op's formula over other ops, as it runs on the
  reference, which has no such kernel: within the record's class.
- `split`, `permuted`: a pointwise op of a long vector is that of its parts, and of its elements in another order, to
  the last bit or within the class.
- `@relation`: round trips, and sums over parts, that hold for every backend.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tenora
import tenora_dispatch
import tenora_ops
from tenora_conformance.checks.asking import asking, level_of
from tenora_conformance.judge.calls import prepare, samples_of
from tenora_conformance.judge.compare import Scale, fetched, judge
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.judge.pointwise import filled, pointwise_forms, vectors
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, load, watch
from tenora_ops.record import Record
from tenora_ops.samples import Sample

SCRIPTS = "@relation"
FUSED = ("float32", "float64", "bfloat16", "complex64", "int64")
#: Longer than a vector, and no multiple of one.
LENGTH = 1003
Pair = tuple[Any, Any]


def scripts() -> Iterator[Case]:
    """Every relation."""
    for name, (dtype, _, _) in RELATIONS.items():
        yield Case(SCRIPTS, dtype, "-", f"{name}:relation", Level.L2, "relations")


def cases_of(name: str) -> tuple[Case, ...]:
    """Those of one record."""
    record, found = tenora_ops.record(name), []
    if has_formula(record):
        for dtype in (d for d in FUSED if d in record.dtypes):
            found += [
                Case(name, dtype, "contiguous", f"{number}:fused", level_of(record), "relations")
                for number in range(len(samples_of(name, dtype)))
            ]
    for dtype in (d for d in ("float32", "int32") if d in record.dtypes):
        if pointwise_forms(name, dtype) and record.edges != "none":
            found += [
                Case(name, dtype, "contiguous", f"0:{kind}", level_of(record), "relations")
                for kind in ("split", "permuted")
            ]
    return tuple(found)


def has_formula(record: Record) -> bool:
    """Whether a backend may bring a kernel for an op that is also a formula over others."""
    return record.overridable and not record.random and bool(record.composite or record.function)


@functools.cache
def formulas() -> Subject:
    """The backend by which the op set is defined: where it has no kernel for an op, the op's formula runs on it."""
    return load(
        next(row.name for row in tenora_dispatch.backends() if row.manifest and row.manifest.reference)
    )


def needs(case: Case, subject: Subject) -> str:
    """A formula is compared where the backend has a kernel that stands in for it, and the reference has none."""
    if case.number == "transformed_back" and "complex128" not in subject.dtypes:
        return "dtype complex128, to which a transform leads, is not declared"
    if case.sample.endswith(":fused"):
        if case.op not in subject.kernels:
            return "no kernel of its own stands in for the op's formula"
        if case.op in formulas().kernels:
            return "the reference has a kernel for the op, and does not run its formula"
    return ""


def run(case: Case, subject: Subject) -> Outcome:
    """One comparison of a backend with itself."""
    outcome = Outcome()
    with judged_by(subject):
        if case.op == SCRIPTS:
            _relation(case, subject, outcome)
            return outcome
        record = tenora_ops.record(case.op)
        kind = case.sample.partition(":")[2]
        sample = (
            samples_of(case.op, case.dtype)[int(case.number)]
            if kind == "fused"
            else _long(record, case.dtype)
        )
        with asking(record, sample):
            {"fused": _fused, "split": _split, "permuted": _permuted}[kind](
                record, sample, case, subject, outcome
            )
    return outcome


def _fused(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    call = prepare(record, sample, LAYOUTS["contiguous"], subject)
    with watch(subject, outcome):
        whole = call()
    with judged_by(formulas()):
        parts = prepare(record, sample, LAYOUTS["contiguous"], formulas())()
    compare(record, whole, parts, outcome, "the kernel and the op's formula")


def compare(record: Record, one: Any, other: Any, outcome: Outcome, what: str) -> None:
    """Both within the class; integers and moved values are the same. Raises: Failed."""
    if isinstance(one, tuple | list):
        if not isinstance(other, tuple | list) or len(one) != len(other):
            raise Failed(f"{what}: got {len(one)} results, expected as many from both")
        for a, b in zip(one, other, strict=True):
            compare(record, a, b, outcome, what)
        return
    if not hasattr(one, "shape") or not hasattr(other, "shape"):
        if one != other:
            raise Failed(f"{what}: got {one}, expected {other}")
        return
    if tuple(one.shape) != tuple(other.shape) or one.dtype != other.dtype:
        shown = f"got {one.dtype}{tuple(one.shape)}, expected {other.dtype}{tuple(other.shape)}"
        raise Failed(f"{what} differ: {shown}")
    if record.tolerance != "unspecified":
        judged(one, other, record.tolerance, outcome, what)


def judged(one: Any, other: Any, tolerance: str, outcome: Outcome, what: str) -> None:
    """Two tensors of one dtype, within a class. Raises: Failed."""
    name = str(one.dtype).rpartition(".")[2]
    try:
        worst = judge(fetched(one), fetched(other), name, tolerance, Scale(least=1.0))
    except Failed as failure:
        raise Failed(f"{what} differ: {failure}", failure.detail, worst=failure.worst) from failure
    outcome.worst = max(outcome.worst, worst)


def _long(record: Record, dtype: str) -> Sample:
    form = pointwise_forms(record.name, dtype)[0]
    return filled(form, vectors(record, dtype, form, LENGTH, "long"))


def _apply(record: Record, sample: Sample, subject: Subject, outcome: Outcome, at: Any) -> Any:
    """The op of some of the elements of each vector."""
    arrays = [np.ascontiguousarray(a[at]) for a in sample.arguments if isinstance(a, np.ndarray)]
    call = prepare(record, filled(sample, arrays), LAYOUTS["contiguous"], subject)
    with watch(subject, outcome):
        return call()


def _split(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    whole = _apply(record, sample, subject, outcome, slice(None))
    for part in (slice(0, 1), slice(1, 20), slice(20, 517), slice(517, None)):
        compare(
            record,
            _apply(record, sample, subject, outcome, part),
            whole[part],
            outcome,
            "a part and the whole",
        )


def _permuted(record: Record, sample: Sample, case: Case, subject: Subject, outcome: Outcome) -> None:
    order = np.random.default_rng(5).permutation(LENGTH)
    whole = fetched(_apply(record, sample, subject, outcome, slice(None)))
    mixed = _apply(record, sample, subject, outcome, order)
    other = tenora.from_numpy(np.ascontiguousarray(whole[order]))
    compare(record, mixed.to("cpu"), other, outcome, "elements in another order")


def _device(array: np.ndarray, dtype: str, subject: Subject) -> Any:
    return tenora.from_numpy(np.ascontiguousarray(array)).to(subject.dtype(dtype)).to(subject.device)


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def _definite(n: int) -> np.ndarray:
    root = _normal(n, n)
    return np.asarray(root @ root.T + n * np.eye(n))


def _orthogonal(x: Any) -> Pair:
    q, r = tenora.linalg.qr(x)
    return q @ r, x


def _decomposed(x: Any) -> Pair:
    u, s, vh = tenora.linalg.svd(x, full_matrices=False)
    return (u * s) @ vh, x


def _factor(x: Any) -> Pair:
    lower = tenora.linalg.cholesky(x)
    return lower @ lower.mT, x


def _sorted_back(x: Any) -> Pair:
    values, places = tenora.sort(x, dim=1)
    return tenora.zeros_like(x).scatter(1, places, values), x


def _parts(x: Any) -> Pair:
    return tenora.cat([part.sum(0, keepdim=True) for part in x.split(100)]).sum(0), x.sum(0)


def _batches(x: Any) -> Pair:
    a, b = x[:, :64].reshape(4, 50, 64)[:, :40], x[:40, :64].mT
    return tenora.stack([tenora.matmul(a[i], b) for i in range(4)]), tenora.matmul(a, b)


def _convolved(x: Any) -> Pair:
    images, weight = x.reshape(5, 4, 10, 70), x.reshape(-1)[: 6 * 4 * 9].reshape(6, 4, 3, 3)
    whole = tenora.nn.functional.conv2d(images, weight, padding=1)
    return tenora.cat(
        [tenora.nn.functional.conv2d(images[i : i + 1], weight, padding=1) for i in range(5)]
    ), whole


SQUARE, TABLE = _definite(7), _normal(200, 70)
#: dtype and numbers, what has to agree, and the class within which it does.
RELATIONS: dict[str, tuple[str, str, tuple[np.ndarray, Callable[[Any], Pair]]]] = {
    "transposed_twice": ("float32", "exact", (TABLE, lambda x: (x.mT.contiguous().mT, x))),
    "flipped_twice": ("float32", "exact", (TABLE, lambda x: (x.flip(0, 1).flip(1, 0), x))),
    "rolled_back": (
        "int64",
        "exact",
        (TABLE * 9, lambda x: (x.roll((3, 5), (0, 1)).roll((-3, -5), (0, 1)), x)),
    ),
    "split_and_joined": ("bfloat16", "exact", (TABLE, lambda x: (tenora.cat(x.split([10, 60], 1), 1), x))),
    "unbound_and_stacked": ("float16", "exact", (TABLE, lambda x: (tenora.stack(x.unbind(1), 1), x))),
    "cast_up_and_down": (
        "bfloat16",
        "exact",
        (TABLE, lambda x: (x.to(tenora.float32).to(tenora.bfloat16), x)),
    ),
    "sorted_and_scattered": ("float32", "exact", (TABLE, _sorted_back)),
    "gathered": (
        "float32",
        "exact",
        (TABLE, lambda x: (x.gather(1, tenora.arange(70, device=x.device).expand(200, 70)), x)),
    ),
    "sum_of_parts": ("float32", "reduction", (TABLE, _parts)),
    "last_of_a_scan": ("float32", "reduction", (TABLE, lambda x: (x.cumsum(0)[-1], x.sum(0)))),
    "product_transposed": ("float32", "contraction", (TABLE, lambda x: ((x.mT @ x), (x.mT @ x).mT))),
    "product_in_batches": ("float32", "contraction", (TABLE, _batches)),
    "convolution_in_batches": ("float32", "contraction", (TABLE, _convolved)),
    "shares": ("float32", "normalised", (TABLE, lambda x: (x.softmax(1).sum(1), tenora.ones_like(x[:, 0])))),
    "logarithm_of_exp": ("float64", "transcendental", (TABLE, lambda x: (x.exp().log(), x))),
    "roots_squared": ("float64", "few_ulp", (TABLE, lambda x: (x.abs().sqrt().square(), x.abs()))),
    "transformed_back": (
        "float64",
        "normalised",
        (TABLE, lambda x: (tenora.fft.irfft(tenora.fft.rfft(x), 70), x)),
    ),
    "solved": ("float64", "factorised", (SQUARE, lambda x: (x @ tenora.linalg.solve(x, x), x))),
    "inverted_twice": (
        "float64",
        "factorised",
        (SQUARE, lambda x: (tenora.linalg.inv(tenora.linalg.inv(x)), x)),
    ),
    "factor_squared": ("float64", "factorised", (SQUARE, _factor)),
    "orthogonal_and_triangular": ("float64", "factorised", (SQUARE, _orthogonal)),
    "singular_values": ("float64", "factorised", (SQUARE, _decomposed)),
}


def _relation(case: Case, subject: Subject, outcome: Outcome) -> None:
    dtype, tolerance, (numbers, relation) = RELATIONS[case.number]
    x = _device(numbers, dtype, subject)
    with watch(subject, outcome):
        one, other = relation(x)
    if tuple(one.shape) != tuple(other.shape) or one.dtype != other.dtype:
        raise Failed(
            f"{case.number}: got {one.dtype}{tuple(one.shape)}, expected {other.dtype}{tuple(other.shape)}"
        )
    judged(one, other, tolerance, outcome, case.number)


CHECK = Check("relations", run, cases_of, scripts, needs=needs, lowest=Level.L1)
