"""Every pointwise record at the edges of its dtype: zeros, subnormal, tiny, huge and infinite numbers, NaN, both signs.

- Which records are pointwise is found by calling them: each element of the answer to a vector is the answer to that
  element alone. Each array of a sample is replaced by a row of edges, several by all combinations of theirs.
- PyTorch is asked where it has the op for the dtype and is known to be right (`ORACLE`), else the record's oracle.
- Values agree within both sides' tolerance, element by element; NaN, infinities and signs of zeros agree exactly.
- Where both sides refuse, milder edges are tried: no zeros, none below zero, none beyond 1.
- `LISTED` names what differs, by op and dtype, with the reason; what no longer differs must leave it.
- Complex numbers are left to test_complex.py: there is no agreement on their infinities.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch
from differences import VALUES
from edge_differences import LISTED, ONE_BACKEND

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import BOOLEAN, COMPLEX, INTEGERS, Draw, Sample, Seed, numpy_dtype
from tenora_ops.tolerance import EPSILON, TINY, TOLERANCES

pytestmark = pytest.mark.oracle

FORMS = 5  # ways to give the other arguments that are tried
MILDER: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda row: row,
    lambda row: row[row != 0],
    lambda row: row[row > 0],
    lambda row: row[(row >= 0) & (row <= 1)],
)
#: Where the oracle is asked, because PyTorch ends the process (an integer division overflows).
FATAL = {
    (name, dtype)
    for name in ("lcm", "div_mode", "floor_divide", "remainder", "fmod")
    for dtype in ("int32", "int64")
}
ORACLE = FATAL | set(VALUES)
#: Of which the second operand is a degree: whole, and at most 10000.
DEGREES = {r.name for r in tenora_ops.records() if "_polynomial_" in r.name}
#: Shape rules of pointwise records, and the records that have them without being so.
RULES = ("same", "broadcast")
ROWS = {"standardise", "standardise_backward", "batch_norm_eval", "normalize"}
#: Pointwise by accident: another argument belongs to a channel, a dim, or a size.
ACCIDENTS = {"prelu", "chain_matmul", "broadcast_to"}


def edges(dtype: str, short: bool = False) -> np.ndarray:
    """The row of a dtype; three operands are tried with every combination of the short ones."""
    if dtype in BOOLEAN:
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        values: list[Any] = [0, 1, 2, 7, info.max]
        values += [] if short else [3, info.bits - 1, info.bits, 100, info.max - 1]
        if info.min:
            values += [-1, -3, info.min, *([] if short else [-2, -7, -100, info.min + 1])]
        return np.array(values, object).astype(dtype)
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    huge = 1e300 if dtype == "float64" else 1e30
    values = [0.0, float(limits.smallest_subnormal), 1e-5, 1.0, 3.0, 1e5, float(limits.max), np.inf]
    if not short:
        normal = float(limits.smallest_normal)
        values += [normal / 4, normal, 1 / huge, 0.5, 1.5, 2.0, 20.0, huge]
    with np.errstate(over="ignore"):
        row = np.array([*values, *(-v for v in values), np.nan]).astype(numpy_dtype(dtype))
    _, first = np.unique(row.view(f"u{row.itemsize}"), return_index=True)  # half types round some to others
    return row[np.sort(first)]


def arrays_of(sample: Sample) -> list[np.ndarray]:
    return [a for a in sample.arguments if isinstance(a, np.ndarray)]


def filled(sample: Sample, arrays: list[np.ndarray]) -> Sample:
    """The sample with other arrays in the places of its own."""
    left = iter(arrays)
    given = tuple(next(left) if isinstance(a, np.ndarray) else a for a in sample.arguments)
    return Sample(given, sample.options)


def forms(record: Record, dtype: str) -> Iterator[Sample]:
    """The record's samples that differ in more than shapes, without lists of arrays, generators and keyword arrays."""
    seen = set()
    for sample in op_cases.samples_of(record.name, dtype):
        values = [*sample.arguments, *sample.options.values()]
        odd = any(isinstance(v, Seed) for v in values) or any(
            isinstance(v, np.ndarray) for v in sample.options.values()
        )
        odd |= any(isinstance(v, list) and any(isinstance(i, np.ndarray) for i in v) for v in values)
        told = repr([a.dtype if isinstance(a, np.ndarray) else a for a in sample.arguments])
        told += repr(sample.options)
        if odd or told in seen or not arrays_of(sample):
            continue
        seen.add(told)
        yield sample


