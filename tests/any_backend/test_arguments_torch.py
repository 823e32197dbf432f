"""Factors, shapes, names and ranges of arguments: what PyTorch takes and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

DTYPES = ("float32", "float64", "bfloat16", "complex64", "int64", "uint8")


def filled(lib: Any, dtype: str, shape: tuple[int, ...], value: float) -> Any:
    return lib.full(shape, value, dtype=getattr(lib, dtype))


AFFINE: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "addmm": ((2, 4), (2, 3), (3, 4)),
    "addmv": ((2,), (2, 3), (3,)),
    "addr": ((2, 3), (2,), (3,)),
    "addbmm": ((2, 4), (5, 2, 3), (5, 3, 4)),
    "baddbmm": ((5, 2, 4), (5, 2, 3), (5, 3, 4)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", AFFINE)
def test_beta_of_zero_does_not_read_input(name: str, dtype: str, backend: str) -> None:
    shapes = AFFINE[name]
    floating = dtype not in ("int64", "uint8")
    found = []
    for lib in (tenora, torch):
        bad = filled(lib, dtype, shapes[0], math.nan if floating else 7)
        a, b = filled(lib, dtype, shapes[1], 2), filled(lib, dtype, shapes[2], 3)
        results = [getattr(lib, name)(bad, a, b, beta=0, alpha=alpha) for alpha in (1, 2, 0)]
        results.append(getattr(bad, name + "_")(a, b, beta=0))
        found.append([r.tolist() for r in results])
    assert found[0] == found[1]


def test_the_gradient_of_an_input_that_is_not_read_is_zero(backend: str) -> None:
    x = tenora.full((2, 2), math.nan, requires_grad=True)
    a = tenora.ones(2, 3, requires_grad=True)
    tenora.addmm(x, a, tenora.ones(3, 2), beta=0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert a.grad is not None and a.grad.tolist() == [[2.0] * 3] * 2


TAKEN: dict[str, Callable[[Any], Any]] = {
    "addmm cuts factors of integers": lambda m: m.addmm(
        m.ones(2, 2, dtype=m.int64), m.ones(2, 3, dtype=m.int64), m.ones(3, 2, dtype=m.int64), alpha=1.5
    ),
    "add of bool": lambda m: m.add(m.tensor([True, False]), m.tensor([False, True]), alpha=2),
    "add of bool by nothing": lambda m: m.add(m.tensor([True, False]), m.tensor([False, True]), alpha=0),
    "add_ of bool": lambda m: m.tensor([True, False]).add_(m.tensor([False, True]), alpha=3),
    "addr promotes": lambda m: m.addr(
        m.ones(2, 2, dtype=m.int64), m.ones(2), m.ones(2, dtype=m.bool), beta=0.5
    ),
    "addr of bool": lambda m: m.addr(
        m.zeros(2, 2, dtype=m.bool), m.tensor([True, False]), m.tensor([True, True]), beta=2, alpha=3
    ),
    "rsub of a number": lambda m: m.rsub(m.tensor([1, 2]), 3, alpha=2),
    "nuclear norm": lambda m: m.norm(m.tensor([[1.0, 2.0], [3.0, 5.0]]), "nuc"),
    "older arguments: sum": lambda m: m.nn.functional.mse_loss(m.ones(3), m.zeros(3), False),
    "older arguments: list": lambda m: m.nn.functional.l1_loss(m.ones(3), m.zeros(3), reduce=False),
    "older arguments: mean": lambda m: m.nn.functional.smooth_l1_loss(m.ones(3), m.zeros(3), True, True),
    "older arguments: classes": lambda m: m.nn.functional.cross_entropy(
        m.zeros(3, 2), m.tensor([0, 1, 1]), None, None, 1, False
    ),
    "linspace of integers": lambda m: m.linspace(0, 10, 4, dtype=m.int32),
    "linspace cuts its ends": lambda m: m.linspace(0.5, -3, 6, dtype=m.int8),
    "linspace of complex numbers": lambda m: m.linspace(0, 1 + 2j, 4),
    "logspace": lambda m: m.logspace(-1, 2, 5),
    "logspace of integers": lambda m: m.logspace(0, 6, 4, base=2, dtype=m.int64),
    "logspace of complex numbers": lambda m: m.logspace(0, 1, 3, dtype=m.complex64),
    "masked_fill cuts a float": lambda m: m.tensor([1, 2]).masked_fill(m.tensor([True, False]), 1.5),
    "masked_fill_ cuts a float": lambda m: m.tensor([1, 2]).masked_fill_(m.tensor([True, False]), 7.5),
    "masked_fill keeps bool": lambda m: m.tensor([True, True]).masked_fill(m.tensor([True, False]), 0),
    "masked_fill by a wider number": lambda m: m.ones(2).masked_fill(
        m.tensor([True, False]), m.tensor(3.5, dtype=m.float64)
    ),
    "masked_fill of complex numbers": lambda m: m.ones(2, dtype=m.complex64).masked_fill(
        m.tensor([True, False]), 1 + 2j
    ),
    "isclose of unsigned": lambda m: m.tensor([1, 2, 250], dtype=m.uint8).isclose(
        m.tensor([2, 2, 251], dtype=m.uint8), atol=1
    ),
    "isclose of bool": lambda m: m.isclose(m.tensor([True, False]), m.tensor([True, True])),
    "vector_norm of halves": lambda m: m.linalg.vector_norm(m.full((9,), 300.0, dtype=m.float16)),
    "norm of halves": lambda m: m.linalg.norm(m.ones(3, 3, dtype=m.float16)),
    "matrix_norm of halves": lambda m: m.linalg.matrix_norm(m.ones(3, 3, dtype=m.float16), 1),
    "vander of small integers": lambda m: m.vander(m.tensor([2, 100, 7], dtype=m.int8)),
    "mvlgamma of halves": lambda m: m.mvlgamma(m.tensor([2.5], dtype=m.float16), 2),
    "tril of bool": lambda m: m.ones(3, 3, dtype=m.bool).tril(),
    "hardtanh of integers": lambda m: m.nn.functional.hardtanh(m.tensor([-5, 0, 5]), -1.5, 2.5),
    "relu6 of integers": lambda m: m.nn.functional.relu6(m.tensor([-5, 0, 9])),
    "threshold of integers": lambda m: m.nn.functional.threshold(m.tensor([-5, 0, 9]), 0.5, 7.5),
    "l1_loss of complex numbers": lambda m: m.nn.functional.l1_loss(m.tensor([3 + 4j]), m.tensor([0j])),
    "float_power of complex numbers": lambda m: m.float_power(m.tensor([1 + 1j]), 2),
    "interpolate with antialias": lambda m: m.nn.functional.interpolate(
        m.arange(35.0).reshape(1, 1, 5, 7), (3, 4), mode="bicubic", antialias=True
    ),
    "max_pool2d of integers": lambda m: m.nn.functional.max_pool2d(
        m.arange(32, dtype=m.int16).reshape(1, 2, 4, 4) * 7 % 13 - 6, 2, 1, 1
    ),
    "indices of max_pool1d of integers": lambda m: m.nn.functional.max_pool1d(
        m.tensor([[[3, 9, 2, 9, 1]]]), 2, return_indices=True
    )[1],
    "adaptive_max_pool1d": lambda m: m.nn.functional.adaptive_max_pool1d(m.tensor([[[3.0, 9, 2, 9, 1]]]), 2),
    "einsum of lists": lambda m: m.einsum(m.ones(2, 3), [51, 0], m.ones(3, 2), [0, 2], [2, 51]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_pytorch_takes_it(name: str) -> None:
    got, theirs = TAKEN[name](tenora), TAKEN[name](torch)
    assert str(got.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(got.numpy(), theirs.numpy(), rtol=1e-6)


def test_areas_of_unsigned_numbers_do_not_wrap() -> None:
    """PyTorch's do: it answers 453."""
    assert tenora.trapezoid(tenora.tensor([200, 100, 250], dtype=tenora.uint8)).item() == 325.0


