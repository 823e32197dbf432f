"""Sizes of pooling, and what it is judged by: oracles that walk through the windows one by one, and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.samples import Draw, Sample, sample
from tenora_ops.windows import Sizes, positions, spread, window_count


def _pool_shape(
    x: Sizes, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, n: int
) -> Sizes:
    """The sizes of a result whose arguments fit."""
    numbers = (kernel, kernel if stride is None else stride, padding, dilation)
    kernel, stride, padding, dilation = (spread("oracle", "numbers", v, n, 0) for v in numbers)
    rows = zip(x[-n:], kernel, stride, dilation, padding, strict=True)
    return (*x[:-n], *[window_count(*row, ceil_mode) for row in rows])


def _walk(
    x: Any, shape: Sizes, kernel: Any, stride: Any, padding: Any, dilation: Any, n: int
) -> Iterable[Any]:
    """Each window's place in the result, and the places of input it holds."""
    kernel = spread("oracle", "kernel", kernel, n, 1)
    stride = spread("oracle", "stride", kernel if stride is None else stride, n, 1)
    padding, dilation = (
        spread("oracle", "padding", padding, n, 0),
        spread("oracle", "dilation", dilation, n, 1),
    )
    for place in positions(*shape[-n:]):
        starts = [o * s - p for o, s, p in zip(place, stride, padding, strict=True)]
        held = [
            tuple(b + k * d for b, k, d in zip(starts, at, dilation, strict=True))
            for at in positions(*kernel)
        ]
        yield (
            place,
            [at for at in held if all(0 <= a < size for a, size in zip(at, x.shape[-n:], strict=True))],
        )


def _averaged(
    x: Any, shape: Sizes, kernel: Any, stride: Any, padding: Any, include: bool, n: int
) -> Iterable[Any]:
    """`_walk`, and how many places of the window lie in input and padding."""
    wide = spread("oracle", "padding", padding, n, 0)
    room = np.empty([m + 2 * p for m, p in zip(x.shape[-n:], wide, strict=True)])
    whole = _walk(room, shape, kernel, stride, 0, 1, n)
    for (place, inside), (_, counted) in zip(
        _walk(x, shape, kernel, stride, padding, 1, n), whole, strict=True
    ):
        yield place, inside, len(counted) if include else len(inside)


def max_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        shape = _pool_shape(x.shape, kernel_size, stride, padding, dilation, ceil_mode, n)
        values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        for place, inside in _walk(x, shape, kernel_size, stride, padding, dilation, n):
            flat = [int(np.ravel_multi_index(at, x.shape[-n:])) for at in inside]
            found = np.stack([x[(..., *at)] for at in inside], -1)
            best = np.argmax(found, -1)
            values[(..., *place)] = np.take_along_axis(found, best[..., None], -1)[..., 0]
            indices[(..., *place)] = np.array(flat)[best]
        return values, indices

    return oracle


def avg_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        shape = _pool_shape(x.shape, kernel_size, stride, padding, 1, ceil_mode, n)
        out = np.empty(shape)
        for place, inside, divisor in _averaged(x, shape, kernel_size, stride, padding, count_include_pad, n):
            out[(..., *place)] = sum(x[(..., *at)] for at in inside) / (divisor_override or divisor)
        return out

    return oracle


def avg_back_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        g: Any,
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        out = np.zeros(x.shape)
        for place, inside, divisor in _averaged(
            x, g.shape, kernel_size, stride, padding, count_include_pad, n
        ):
            for at in inside:
                out[(..., *at)] += g[(..., *place)] / (divisor_override or divisor)
        return out

    return oracle


def lp_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Any:
        shape = _pool_shape(x.shape, kernel_size, stride, 0, 1, ceil_mode, n)
        size = np.prod(spread("oracle", "kernel", kernel_size, n, 1))
        out = np.empty(shape)
        for place, inside, divisor in _averaged(x, shape, kernel_size, stride, 0, True, n):
            total = sum(x[(..., *at)] ** norm_type for at in inside)
            out[(..., *place)] = (total * size / divisor) ** (1 / norm_type)
        return out

    return oracle


def _shapes(n: int) -> list[tuple[list[int], list[Any]]]:
    """Shapes of input, then kernel_size, stride, padding."""
    return [
        ([2, 3, *[5] * n], [2]),
        ([1, 1, *[3] * n], [2, 1]),
        ([2, *[4, 3, 2][:n]], [[2] * n, [2] + [1] * (n - 1)]),
        ([1, 1, *[3, 4, 2][:n]], [[3, 2, 2][:n], None, 1]),
        ([0, 2, *[4] * n], [2]),
        ([2, 1, *[6, 5, 4][:n]], [3, 2, 1]),
    ]


def max_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        plain = [sample(draw.array(*x), *rest) for x, rest in _shapes(n)]
        return [
            *plain,
            sample(draw.array(1, 2, *[7] * n), 2, padding=1, dilation=2),
            sample(draw.array(1, 1, *[6, 4, 3][:n]), 2, 3, ceil_mode=True),
            sample(draw.array(1, 1, *[5, 4, 3][:n]), 3, 2, 1, ceil_mode=True),
        ]

    return samples


def avg_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        plain = [sample(draw.array(*x), *rest) for x, rest in _shapes(n)]
        override = {} if n == 1 else {"divisor_override": 3}
        return [
            *plain,
            sample(
                draw.array(1, 1, *[5, 4, 1][:n]),
                [3, 2, 1][:n],
                2,
                padding=[1, 1, 0][:n],
                count_include_pad=False,
            ),
            sample(draw.array(1, 1, *[6, 4, 1][:n]), [2, 2, 1][:n], 3, ceil_mode=True),
            sample(
                draw.array(1, 1, *[6, 4, 1][:n]), [3, 3, 1][:n], 2, [1, 1, 0][:n], ceil_mode=True, **override
            ),
            sample(draw.array(2, *[6, 4, 1][:n]), [3, 3, 1][:n], 2, [1, 1, 0][:n], True, False),
        ]

    return samples


def back_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        return [
            sample(draw.array(*avg_oracle(n)(*s.arguments, **s.options).shape), *s.arguments, **s.options)
            for s in avg_samples(n)(draw)
        ]

    return samples


def lp_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    return lambda draw: [
        sample(draw.array(*x), norm, *rest[:2], ceil_mode=i % 2 == 1)
        for i, ((x, rest), norm) in enumerate(zip(_shapes(n), (2, 2.0, 3, 1, 2, 1.5), strict=True))
    ]
