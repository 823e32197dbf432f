"""Convolution, pooling, sorting, indexing of cpu_mkl at sizes where kernels change their way: beyond the samples.

The reference backend is the judge: its composites and NumPy's sort know nothing of chunks of images, digits or panels.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tenora

F = tenora.nn.functional


def both(run: Any) -> tuple[Any, Any]:
    """The results of cpu_mkl and of the reference."""
    with tenora.use_backend("cpu_mkl"):
        ours = run()
    with tenora.use_backend("reference"):
        return ours, run()


def agree(run: Any, rtol: float = 1e-4) -> None:
    ours, theirs = both(run)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        if not a.dtype.is_floating_point:
            assert a.tolist() == b.tolist()
            continue
        wide = b.to(tenora.float64).numpy()
        scale = float(np.abs(wide).max()) if wide.size else 1.0
        np.testing.assert_allclose(a.to(tenora.float64).numpy(), wide, rtol=rtol, atol=rtol * scale)


def data(*shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return tenora.tensor(values, dtype=getattr(tenora, dtype))


def gradients(function: Any, *operands: Any, **options: Any) -> list[Any]:
    leaves = [t.clone().requires_grad_() for t in operands]
    out = function(*leaves, **options)
    seed = data(*out.shape, seed=9).to(out.dtype)
    return [out.detach(), *tenora.autograd.grad(out, leaves, seed)]


CONVOLUTIONS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "some images in a product, some left over": (F.conv2d, (9, 4, 20, 20), (6, 4, 3, 3), {"padding": 1}),
    "one image in a product": (F.conv2d, (2, 3, 40, 50), (5, 3, 3, 5), {"padding": (0, 2)}),
    "tiny images": (F.conv2d, (70, 2, 4, 3), (7, 2, 2, 2), {}),
    "strided": (F.conv2d, (5, 6, 33, 30), (4, 6, 3, 3), {"stride": 2, "padding": 1}),
    "strided unevenly and dilated": (F.conv2d, (3, 4, 30, 31), (4, 4, 3, 2), {"stride": (3, 2), "dilation": (2, 3)}),
    "groups": (F.conv2d, (4, 6, 25, 17), (8, 3, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": (F.conv2d, (3, 8, 34, 37), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    "depthwise with two filters, strided": (F.conv2d, (2, 5, 21, 40), (10, 1, 5, 3), {"groups": 5, "stride": 2}),
    "more taps than a block": (F.conv2d, (2, 40, 9, 9), (20, 40, 3, 3), {"padding": 2}),
    "one dim": (F.conv1d, (3, 5, 1500), (4, 5, 7), {"padding": 3, "dilation": 2}),
    "three dims": (F.conv3d, (2, 3, 9, 12, 11), (4, 3, 3, 2, 3), {"padding": 1, "stride": (1, 2, 1)}),
    "transposed": (F.conv_transpose2d, (3, 6, 17, 19), (6, 4, 4, 4), {"stride": 2, "padding": 1}),
    "transposed with room behind": (
        F.conv_transpose2d, (2, 4, 9, 9), (4, 3, 3, 3), {"stride": 3, "output_padding": 2}
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str, dtype: str) -> None:
    function, x, weight, options = CONVOLUTIONS[name]
    out = weight[1] * options.get("groups", 1) if "transposed" in name else weight[0]
    operands = data(*x, dtype=dtype), data(*weight, seed=1, dtype=dtype), data(out, seed=2, dtype=dtype)
    agree(lambda: gradients(function, *operands, **options), 3e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_convolution_of_halves(dtype: str) -> None:
    x, w = data(3, 4, 20, 21, dtype=dtype), data(5, 4, 3, 3, seed=1, dtype=dtype)
    agree(lambda: gradients(F.conv2d, x, w, padding=1), 2e-3 if dtype == "float16" else 1.6e-2)


def test_convolution_from_several_threads() -> None:
    """Packed panels and padded images belong to a thread."""
    jobs = [(data(4, 3, 20, 20 + i, seed=i), data(6, 3, 3, 3, seed=i)) for i in range(12)]

    def one(job: Any) -> Any:
        with tenora.use_backend("cpu_mkl"):
            return F.conv2d(*job, padding=1).tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, jobs)) == [one(job) for job in jobs]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "options",
    [{"kernel_size": 3, "stride": 1, "padding": 1}, {"kernel_size": 2}, {"kernel_size": 5, "stride": 3}],
)
def test_pooling_of_long_rows(dtype: str, options: dict[str, Any]) -> None:
    x = data(2, 3, 5, 1400, dtype=dtype)
    tolerance = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}[dtype]
    agree(lambda: gradients(F.max_pool2d, x, **options), tolerance)
    agree(lambda: F.max_pool2d_with_indices(x, **options, dilation=1), tolerance)
    agree(lambda: gradients(F.avg_pool2d, x, **options), tolerance)


def test_pooling_with_nothing_but_padding_and_nan() -> None:
    x = data(1, 1, 3, 700)
    x[0, 0, 1, 100:200] = float("nan")
    x[0, 0, :, 400:500] = float("-inf")
    ours, theirs = both(lambda: F.max_pool2d_with_indices(x, 3, 1, 1)[0].numpy())
    np.testing.assert_array_equal(ours, theirs)


def test_adaptive_pooling_of_large_planes() -> None:
    x = data(2, 3, 37, 41)
    for size in (1, (5, 7), (40, 3)):
        agree(lambda: gradients(F.adaptive_avg_pool2d, x, output_size=size), 1e-5)  # noqa: B023 - called here
        agree(lambda: F.adaptive_max_pool2d_with_indices(x, size), 0.0)  # noqa: B023


def mixed(dtype: str, n: int) -> Any:
    """Ties, both zeros, infinities and NaN where the dtype has them."""
    draw = np.random.default_rng(n)
    values = draw.integers(0 if dtype.startswith("u") or dtype == "bool" else -60, 60, (3, n)).astype(
        np.float64
    )
    if "float" in dtype:
        values /= 4
        values[draw.random((3, n)) < 0.05] = -0.0
        values[draw.random((3, n)) < 0.03] = np.nan
        values[draw.random((3, n)) < 0.02] = np.inf
        values[draw.random((3, n)) < 0.02] = -np.inf
    return tenora.tensor(values).to(getattr(tenora, dtype))


SORTED = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "uint64",
    "bool",
]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("n", [96, 97, 3000])
@pytest.mark.parametrize("dtype", SORTED)
def test_sort(dtype: str, n: int, descending: bool) -> None:
    x = mixed(dtype, n)
    (values, places), (others, wanted) = both(lambda: tenora.sort(x, -1, descending))
    assert places.tolist() == wanted.tolist()
    np.testing.assert_array_equal(values.to(tenora.float64).numpy(), others.to(tenora.float64).numpy())
    across = x.t().contiguous().t()
    assert both(lambda: tenora.sort(across, -1, descending)[1].tolist())[0] == wanted.tolist()


@pytest.mark.parametrize("k", [1, 7, 500])
def test_topk(k: int) -> None:
    x = mixed("float32", 2000)
    for largest in (True, False):
        ours, theirs = both(lambda: tenora.topk(x, k, -1, largest)[1].tolist())  # noqa: B023 - called here
        assert ours == theirs


@pytest.mark.parametrize("n", [1, 2, 2001])
def test_medians(n: int) -> None:
    x = data(1, n)
    agree(lambda: [tenora.median(x), tenora.nanmedian(x)], 0.0)
    x[0, 0] = float("nan")
    ours, theirs = both(lambda: np.array([tenora.median(x).item(), tenora.nanmedian(x).item()]))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_reading_and_adding_rows_of_any_dim(dim: int) -> None:
    x = data(7, 9, 11, 13)
    index = tenora.tensor(np.random.default_rng(dim).integers(0, x.shape[dim], 40))
    agree(lambda: gradients(lambda t: tenora.index_select(t, dim, index), x), 1e-5)
    places = tuple([slice(None)] * dim + [index])
    agree(lambda: gradients(lambda t: t[places], x), 1e-5)
