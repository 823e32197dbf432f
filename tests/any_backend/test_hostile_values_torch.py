"""Values and arguments at the edges: complex parts that are not finite, ties, nothing, poles, denormal numbers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import op_cases
import pytest
import torch

import tenora

INF, NAN = math.inf, math.nan


def _both(case: Callable[[Any], Any]) -> None:
    for got, wanted in zip(case(tenora), case(torch), strict=True):
        assert str(got.dtype).rsplit(".", 1)[-1] == str(wanted.dtype).rsplit(".", 1)[-1]
        np.testing.assert_allclose(np.array(got.tolist()), np.array(wanted.tolist()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"nan": 5.0}, {"posinf": 1.0, "neginf": -2.0}])
def test_complex_nan_to_num(backend: str, options: dict[str, float]) -> None:
    """Either part is replaced by itself; the gradient, which PyTorch has not, passes where a part is finite."""
    op_cases.judged("nan_to_num", ["complex128"])
    numbers = [complex(NAN, INF), complex(1, -INF), complex(-INF, 2), 3 + 4j]
    _both(lambda f: [f.nan_to_num(f.tensor(numbers, dtype=f.complex128), **options)])
    x = tenora.tensor(numbers, dtype=tenora.complex128, requires_grad=True)
    tenora.view_as_real(tenora.nan_to_num(x, **options)).sum().backward()  # type: ignore[arg-type]
    assert x.grad is not None and x.grad.tolist() == [0, 1, 1j, 1 + 1j]


@pytest.mark.parametrize("order", [1, 2, 3, 5, 9])
def test_polygamma_far_below_zero(backend: str, order: int) -> None:
    """Between the poles on the negative side, however far."""
    op_cases.judged("polygamma", ["float64"])
    points = [-1e-30, -0.3, -0.999, -2.25, -9.75, -10.75, -33.3, -1000.25, -54321.75]
    _both(lambda f: [f.polygamma(order, f.tensor(points, dtype=f.float64))])


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_bessel_slope_at_denormal_numbers(backend: str, name: str) -> None:
    """1/2, as at zero: x and the function of it have few digits or none there."""
    op_cases.judged(name, ["float32", "float64"])
    for dtype, points in (
        ("float32", [1e-42, -1e-42, 0.0, 1e-30]),
        ("float64", [5e-324, -5e-324, 0.0, 1e-300]),
    ):
        if dtype in op_cases.Judged.dtypes:
            x = tenora.tensor(points, dtype=getattr(tenora, dtype), requires_grad=True)
            getattr(tenora.special, name)(x).sum().backward()
            assert x.grad is not None and x.grad.tolist() == [0.5] * 4


def test_count_norm_has_a_gradient(backend: str) -> None:
    """The vector norm of order 0 is constant: its gradient is 0, and a loss that holds it can go backward."""
    op_cases.judged("linalg_vector_norm", ["float64"])
    numbers = [[0.0, 2.0], [NAN, -INF]]
    _both(lambda f: [f.linalg.vector_norm(f.tensor(numbers, dtype=f.float64), 0, dim=1)])
    x = tenora.tensor(numbers, dtype=tenora.float64, requires_grad=True)
    tenora.linalg.vector_norm(x, 0, dim=1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("order", [-1, -2.5, -INF])
def test_negative_norm_of_nothing(backend: str, order: float) -> None:
    """It has no value to start from."""
    op_cases.judged("linalg_vector_norm", ["float32"])
    for f in (tenora, torch):
        with pytest.raises(RuntimeError):
            f.linalg.vector_norm(f.zeros(2, 0), order, dim=1)  # type: ignore[attr-defined]
        assert f.linalg.vector_norm(f.zeros(0, 2), order, dim=1).shape == (0,)  # type: ignore[attr-defined]


def test_bincount_of_nothing(backend: str) -> None:
    """Whole numbers, whatever the weights."""
    op_cases.judged("bincount", ["float64"])
    _both(lambda f: [f.bincount(f.zeros(0, dtype=f.int64), weights=f.zeros(0), minlength=3)])


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("padding", [None, 1])
def test_largest_of_equal_rows(backend: str, flat: bool, padding: int | None) -> None:
    """Of rows that are equal the first one has the gradient of a bag of mode max."""
    op_cases.judged("embedding_bag", ["float64"])

    def case(f: Any) -> list[Any]:
        weight = f.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0]], dtype=f.float64, requires_grad=True)
        index, offsets = f.tensor([[0, 1, 2], [2, 2, 1]]), None
        if flat:
            index, offsets = index.reshape(-1), f.tensor([0, 3])
        bags = f.nn.functional.embedding_bag(index, weight, offsets, mode="max", padding_idx=padding)
        (bags * f.tensor([[1.0, 2.0], [4.0, 8.0]], dtype=f.float64)).sum().backward()
        assert weight.grad is not None
        return [bags.detach(), weight.grad]

    _both(case)


def test_indices_behind_the_last_offset(backend: str) -> None:
    """With include_last_offset they are in no bag."""
    op_cases.judged("embedding_bag", ["float64"])
    weight = tenora.arange(8.0, dtype=tenora.float64).reshape(4, 2).requires_grad_()
    shares = tenora.tensor([1.0, 2.0, 3.0, 4.0], dtype=tenora.float64)
    bags = tenora.nn.functional.embedding_bag(
        tenora.tensor([3, 1, 2, 0]),
        weight,
        tenora.tensor([0, 1, 3]),
        mode="sum",
        include_last_offset=True,
        per_sample_weights=shares,
    )
    bags.sum().backward()
    assert bags.tolist() == [[6.0, 7.0], [16.0, 21.0]]
    assert weight.grad is not None and weight.grad.tolist() == [
        [0.0, 0.0],
        [2.0, 2.0],
        [3.0, 3.0],
        [1.0, 1.0],
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"padding_idx": 4},
        {"mode": "max", "scale_grad_by_freq": True},
        {"mode": "sum", "per_sample_weights": "float32"},
        {"offsets": [1, 2]},
        {"offsets": [0, 9]},
    ],
    ids=str,
)
def test_bags_that_are_refused(backend: str, options: dict[str, Any]) -> None:
    """By an error of PyTorch's kind."""
    op_cases.judged("embedding_bag", ["float64"])

    def call(f: Any) -> None:
        given = dict(options)
        if "per_sample_weights" in given:
            given["per_sample_weights"] = f.ones(3, dtype=getattr(f, given["per_sample_weights"]))
        offsets = f.tensor(given.pop("offsets", [0, 1]))
        f.nn.functional.embedding_bag(f.tensor([0, 1, 2]), f.ones(4, 2, dtype=f.float64), offsets, **given)

    with pytest.raises((RuntimeError, ValueError)) as theirs:
        call(torch)
    with pytest.raises(theirs.type, match=r"^\[embedding_bag\] "):
        call(tenora)


