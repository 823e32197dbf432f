"""Determinants of singular matrices and their derivatives, against PyTorch: those of the sum over all permutations.

- That sum is a polynomial, of which PyTorch differentiates products and sums alone: it is exact at every rank.
- PyTorch's own `linalg.det` is compared where it has the answer: of real matrices, singular values apart.
- What its first gradient answers instead without create_graph, and logarithms of zero, is in docs/differences.md.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

RNG = np.random.default_rng(11)


def low(n: int, rank: int, imaginary: bool = False) -> np.ndarray:
    """An n x n matrix of a rank."""
    left, right = RNG.normal(size=(n, rank)), RNG.normal(size=(rank, n))
    return left @ right if not imaginary else (left + 1j * left[::-1]) @ (right - 0.5j * right[:, ::-1])


#: Singular matrices. Of `OTHERS` PyTorch's own second gradients may be wrong: where singular values are equal, two
#: zeros among them, it divides by their difference, and of complex ones it misses a phase.
APART: dict[str, np.ndarray] = {
    "ones of two": np.ones((2, 2)),
    "a zero row": np.array([[0.0, 0.0], [1.0, 2.0]]),
    "a zero on the diagonal": np.diag([1.0, 0.0, 2.0]),
    "rounded to a pivot": np.arange(1.0, 10.0).reshape(3, 3),
    "rank three of four": low(4, 3),
    "a stack with regular ones": np.stack(
        [np.diag([1.0, 2.0, 4.0]), np.arange(9.0).reshape(3, 3), low(3, 2)]
    ),
}
OTHERS: dict[str, np.ndarray] = {
    "complex": low(3, 2, True),
    "zeros": np.zeros((3, 3)),
    "a zero": np.zeros((2, 2)),
    "ones of three": np.ones((3, 3)),
    "rank two of four": low(4, 2),
    "complex, of rank one": low(3, 1, True),
    "small": np.eye(3) * 1e-6,
    "zeros beside regular ones": np.stack([np.eye(2) * 3, np.zeros((2, 2))]),
}
MATRICES = APART | OTHERS


def by_permutations(x: Any) -> Any:
    """The determinants of a stack."""
    n = x.shape[-1]
    total: Any = 0.0
    for order in itertools.permutations(range(n)):
        odd = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n)) % 2
        product: Any = -1.0 if odd else 1.0
        for row, column in enumerate(order):
            product = product * x[..., row, column]
        total = total + product
    return total


def weighted(module: Any, tensor: Any, seed: int) -> Any:
    """A real number that depends on every part of every element."""
    rng = np.random.default_rng(seed)
    first, second = (
        module.from_numpy(np.asarray(rng.uniform(0.5, 1.5, tuple(tensor.shape)))) for _ in range(2)
    )
    if tensor.is_complex():
        return (tensor.real * first).sum() + (tensor.imag * second).sum()
    return (tensor * first).sum()


def derivatives(module: Any, function: Any, matrix: np.ndarray) -> list[np.ndarray]:
    """The value, and gradients of two orders, each of a weighted sum of the one before."""
    x = module.from_numpy(matrix.copy()).requires_grad_()
    found = [function(x)]
    for order in range(2):
        (gradient,) = module.autograd.grad(weighted(module, found[-1], order), [x], create_graph=True)
        found.append(gradient)
    return [t.detach().numpy() for t in found]


@pytest.mark.parametrize("name", MATRICES)
def test_derivatives_at_every_rank(name: str, backend: str) -> None:
    ours = derivatives(tenora, tenora.linalg.det, MATRICES[name])
    theirs = derivatives(torch, by_permutations, MATRICES[name])
    for order, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-12, err_msg=f"order {order}")


@pytest.mark.parametrize("name", APART)
def test_pytorchs_own_agree(name: str, backend: str) -> None:
    ours = derivatives(tenora, tenora.linalg.det, MATRICES[name])
    theirs = derivatives(torch, torch.linalg.det, MATRICES[name])
    for order, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=f"order {order}")


@pytest.mark.parametrize("name", MATRICES)
def test_first_gradients_alone(name: str, backend: str) -> None:
    """Without create_graph; in single precision too, relative to products of the largest elements."""
    for wide, narrow, bound in (("float64", "complex128", 1e-12), ("float32", "complex64", 1e-5)):
        matrix = MATRICES[name].astype(narrow if np.iscomplexobj(MATRICES[name]) else wide)
        found = []
        for module, function in ((tenora, tenora.linalg.det), (torch, by_permutations)):
            x = module.from_numpy(matrix.copy()).requires_grad_()
            weighted(module, function(x), 0).to(module.float64).backward()
            found.append(x.grad.numpy())
        np.testing.assert_allclose(
            *found, rtol=bound, atol=bound * np.abs(matrix).max() ** (matrix.shape[-1] - 1)
        )


def test_pytorchs_own_are_elsewhere() -> None:
    """Of some of `OTHERS`: tenora's are the polynomial's."""
    for name in ("complex", "zeros", "small"):
        matrix = OTHERS[name]
        right = derivatives(torch, by_permutations, matrix)[-1]
        theirs = derivatives(torch, torch.linalg.det, matrix)[-1]
        assert not np.allclose(theirs, right, rtol=1e-6, atol=1e-12), name


def test_pytorchs_first_gradient_alone_is_zero() -> None:
    """Of a determinant that is exactly zero: it solves for it, times a pivot in place of zero."""
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    torch.linalg.det(x).backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", ["slogdet", "logdet"])
@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.ones((2, 2)), np.zeros((1, 1)), np.diag([1.0, 0.0, 2.0])]
)
def test_logarithms_of_zero(name: str, matrix: np.ndarray, backend: str) -> None:
    """Minus infinity, whose gradient is not finite: no error, so the other matrices of a stack have theirs."""
    stack = np.stack([np.eye(len(matrix)) * 2, matrix])
    found = []
    for module in (tenora, torch):
        x = module.from_numpy(stack.copy()).requires_grad_()
        result = getattr(module, name)(x)
        value = result[-1] if isinstance(result, tuple) else result
        value.sum().backward()
        found.append((value.detach().numpy(), x.grad.numpy()))
    (ours, gradient), (theirs, other) = found
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    assert ours[1] == -math.inf
    np.testing.assert_allclose(gradient[0], other[0], rtol=1e-14)
    assert not np.isfinite(gradient[1]).all() and not np.isfinite(other[1]).all()


def test_pytorch_refuses_their_second_gradients(backend: str) -> None:
    """Tenora's are NaN."""
    x = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(torch.linalg.LinAlgError):
        torch.autograd.grad(torch.logdet(x), [x], create_graph=True)
    y = tenora.zeros(2, 2, dtype=tenora.float64, requires_grad=True)
    (gradient,) = tenora.autograd.grad(tenora.logdet(y), [y], create_graph=True)
    assert not tenora.isfinite(gradient).any().item()


@pytest.mark.parametrize("create", [False, True])
def test_logarithm_of_a_negative_determinant(create: bool, backend: str) -> None:
    """NaN, and it does not depend on the matrix."""
    matrix = np.array([[0.0, 1.0], [2.0, 0.5]])
    for module in (tenora, torch):
        x = module.from_numpy(matrix.copy()).requires_grad_()
        value = module.logdet(x)
        (gradient,) = module.autograd.grad(value, [x], create_graph=create)
        assert math.isnan(value.item()) and (gradient == 0).all().item()


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
@pytest.mark.parametrize("name", ["det", "logdet", "slogdet"])
def test_without_elements(name: str, shape: tuple[int, ...], backend: str) -> None:
    found = []
    for module in (tenora, torch):
        x = module.zeros(shape, dtype=module.float64, requires_grad=True)
        result = getattr(module, name)(x)
        value = result[-1] if isinstance(result, tuple) else result
        (gradient,) = module.autograd.grad(value.sum(), [x], allow_unused=True)
        found.append((value.tolist(), None if gradient is None else tuple(gradient.shape)))
    assert found[0][0] == found[1][0] and found[0][1] in (found[1][1], shape)
