"""A run of generated calls: pointwise ops on arrays that hypothesis makes, shrunk where one fails.

- A case is a dtype and a seed: the same calls in every run. What fails is told with its seed, made as small as
  possible, and saved as a file (`judge/vectors.py`), which `replay` runs again.
- Elements come from the record's domain and from the edges that its oracle knows; shapes have rank 0 to 4.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge import vectors
from tenora_conformance.judge.calls import answer, prepare
from tenora_conformance.judge.compare import Scale, compare
from tenora_conformance.judge.hostile import known_edges
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.judge.pointwise import arrays_of, filled, pointwise_forms
from tenora_conformance.judge.vectors import Vector
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.record import Record
from tenora_ops.samples import Draw

NAME = "@property"
DTYPES = ("float32", "float64", "bfloat16", "int64", "uint8", "bool")
SEEDS = 4
#: Calls of one case.
CALLS = 120
SHAPES = ((), (1,), (5,), (3, 4), (2, 1, 3), (1, 2, 1, 3), (0,), (2, 0), (33,))


def scripts() -> Iterator[Case]:
    """A few seeds in each dtype."""
    for dtype in DTYPES:
        for number in range(SEEDS):
            yield Case(NAME, dtype, "-", f"{number}:property", Level.L2, "property")


@functools.lru_cache(maxsize=16)
def names(dtype: str) -> tuple[str, ...]:
    """The pointwise records whose oracles know some edges."""
    found = (r for r in tenora_ops.records() if dtype in r.dtypes and r.edges != "none")
    return tuple(r.name for r in found if pointwise_forms(r.name, dtype))


def arrays_for(data: Any, record: Record, dtype: str, form: int) -> tuple[np.ndarray, ...]:
    """Arrays of one shape for the places of a form."""
    shape = data.draw(st.sampled_from(SHAPES), label="shape")
    count, given = math.prod(shape), arrays_of(pointwise_forms(record.name, dtype)[form])
    found = []
    for place, array in enumerate(given):
        name = array.dtype.name
        drawn = Draw(name, record.domain, f"{place}").array(24, dtype=name)
        edges = ordinary(known_edges(record, name, len(given))).astype(drawn.dtype)
        values = np.concatenate([edges, drawn])  # what fails is shrunk towards the first of them
        at = data.draw(
            st.lists(st.integers(0, len(values) - 1), min_size=count, max_size=count), label=f"{place}"
        )
        found.append(values[np.array(at, np.int64)].reshape(shape))
    return tuple(found)


def ordinary(row: np.ndarray) -> np.ndarray:
    """Zeros, infinities, NaN and what is about 1: beside huge numbers no tolerance says anything of the others."""
    if row.dtype == np.bool_:
        return row
    with np.errstate(invalid="ignore"):
        size = np.abs(row.astype(np.float64))
        kept = ~((size > 20) & np.isfinite(size)) & ((size == 0) | ~(size < 1e-5))
        return np.asarray(row[kept])


def largest(vector: Vector) -> float:
    """The magnitude of the largest finite operand, by which cancellation is measured."""
    flat = np.concatenate([np.abs(a.astype(np.float64)).reshape(-1) for a in vector.arrays])
    return float(flat[np.isfinite(flat)].max(initial=1.0))


def run(case: Case, subject: Subject) -> Outcome:
    """As many calls as hypothesis is given; the smallest that fails is saved."""
    outcome, failed = Outcome(), []

    @seed(int(case.number))
    @settings(
        max_examples=CALLS,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.data())
    def calls(data: Any) -> None:
        name = data.draw(st.sampled_from(names(case.dtype)), label="op")
        record = tenora_ops.record(name)
        form = data.draw(st.integers(0, len(pointwise_forms(name, case.dtype)) - 1), label="form")
        vector = Vector(name, case.dtype, form, arrays_for(data, record, case.dtype, form))
        try:
            judge_vector(vector, subject, outcome)
        except Exception:
            failed.append(vector)  # the last one is the smallest
            raise

    try:
        with judged_by(subject):
            calls()
    except Exception as error:
        where = f"seed {case.number}"
        if failed:
            path = vectors.save(failed[-1], f"{failed[-1].op}-{case.dtype}-{case.number}")
            where += f", saved as {path}"
        raise Failed(f"a generated call of {failed[-1].op if failed else '?'} ({where}): {error}") from error
    return outcome


def judge_vector(vector: Vector, subject: Subject, outcome: Outcome) -> None:
    """One call against the oracle. Raises: Failed, Unsupported."""
    record = tenora_ops.record(vector.op)
    sample = filled(pointwise_forms(vector.op, vector.dtype)[vector.form], vector.arrays)
    with asking(record, sample):
        call = prepare(record, sample, LAYOUTS["contiguous"], subject)
        with watch(subject, outcome):
            got = call()
        scale = Scale(least=largest(vector))
        worst = compare(record, vector.dtype, sample, got, answer(record, sample), scale)
        outcome.worst = max(outcome.worst, worst)
        call.check_inputs()


def replay(path: str | Path, subject: Subject) -> Outcome:
    """Runs a saved call again. Raises: Failed where it still fails; what `vectors.load` raises."""
    outcome = Outcome()
    with judged_by(subject):
        judge_vector(vectors.load(path), subject, outcome)
    return outcome


CHECK = Check("property", run, scripts=scripts, seconds=300.0, lowest=Level.L2)