def ours(record: Record, sample: Sample) -> Any:
    return op_cases.public(record)(
        *op_cases.arguments_of(record, sample), **op_cases.options_of(record, sample)
    )


def probe(record: Record, dtype: str, sample: Sample) -> list[np.ndarray]:
    """Vectors from the record's domain, the last element twice."""
    draw = Draw(dtype, record.domain, "probe")
    return [draw.array(4, dtype=a.dtype.name)[[0, 1, 2, 3, 3]] for a in arrays_of(sample)]


def pointwise(record: Record, dtype: str, sample: Sample) -> bool:
    """Whether each element of the answer is the answer to the elements alone."""
    vectors = probe(record, dtype, sample)
    try:
        whole = ours(record, filled(sample, vectors))
        if not isinstance(whole, tenora.Tensor) or tuple(whole.shape) != (5,):
            return False
        for i in (0, 1, 3):
            alone = ours(record, filled(sample, [v[i : i + 1] for v in vectors]))
            if not np.allclose(whole[i : i + 1].numpy(), alone.numpy(), rtol=0.01, equal_nan=True):
                return False
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return False
    return True


@functools.cache
def names() -> tuple[str, ...]:
    """The pointwise records; random and unwritten numbers are left out."""
    found = []
    for record in tenora_ops.records():
        if parity.draws(record) or record.tolerance == "unspecified" or record.name in ACCIDENTS:
            continue
        dtypes = [d for d in record.dtypes if d not in COMPLEX]
        dtype = "float32" if "float32" in dtypes else next(iter(dtypes), "")
        if dtype and any(pointwise(record, dtype, s) for s in forms(record, dtype)):
            found.append(record.name)
    return tuple(found)


def theirs(record: Record, dtype: str, sample: Sample) -> Any:
    """PyTorch's answer or refusal; the oracle's where PyTorch has no answer in the middle of the domain either."""
    if (record.name, dtype) not in ORACLE:
        try:
            function, arguments, options = parity.torch_call(
                record, filled(sample, probe(record, dtype, sample))
            )
            function(*arguments, **options)
        except Exception:
            pass
        else:
            function, arguments, options = parity.torch_call(record, sample)
            try:
                # oneDNN's gelu, which PyTorch takes on some processors alone, is NaN at infinity and flushes to 0.
                with warnings.catch_warnings(action="ignore"), torch.backends.mkldnn.flags(enabled=False):
                    found = function(*arguments, **options)
            except (RuntimeError, ValueError) as error:
                return error
            if isinstance(found, torch.Tensor):
                return parity.as_array(found)
    try:
        return np.asarray(op_cases.oracle_answer(record, sample))
    except ZeroDivisionError as error:  # of whole numbers
        return error


