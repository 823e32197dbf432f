"""First and second gradients of complex statistics, scans and blends against PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

#: Name -> the shapes of the operands, and the call on them.
CALLS: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "cov": ([(3, 4)], lambda m, x: m.cov(x)),
    "cov of one variable": ([(5,)], lambda m, x: m.cov(x)),
    "cov without correction": ([(3, 4)], lambda m, x: m.cov(x, correction=0)),
    "cov by counts": ([(3, 4)], lambda m, x: m.cov(x, fweights=m.tensor([1, 2, 0, 3]))),
    "cov by weights": (
        [(3, 4)],
        lambda m, x: m.cov(x, aweights=m.tensor([0.1, 0.2, 0.5, 0.3], dtype=m.float64)),
    ),
    "corrcoef": ([(3, 4)], lambda m, x: m.corrcoef(x)),
    "logcumsumexp": ([(4, 3)], lambda m, x: m.logcumsumexp(x, 0)),
    "logcumsumexp along the last dim": ([(4, 3)], lambda m, x: m.logcumsumexp(x, 1)),
    "lerp": ([(3, 2), (3, 2), (3, 2)], lambda m, x, y, w: m.lerp(x, y, w)),
    "lerp that broadcasts": ([(3, 2), (2,), ()], lambda m, x, y, w: m.lerp(x, y, w)),
    "lerp by a number": ([(3, 2), (3, 2)], lambda m, x, y: m.lerp(x, y, 0.3)),
    "lerp by a complex number": ([(3, 2), (3, 2)], lambda m, x, y: m.lerp(x, y, 0.3 + 1j)),
    "lerp from the other end": ([(3, 2), (3, 2)], lambda m, x, y: m.lerp(x, y, 0.8 - 0.1j)),
}


def _operand(m: Any, shape: tuple[int, ...], seed: int) -> Any:
    numbers = [complex(math.sin(3 * i + seed), math.cos(5 * i * i + seed)) for i in range(math.prod(shape))]
    return m.tensor(numbers, dtype=m.complex128).reshape(shape).requires_grad_(True)


def _number(m: Any, x: Any) -> Any:
    """A real function of real and imaginary parts, which tell a gradient from its conjugate."""
    return (m.real(x) * 0.7 + m.imag(x) * 1.3).sum()


def _gradients(m: Any, name: str) -> list[list[list[complex]]]:
    shapes, call = CALLS[name]
    operands = [_operand(m, shape, i) for i, shape in enumerate(shapes)]
    first = m.autograd.grad(_number(m, call(m, *operands)), operands, create_graph=True)
    # The squares of operands: a first gradient may be constant.
    second = m.autograd.grad(
        sum(_number(m, g * g + x * x) for g, x in zip(first, operands, strict=True)), operands
    )
    return [[g.detach().reshape(-1).tolist() for g in gradients] for gradients in (first, second)]


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name: str) -> None:
    for order, (mine, theirs) in enumerate(
        zip(_gradients(tenora, name), _gradients(torch, name), strict=True)
    ):
        for a, b in zip(mine, theirs, strict=True):
            torch.testing.assert_close(
                torch.tensor(a, dtype=torch.complex128),
                torch.tensor(b, dtype=torch.complex128),
                rtol=1e-9,
                atol=1e-10,
                msg=lambda text, order=order: f"gradient {order + 1}: {text}",
            )
