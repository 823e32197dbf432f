"""What convolution is judged by: oracles that take one kernel position after another, and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.samples import Draw, Sample, sample
from tenora_ops.windows import Sizes, counts, padded, positions, spread, taps


# ---- sizes, of arguments that fit --------------------------------------------------------------------------
def _conv_shape(x: Sizes, weight: Sizes, stride: Any, padding: Any, dilation: Any, n: int) -> Sizes:
    stride, padding, dilation = (spread("oracle", "numbers", v, n, 0) for v in (stride, padding, dilation))
    return (*x[: -n - 1], weight[0], *counts(x[-n:], weight[2:], stride, dilation, padding))


def _transposed_shape(
    x: Sizes, weight: Sizes, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any, n: int
) -> Sizes:
    rows = zip(
        x[-n:], weight[2:], *[spread("oracle", "numbers", v, n, 0) for v in (stride, padding, extra, dilation)],
        strict=True,
    )  # fmt: skip
    out = ((size - 1) * s - 2 * p + d * (k - 1) + e + 1 for size, k, s, p, e, d in rows)
    return (*x[: -n - 1], weight[1] * groups, *out)


# ---- oracles: one kernel position after another ----------------------------------------------------------
def _arranged(x: Any, stride: Any, padding: Any, dilation: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """x with a batch, and the attributes as n numbers each."""
    batched = x if x.ndim == n + 2 else x[None]
    return batched, *[spread("oracle", "numbers", v, n, 0) for v in (stride, padding, dilation)]


def conv_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        batched, stride, padding, dilation = _arranged(x, stride, padding, dilation, n)
        room = padded(batched, padding)
        kernel, each = weight.shape[2:], weight.shape[0] // groups
        out = tuple(counts(room.shape[-n:], kernel, stride, dilation))
        result = np.zeros((len(batched), weight.shape[0], *out), dtype=np.result_type(x, weight))
        for to in range(weight.shape[0]):
            for part in range(weight.shape[1]):
                source = room[:, to // each * weight.shape[1] + part]
                for at in positions(*kernel):
                    result[:, to] += weight[(to, part, *at)] * source[(..., *taps(at, out, stride, dilation))]
            result[:, to] += 0 if bias is None else bias[to]
        return result if x.ndim == n + 2 else result[0]

    return oracle


def padded_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: str = "valid", dilation: Any = 1,
        groups: int = 1,
    ) -> Any:  # fmt: skip
        if padding == "same":
            totals = [
                d * (k - 1) for k, d in zip(weight.shape[2:], spread("", "", dilation, n, 1), strict=True)
            ]
            widths = [(0, 0)] * (x.ndim - n) + [(t // 2, t - t // 2) for t in totals]
            x = np.pad(x, widths)
        return conv_oracle(n)(x, weight, bias, stride, 0, dilation, groups)

    return oracle


def input_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        g: Any, weight: Any, size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        batched, stride, padding, dilation = _arranged(g, stride, padding, dilation, n)
        shape = size if len(size) == n + 2 else (1, *size)
        room = padded(np.zeros(shape, dtype=np.result_type(g, weight)), padding)
        each, out = weight.shape[0] // groups, batched.shape[-n:]
        for to in range(weight.shape[0]):
            for part in range(weight.shape[1]):
                target = room[:, to // each * weight.shape[1] + part]
                for at in positions(*weight.shape[2:]):
                    factor = np.conj(weight[(to, part, *at)])
                    target[(..., *taps(at, out, stride, dilation))] += factor * batched[:, to]
        inner = tuple(slice(p, p + m) for p, m in zip(padding, shape[-n:], strict=True))
        return room[(..., *inner)].reshape(size)

    return oracle


def weight_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        g: Any, x: Any, size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        batched, stride, padding, dilation = _arranged(x, stride, padding, dilation, n)
        room, gradient = padded(batched, padding), g if g.ndim == n + 2 else g[None]
        result = np.zeros(size, dtype=np.result_type(g, x))
        for to, part, *at in positions(*size):
            source = room[:, to // (size[0] // groups) * size[1] + part]
            met = source[(..., *taps(tuple(at), gradient.shape[-n:], stride, dilation))]
            result[(to, part, *at)] = np.sum(gradient[:, to] * np.conj(met))
        return result

    return oracle


def transposed_oracle(n: int) -> Callable[..., Any]:
    def oracle(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        shape = _transposed_shape(x.shape, weight.shape, stride, padding, output_padding, groups, dilation, n)
        result = input_oracle(n)(x, np.conj(weight), shape, stride, padding, dilation, groups)
        return result if bias is None else result + bias.reshape(-1, *[1] * n)

    return oracle


# ---- samples ---------------------------------------------------------------------------------------------
#: Per number of spatial dims: shapes of input and weight, whether there is a bias, and the options.
CASES: dict[int, list[tuple[Sizes, Sizes, bool, dict[str, Any]]]] = {
    1: [
        ((2, 3, 8), (4, 3, 3), True, {}),
        ((1, 2, 5), (2, 2, 2), True, {"stride": 2, "padding": 1}),
        ((2, 6), (2, 2, 3), True, {"padding": (1,)}),
        ((1, 4, 5), (4, 1, 2), False, {"groups": 4, "dilation": 2}),
        ((0, 2, 5), (3, 2, 3), True, {}),
        ((3, 4, 9), (6, 2, 3), True, {"stride": (3,), "padding": 2, "dilation": (2,), "groups": 2}),
        ((1, 1, 4), (1, 1, 4), False, {}),
    ],
    2: [
        ((2, 3, 5, 6), (4, 3, 3, 3), True, {}),
        ((1, 1, 3, 3), (1, 1, 2, 2), True, {"padding": 1}),
        ((1, 2, 3, 2), (2, 1, 2, 2), True, {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
        ((1, 4, 3), (1, 1, 2, 2), False, {"dilation": (2, 1)}),
        ((0, 2, 4, 4), (3, 2, 3, 3), True, {}),
        ((2, 4, 7, 6), (6, 2, 3, 2), True, {"stride": 2, "padding": (1, 2), "dilation": (2, 1), "groups": 2}),
        ((3, 5, 2, 3), (2, 5, 1, 1), True, {"stride": 1}),
    ],
    3: [
        ((1, 2, 3, 4, 3), (3, 2, 2, 2, 2), True, {}),
        ((1, 1, 2, 2, 2), (1, 1, 2, 1, 2), True, {"padding": (1, 0, 0)}),
        ((1, 2, 2, 3), (1, 1, 1, 2, 2), False, {"stride": (1, 2, 1), "padding": (0, 1, 0)}),
        ((1, 2, 2, 2, 1), (2, 1, 2, 1, 1), True, {"groups": 2, "dilation": (1, 2, 2)}),
        ((0, 1, 2, 2, 2), (2, 1, 2, 2, 2), True, {}),
        ((2, 2, 4, 3, 5), (2, 2, 2, 3, 2), True, {"stride": 2, "padding": 1, "dilation": (2, 1, 2)}),
    ],
}  # fmt: skip


def conv_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        found = []
        for x, weight, bias, options in CASES[n]:
            biases = [draw.array(weight[0])] if bias else []
            found.append(sample(draw.array(*x), draw.array(*weight), *biases, **options))
        return found

    return samples


def padded_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        tail = [2] * n
        rows: list[tuple[list[int], list[int], dict[str, Any]]] = [
            ([1, 1, *tail], [1, 1, *tail], {"padding": "same"}),
            ([2, *tail], [1, 2, *[1] * n], {"padding": "same", "dilation": 2}),
            ([2, 2, *[4] * n], [3, 2, *[3] * n], {"padding": "same", "dilation": 2}),
            ([1, 2, *[5] * n], [2, 1, *tail], {"padding": "valid", "stride": 2, "groups": 2}),
            ([0, 2, *[3] * n], [2, 2, *[3] * n], {"padding": "same"}),
            ([2, 2, *[3] * n], [2, 2, *tail], {"padding": "same"}),
        ]
        return [sample(draw.array(*x), draw.array(*w), draw.array(w[0]), **options) for x, w, options in rows]

    return samples


def adjoint_samples(n: int, of_weight: bool) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        found = []
        for x, weight, _, options in CASES[n]:
            where = [options.get("stride", 1), options.get("padding", 0), options.get("dilation", 1)]
            groups = options.get("groups", 1)
            shape = _conv_shape(x, weight, where[0], where[1], where[2], n)
            given, size = (x, weight) if of_weight else (weight, x)
            found.append(sample(draw.array(*shape), draw.array(*given), size, *where, groups))
        return found

    return samples


def transposed_samples(n: int) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        tail, ones = [2] * n, [1] * n
        rows: list[tuple[list[int], list[int], bool, dict[str, Any]]] = [
            ([2, 3, *[3] * n], [3, 2, *[2] * n], True, {}),
            ([1, 1, *tail], [1, 1, *tail], True, {"stride": 2, "output_padding": 1}),
            ([1, *tail], [1, 2, *ones], True, {"stride": [3] + [1] * (n - 1)}),
            ([1, 2, *ones], [2, 1, *tail], True, {"groups": 2, "dilation": 2, "output_padding": 1}),
            ([0, 2, *tail], [2, 2, *tail], True, {}),
            ([2, 4, *[3] * n], [4, 1, *[3] * n], False, {"groups": 2, "stride": 2, "padding": 1}),
        ]
        found = []
        for x, w, bias, options in rows:
            biases = [draw.array(w[1] * options.get("groups", 1))] if bias else []
            found.append(sample(draw.array(*x), draw.array(*w), *biases, **options))
        return found

    return samples
