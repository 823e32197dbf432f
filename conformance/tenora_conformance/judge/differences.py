"""Gradients of an oracle, by differences on the host in double precision: nothing of a backend is asked.

- A sample becomes a function of its floating tensors alone (`Question`); what an op reads for its shape only, and
  what it has no gradient for, stays as it is.
- L = Re sum(conj(u) f(x)) for random cotangents u. The gradient of a complex x is that of its real part plus i times
  that of its imaginary part, as autograd has it: dL = Re sum(conj(g) dx).
- First derivatives by differences of fourth order, second ones by mixed differences with one step of Richardson.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tenora_conformance.judge.calls import answer, widened
from tenora_ops.record import Record
from tenora_ops.samples import Sample

Array = np.ndarray
#: Steps of first and of second differences: records keep kinks and poles farther away (`Domain.gap`).
STEP, SECOND_STEP = 1e-4, 5e-4
#: Elements of a sample through which differences still walk.
LARGEST = 24
#: Where a tensor of a sample is: the argument, and its place in a list or None.
Slot = tuple[int, int | None]


def is_floating(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.dtype.kind in "fc" or value.dtype == ml_dtypes.bfloat16)


def slots_of(record: Record, sample: Sample) -> Iterator[Slot]:
    """Places of the tensors that have a gradient."""
    still = record.shape_only + record.no_gradient + record.labels
    frozen = {p.name for p in record.schema.operands if p.name in still}
    names = [p.name for p in record.schema.parameters]
    for i, value in enumerate(sample.arguments):
        if names[min(i, len(names) - 1)] not in frozen:  # `*tensors` is one name
            items = enumerate(value) if isinstance(value, list) else ((None, value),)
            yield from ((i, j) for j, item in items if is_floating(item))


def taken(sample: Sample, slots: list[Slot]) -> list[Array]:
    """The arrays at some places."""
    return [sample.arguments[i] if j is None else sample.arguments[i][j] for i, j in slots]


def put(values: list[Any], slots: list[Slot], given: list[Any]) -> list[Any]:
    """Arguments with others in some places."""
    found = [list(v) if isinstance(v, list) else v for v in values]
    for (i, j), item in zip(slots, given, strict=True):
        if j is None:
            found[i] = item
        else:
            found[i][j] = item
    return found


@dataclass
class Question:
    """A sample as a function of its tensors, and the cotangents of its results."""

    record: Record
    sample: Sample
    slots: list[Slot]
    cotangents: list[Array]
    """One for each result that has a gradient; random, in double precision."""
    outputs: list[int]
    """The numbers of these results."""

    @property
    def points(self) -> list[Array]:
        """The tensors, in double precision."""
        return [np.asarray(widened(a)) for a in taken(self.sample, self.slots)]

    def results(self, points: list[Array]) -> list[Array]:
        """What the oracle answers, of the results that have a gradient."""
        drawn = [p.astype(w.dtype) for p, w in zip(points, self.points, strict=True)]
        told = Sample(tuple(put(list(self.sample.arguments), self.slots, drawn)), self.sample.options)
        found = answer(self.record, told)
        whole = found if isinstance(found, tuple | list) else (found,)
        return [np.asarray(whole[i]) for i in self.outputs]

    def loss(self, points: list[Array]) -> float:
        """Re sum(conj(u) f(x))."""
        return sum(
            float(np.sum(np.conj(u) * r).real)
            for u, r in zip(self.cotangents, self.results(points), strict=True)
        )


def question(record: Record, sample: Sample, seed: str) -> Question:
    """What is asked of a sample. An empty result asks too: its gradient is zeros in the shape of each tensor.

    Raises: ValueError for a sample without a tensor, or a result, that has a gradient.
    """
    slots = list(slots_of(record, sample))
    found = answer(record, sample)
    whole = found if isinstance(found, tuple | list) else (found,)
    outputs = [
        i
        for i, r in enumerate(whole)
        if i not in record.not_differentiable and np.asarray(r).dtype.kind in "fc"
    ]
    if not slots or not outputs:
        raise ValueError(
            f"[{record.shown}] sample: got {len(slots)} tensors and {len(outputs)} results that have a gradient,"
            " expected one of each at least. Leave it out of the record's gradient_samples."
        )
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    return Question(record, sample, slots, [random_like(np.asarray(whole[i]), rng) for i in outputs], outputs)


def random_like(array: Array, rng: np.random.Generator) -> Array:
    """Eighths between 1/2 and 3/2 of either sign, which every dtype holds; complex ones for a complex array."""

    def real() -> Array:
        return np.asarray(rng.integers(4, 13, array.shape) / 8 * rng.choice([-1.0, 1.0], array.shape))

    return real() + 1j * real() if array.dtype.kind == "c" else real()


def directions(question: Question, seed: str) -> list[Array]:
    """A random direction in the space of the tensors; a Hermitian one where only these matrices are meant."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    found = [random_like(p, rng) for p in question.points]
    return [hermitian(d) for d in found] if question.record.hermitian else found


def hermitian(array: Array) -> Array:
    """The Hermitian part of matrices."""
    return np.asarray((array + np.conj(np.swapaxes(array, -1, -2))) / 2)


def moved(points: list[Array], along: list[Array], by: float) -> list[Array]:
    return [p + by * d for p, d in zip(points, along, strict=True)]


def slope(function: Callable[[float], float], step: float = STEP) -> float:
    """The derivative at 0, by differences of fourth order."""
    return (8 * (function(step) - function(-step)) - (function(2 * step) - function(-2 * step))) / (12 * step)


def gradient(question: Question) -> list[Array]:
    """The gradient of the loss for each tensor, element by element."""
    points = question.points
    found = [np.zeros_like(p) for p in points]
    for which, point in enumerate(points):
        for at in np.ndindex(point.shape):
            for unit in (1.0, 1j) if point.dtype.kind == "c" else (1.0,):
                nudged = functools.partial(_nudged_loss, question, points, which, at, unit)
                found[which][at] += unit * slope(nudged)
    return found


def _nudged_loss(
    question: Question, points: list[Array], which: int, at: tuple[int, ...], unit: complex, by: float
) -> float:
    return question.loss(_nudged(question, points, which, at, by * unit))


def _nudged(
    question: Question, points: list[Array], which: int, at: tuple[int, ...], by: complex
) -> list[Array]:
    """The points with one element moved, and its mirror image where matrices stay Hermitian."""
    point = points[which].copy()
    if question.record.hermitian:
        change = np.zeros_like(point)
        change[at] = by
        point += hermitian(change)
    else:
        point[at] += by
    return [*points[:which], point, *points[which + 1 :]]


def along(question: Question, direction: list[Array]) -> list[Array]:
    """The derivative of each result along a direction."""
    points = question.points
    minus2, minus1, plus1, plus2 = (
        question.results(moved(points, direction, by * STEP)) for by in (-2, -1, 1, 2)
    )
    return [
        (8 * (b - a) - (d - c)) / (12 * STEP) for a, b, c, d in zip(minus1, plus1, minus2, plus2, strict=True)
    ]


def second(question: Question, one: list[Array], other: list[Array]) -> float:
    """The mixed derivative of the loss along two directions."""
    points = question.points

    def mixed(h: float) -> float:
        corners = [
            sign * question.loss(moved(moved(points, one, a * h), other, b * h))
            for a, b, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
        ]
        return sum(corners) / (4 * h * h)

    return (4 * mixed(SECOND_STEP) - mixed(2 * SECOND_STEP)) / 3
