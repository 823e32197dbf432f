"""The edges of an op, made from its record's own samples: 0-d, empty, and with one more dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenora_ops.samples import Sample


def mapped(sample: Sample, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
    """The sample with each of its arrays changed."""

    def run(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.ascontiguousarray(change(value)).reshape(change(value).shape)
        return [run(v) for v in value] if isinstance(value, list) else value

    return Sample(tuple(map(run, sample.arguments)), {k: run(v) for k, v in sample.options.items()})


def arrays_of(sample: Sample) -> list[np.ndarray]:
    flat = [
        v for a in (*sample.arguments, *sample.options.values()) for v in (a if isinstance(a, list) else [a])
    ]
    return [v for v in flat if isinstance(v, np.ndarray)]


def edges_of(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """0-d: the first element of each array (index 0 among several). Empty: without elements along one dim of the first
    array, and along the dims of the others that are as long. Taller: two layers in front, the second one reversed."""
    arrays = arrays_of(sample)
    if not arrays:
        return
    if all(a.size for a in arrays):
        whole = len(arrays) > 1
        yield (
            "0-d",
            mapped(
                sample, lambda a: np.asarray(a.reshape(-1)[0] * (a.dtype.kind != "i" or not whole), a.dtype)
            ),
        )
    first = arrays[0]
    for back in range(1, first.ndim + 1):
        size = first.shape[-back]

        def without(a: np.ndarray, back: int = back, size: int = size) -> np.ndarray:
            fits = a.ndim >= back and a.shape[-back] == size
            return np.take(a, [], -back) if fits else a

        if size:
            yield "empty", mapped(sample, without)
    if first.ndim < 5:
        yield "taller", mapped(sample, lambda a: np.stack([a, np.flip(a)]) if a.ndim else a)
