"""Functions behind the layers: the ops themselves, under PyTorch's names."""

from __future__ import annotations

from tenora_engine import Tensor
from tenora_ops import (
    binary_cross_entropy_with_logits,
    cross_entropy_probabilities,
    cross_entropy_smooth,
    dropout,
    elu,
    embedding,
    gelu,
    l1_loss,
    layer_norm,
    leaky_relu,
    linear,
    log_softmax,
    mse_loss,
    nll_loss,
    pad,
    relu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softmax,
    softplus,
    tanh,
)
from tenora_ops import cross_entropy as _cross_entropy_of_classes


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
        return cross_entropy_probabilities(input, target, weight, reduction, label_smoothing)
    if label_smoothing:
        return cross_entropy_smooth(input, target, weight, ignore_index, reduction, label_smoothing)
    return _cross_entropy_of_classes(input, target, weight, ignore_index, reduction)


__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "pad",
    "relu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
]
