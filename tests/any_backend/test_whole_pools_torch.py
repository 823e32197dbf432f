"""Pooling and resizing of every dtype against PyTorch; `POOLS` lists what tenora answers where PyTorch refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from differences import POOLS

import tenora
from tenora_ops.samples import ALL, HALVES

pytestmark = pytest.mark.oracle

UNSIGNED = ("uint16", "uint32", "uint64")  # of which PyTorch has few kernels
SHAPES: dict[int, tuple[int, ...]] = {1: (1, 2, 6), 2: (1, 2, 6, 6), 3: (1, 2, 4, 4, 4)}
DIMS = (1, 2, 3)
MOVING = ("nearest", "nearest-exact")
#: Values that differ: PyTorch rounds uint8 after each dim.
ROUNDED = ("interpolate2d bilinear", "interpolate2d bicubic")
Call = Callable[[Any, Any], Any]


def _resized(mode: str) -> Call:
    return lambda f, x: f.interpolate(x, scale_factor=2, mode=mode)


def _pools() -> dict[str, tuple[Call, int]]:
    calls: dict[str, tuple[Call, int]] = {}
    for n in DIMS:

        def add(name: str, *arguments: Any, n: int = n, **options: Any) -> None:
            calls[f"{name}{n}d"] = (lambda f, x: getattr(f, f"{name}{n}d")(x, *arguments, **options), n)

        add("max_pool", 2)
        add("avg_pool", 2)
        add("lp_pool", 2.0, 2)
        add("adaptive_max_pool", 2)
        add("adaptive_avg_pool", 2)
        if n > 1:
            add("fractional_max_pool", 2, output_size=2)
        for mode in (
            *MOVING,
            {1: "linear", 2: "bilinear", 3: "trilinear"}[n],
            *(["bicubic"] * (n == 2)),
            "area",
        ):
            calls[f"interpolate{n}d {mode}"] = (_resized(mode), n)
    return calls


CALLS = _pools()


def answer(module: Any, name: str, dtype: str) -> Any:
    call, n = CALLS[name]
    size = torch.Size(SHAPES[n])
    x = module.tensor([(i * 7) % 11 for i in range(size.numel())]).reshape(SHAPES[n])
    try:
        return call(module.nn.functional, x.to(getattr(module, dtype)))
    except NotImplementedError as refused:
        return refused


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:The nearest:UserWarning")
def test_every_dtype(name: str) -> None:
    beyond = []
    for dtype in ALL:
        theirs, mine = answer(torch, name, dtype), answer(tenora, name, dtype)
        if isinstance(theirs, NotImplementedError):
            if not isinstance(mine, NotImplementedError):
                beyond.append(dtype)
            continue
        assert not isinstance(mine, NotImplementedError), (dtype, mine)
        assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], dtype
        if name.startswith("fractional") or (dtype == "uint8" and name in ROUNDED):
            assert mine.shape == theirs.shape
        elif dtype in HALVES or theirs.is_floating_point() or theirs.is_complex():
            a, b = (t.to(torch.complex128) for t in (torch.tensor(mine.tolist()), theirs))
            torch.testing.assert_close(a, b, rtol=1e-2 if dtype in HALVES else 1e-5, atol=1e-5)
        else:
            assert mine.tolist() == theirs.tolist(), dtype
    assert tuple(beyond) == tuple(d for d in ALL if d in POOLS.get(name, ((), ""))[0])


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8"])
@pytest.mark.parametrize("pool", ["max_pool1d", "max_pool2d", "adaptive_max_pool1d"])
def test_the_largest_is_exact(pool: str, dtype: str) -> None:
    """Of neighbours that float64 does not tell apart; padding is never the largest."""
    top = {"int64": 2**63 - 1, "uint64": 2**64 - 1, "int32": 2**31 - 1, "uint8": 255}[dtype]
    rows = [[top - 1, top, top, top - 1, 0, 1]]
    x = tenora.tensor([rows] if pool.endswith("1d") else [[r] for r in rows], dtype=getattr(tenora, dtype))
    size: Any = (1, 2) if pool == "max_pool2d" else 3 if pool.startswith("adaptive") else 2
    values, places = getattr(tenora.nn.functional, pool)(x, size, return_indices=True)
    assert values.flatten().tolist() == [top, top, 1] and values.dtype == x.dtype
    assert places.flatten().tolist() == [1, 2, 5]


AVERAGES = [
    (3, 2, 1),
    (3, 2, 1, True),
    (3, 2, 1, True, False),
    (3, 2, 1, False, False),
    (2, None, 1, True),
    (2, 3, 0, True),
    ([3], [2], [1], True),
    (5, 4, 2, True),
]


@pytest.mark.parametrize("given", AVERAGES)
@pytest.mark.parametrize("dims", DIMS)
def test_means_of_int64(dims: int, given: tuple[Any, ...]) -> None:
    """Cut towards zero, at the edges too; sums wrap as int64 does."""
    for shape in ((2, 7, 6, 5)[: dims + 1], (2, 1, 7, 6, 5)[: dims + 2]):
        numel = torch.Size(shape).numel()
        numbers = [(i * 2654435761) % 1009 - 500 for i in range(numel)]
        for factor in (1, 2**43, 2**54):
            theirs = torch.tensor([n * factor for n in numbers]).reshape(shape)
            mine = tenora.tensor([n * factor for n in numbers]).reshape(shape)
            name = f"avg_pool{dims}d"
            found = getattr(tenora.nn.functional, name)(mine, *given)
            assert found.tolist() == getattr(torch.nn.functional, name)(theirs, *given).tolist()
            assert found.dtype == tenora.int64
            if dims == 1:
                assert tenora.avg_pool1d(mine, *given).tolist() == found.tolist()
                assert tenora.nn.AvgPool1d(*given)(mine).tolist() == found.tolist()


@pytest.mark.parametrize("divisor", [1, 3, -2])
def test_means_of_int64_with_a_divisor(divisor: int) -> None:
    x = [[[[5, -7, 2], [-9, 8, 1], [0, 4, -6]]]]
    for n, numbers in {2: x, 3: [x[0] * 2]}.items():
        options: dict[str, Any] = {"padding": 1, "ceil_mode": True, "divisor_override": divisor}
        name = f"avg_pool{n}d"
        a = getattr(tenora.nn.functional, name)(tenora.tensor(numbers), 2, **options)
        b = getattr(torch.nn.functional, name)(torch.tensor(numbers), 2, **options)
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("norm", [1, 2, 3, -1, 1.0, 2.0, 2.5])
def test_power_means_of_whole_numbers(dtype: str, norm: float) -> None:
    """An int keeps the mean of powers whole, which PyTorch has of int64 alone; a float goes by floating numbers."""

    def run(module: Any) -> Any:
        x = module.tensor([[1, 2, 3, 4, 5, 6, 0, 9]]).to(getattr(module, dtype))
        try:
            found = module.nn.functional.lp_pool1d(x, norm, 3, 2, True)
        except RuntimeError as error:
            return NotImplementedError if isinstance(error, NotImplementedError) else RuntimeError
        return str(found.dtype).split(".")[-1], pytest.approx(found.tolist()[0], rel=1e-6)

    mine, theirs = run(tenora), run(torch)
    assert mine == theirs or (mine[0] == theirs[0] and mine[1].expected == theirs[1])
