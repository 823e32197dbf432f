"""Every loss with operands of every combination of dtypes: PyTorch's dtype, value and gradients.

- Where PyTorch refuses a combination, nothing is said: there tenora may answer in the promoted dtype.
- Where PyTorch's gradient is none (eps lost in a half type, a logarithm of 0), nothing is said of that element.
- Minus a uint8, and a uint8 minus a larger one, wraps in PyTorch: `WRAPS` names operands that are none here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
#: The dtypes of three operands: one of a kind.
KINDS = ("uint8", "int64", "float16", "bfloat16", "float32", "float64")
SCORES, SHARES = [[0.1, 0.7, 0.3], [0.9, 0.4, 0.6]], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
TRUTHS, SIGNS, COUNTS = [[1, 0, 1], [0, 1, 0]], [[1, -1, 1], [-1, 1, -1]], [[1, 2, 3], [3, 1, 2]]
CLASSES, PAIRS, WEIGHTS = [2, 0], [1, -1], [[1, 2, 1], [2, 1, 3]]
Loss = Callable[..., Any]


def _named(name: str, **options: Any) -> Loss:
    return lambda m, reduction, *t: getattr(m.nn.functional, name)(*t, reduction=reduction, **options)


def _weighted(name: str, **options: Any) -> Loss:
    """With the weight of each class, which has no gradient in PyTorch, after input and target."""
    return lambda m, reduction, x, y, weight: getattr(m.nn.functional, name)(
        x, y, weight=weight[0].detach(), reduction=reduction, **options
    )


#: Name -> the loss of reduction and operands, and the numbers of each operand.
LOSSES: dict[str, tuple[Loss, list[Any]]] = {
    **{
        name: (_named(name), [SCORES, TRUTHS])
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")
    },
    **{
        name: (_named(name), [SCORES, TRUTHS])
        for name in ("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
    },
    **{name: (_named(name), [SCORES, SIGNS]) for name in ("hinge_embedding_loss", "soft_margin_loss")},
    **{
        f"poisson_nll_loss, {log}, {full}": (
            _named("poisson_nll_loss", log_input=log, full=full),
            [COUNTS if full else SHARES, COUNTS],
        )
        for log in (True, False)
        for full in (True, False)
    },
    "kl_div": (_named("kl_div"), [SCORES, SHARES]),
    "kl_div of logarithms": (_named("kl_div", log_target=True), [SCORES, SHARES]),
    "multilabel_margin_loss": (_named("multilabel_margin_loss"), [SCORES, TRUTHS]),
    "margin_ranking_loss": (_named("margin_ranking_loss"), [SCORES, SHARES, TRUTHS]),
    "cosine_embedding_loss": (_named("cosine_embedding_loss"), [SCORES, SHARES, PAIRS]),
    "triplet_margin_loss": (_named("triplet_margin_loss"), [SCORES, SHARES, TRUTHS]),
    "triplet_margin_loss, swap": (_named("triplet_margin_loss", swap=True), [SCORES, SHARES, TRUTHS]),
    "triplet_margin_with_distance_loss": (
        _named("triplet_margin_with_distance_loss"),
        [SCORES, SHARES, TRUTHS],
    ),
    "gaussian_nll_loss": (_named("gaussian_nll_loss"), [SCORES, SHARES, WEIGHTS]),
    "gaussian_nll_loss, full": (_named("gaussian_nll_loss", full=True), [SCORES, SHARES, WEIGHTS]),
    **{
        f"{name}, weight": (
            lambda m, reduction, x, y, weight, name=name: getattr(m.nn.functional, name)(
                x, y, weight=weight, reduction=reduction
            ),
            [SCORES, SHARES, WEIGHTS],
        )
        for name in (
            *("binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"),
            *("mse_loss", "l1_loss", "huber_loss"),
        )
    },
    "binary_cross_entropy_with_logits, pos_weight": (
        lambda m, reduction, x, y, weight: m.nn.functional.binary_cross_entropy_with_logits(
            x, y, reduction=reduction, pos_weight=weight
        ),
        [SCORES, SHARES, WEIGHTS],
    ),
    "cross_entropy of probabilities": (_weighted("cross_entropy"), [SCORES, SHARES, WEIGHTS]),
    "cross_entropy, smoothed": (_weighted("cross_entropy", label_smoothing=0.1), [SCORES, CLASSES, WEIGHTS]),
    **{
        name: (_weighted(name), [SCORES, CLASSES, WEIGHTS])
        for name in ("cross_entropy", "nll_loss", "multi_margin_loss")
    },
}
#: Loss -> the places of operands whose uint8 wraps in PyTorch.
WRAPS = {
    "soft_margin_loss": (1,),
    "margin_ranking_loss": (0, 1, 2),
    "triplet_margin_loss": (0, 1, 2),
    "triplet_margin_loss, swap": (0, 1, 2),
    "triplet_margin_with_distance_loss": (0, 1, 2),
    "binary_cross_entropy_with_logits, pos_weight": (2,),
}


def operands(m: Any, numbers: list[Any], dtypes: tuple[str, ...]) -> list[Any]:
    made = []
    for values, dtype in zip(numbers, dtypes, strict=True):
        given = m.tensor(values)
        tensor = (given.abs() if dtype in ("bool", "uint8") else given).to(getattr(m, dtype))
        made.append(tensor.requires_grad_() if tensor.is_floating_point() else tensor)
    return made


def same(got: Any, theirs: Any, half: bool, where: str) -> None:
    """One dtype, and the same numbers where PyTorch has any."""
    assert str(got.dtype).rsplit(".", 1)[-1] == str(theirs.dtype).rsplit(".", 1)[-1], where
    ours, known = (np.array(t.detach().to(m.float64).tolist()) for m, t in ((tenora, got), (torch, theirs)))
    finite = np.isfinite(known)
    bound = 2e-2 if half else 2e-6
    np.testing.assert_allclose(ours[finite], known[finite], rtol=bound, atol=bound, err_msg=where)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOSSES)
def test_combinations_of_dtypes(name: str, backend: str) -> None:
    loss, numbers = LOSSES[name]
    compared = 0
    combinations = itertools.product(DTYPES if len(numbers) == 2 else KINDS, repeat=len(numbers))
    for number, dtypes in enumerate(combinations):
        if any(dtypes[place] == "uint8" for place in WRAPS.get(name, ())):
            continue
        half = any(d in ("float16", "bfloat16") for d in dtypes)
        for reduction in (
            ("mean", "sum", "none") if len(numbers) == 2 else (("mean", "sum", "none")[number % 3],)
        ):
            where = f"{name} of {', '.join(dtypes)}, {reduction}"
            theirs = operands(torch, numbers, dtypes)
            try:
                known = loss(torch, reduction, *theirs)
            except (RuntimeError, ValueError, TypeError):
                continue
            ours = operands(tenora, numbers, dtypes)
            got = loss(tenora, reduction, *ours)
            same(got, known, half, where)
            compared += 1
            try:
                known.sum().backward()
            except RuntimeError:
                continue  # no gradient, or none of these dtypes
            got.sum().backward()
            for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
                assert (x.grad is None) == (y.grad is None), where
                if x.grad is not None:
                    same(x.grad, y.grad, half, f"{where}, gradient {i}")
    assert compared > 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss"])
def test_a_number_beside_a_row_counts_as_pytorch_counts_it(name: str, backend: str) -> None:
    """Losses that broadcast first take the dtype of both operands, of a 0-d one too."""
    floats = ("int64", "float16", "float32", "float64")
    for dtypes, shapes in itertools.product(itertools.product(floats, floats), (((), (2,)), ((2,), ()))):
        try:
            known = getattr(torch.nn.functional, name)(
                *(torch.ones(s).to(getattr(torch, d)) for s, d in zip(shapes, dtypes, strict=True)),
                reduction="none",
            )
        except RuntimeError:
            continue
        got = getattr(tenora.nn.functional, name)(
            *(tenora.ones(s).to(getattr(tenora, d)) for s, d in zip(shapes, dtypes, strict=True)),
            reduction="none",
        )
        same(got, known, "float16" in dtypes, f"{name} of {dtypes} {shapes}")


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_an_impossible_alignment_has_no_gradient(zero_infinity: bool, reduction: str, backend: str) -> None:
    """Three labels in two frames: inf with NaN in the frames that were read, zeros with zero_infinity."""
    found = []
    for m in (tenora, torch):
        x: Any = m.linspace(0.1, 2, 18, dtype=m.float64).reshape(3, 2, 3).requires_grad_()
        loss = m.nn.functional.ctc_loss(
            m.log_softmax(x, 2),
            m.tensor([[1, 2, 1], [1, 0, 0]]),
            m.tensor([2, 3]),
            m.tensor([3, 1]),
            reduction=reduction,
            zero_infinity=zero_infinity,
        )
        loss.sum().backward()
        found.append([np.array(t.tolist()) for t in (loss.detach(), x.grad)])
    for got, known in zip(*found, strict=True):
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-12)
    assert np.isnan(found[0][1]).any() != zero_infinity
