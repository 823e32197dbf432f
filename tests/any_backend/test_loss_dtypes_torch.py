"""Losses with targets of every dtype against PyTorch: the same result, or the same class of error.

`DIFFERENT` lists what tenora answers where PyTorch refuses, and what it computes in another dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from differences import LOSSES as DIFFERENT

import tenora
from tenora_ops.samples import COMPLEX, HALVES, INTEGERS

pytestmark = pytest.mark.oracle

DTYPES = (
    "bool",
    *(d for d in INTEGERS if not d.startswith("uint") or d == "uint8"),
    *HALVES,
    "float32",
    "float64",
)
WHOLE = tuple(d for d in DTYPES if "float" not in d)
FLOATS = ("float32", "float64", *HALVES)
TRUTHS, SIGNS, CLASSES, ONES = [[1, 0, 1], [0, 1, 0]], [[1, -1, 1], [-1, 1, -1]], [2, 0], [1, 1]
Loss = Callable[[Any, Any, Any], Any]


def _named(name: str) -> Loss:
    return lambda m, x, y: getattr(m.nn.functional, name)(x, y)


#: Name -> the loss of input and target, and the target's numbers.
LOSSES: dict[str, tuple[Loss, list[Any]]] = {
    **{
        name: (_named(name), TRUTHS)
        for name in ("binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss")
    },
    **{name: (_named(name), TRUTHS) for name in ("kl_div", "poisson_nll_loss")},
    **{name: (_named(name), CLASSES) for name in ("nll_loss", "cross_entropy", "multi_margin_loss")},
    "multilabel_margin_loss": (_named("multilabel_margin_loss"), SIGNS),
    "cross_entropy of probabilities": (_named("cross_entropy"), TRUTHS),
    "cross_entropy, smoothed": (
        lambda m, x, y: m.nn.functional.cross_entropy(x, y, label_smoothing=0.1),
        CLASSES,
    ),
    "nll_loss, weighted": (
        lambda m, x, y: m.nn.functional.nll_loss(x, y, m.tensor([1.0, 2.0, 3.0]).to(x.dtype)),
        CLASSES,
    ),
    "nll_loss of one": (lambda m, x, y: m.nn.functional.nll_loss(x[0], y[0]), CLASSES),
    "nll_loss in space": (
        lambda m, x, y: m.nn.functional.nll_loss(x.reshape(1, 3, 2), y.reshape(1, 2)),
        CLASSES,
    ),
    "NLLLoss": (lambda m, x, y: m.nn.NLLLoss()(x, y), CLASSES),
    "CrossEntropyLoss": (lambda m, x, y: m.nn.CrossEntropyLoss()(x, y), CLASSES),
    "binary_cross_entropy, weight": (
        lambda m, x, y: m.nn.functional.binary_cross_entropy(x, (y != 0).to(x.dtype), weight=y),
        TRUTHS,
    ),
    "ctc_loss": (
        lambda m, x, y: m.nn.functional.ctc_loss(x.reshape(2, 1, 3), y.reshape(1, 2), (2,), (1,)),
        ONES,
    ),
    "ctc_loss, lengths": (
        lambda m, x, y: m.nn.functional.ctc_loss(
            x.reshape(2, 1, 3), m.tensor([[1, 2]]), m.tensor([2]).to(y.dtype), m.tensor([1]).to(y.dtype)
        ),
        ONES,
    ),
}


def answer(m: Any, name: str, input_dtype: str, dtype: str) -> Any:
    loss, numbers = LOSSES[name]
    target = m.tensor(numbers)
    target = (target.abs() if dtype in ("bool", "uint8") else target).to(getattr(m, dtype))
    x = m.tensor([[0.1, 0.7, 0.3], [0.9, 0.4, 0.6]]).to(getattr(m, input_dtype))
    try:
        found = loss(m, x, target)
    except (RuntimeError, ValueError, TypeError) as error:
        return error
    return str(found.dtype).split(".")[-1], found.item()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("input_dtype", FLOATS)
@pytest.mark.parametrize("name", LOSSES)
def test_targets(name: str, input_dtype: str) -> None:
    inputs, targets, _ = DIFFERENT.get(name, ((), (), ""))
    for dtype in (*DTYPES, COMPLEX[0]):
        theirs, mine = answer(torch, name, input_dtype, dtype), answer(tenora, name, input_dtype, dtype)
        told = f"{dtype}: {theirs} {mine}"
        if input_dtype in inputs and dtype in targets:
            assert isinstance(theirs, Exception) and not isinstance(mine, Exception), told
        elif isinstance(theirs, Exception):
            class_ = RuntimeError if isinstance(theirs, NotImplementedError) else type(theirs)
            assert isinstance(mine, class_) or (dtype in COMPLEX and isinstance(mine, Exception)), told
        elif isinstance(mine, Exception):
            assert dtype in COMPLEX, told  # a loss of complex targets has no meaning
        else:
            assert mine[0] == theirs[0], told
            half = input_dtype in HALVES or dtype in HALVES
            assert mine[1] == pytest.approx(theirs[1], rel=1e-2 if half else 1e-5), told


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64"])
def test_probabilities_are_floating(dtype: str) -> None:
    for m in (torch, tenora):
        target: Any = m.ones(2, 3).to(getattr(m, dtype))
        with pytest.raises(RuntimeError, match="float"):
            m.nn.functional.cross_entropy(m.ones(2, 3), target)
