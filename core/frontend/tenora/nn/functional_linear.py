"""Cross entropy of a linear layer's outputs, as one function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..creation_steps import need_tensor
from .functional_loss import cross_entropy


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch splits the computation to save memory. tenora takes the options and computes in one piece.

    >>> import tenora
    >>> options = LinearCrossEntropyOptions(batch_chunk_size=1)
    >>> x, weight, target = tenora.ones(2, 3), tenora.eye(3), tenora.tensor([0, 2])
    >>> linear_cross_entropy(x, weight, target, options=options) == linear_cross_entropy(x, weight, target)
    tensor(True)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy(input @ linear_weight^T + linear_bias, target)`.

    Shapes: `input` (N, in_features) or (in_features); `linear_weight` (C, *out_features, in_features); `linear_bias`
    (C, *out_features); `target` classes (N, *out_features) or probabilities (N, C, *out_features).

    RuntimeError for a weight without rows for classes; other arguments and errors as in `cross_entropy`.

    >>> import tenora
    >>> loss = linear_cross_entropy(tenora.zeros(2, 3), tenora.ones(4, 3), tenora.tensor([1, 0]))
    >>> round(loss.item(), 4)
    1.3863
    """
    need_tensor("linear_cross_entropy", linear_weight, "linear_weight")
    classes = tuple(linear_weight.shape[:-1])
    if not classes:
        raise errors.OperationError(
            f"[linear_cross_entropy] linear_weight: got {linear_weight.ndim} dimensions, expected at least 2, "
            "(C, ..., in_features). Pass a weight with a row for each class."
        )
    flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
    flat = tenora_ops.linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), flat_bias)
    return cross_entropy(
        flat.reshape(*input.shape[:-1], *classes),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


__all__ = ["LinearCrossEntropyOptions", "linear_cross_entropy"]
