"""Empty, 0-d and extreme arguments of ops, and wrong ones: PyTorch's answers, in tenora's words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
from tenora.autograd import gradcheck, gradgradcheck
from tenora.nn import functional


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("op", [tenora.softmax, tenora.log_softmax])
def test_softmax_over_nothing_is_empty(backend: str, op: Callable[..., Any], gradient: bool) -> None:
    x = tenora.zeros(3, 0, requires_grad=gradient)
    y = op(x, 1)
    assert tuple(y.shape) == (3, 0)
    assert tuple(op(tenora.zeros(0, 3), 0).shape) == (0, 3)
    if gradient:
        y.sum().backward()
        assert tuple(x.grad.shape) == (3, 0)


def test_logsumexp_of_nothing_is_minus_infinity(backend: str) -> None:
    x = tenora.zeros(3, 0, requires_grad=True)
    y = tenora.logsumexp(x, 1)
    assert y.tolist() == [-math.inf] * 3
    y.sum().backward()
    assert tuple(x.grad.shape) == (3, 0)
    assert tenora.logsumexp(tenora.tensor([[-math.inf, -math.inf], [math.inf, 0.0]]), 1).tolist() == [
        -math.inf,
        math.inf,
    ]


def test_cross_entropy_of_no_rows_and_no_classes(backend: str) -> None:
    nobody = tenora.zeros(0, dtype=tenora.int64)
    assert math.isnan(functional.cross_entropy(tenora.zeros(0, 3), nobody).item())
    assert functional.cross_entropy(tenora.zeros(0, 3), nobody, reduction="sum").item() == 0.0
    assert tuple(functional.cross_entropy(tenora.zeros(0, 0), nobody, reduction="none").shape) == (0,)


@pytest.mark.parametrize("diagonal", [2**63 - 1, -(2**63), 2**62, -(2**62), 4, -4, 3, -3, 0])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3), (2, 3, 4)])
def test_triangles_far_from_the_diagonal(backend: str, shape: tuple[int, ...], diagonal: int) -> None:
    x = np.ones(shape)
    near = max(min(diagonal, 9), -9)
    assert np.array_equal(tenora.tril(tenora.tensor(x), diagonal).numpy(), np.tril(x, near))
    assert np.array_equal(tenora.triu(tenora.tensor(x), diagonal).numpy(), np.triu(x, near))


def test_a_number_has_one_place(backend: str) -> None:
    """topk, flip and sort take a 0-d tensor for a vector of one element."""
    x = tenora.tensor(3.0, requires_grad=True)
    for k in (0, 1):
        values, indices = tenora.topk(x, k)
        assert (values.shape, indices.shape, indices.item()) == ((), (), 0)
    values.backward()
    assert x.grad.item() == 1.0
    assert tenora.flip(x, (0,)).shape == tenora.flip(x, (-1,)).shape == ()


@pytest.mark.parametrize("op", [tenora.sign, tenora.sgn])
def test_the_sign_of_a_truth_is_itself(backend: str, op: Callable[..., Any]) -> None:
    x = tenora.tensor([True, False])
    assert op(x).dtype == tenora.bool and op(x).tolist() == [True, False]


X, Y = (2, 3), (2, 3)
LOSSES: dict[str, Callable[[str], Any]] = {
    "mse_loss": lambda r: functional.mse_loss(tenora.ones(X), tenora.ones(Y), reduction=r),
    "l1_loss": lambda r: functional.l1_loss(tenora.ones(X), tenora.ones(Y), reduction=r),
    "smooth_l1_loss": lambda r: functional.smooth_l1_loss(tenora.ones(X), tenora.ones(Y), reduction=r),
    "binary_cross_entropy_with_logits": lambda r: functional.binary_cross_entropy_with_logits(
        tenora.ones(X), tenora.ones(Y), reduction=r
    ),
    "nll_loss": lambda r: functional.nll_loss(tenora.ones(X), tenora.tensor([0, 1]), reduction=r),
    "cross_entropy": lambda r: functional.cross_entropy(tenora.ones(X), tenora.tensor([0, 1]), reduction=r),
    "cross_entropy_smooth": lambda r: functional.cross_entropy(
        tenora.ones(X), tenora.tensor([0, 1]), reduction=r, label_smoothing=0.1
    ),
    "cross_entropy_probabilities": lambda r: functional.cross_entropy(
        tenora.ones(X), tenora.ones(Y), reduction=r
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_an_unknown_reduction(backend: str, name: str) -> None:
    called = "cross_entropy" if name.startswith("cross_entropy") else name
    with pytest.raises(
        ValueError, match=rf"^\[{called}\] unknown reduction: got 'maen', expected 'none', 'mean'"
    ):
        LOSSES[name]("maen")
    assert LOSSES[name]("mean").shape == ()


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "tril of a vector": (lambda: tenora.tril(tenora.ones(3)), RuntimeError, r"^\[tril\] too few dimensions"),
    "triu of a number": (lambda: tenora.triu(tenora.tensor(1.0)), RuntimeError, r"^\[triu\] too few"),
    "flip twice": (
        lambda: tenora.flip(tenora.ones(3), (0, -1)),
        RuntimeError,
        r"^\[flip\] .* twice: got \(0, -1\)",
    ),
    "flip beyond": (
        lambda: tenora.flip(tenora.ones(3), (5,)),
        IndexError,
        r"^\[flip\] .* got 5, expected -1 to 0",
    ),
    "flip of a number": (lambda: tenora.flip(tenora.tensor(1.0), (1,)), IndexError, r"^\[flip\] .* got 1"),
    "randperm": (lambda: tenora.randperm(-1), RuntimeError, r"^\[randperm\] n must not be negative: got -1"),
    "linspace": (lambda: tenora.linspace(0, 1, -1), RuntimeError, r"^\[linspace\] negative dimension"),
    "eye": (lambda: tenora.eye(-1), RuntimeError, r"^\[eye\] negative dimension"),
    "max of nothing": (lambda: tenora.max(tenora.zeros(0)), RuntimeError, r"^\[max\] no element"),
    "min of nothing": (lambda: tenora.min(tenora.zeros(0, 3)), RuntimeError, r"^\[min\] no element"),
    "max along nothing": (lambda: tenora.max(tenora.zeros(2, 0), 1), IndexError, r"^\[max\] no element"),
    "variance of integers": (lambda: tenora.var(tenora.tensor([1, 2])), RuntimeError, r"^\[var\] dtype not"),
    "norm of integers": (lambda: tenora.norm(tenora.tensor([1, 2])), RuntimeError, r"^\[norm\] dtype not"),
    "float alpha of integers": (
        lambda: tenora.add(tenora.tensor([1]), tenora.tensor([1]), alpha=0.5),
        RuntimeError,
        r"^\[add\] a float factor",
    ),
    "truths subtracted": (
        lambda: tenora.sub(tenora.tensor([True]), tenora.tensor([True]), alpha=True),
        RuntimeError,
        r"^\[sub\] dtype not supported: got bool",
    ),
    "another normalized shape": (
        lambda: functional.layer_norm(tenora.ones(2, 3), (4,)),
        RuntimeError,
        r"^\[layer_norm\] normalized_shape does not fit: got \[4\]",
    ),
    "another weight": (
        lambda: functional.layer_norm(tenora.ones(2, 3), (3,), tenora.ones(2)),
        RuntimeError,
        r"^\[layer_norm\] weight does not fit",
    ),
    "probabilities of another shape": (
        lambda: functional.cross_entropy(tenora.ones(2, 3), tenora.ones(2, 4)),
        RuntimeError,
        r"^\[cross_entropy\] target does not fit",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_name_the_op_and_the_value(backend: str, name: str) -> None:
    mistake, kind, words = MISTAKES[name]
    with pytest.raises(kind, match=words):
        mistake()


PARTS = [
    pytest.param(lambda x: x.real, id="real"),
    pytest.param(lambda x: x.imag, id="imag"),
    pytest.param(lambda x: x.real * x.imag, id="product"),
    pytest.param(lambda x: x.imag.sin() * x, id="mixed"),
]


@pytest.mark.parametrize("function", PARTS)
def test_gradients_of_the_parts_of_complex_numbers(backend: str, function: Callable[[Any], Any]) -> None:
    x = tenora.tensor(np.array([[1 + 2j, -0.5 + 0.3j], [2 - 1j, 0.7j]]), requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


def test_writes_through_the_parts_of_complex_numbers(backend: str) -> None:
    x = tenora.tensor([1 + 2j, -0.5 + 0.5j, 3 - 1j])
    real, imag, version = x.real, x.imag, x._version
    imag.fill_(7)
    real.mul_(2)
    imag[1] = 0
    real[::2] += 1
    assert x.tolist() == [3 + 7j, -1 + 0j, 7 + 7j]
    assert x._version == real._version > version
    x.mul_(2)
    assert real.tolist() == [6, -2, 14] and imag.tolist() == [14, 0, 14]


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("place", [-1, 2])
def test_scatter_reduce_refuses_places_beyond_the_dim(backend: str, place: int, reduce: str) -> None:
    """Also where another element of the memory lies there, and nothing was written."""
    x = tenora.ones(2, 3)
    with pytest.raises(IndexError, match="out of bounds"):
        x.scatter_reduce_(0, tenora.tensor([[0, place, 0]]), tenora.full((1, 3), 5.0), reduce)
    assert x.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("index, source", [((4,), (2,)), ((1, 1), (1,)), ((2, 4), (2, 4))])
def test_scatter_reduce_refuses_an_index_that_does_not_fit(
    backend: str, index: tuple[int, ...], source: tuple[int, ...]
) -> None:
    x = tenora.ones(2, 3) if len(index) == len(source) == 2 else tenora.ones(3)
    with pytest.raises(
        RuntimeError, match=r"\[scatter_reduce\] index does not fit: got .*, expected .*\. Take"
    ):
        x.scatter_reduce(0, tenora.zeros(index, dtype=tenora.int64), tenora.ones(source), "amax")
