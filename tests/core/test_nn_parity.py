"""Losses and gradients of `linear` against PyTorch: same weights, same input, same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tenora


def arrays(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(shape) for shape in shapes]


WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])
LOSSES: dict[str, Any] = {
    "cross_entropy": lambda f, x, y, r: f.nn.functional.cross_entropy(x, y, reduction=r),
    "cross_entropy ignore": lambda f, x, y, r: f.nn.functional.cross_entropy(
        x, y, ignore_index=1, reduction=r
    ),
    "nll": lambda f, x, y, r: f.nn.functional.nll_loss(f.nn.functional.log_softmax(x, 1), y, reduction=r),
    "mse": lambda f, x, y, r: f.nn.functional.mse_loss(x, x.detach() * 2 + 1, reduction=r),
    "module with weights": lambda f, x, y, r: f.nn.CrossEntropyLoss(f.tensor(WEIGHTS), reduction=r)(x, y),
    "module with smoothing": lambda f, x, y, r: f.nn.CrossEntropyLoss(
        f.tensor(WEIGHTS), ignore_index=1, reduction=r, label_smoothing=0.1
    )(x, y),
    "module on probabilities": lambda f, x, y, r: f.nn.CrossEntropyLoss(reduction=r)(
        x, f.nn.functional.softmax(x.detach() * 2, 1)
    ),
    "nll module with weights": lambda f, x, y, r: f.nn.NLLLoss(f.tensor(WEIGHTS), reduction=r)(x, y),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str, backend: str) -> None:
    results = []
    for f in (tenora, torch):
        x = f.tensor(arrays((5, 4))[0], requires_grad=True)
        loss = LOSSES[name](f, x, f.tensor(np.array([0, 1, 2, 3, 1])), reduction)
        loss.sum().backward()
        results.append((loss.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


LINEAR_SHAPES = {
    "rows": ((5, 3), (4, 3), (4,)),
    "one row": ((3,), (4, 3), (4,)),
    "stacks of rows": ((2, 3, 5, 3), (4, 3), (4,)),
    "no row": ((2, 0, 3), (4, 3), (4,)),
    "no input features": ((2, 2, 0), (4, 0), (4,)),
    "no output features": ((2, 2, 3), (0, 3), (0,)),
    "weight of rank 1": ((2, 5, 3), (3,), ()),
    "row and weight of rank 1": ((3,), (3,), ()),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("through_sum", [False, True], ids=["dense gradient", "expanded gradient"])
@pytest.mark.parametrize("shapes", LINEAR_SHAPES)
def test_linear_gradients(shapes: str, through_sum: bool, dtype: str) -> None:
    results = []
    for f in (tenora, torch):
        operands = [
            f.tensor(x, dtype=getattr(f, dtype)).requires_grad_() for x in arrays(*LINEAR_SHAPES[shapes])
        ]
        y = f.nn.functional.linear(*operands)
        (y.sum() if through_sum else (y * y * y).sum()).abs().backward()
        results.append([y.detach().numpy(), *(x.grad.numpy() for x in operands)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
