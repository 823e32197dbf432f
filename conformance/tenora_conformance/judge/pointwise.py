"""Pointwise records, found by asking their oracles: each element of the answer is the answer to the elements alone.

- Only the host is asked, so that what is pointwise does not depend on a backend.
- A *form* is a sample of a record that differs from the others in more than shapes: other numbers, other options, a
  number in the place of an array.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import tenora_ops
from tenora_conformance.judge.calls import answer, samples_of
from tenora_ops.record import Record
from tenora_ops.samples import REALS, Draw, Sample, Seed

#: Families that move elements, or read several: what looks pointwise there is so for one shape.
MOVING = frozenset("movement adjoint joining index linalg matmul pool fold scan norm structural".split())
#: Elements of the vectors that an oracle is asked with; the last two are equal.
PROBE = 5
#: What they are reshaped to: an op that reads its input's shape answers something else.
SHAPE = (1, 2, 1, 3, 1, 2)


def arrays_of(sample: Sample) -> list[np.ndarray]:
    """The arrays among a sample's positional arguments."""
    return [a for a in sample.arguments if isinstance(a, np.ndarray)]


def filled(sample: Sample, arrays: Sequence[np.ndarray]) -> Sample:
    """The sample with other arrays in the places of its own."""
    left = iter(arrays)
    given = tuple(next(left) if isinstance(a, np.ndarray) else a for a in sample.arguments)
    return Sample(given, sample.options)


def is_plain(sample: Sample) -> bool:
    """Whether all arrays are positional, and none is drawn or in a list."""
    values = [*sample.arguments, *sample.options.values()]
    odd = any(isinstance(v, Seed) for v in values)
    odd |= any(isinstance(v, np.ndarray) for v in sample.options.values())
    odd |= any(isinstance(v, list) and any(isinstance(i, np.ndarray) for i in v) for v in values)
    return not odd and bool(arrays_of(sample))


def forms(name: str, dtype: str) -> Iterator[Sample]:
    """A record's samples that differ in more than shapes."""
    seen = set()
    for sample in samples_of(name, dtype):
        if is_plain(sample):
            told = _told(sample, lambda array: array.dtype)
            if told not in seen:
                seen.add(told)
                yield sample


def _told(sample: Sample, of: Callable[[np.ndarray], object]) -> str:
    """What a form is known by, with something of each array in its place."""
    return repr([of(a) if isinstance(a, np.ndarray) else a for a in sample.arguments]) + repr(sample.options)


def vectors(record: Record, dtype: str, sample: Sample, count: int, seed: str = "probe") -> list[np.ndarray]:
    """One vector for each array of a form, from the record's domain."""
    draw = Draw(dtype, record.domain, seed)
    return [draw.array(count, dtype=a.dtype.name) for a in arrays_of(sample)]


@functools.lru_cache(maxsize=4096)
def pointwise_forms(name: str, dtype: str) -> tuple[Sample, ...]:
    """The forms of a record, in a dtype, in which it is pointwise; none for a record that draws."""
    record = tenora_ops.record(name)
    if record.random or record.tolerance == "unspecified" or record.family.name in MOVING:
        return ()
    known, found = _known(name), []
    for form in forms(name, dtype):
        told = _told(form, lambda array: "floating" if array.dtype.name in REALS else array.dtype)
        if told not in known:
            known[told] = _is_pointwise(record, dtype, form)
        if known[told]:
            found.append(form)
    return tuple(found)


@functools.cache
def _known(name: str) -> dict[str, bool]:
    """Of a record, the forms that were asked: an oracle is told real numbers in float64."""
    return {}


def _is_pointwise(record: Record, dtype: str, form: Sample) -> bool:
    given = [v[[0, 1, 2, 3, 3]] for v in vectors(record, dtype, form, PROBE)]
    longer = vectors(record, dtype, form, math.prod(SHAPE))
    try:
        whole = answer(record, filled(form, [v.reshape(SHAPE) for v in longer]))
        if isinstance(whole, tuple) or np.shape(whole) != SHAPE:
            return False
        flat = answer(record, filled(form, longer))
        if not np.array_equal(whole, np.reshape(flat, SHAPE), equal_nan=True):
            return False
        whole = answer(record, filled(form, given))
        if isinstance(whole, tuple) or np.shape(whole) != (PROBE,):
            return False
        for i in (0, 1, 3):
            alone = answer(record, filled(form, [v[i : i + 1] for v in given]))
            if not np.allclose(np.asarray(whole)[i : i + 1], alone, rtol=0.01, equal_nan=True):
                return False
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError):
        return False  # no oracle of vectors
    return True
