"""cdist and pdist against PyTorch: all kinds of exponents, equal rows, panels that are not full, second gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import tenora

EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf)
SIZES = ((1, 1, 1), (3, 65, 3), (5, 64, 1), (2, 130, 300), (70, 31, 4))


def rows(count: int, width: int, seed: int) -> np.ndarray[Any, Any]:
    """Rows of which some are equal to one another and to those of other seeds."""
    found = np.random.default_rng(seed).standard_normal((count, width))
    found[::4] = np.arange(width)
    return found


def gradients(f: Any, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], p: float, weight: Any) -> list[Any]:
    x, y = f.tensor(a).requires_grad_(), f.tensor(b).requires_grad_()
    z = f.cdist(x, y, p)
    (z * f.tensor(weight)).sum().backward()
    return [v.numpy() for v in (z.detach(), x.grad, y.grad)]


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_cdist(backend: str, size: tuple[int, int, int], p: float) -> None:
    count, others, width = size
    a, b = rows(count, width, 0), rows(others, width, 1)
    weight = np.random.default_rng(2).standard_normal((count, others))
    for ours, theirs in zip(*(gradients(f, a, b, p, weight) for f in (tenora, torch)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * max(1, np.abs(theirs).max()))


@pytest.mark.parametrize("p", EXPONENTS)
def test_pdist(backend: str, p: float) -> None:
    a = rows(9, 3, 0)
    results = []
    for f in (tenora, torch):
        x = f.tensor(a).requires_grad_()
        z = f.nn.functional.pdist(x, p)
        (z * z).sum().backward()
        results.append([z.detach().numpy(), x.grad.numpy()])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_second_gradients_are_those_of_the_formula(backend: str, p: float) -> None:
    """PyTorch has none for p other than 2; gradcheck compares with finite differences of the first."""
    a, b = (tenora.tensor(np.random.default_rng(i).standard_normal((3, 4))).requires_grad_() for i in (0, 1))
    assert tenora.autograd.gradcheck(lambda x, y: tenora.cdist(x, y, p), (a, b))
    assert tenora.autograd.gradgradcheck(lambda x, y: tenora.cdist(x, y, p), (a, b))


def test_nan_stays(backend: str) -> None:
    x = tenora.tensor([[0.0, math.nan], [1.0, 2.0]])
    for p in EXPONENTS:
        assert tenora.cdist(x, x, p).isnan().tolist() == [[True, True], [True, False]]


def test_what_is_refused(backend: str) -> None:
    x = tenora.zeros(2, 3)
    for p in (-1.0, math.nan):
        with pytest.raises(RuntimeError, match=r"\[cdist\] p: got .*expected 0 or more"):
            tenora.cdist(x, x, p)
        with pytest.raises(RuntimeError, match=r"\[pdist\] p: got .*expected 0 or more"):
            tenora.nn.functional.pdist(x, p)
    with pytest.raises(RuntimeError, match=r"\[cdist\] wrong dtype: got .*complex64.*expected real"):
        tenora.cdist(x, x.to(tenora.complex64))