def differing(record: Record, got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The numbers of the elements that differ."""
    name = got.dtype.name
    if name not in EPSILON:
        return np.flatnonzero(got != wanted)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = got.astype(wide), wanted.astype(wide).astype(got.dtype).astype(wide)
        tolerance = TOLERANCES["exact_or_1ulp" if record.tolerance == "exact" else record.tolerance]
        rtol, atol = tolerance.bounds(name, 1.0)  # each element is judged by its own magnitude
        bound = 2 * (rtol + atol) * np.abs(b) + 4 * TINY[name]
        near = (np.abs(a - b) <= bound) & np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if wide is np.float64 and record.tolerance in ("exact", "exact_or_1ulp"):
        same &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
        near &= (a != 0) | (b != 0)
    return np.flatnonzero(~(same | near))


def difference(record: Record, dtype: str, form: Sample) -> str:
    """How the answers to the mildest edges that both take differ, and to those before in who refuses; "" if not."""
    for milder in MILDER:
        with np.errstate(invalid="ignore"):
            rows = [milder(edges(a.dtype.name, len(arrays_of(form)) > 2)) for a in arrays_of(form)]
        if record.name in DEGREES and isinstance(form.arguments[-1], np.ndarray):
            rows[-1] = np.arange(-1, 7).astype(rows[-1].dtype)
        arrays = [np.ascontiguousarray(g.reshape(-1)) for g in np.meshgrid(*rows, indexing="ij")]
        sample = filled(form, arrays)
        wanted = theirs(record, dtype, sample)
        try:
            got = ours(record, sample)
        except (RuntimeError, ValueError) as error:
            assert str(error).startswith("["), f"{record.name}: {error}"
            if isinstance(wanted, Exception) or "division by zero" in str(error):
                continue
            return f"refused: {error}"
        if isinstance(wanted, Exception):
            return f"PyTorch refuses: {wanted}"
        found = op_cases.as_numpy(got)
        if found.shape != wanted.shape:
            return f"shape {found.shape}, expected {wanted.shape}"
        return told(record, found, wanted, arrays)
    return "neither side takes any edge"


def told(record: Record, found: np.ndarray, wanted: np.ndarray, arrays: list[np.ndarray]) -> str:
    """The first differences in words: operands, what was found, what was expected."""
    places = differing(record, found, wanted)
    shown = [
        f"{[a[i].item() for a in arrays]}: {found[i].item()!r}, expected {wanted[i].item()!r}"
        for i in places[:4]
    ]
    return f"{len(places)} of {len(found)}: {'; '.join(shown)}" if shown else ""


@pytest.mark.parametrize("name", names())
def test_edges(name: str, backend: str) -> None:
    record = op_cases.judged(name)
    problems = []
    ran = 0
    for dtype in op_cases.dtypes_of(record):
        if dtype in COMPLEX:
            continue
        chosen = [s for s in forms(record, dtype) if pointwise(record, dtype, s)][:FORMS]
        found = [text for text in (difference(record, dtype, s) for s in chosen) if text]
        ran += len(chosen)
        reason = LISTED.get((name, dtype)) or ONE_BACKEND.get((name, dtype, backend))
        if reason and not found:
            problems.append(f"{dtype}: no longer differs ({reason}): take it off the list")
        elif found and not reason:
            problems.append(f"{dtype}: {found}")
    assert not problems, "\n".join(problems)
    assert ran, f"{name}: nothing was tried"


def test_no_pointwise_record_is_left_out() -> None:
    """Those whose rule says so are all there; so are as many of the others as there were."""
    by_rule = {r.name for r in tenora_ops.records() if r.shape in RULES and not parity.draws(r)}
    lax = {r.name for r in tenora_ops.records() if r.tolerance == "unspecified"}
    complex_only = {r.name for r in tenora_ops.records() if set(r.dtypes) <= set(COMPLEX)}
    assert by_rule - lax - complex_only - set(names()) - ACCIDENTS == ROWS
    assert len(names()) >= 220


def test_listed_differences_exist() -> None:
    listed = {*LISTED, *((name, dtype) for name, dtype, _ in ONE_BACKEND)}
    for name, dtype in listed:
        assert name in names() and dtype in tenora_ops.record(name).dtypes, (name, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_edges_are_edges(dtype: str) -> None:
    row = edges(dtype).astype(np.float64)
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    for value in (0.0, float(limits.smallest_subnormal), float(limits.max), np.inf):
        assert value in row and -value in row
    assert np.isnan(row).any() and np.signbit(row[row == 0]).any() and not np.signbit(row[row == 0]).all()
    assert edges("int8").min() == -128 and edges("uint64").max() == 2**64 - 1


@pytest.mark.parametrize(
    ("value", "wrong"),
    [(np.inf, 3e38), (np.nan, 0.0), (0.0, -0.0), (1e-40, 0.0), (1.0, 1.00001), (-1.0, 1.0)],
)
def test_a_difference_is_noticed(value: float, wrong: float) -> None:
    """At one element beside a huge one, whose magnitude excuses nothing."""
    record = tenora_ops.record("add")
    right = np.array([1e38, value], np.float32)
    assert not differing(record, right, right).size
    assert differing(record, np.array([1e38, wrong], np.float32), right).tolist() == [1]


def test_a_wrong_op_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function in the op's place, one that refuses, and one that takes what PyTorch refuses."""
    record = tenora_ops.record("sqrt")
    loss = tenora_ops.record("binary_cross_entropy")
    weighted = next(s for s in forms(loss, "float32") if pointwise(loss, "float32", s))
    form = next(forms(record, "float32"))
    assert difference(record, "float32", form) == ""

    def refuse(x: Any) -> Any:
        raise RuntimeError("[sqrt] no: got this, expected that.")

    # Right wherever the record's samples are.
    for other, words in ((lambda x: tenora.sqrt(tenora.abs(x)), "expected nan"), (refuse, "refused")):
        monkeypatch.setattr(op_cases, "public", lambda record, other=other: other)
        assert words in difference(record, "float32", form)
    monkeypatch.setattr(op_cases, "public", lambda record: lambda x, y, w=None, reduction="": x * y)
    assert "PyTorch refuses" in difference(loss, "float32", weighted)
