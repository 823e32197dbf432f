"""Losses under PyTorch's names, where they take more than the ops: weights, choices by a target's dtype."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of log_softmax(input) and class numbers, or probabilities of all classes, along dim 1.

    `input` (N, C, ...) or (C); `target` whole numbers (N, ...), or the shape of input in a floating dtype.

    >>> import tenora
    >>> round(cross_entropy(tenora.zeros(2, 3), tenora.tensor([0, 2])).item(), 4)
    1.0986
    """
    if target.dtype.is_floating_point:
        return tenora_ops.cross_entropy_probabilities(input, target, weight, reduction, label_smoothing)
    if label_smoothing:
        return tenora_ops.cross_entropy_smooth(
            input, target, weight, ignore_index, reduction, label_smoothing
        )
    return tenora_ops.cross_entropy(input, target, weight, ignore_index, reduction)


__all__ = ["cross_entropy"]