def test_orders_that_a_dtype_cannot_hold(backend: str) -> None:
    """A permutation has no number twice."""
    op_cases.judged("randperm", ["float16"])
    for f in (tenora, torch):
        with pytest.raises(RuntimeError):
            f.randperm(2050, dtype=f.float16)  # type: ignore[attr-defined]
        found = f.randperm(2049, dtype=f.float16).float()  # type: ignore[attr-defined]
        assert sorted(found.tolist()) == list(range(2049))


def test_norms_of_hardly_anything(backend: str) -> None:
    """Groups of one value are refused; no channels have no groups."""
    op_cases.judged("group_norm", ["float32"])
    for f in (tenora, torch):
        for shape, groups in (((1, 1, 1), 1), ((1, 4), 4)):
            with pytest.raises(ValueError):
                f.nn.functional.group_norm(f.zeros(*shape), groups)  # type: ignore[attr-defined]
        assert f.nn.functional.group_norm(f.zeros(2, 4), 4).shape == (2, 4)  # type: ignore[attr-defined]
        assert f.nn.functional.instance_norm(f.zeros(6, 0, 10)).shape == (6, 0, 10)  # type: ignore[attr-defined]


def test_errors_without_backend_or_dtype(backend: str) -> None:
    """Their fields are None, also when the engine raises, and stay so through a pickle."""
    op_cases.judged("view", ["float32"])
    with pytest.raises(tenora.TenoraError) as caught:
        tenora.ones(6).view(4)
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    for name, wanted in {"code": "shape", "op": "view", "backend": None, "dtype": None}.items():
        assert getattr(error, name) == getattr(again, name) == wanted


def test_two_numbers(backend: str) -> None:
    """xlogy and xlog1py of numbers alone are 0-d tensors, as sums of numbers are."""
    op_cases.judged("xlogy", ["float32"])
    assert tenora.xlogy(2, 3.0).item() == pytest.approx(2 * math.log(3), rel=1e-6)
    assert tenora.xlogy(0, 0).item() == 0
    assert tenora.special.xlog1py(-INF, True).item() == -INF
