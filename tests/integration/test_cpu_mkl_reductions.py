"""Reductions, scans, sorting, indexing, random bits of the native CPU backend against NumPy."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_data import LAYOUTS, as_wide, close, draw, empty_like_layout, lay_out, library, spacing
from kernel_table import NAMES, Array, KernelError, KernelTable, numpy_dtype


@pytest.fixture(scope="module")
def table() -> KernelTable:
    return KernelTable(library())


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
}
DIMS = [dims for n in range(4) for dims in itertools.combinations(range(3), n)]


def _reduced(op: str, x: Array, dims: tuple[int, ...]) -> Array:
    if op in ("any", "all"):
        return np.asarray(REDUCTIONS[op](x != 0, axis=dims, keepdims=True))
    if x.dtype.kind == "b" and op in ("sum", "prod"):
        return np.asarray((np.any if op == "sum" else np.all)(x, axis=dims, keepdims=True))
    wide = as_wide(x)
    if op in ("sum", "prod") and wide.dtype.kind in "fc":  # NumPy's own float64 sums are no better than ours
        wide = wide.astype(np.clongdouble if wide.dtype.kind == "c" else np.longdouble)
    options = {"dtype": wide.dtype} if op in ("sum", "prod") else {}
    return as_wide(np.asarray(REDUCTIONS[op](wide, axis=dims, keepdims=True, **options)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(table: KernelTable, op: str, layout: str) -> None:
    for name, dims in itertools.product(NAMES, DIMS):
        if not table.supports(op, name):
            continue
        x = draw(name, (5, 19, 7) if op != "prod" else (2, 3, 4), nonzero=op == "prod", small=op == "prod")
        want = _reduced(op, x, dims)
        out = empty_like_layout(
            want.shape, np.dtype(bool) if op in ("any", "all") else numpy_dtype(name), layout
        )
        table.call(op, [lay_out(x, layout)], [out], [dims, True])
        message = f"{op} {name} {dims} {layout}"
        if out.dtype.kind in "iub":
            np.testing.assert_array_equal(out, want.astype(out.dtype), err_msg=message)
        elif op == "sum":
            unit = spacing(np.max(np.abs(as_wide(x))) * np.ones(()) * 8, out.dtype)
            rounding = spacing(want, out.dtype)
            assert np.all(np.abs(as_wide(out) - want) <= 4 * unit + rounding), message
        else:
            close(out, want, 8, message)


def test_reductions_of_nothing(table: KernelTable) -> None:
    x = np.empty((3, 0), np.float32)
    out = np.empty((3, 1), np.float32)
    table.call("sum", [x], [out], [(1,), True])
    assert out.tolist() == [[0], [0], [0]]
    table.call("prod", [x], [out], [(1,), True])
    assert out.tolist() == [[1], [1], [1]]
    truth = np.empty((3, 1), bool)
    table.call("all", [x], [truth], [(1,), True])
    assert truth.all()
    with pytest.raises(KernelError):
        table.call("amax", [x], [out], [(1,), True])
    table.call("sum", [np.empty((0, 4), np.float32)], [np.empty((0, 1), np.float32)], [(1,), True])


def test_sums_do_not_drift(table: KernelTable) -> None:
    for shape, dims in (((1_000_003,), (0,)), ((100_001, 3), (0,)), ((3, 100_001), (1,))):
        x = np.full(shape, 0.1, np.float32)
        want = np.sum(x.astype(np.float64), axis=dims, keepdims=True)
        out = np.empty(want.shape, np.float32)
        table.call("sum", [x], [out], [dims, True])
        np.testing.assert_allclose(out, want, rtol=2e-7)
        wide, out64 = x.astype(np.float64), np.empty(want.shape)
        table.call("sum", [wide], [out64], [dims, True])
        np.testing.assert_allclose(out64, want, rtol=4e-15)


def test_nan_wins_in_extremes(table: KernelTable) -> None:
    for name in ("float16", "bfloat16", "float32", "float64"):
        for size in (1, 5, 17, 100):
            for at in {0, size // 2, size - 1}:
                x = draw(name, (size,))
                x[at] = np.nan
                out, where = np.empty(1, numpy_dtype(name)), np.empty(1, np.int64)
                for op in ("amax", "amin"):
                    table.call(op, [x], [out], [(0,), True])
                    assert np.isnan(out.astype(float)).all()
                    table.call("arg" + op[1:], [x], [where], [0, True])
                    assert where[0] == at


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions(table: KernelTable, layout: str) -> None:
    for name, dim in itertools.product(NAMES, range(3)):
        for op, function in (("argmax", np.argmax), ("argmin", np.argmin)):
            if not table.supports(op, name):
                continue
            x = draw(name, (5, 19, 7))
            want = function(as_wide(x), axis=dim, keepdims=True)
            out = empty_like_layout(want.shape, np.dtype(np.int64), layout)
            table.call(op, [lay_out(x, layout)], [out], [dim, True])
            np.testing.assert_array_equal(out, want, err_msg=f"{op} {name}")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cumsum_and_sort(table: KernelTable, layout: str) -> None:
    for name, dim in itertools.product(NAMES, range(3)):
        x = draw(name, (5, 19, 7))
        if name != "bool":
            want = np.cumsum(as_wide(x), axis=dim, dtype=None if x.dtype.kind not in "iu" else x.dtype)
            out = empty_like_layout(x.shape, x.dtype, layout)
            table.call("cumsum", [lay_out(x, layout)], [out], [dim])
            if out.dtype.kind in "iu":
                np.testing.assert_array_equal(out, want)
            else:
                unit = spacing(np.full(x.shape, 64.0), out.dtype)
                assert np.all(np.abs(as_wide(out) - want) <= unit), f"cumsum {name} {layout}"
        if not table.supports("sort", name):
            continue
        values, where = (
            empty_like_layout(x.shape, x.dtype, layout),
            empty_like_layout(x.shape, np.dtype(np.int64), layout),
        )
        for descending in (False, True):
            table.call("sort", [lay_out(x, layout)], [values, where], [dim, descending, True])
            keys = -as_wide(x).astype(float) if descending else as_wide(x)
            order = np.argsort(keys, axis=dim, kind="stable")
            np.testing.assert_array_equal(where, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, dim))


def test_sort_puts_nan_last(table: KernelTable) -> None:
    x = np.array([2, np.nan, 1, np.nan, 0], np.float32)
    values, where = np.empty(5, np.float32), np.empty(5, np.int64)
    table.call("sort", [x], [values, where], [0, False, True])
    assert where.tolist() == [4, 2, 0, 1, 3]
    table.call("sort", [x], [values, where], [0, True, True])
    assert where.tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gather_and_scatter(table: KernelTable, layout: str) -> None:
    rng = np.random.default_rng(0)
    for name, dim in itertools.product(NAMES, range(3)):
        x = draw(name, (5, 6, 7))
        shape = [4, 3, 5]
        index = rng.integers(0, x.shape[dim], shape)
        source = draw(name, (4, 3, 5), seed=3)
        inner = tuple(slice(None) if d == dim else slice(shape[d]) for d in range(3))
        out = empty_like_layout(tuple(shape), x.dtype, layout)
        table.call("gather", [lay_out(x, layout), lay_out(index, layout)], [out], [dim])
        np.testing.assert_array_equal(out, np.take_along_axis(x[inner], index, dim))
        grid = list(np.ogrid[tuple(slice(n) for n in shape)])
        grid[dim] = index
        target = lay_out(x, layout)
        table.call("scatter", [target, lay_out(index, layout), lay_out(source, layout)], [target], [dim])
        want = x.copy()
        want[tuple(grid)] = source
        np.testing.assert_array_equal(target, want)
        target = lay_out(x, layout)
        table.call("scatter_add", [target, lay_out(index, layout), source], [target], [dim])
        wide = as_wide(x).copy()
        np.add.at(wide, tuple(grid), as_wide(source))
        close(
            target, wide, 4, f"scatter_add {name} {layout}"
        ) if x.dtype.kind in "iub" else np.testing.assert_allclose(
            as_wide(target), wide, atol=float(spacing(np.full((), 40.0), x.dtype))
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_index_and_index_put(table: KernelTable, layout: str) -> None:
    rng = np.random.default_rng(0)
    for name, count in itertools.product(NAMES, (1, 2, 3)):
        x = draw(name, (5, 6, 7))
        indices = [rng.integers(-n, n, (3, 4)) for n in x.shape[:count]]
        want = x[tuple(indices)]
        out = empty_like_layout(want.shape, x.dtype, layout)
        table.call("index", [lay_out(x, layout), *(lay_out(i, layout) for i in indices)], [out])
        np.testing.assert_array_equal(out, want)
        values = draw(name, want.shape, seed=5)
        for accumulate in (False, True):
            target = lay_out(x, layout)
            table.call("index_put", [target, lay_out(values, layout), *indices], [target], [accumulate])
            expected = as_wide(x).copy()
            if accumulate:
                np.add.at(expected, tuple(indices), as_wide(values))
            else:
                expected[tuple(indices)] = values
            if x.dtype.kind in "iub":
                np.testing.assert_array_equal(target, expected)
            else:
                np.testing.assert_allclose(
                    as_wide(target), expected, atol=float(spacing(np.full((), 40.0), x.dtype))
                )


def test_wrong_indices_change_nothing(table: KernelTable) -> None:
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    wrong = np.array([[0, 1], [7, 0]])
    for op, inputs in (
        ("gather", [x, wrong]),
        ("scatter", [x, wrong, np.ones((2, 2), np.float32)]),
        ("scatter_add", [x, wrong, np.ones((2, 2), np.float32)]),
    ):
        out = np.zeros((2, 2), np.float32) if op == "gather" else x
        with pytest.raises(KernelError, match="index 7 is out of bounds for dimension 0 with size 5"):
            table.call(op, inputs, [out], [0])
    with pytest.raises(KernelError, match="index -6 is out of bounds for dimension 0 with size 5"):
        table.call("index", [x, np.array([-5, -6])], [np.empty((2, 2), np.float32)])
    with pytest.raises(KernelError, match="index 2 is out of bounds for dimension 1 with size 2"):
        table.call("index_put", [x, np.ones(1, np.float32), np.array([0]), np.array([2])], [x], [False])
    np.testing.assert_array_equal(x, np.arange(10, dtype=np.float32).reshape(5, 2))


def _philox(counter: int, seed: int) -> list[int]:
    """One block, straight from the paper, in Python's integers."""
    words, key = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [b >> 32 ^ words[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ words[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


@pytest.mark.parametrize("offset", [0, 5, 2**32 - 3])
@pytest.mark.parametrize("seed", [0, 42, 2**63 + 12345])
def test_random_bits(table: KernelTable, seed: int, offset: int) -> None:
    for count in (0, 1, 3, 4, 7, 64, 65, 1023):
        out = np.empty(count, np.uint32)
        table.call("random_bits", [], [out], [seed - 2**64 if seed >= 2**63 else seed, offset])
        blocks = [_philox(offset + i, seed) for i in range(-(-count // 4))]
        assert out.tolist() == list(itertools.chain.from_iterable(blocks))[:count]
