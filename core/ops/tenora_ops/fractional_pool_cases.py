"""The definition of fractional max pooling, plane by plane, and its samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.samples import Domain, Draw, Sample, sample


def by_definition(n: int, x: Any, kernel_size: Any, output_size: Any, samples: Any) -> Any:
    """Plane by plane, window by window."""
    whole = x if x.ndim == n + 2 else x[None]
    kernel, out = ([v] * n if isinstance(v, int) else list(v) for v in (kernel_size, output_size))
    best = np.zeros((*whole.shape[:2], *out), x.dtype)
    places = np.zeros(best.shape, np.int64)
    for plane in np.ndindex(*whole.shape[:2]):
        starts = []
        for d in range(n):
            u = samples[plane][n - 1 - d if n == 2 else d]
            size = whole.shape[2 + d]
            step = (size - kernel[d]) / max(out[d] - 1, 1)
            line = [int((i + u) * step) - int(u * step) for i in range(out[d] - 1)]
            starts.append([*line, size - kernel[d]])
        for spot in np.ndindex(*out):
            corner = [starts[d][spot[d]] for d in range(n)]
            window = whole[plane][tuple(slice(c, c + k) for c, k in zip(corner, kernel, strict=True))]
            inner = np.unravel_index(np.argmax(window), window.shape)
            at = [int(c + i) for c, i in zip(corner, inner, strict=True)]
            best[(*plane, *spot)] = whole[plane][tuple(at)]
            places[(*plane, *spot)] = np.ravel_multi_index(at, whole.shape[2:])
    return (best, places) if x.ndim == n + 2 else (best[0], places[0])


def planes(n: int) -> Any:
    def samples(draw: Draw) -> Iterable[Sample]:
        rows: list[tuple[tuple[int, ...], Any, Any]] = [
            ((2, 3, 7, 6, 5)[: n + 2], 2, 3),
            ((1, 2, 8, 9, 6)[: n + 2], 3, (4, 3, 2)[:n]),
            ((1, 1, 5, 5, 5)[: n + 2], (2, 1, 2)[:n], (2, 4, 1)[:n]),
            ((3, 6, 7, 8)[: n + 1], 2, 4),
            ((2, 1, 4, 4, 4)[: n + 2], 1, 3),
            ((1, 2, 7, 7, 7)[: n + 2], 6, 1),
        ]
        found = []
        for shape, kernel, out in rows:
            planes = shape[:2] if len(shape) == n + 2 else (1, shape[0])
            drawn = draw.array(*planes, n, domain=Domain(0.0, 0.99))
            found.append(sample(draw.array(*shape), kernel, out, _random_samples=drawn))
        return found

    return samples


def few(n: int) -> Any:
    """Planes small enough for differences of every element."""

    def samples(draw: Draw) -> Iterable[Sample]:
        planes = 4 - n
        drawn = draw.array(1, planes, n, domain=Domain(0.0, 0.99))
        return [sample(draw.array(1, planes, *[3] * n), 2, 4 - n, _random_samples=drawn)]

    return samples
