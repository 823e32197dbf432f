"""Sizes of unpooling, and what pooling to a size is judged by: oracles that walk through the windows, and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_ops.lazy import np
from tenora_ops.samples import Draw, Sample, sample
from tenora_ops.windows import Sizes, positions, spread


def _regions(x: Any, output_size: Any, n: int) -> Iterable[tuple[Any, list[Any]]]:
    """For oracles: each window's place in the result, and the places it holds."""
    out = spread("oracle", "size", output_size, n, 1)
    for place in positions(*out):
        rows = zip(place, x.shape[-n:], out, strict=True)
        bounds = [(i * size // o, -(-(i + 1) * size // o)) for i, size, o in rows]
        held = positions(*[end - start for start, end in bounds])
        yield place, [tuple(start + k for (start, _), k in zip(bounds, at, strict=True)) for at in held]


def avg_oracle(n: int) -> Callable[..., Any]:
    def oracle(x: Any, output_size: Any) -> Any:
        out = np.empty((*x.shape[:-n], *spread("oracle", "size", output_size, n, 1)))
        for place, held in _regions(x, output_size, n):
            out[(..., *place)] = sum(x[(..., *at)] for at in held) / len(held)
        return out

    return oracle


def avg_back_oracle(n: int) -> Callable[..., Any]:
    def oracle(g: Any, x: Any) -> Any:
        out = np.zeros(x.shape)
        for place, held in _regions(x, g.shape[-n:], n):
            for at in held:
                out[(..., *at)] += g[(..., *place)] / len(held)
        return out

    return oracle


def max_oracle(n: int) -> Callable[..., Any]:
    def oracle(x: Any, output_size: Any) -> Any:
        shape = (*x.shape[:-n], *spread("oracle", "size", output_size, n, 1))
        values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        for place, held in _regions(x, output_size, n):
            found = np.stack([x[(..., *at)] for at in held], -1)
            best = np.argmax(found, -1)
            values[(..., *place)] = np.take_along_axis(found, best[..., None], -1)[..., 0]
            indices[(..., *place)] = np.array([np.ravel_multi_index(at, x.shape[-n:]) for at in held])[best]
        return values, indices

    return oracle


def adaptive_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    rows: list[tuple[list[int], Any]] = [
        ([2, 3, *[6, 4, 4][:n]], 2),
        ([1, 2, *[5, 3, 1][:n]], [3, 2, 1][:n]),
        ([2, *[5, 2, 1][:n]], 1),
        ([0, 2, *[4] * n], [2] * n),
        ([1, 2, *[7, 5, 4][:n]], [3, 4, 2][:n]),
        ([1, 1, *[3, 2, 2][:n]], [5, 4, 3][:n]),
    ]
    return lambda draw: [sample(draw.array(*x), size) for x, size in rows]


def adaptive_back_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        found = []
        for s in adaptive_samples(n)(draw):
            x, size = s.arguments
            shape = (*x.shape[:-n], *spread("samples", "size", size, n, 1))
            found.append(sample(draw.array(*shape), x))
        return found

    return samples


def unpooled(name: str, x: Sizes, attributes: Any, n: int) -> Sizes:
    kernel, stride, padding, output_size = attributes
    kernel = spread(name, "kernel_size", kernel, n, 1)
    stride = spread(name, "stride", kernel if stride is None else stride, n, 1)
    padding = spread(name, "padding", padding, n, 0)
    rows = zip(x[-n:], stride, padding, kernel, strict=True)
    usual = tuple((size - 1) * s - 2 * p + k for size, s, p, k in rows)
    if output_size is None:
        return (*x[:-n], *usual)
    if len(output_size) not in (n, n + 2, len(x)):
        raise errors.ArgumentValueError(
            f"[{name}] wrong number of items in output_size: got {tuple(output_size)}, expected {n} or {n + 2}. "
            "Give the spatial sizes."
        )
    wanted = tuple(output_size[-n:])
    if any(abs(w - u) >= s for w, u, s in zip(wanted, usual, stride, strict=True)):
        raise errors.ArgumentValueError(
            f"[{name}] output_size does not fit: got {wanted}, expected {usual}, less than a stride {stride} away. "
            "Pass the size of the pooled input."
        )
    return (*x[:-n], *wanted)


def unpool_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        shape = unpooled("oracle", x.shape, (kernel_size, stride, padding, output_size), n)
        out = np.zeros((*x.shape[:-n], int(np.prod(shape[-n:]))), dtype=x.dtype)
        for row in positions(*x.shape[:-n]):
            for value, at in zip(x[row].reshape(-1), indices[row].reshape(-1), strict=True):
                out[row][at] = value
        return out.reshape(shape)

    return oracle


def unpool_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    rows: list[tuple[list[int], tuple[Any, ...]]] = [
        ([2, 3, *[3] * n], (2,)),
        ([1, 1, *[2] * n], (2, None, 0)),
        ([2, *[2] * n], ([2] * n, [2] * n)),
        ([1, 2, *[2] * n], (3, 2, 1)),
        ([1, 1, *[2] * n], (2, 2, 0, [5] + [4] * (n - 1))),
        ([0, 2, *[2] * n], (2,)),
    ]

    def samples(draw: Draw) -> Iterable[Sample]:
        found = []
        for shape, attributes in rows:
            full = (*attributes, *(None, 0, None)[len(attributes) - 1 :])
            size = unpooled("samples", tuple(shape), full, n)[-n:]
            count, taken = int(np.prod(size)), int(np.prod(shape[-n:]))
            outer = int(np.prod(shape[:-n]))
            chosen = [draw.rng.permutation(count)[:taken] for _ in range(outer)]
            indices = np.array(chosen, dtype=np.int64).reshape(shape)
            found.append(sample(draw.array(*shape), indices, *attributes))
        return found

    return samples
