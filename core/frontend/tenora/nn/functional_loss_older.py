"""Losses that are the ops, with PyTorch's two older arguments in PyTorch's places: `size_average` and `reduce`."""

from __future__ import annotations

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .functional_loss import legacy_reduction, need_equal_ranks, need_tensors


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """e^x - y x, or x - y log(x + eps) without `log_input`: the Poisson likelihood of counts y.

    `full` adds Stirling's log y! for counts above 1. `input` and `target` broadcast. The result is one number, or with
    reduction 'none' the broadcast shape. ValueError for another reduction.

    >>> import tenora
    >>> poisson_nll_loss(tenora.zeros(3), tenora.ones(3)).item()
    1.0
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return tenora_ops.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1.

    `input` and `target` broadcast. The result is one number, or with reduction 'none' the broadcast shape. ValueError
    for another reduction.

    >>> import tenora
    >>> hinge_embedding_loss(tenora.tensor([0.5, 0.5]), tenora.tensor([1.0, -1.0]), 2.0).item()
    1.0
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return tenora_ops.hinge_embedding_loss(input, target, margin, reduction=reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + e^(-y x)) for targets y of 1 and -1.

    `input` and `target` broadcast. The result is one number, or with reduction 'none' the broadcast shape. ValueError
    for another reduction.

    >>> import tenora
    >>> round(soft_margin_loss(tenora.zeros(2), tenora.tensor([1.0, -1.0])).item(), 4)
    0.6931
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return tenora_ops.soft_margin_loss(input, target, reduction=reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (a - b) + margin): the first should rank above the second where the target is 1, below where it is -1.

    The three broadcast with equal numbers of dimensions, else RuntimeError. The result is one number, or with reduction
    'none' the broadcast shape. ValueError for another reduction.

    >>> import tenora
    >>> margin_ranking_loss(tenora.ones(2), tenora.zeros(2), tenora.tensor([1.0, -1.0])).item()
    0.5
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    need_equal_ranks("margin_ranking_loss", input1=input1, input2=input2, target=target)
    return tenora_ops.margin_ranking_loss(input1, input2, target, margin, reduction=reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    Vectors (N, D) with targets (N), or (D) with one target. The result is one number, or with reduction 'none' the
    shape of `target`. RuntimeError for sizes that do not fit, ValueError for another reduction.

    >>> import tenora
    >>> x, y = tenora.tensor([[1.0, 0.0]]), tenora.tensor([[0.0, 2.0]])
    >>> cosine_embedding_loss(x, y, tenora.tensor([1])).item()
    1.0
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    need_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    if target.ndim > 1:
        raise errors.OperationError(
            f"[cosine_embedding_loss] target: got {list(target.shape)}, expected one number per pair of vectors. "
            "Squeeze or flatten it."
        )
    if not input1.ndim == input2.ndim == target.ndim + 1:
        ranks = (input1.ndim, input2.ndim)
        raise errors.OperationError(
            f"[cosine_embedding_loss] dimensions: got {ranks} and a target of {target.ndim}, expected vectors (D) with "
            "one target, or (N, D) with (N). Reshape the operands."
        )
    return tenora_ops.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over labels and other classes of max(0, 1 - x[label] + x[class]), divided by the number of classes.

    `input` (N, C) or (C); `target` of the same shape has a sample's labels up to the first -1. The result is one
    number, or with reduction 'none' (N). ValueError for another reduction.

    >>> import tenora
    >>> multilabel_margin_loss(tenora.zeros(1, 4), tenora.tensor([[2, -1, 0, 0]])).item()
    0.75
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return tenora_ops.multilabel_margin_loss(input, target, reduction=reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of -(y log sigmoid(x) + (1 - y) log sigmoid(-x)).

    `input` and `target` (N, ..., C); `weight` broadcasts to them. The result is one number, or with reduction 'none'
    (N, ...). ValueError for another reduction.

    >>> import tenora
    >>> round(multilabel_soft_margin_loss(tenora.zeros(2, 3), tenora.ones(2, 3)).item(), 4)
    0.6931
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return tenora_ops.multilabel_soft_margin_loss(input, target, weight, reduction=reduction)
