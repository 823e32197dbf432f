"""Functions behind the layers: the ops themselves, under PyTorch's names."""

from __future__ import annotations

from tenora_engine import Tensor
from tenora_ops import (
    binary_cross_entropy_with_logits,
    cross_entropy_probabilities,
    cross_entropy_smooth,
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
from tenora_ops import dropout as _dropout


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability `p` and scales the others by `1 / (1 - p)` (Srivastava et al. 2014).

    Without `training` the result is `input` itself. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> dropout(tenora.ones(3), 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"[dropout] p: got {p}, expected a probability from 0 to 1.")
    if not training:
        return input
    result = _dropout(input, p, True)
    return input.copy_(result) if inplace else result


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
