"""What reading and writing by index tensors is judged by: samples of indices, with and without repeated places."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.samples import Domain, Draw, Sample, sample


def gathers(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5), 0, draw.indices(5, 7)),
        sample(draw.array(3, 4), 0, draw.indices(3, 2, 4)),
        sample(draw.array(3, 4), 1, draw.indices(4, 3, 2)),
        sample(draw.array(2, 3, 2, 2), -1, draw.indices(2, 2, 3, 2, 5)),
        sample(draw.array(3, 4), 0, draw.indices(3, 0, 4)),
        sample(draw.array(1, 2, 1, 3, 2), 3, draw.indices(3, 1, 2, 1, 2, 2)),
        sample(draw.array(3, 4), 0, draw.indices(3, 0)),
    ]


def scatters(draw: Draw) -> Iterable[Sample]:
    """Indices without duplicates along the dim, so that the order of writes does not matter."""

    def places(size: int, *shape: int) -> Any:
        rows = [draw.rng.permutation(size)[: shape[-1]] for _ in range(int(np.prod(shape[:-1], dtype=int)))]
        return np.array(rows, dtype=np.int64).reshape(shape)

    return [
        sample(draw.array(5), 0, places(5, 3), draw.array(3)),
        sample(draw.array(3, 4), 1, places(4, 3, 2), draw.array(3, 2)),
        sample(draw.array(4, 3), 0, np.ascontiguousarray(places(4, 3, 2).T), draw.array(2, 3)),
        sample(draw.array(2, 3, 2, 5), -1, places(5, 2, 3, 2, 4), draw.array(2, 3, 2, 4)),
        sample(draw.array(3, 4), 0, draw.indices(3, 0, 4), draw.array(0, 4)),
        sample(draw.array(1, 2, 1, 3, 4), 4, places(4, 1, 2, 1, 3, 2), draw.array(1, 2, 1, 3, 2)),
    ]


def additions(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5), 0, draw.indices(5, 9), draw.array(9)),
        sample(draw.array(3, 4), 0, draw.indices(3, 6, 4), draw.array(6, 4)),
        sample(draw.array(3, 4), 1, draw.indices(4, 3, 6), draw.array(3, 6)),
        sample(draw.array(2, 3, 2, 2), -1, draw.indices(2, 2, 3, 2, 5), draw.array(2, 3, 2, 5)),
        sample(draw.array(3, 4), 0, draw.indices(3, 0, 4), draw.array(0, 4)),
        sample(draw.array(1, 2, 1, 3, 2), 3, draw.indices(3, 1, 2, 1, 2, 2), draw.array(1, 2, 1, 2, 2)),
    ]


def nowhere(draw: Draw) -> Sample:
    """An index without elements may have any rank."""
    return sample(draw.array(3, 4), 0, draw.indices(3, 0), draw.array(0))


def crowded(draw: Draw) -> Sample:
    """Three places, of which one gets five hundred ones: bfloat16 itself counts to 256."""
    return sample(draw.array(3), 0, np.ones(500, np.int64), draw.array(500, domain=Domain(1.0, 1.0)))


def selections(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(5), 0, draw.indices(5, 7)),
        sample(draw.array(3, 4), 0, draw.indices(3, 2)),
        sample(draw.array(3, 4), 1, draw.indices(4, 6)),
        sample(draw.array(2, 3, 2, 2), -2, draw.indices(2, 3)),
        sample(draw.array(3, 4), 0, draw.indices(3, 0)),
        sample(draw.array(1, 2, 1, 3, 2), 3, draw.indices(3, 4)),
    ]


def index_lists(draw: Draw, distinct: bool = False) -> list[tuple[tuple[int, ...], list[Any]]]:
    """Shapes and index lists: None = whole dim; negative indices, broadcasting, separated index dims, masks.

    `distinct`: no place is named twice, so that the order of writes does not matter.
    """

    def pick(size: int, *shape: int) -> Any:
        if not distinct:
            return draw.indices(size, *shape)
        return draw.rng.permutation(size)[: int(np.prod(shape, dtype=int))].reshape(shape).astype(np.int64)

    return [
        ((5,), [pick(5, 3)]),
        ((3, 4), [pick(3, 2)]),
        ((3, 4), [None, pick(4, 4) - 2]),
        ((3, 4), [pick(3, 2, 1), pick(4, 3)]),
        ((2, 3, 4), [draw.indices(2, 3), None, pick(4, 3)]),
        ((2, 3, 4), [None, pick(3, 1, 2)]),
        ((3, 4), [np.array([True, False, True])]),
        ((3, 4), [draw.mask(3, 4)]),
        ((3, 4), [pick(3, 0)]),
        ((1, 2, 1, 3, 2), [None, pick(2, 2), None, pick(3, 2)]),
    ]


def reads(draw: Draw) -> Iterable[Sample]:
    return [sample(draw.array(*shape), indices) for shape, indices in index_lists(draw)]


def writes(draw: Draw) -> Iterable[Sample]:
    """Accumulating writes may repeat places; plain ones write one value to all."""
    found = []
    for shape, indices in index_lists(draw, distinct=True):
        found.append(sample(draw.array(*shape), draw.array(), indices))
    for shape, indices in index_lists(draw):
        result = np.zeros(shape)[numpy_index(indices)].shape
        found.append(sample(draw.array(*shape), draw.array(*result), indices, accumulate=True))
    target, _, places, terms = crowded(draw).arguments
    return [*found, sample(target, terms, [places], accumulate=True)]


def numpy_index(indices: Any) -> tuple[Any, ...]:
    return tuple(builtins.slice(None) if i is None else i for i in indices)
