"""Batch normalisation of the native CPU backend: its kernels against NumPy in float64, and that layers call them."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_data import draw, library
from kernel_table import Array, KernelError, KernelTable

import tenora

# One element a channel and sample, short runs, long ones with a rest, one channel, one sample, none.
SHAPES = (
    (8, 5),
    (3, 130),
    (4, 16, 4, 4),
    (3, 4, 17),
    (2, 3, 40, 50),
    (5, 1, 3),
    (1, 2, 600),
    (0, 3, 4),
    (2, 3, 0),
)
EPS = 1e-3


@pytest.fixture(scope="module")
def table() -> KernelTable:
    return KernelTable(library())


def along(values: Array, ndim: int) -> Array:
    return values.astype(float).reshape(1, -1, *[1] * (ndim - 2))


def expected(x: Array, mean: Array, var: Array, weight: Array | None, bias: Array | None) -> Array:
    normal = (x.astype(float) - along(mean, x.ndim)) / np.sqrt(along(var, x.ndim) + EPS)
    normal = normal if weight is None else normal * along(weight, x.ndim)
    return normal if bias is None else normal + along(bias, x.ndim)


def statistics(x: Array) -> tuple[Array, Array]:
    axes = (0, *range(2, x.ndim))
    return x.astype(float).mean(axes), x.astype(float).var(axes)


def train(
    table: KernelTable, x: Array, weight: Array | None = None, bias: Array | None = None
) -> tuple[Array, Array, Array]:
    """The result, the means and the variances of the kernel."""
    out, mean, var = np.empty_like(x), np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    table.call("batch_norm_train", [x, weight, bias], [out, mean, var], attributes=[EPS])
    return out, mean, var


def near(got: Array, want: Array) -> None:
    allowed = 64 * np.finfo(got.dtype).eps
    assert float(np.max(np.abs(got - want) / (1 + np.abs(want)), initial=0)) <= allowed


@pytest.mark.parametrize("affine", ["neither", "weight", "bias", "both"])
@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_numbers(table: KernelTable, shape: tuple[int, ...], name: str, affine: str) -> None:
    x, c = draw(name, shape), shape[1]
    weight = draw(name, (c,), seed=1) if affine in ("weight", "both") else None
    bias = draw(name, (c,), seed=2) if affine in ("bias", "both") else None
    mean, var = draw(name, (c,), seed=3), np.abs(draw(name, (c,), seed=4)) + x.dtype.type(0.5)
    out = np.empty_like(x)
    table.call("batch_norm_eval", [x, mean, var, weight, bias], [out], attributes=[EPS])
    near(out, expected(x, mean, var, weight, bias))
    if x.size:
        mean, var = statistics(x)
        for got, want in zip(
            train(table, x, weight, bias), (expected(x, mean, var, weight, bias), mean, var), strict=True
        ):
            near(got, want)


@pytest.mark.parametrize("shape", [(64, 3), (4, 3, 50)])
def test_far_means_leave_the_variance(table: KernelTable, shape: tuple[int, ...]) -> None:
    """A variance from the mean of squares alone would be noise here."""
    x = draw("float32", shape) + np.float32(3000)
    assert np.abs(train(table, x)[0] - expected(x, *statistics(x), None, None)).max() < 1e-3


def test_nan_and_infinity_stay_in_their_channel(table: KernelTable) -> None:
    x = draw("float32", (4, 3, 20))
    x[1, 0, 3], x[2, 2, 7] = np.nan, np.inf
    out, _, _ = train(table, x)
    assert np.isnan(out[:, 0]).all() and np.isfinite(out[:, 1]).all() and not np.isfinite(out[:, 2]).any()


def test_other_sizes_are_declined(table: KernelTable) -> None:
    x = draw("float32", (4, 3, 20))
    with pytest.raises(KernelError, match="for each channel"):
        train(table, x, draw("float32", (1,)))
    with pytest.raises(KernelError, match="empty batch"):
        train(table, x[:0])


@pytest.mark.parametrize("training", [False, True])
def test_layers_call_the_kernel(training: bool) -> None:
    """Under recording too, and no copy of the result is made."""
    layer = tenora.nn.BatchNorm2d(3).train(training)
    x = tenora.rand(4, 3, 5, 5, requires_grad=True)
    with tenora.use_backend("cpu_mkl"), tenora.profiler.profile() as recorded:
        layer(x).sum()
    kernels = [event["op"] for event in recorded.events if event["kind"].lower() == "kernel"]
    followed = ["mul", "mul", "add"]
    assert kernels == (
        ["add", "batch_norm_train", *followed, *followed, "sum"] if training else ["batch_norm_eval", "sum"]
    )
