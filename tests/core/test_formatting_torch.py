"""The text of tensors against PyTorch's over dtypes, shapes, numbers, options and histories."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import tenora

FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
DTYPES = [*FLOATS, "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
nan, inf = math.nan, math.inf

VALUES: dict[str, Any] = {
    "vector": [0, 1, 2],
    "matrix": [[1, 2], [3, 4]],
    "number": 3,
    "empty": [],
    "empty rows": [[], []],
    "one": [1],
    "unequal": [1, 100],
    "deep": [[[1]]],
}
NUMBERS: dict[str, list[Any]] = {
    "fractions": [0.1, -2.5, 3.14159],
    "nan": [nan, 1.0],
    "only nan": [nan],
    "infinities": [inf, -inf, 0.5],
    "only infinities": [inf, inf],
    "wide": [1e-5, 1.0, 5e4],
    "tiny": [1e-7, 2e-7],
    "huge": [6e4, 1.5],
    "negative zero": [-0.0, 1.0],
    "rows": [[1.5, nan], [-inf, 1e-3]],
    "wide whole": [1.0, 50000.0],
    "four orders": [1e-3, 1.1, 1e3, 2.0],
}
SHAPES = [
    (1001,),
    (10, 101),
    (2, 2, 300),
    (7, 7, 7, 7),
    (1, 1001),
    (1001, 1),
    (6, 200),
    (1000,),
    (3, 3, 3, 50),
    (0, 1001),
    (30, 0, 40),
    (2, 1, 1, 1, 1, 2),
]
LIMITS = [1e8, 1e8 + 1, 123456789.0, 1e-4, 1e-5, 0.0, 1e10, -7.25, 1e38, 999.9, 1000.1, nan, inf, -0.0]

OTHERS: dict[str, Callable[[Any], Any]] = {
    "complex nan": lambda f: f.tensor([complex(nan, -1), complex(1, inf), complex(1e-6, 2)]),
    "complex zeros": lambda f: f.tensor([complex(-0.0, -0.0)]),
    "complex number": lambda f: f.tensor(1.5 - 2j),
    "complex wide": lambda f: f.tensor([1e6 + 1e-6j, 1 + 1j]),
    "complex rows": lambda f: f.arange(6).reshape(2, 3) * (1 + 0.5j),
    "complex summary": lambda f: f.arange(2000) * (1 + 0.5j),
    "turned": lambda f: f.arange(2400.0).reshape(40, 60).t(),
    "expanded": lambda f: f.tensor([1.5]).expand(3000),
    "parameter": lambda f: f.nn.Parameter(f.ones(2, 3)),
    "frozen parameter": lambda f: f.nn.Parameter(f.ones(2), requires_grad=False),
    "half parameter": lambda f: f.nn.Parameter(f.ones(2, dtype=f.float16)),
    "empty parameter": lambda f: f.nn.Parameter(f.empty(0)),
    "large parameter": lambda f: f.nn.Parameter(f.zeros(50, 50)),
    "buffer": lambda f: f.nn.Buffer(f.ones(2)),
    "detached": lambda f: f.ones(2, requires_grad=True).detach(),
    "in a list": lambda f: [f.tensor(1), f.tensor([2.0])],
    "format": lambda f: f"{f.tensor(1.23456)}|{f.tensor(1.23456):.2f}|{f.tensor([1.5])}|{f.tensor(3):d}",
}
# Ops that have PyTorch's node; others are recorded in parts of our own (`a[0:1]`, `x.var()`).
RECORDED: dict[str, Callable[[Any], Any]] = {
    "mul": lambda t: t * 2,
    "add": lambda t: t + 1,
    "sub": lambda t: t - 1,
    "div": lambda t: t / 2,
    "pow": lambda t: t**2,
    "neg": lambda t: -t,
    "exp": lambda t: t.exp(),
    "relu": lambda t: t.relu(),
    "sum": lambda t: t.sum(),
    "mean": lambda t: t.mean(),
    "transpose": lambda t: t.t(),
    "view": lambda t: t.view(6),
    "permute": lambda t: t.permute(1, 0),
    "softmax": lambda t: t.softmax(1),
    "half": lambda t: t.half() * 2,
    "no element": lambda t: t[:, :0] * 2,
    "summary": lambda t: t.expand(1000, 2, 3) * 2,
    "in place": lambda t: (t * 1).add_(1),
}
OPTIONS: list[dict[str, Any]] = [
    {"precision": 2},
    {"precision": 8},
    {"precision": 0},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 10, "edgeitems": 2},
    {"linewidth": 40},
    {"linewidth": 200},
    {"sci_mode": True},
    {"sci_mode": False},
    {"profile": "short"},
    {"profile": "full"},
]
OPTED: list[Callable[[Any], Any]] = [
    lambda f: f.arange(30.0) / 7,
    lambda f: f.arange(24).reshape(2, 3, 4),
    lambda f: f.tensor([1e-6, 1e6]),
    lambda f: f.tensor([1.0, 2.0]),
    lambda f: f.tensor(3.14159),
    lambda f: f.arange(6) * (1 + 2.5j),
    lambda f: f.arange(1200),
    lambda f: f.ones(2, 3, requires_grad=True) * 2,
    lambda f: f.tensor([nan, 1.5]),
]


def same(make: Callable[[Any], Any]) -> None:
    ours, theirs = make(tenora), make(torch)
    assert str(ours).replace("tenora.", "torch.") == str(theirs)


@pytest.fixture(params=["float16", "float32", "float64"])
def default(request: pytest.FixtureRequest) -> Iterator[None]:
    for f in (tenora, torch):
        f.set_default_dtype(getattr(f, request.param))
    yield
    for f in (tenora, torch):
        f.set_default_dtype(f.float32)


@pytest.mark.usefixtures("default")
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str) -> None:
    for values in VALUES.values():
        same(lambda f, values=values: f.tensor(values, dtype=getattr(f, name)))
    same(lambda f: (f.arange(1500) % 100).to(getattr(f, name)))
    same(lambda f: f.arange(24).reshape(2, 3, 4).to(getattr(f, name)))
    same(lambda f: f.empty(0, 2, 3, dtype=getattr(f, name)))


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("name", FLOATS)
def test_numbers(name: str, numbers: str) -> None:
    same(lambda f: f.tensor(NUMBERS[numbers], dtype=getattr(f, name)))


@pytest.mark.parametrize("value", LIMITS)
def test_where_notation_changes(value: float) -> None:
    same(lambda f: f.tensor(value))
    same(lambda f: f.tensor(value, dtype=f.float64))
    same(lambda f: f.tensor([value, 1.0], dtype=f.float64))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: tuple[int, ...]) -> None:
    same(lambda f: f.arange(math.prod(shape)).reshape(shape))
    same(lambda f: f.arange(math.prod(shape)).reshape(shape) / 7)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    same(OTHERS[name])


@pytest.mark.parametrize("name", RECORDED)
def test_histories(name: str) -> None:
    same(lambda f: RECORDED[name](f.ones(2, 3, requires_grad=True)))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options: dict[str, Any]) -> None:
    try:
        for f in (tenora, torch):
            f.set_printoptions(**options)
        for make in OPTED:
            same(make)
    finally:
        for f in (tenora, torch):
            f.set_printoptions(profile="default")