def losses(name: str, *values: float, **options: Any) -> Callable[[Any], Any]:
    return lambda m: getattr(m.nn.functional, name)(
        m.tensor([0.5, values[0]]), m.tensor([0.0, values[1]]), **options
    )


REFUSED: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "addr: float factor of integers": (
        RuntimeError,
        lambda m: m.addr(*[m.ones(*s, dtype=m.int64) for s in ((2, 2), (2,), (2,))], beta=0.5),
    ),
    "addr: bool factor of numbers": (
        RuntimeError,
        lambda m: m.addr(m.ones(2, 2), m.ones(2), m.ones(2), beta=True),
    ),
    "rsub: float factor of integers": (
        RuntimeError,
        lambda m: m.rsub(m.tensor([1]), m.tensor([2]), alpha=0.5),
    ),
    "outer of a matrix": (RuntimeError, lambda m: m.outer(m.ones(2), m.ones(2, 2))),
    "einsum: label below 0": (ValueError, lambda m: m.einsum(m.ones(3, 3), [0, -1])),
    "einsum: label beyond 51": (ValueError, lambda m: m.einsum(m.ones(3, 3), [0, 52])),
    "tensordot of two numbers": (TypeError, lambda m: m.tensordot(m.ones(2, 2), m.ones(2, 2), (0, 1))),
    "bce: input below": (RuntimeError, losses("binary_cross_entropy", -0.1, 0.0)),
    "bce: input above": (RuntimeError, losses("binary_cross_entropy", 1.1, 0.0)),
    "bce: input NaN": (RuntimeError, losses("binary_cross_entropy", math.nan, 0.0)),
    "bce: target above": (RuntimeError, losses("binary_cross_entropy", 0.5, 1.5)),
    "gelu: approximate": (RuntimeError, lambda m: m.nn.functional.gelu(m.ones(2), approximate="wrong")),
    "rrelu: bounds": (RuntimeError, lambda m: m.nn.functional.rrelu(m.ones(2), 0.5, 0.1)),
    "cross_entropy: label_smoothing": (
        RuntimeError,
        lambda m: m.nn.functional.cross_entropy(m.zeros(3, 2), m.tensor([0, 1, 1]), label_smoothing=1.1),
    ),
    "cross_entropy: ignored class of probabilities": (
        RuntimeError,
        lambda m: m.nn.functional.cross_entropy(m.zeros(3, 2), m.ones(3, 2) / 2, ignore_index=1),
    ),
    "pad: value of another mode": (
        RuntimeError,
        lambda m: m.nn.functional.pad(m.ones(1, 1, 4), (1, 1), mode="reflect", value=2.0),
    ),
    "div: rounding_mode": (RuntimeError, lambda m: m.div(m.ones(2), 2, rounding_mode="wrong")),
    "cdist: compute_mode": (ValueError, lambda m: m.cdist(m.ones(2, 2), m.ones(2, 2), compute_mode="wrong")),
    "index_reduce: sum": (
        RuntimeError,
        lambda m: m.ones(3).index_reduce(0, m.tensor([0]), m.ones(1), "sum"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_pytorch_refuses_it(name: str) -> None:
    kind, run = REFUSED[name]
    for lib in (tenora, torch):
        with pytest.raises(kind):
            run(lib)


BRANCHES = (
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "sinh",
    "cosh",
    "tan",
    "expm1",
    "log1p",
    "sqrt",
    "log",
)


@pytest.mark.parametrize("name", BRANCHES)
def test_complex_functions_take_the_branch_that_pytorch_takes(name: str, backend: str) -> None:
    """On both sides of the cuts, which the sign of a zero tells apart."""
    points = [
        complex(a, b)
        for a in (-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0)
        for b in (-2.0, -0.3, -0.0, 0.0, 0.3, 1.0, 5.0)
    ]
    ours = getattr(tenora, name)(tenora.tensor(points, dtype=tenora.complex128)).numpy()
    theirs = getattr(torch, name)(torch.tensor(points, dtype=torch.complex128)).numpy()
    finite = np.isfinite(theirs)
    assert (np.isfinite(ours) == finite).all()
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "options", [{"label_smoothing": 0.1}, {"reduction": "wrong"}, {"weight": tenora.ones(5)}]
)
def test_errors_name_the_loss_that_was_called(options: dict[str, Any]) -> None:
    for target in (tenora.tensor([0, 1, 3]), tenora.ones(3, 5)):
        with pytest.raises((RuntimeError, ValueError, IndexError), match=r"^\[cross_entropy\]"):
            tenora.nn.functional.cross_entropy(tenora.zeros(3, 2), target, **options)
