"""Dropout under PyTorch's names: without `training` the result is the input itself.

All raise ValueError unless `p` lies between 0 and 1.
"""

from __future__ import annotations

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_ops.checks import need_probability


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability `p` and scales the others by `1 / (1 - p)` (Srivastava et al. 2014).

    Without `training` the result is `input` itself. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> dropout(tenora.ones(3), 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    need_probability("dropout", p)
    if not training:
        return input
    result = tenora_ops.dropout(input, p, True)
    return input.copy_(result) if inplace else result


def _channels(op: str, input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Whole channels; an input without batch gets one for the while."""
    need_probability(op, p)
    if not training:
        return input
    one = input if batched else tenora_ops.unsqueeze(input, 0)
    result = tenora_ops.feature_dropout(one, p, True)
    result = result if batched else tenora_ops.squeeze(result, 0)
    return input.copy_(result) if inplace else result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L). RuntimeError for other ranks."""
    if input.ndim not in (2, 3):
        raise errors.OperationError(
            f"[dropout1d] input: got {input.ndim} dimensions, expected 2 or 3, (N, C, L). Reshape it."
        )
    return _channels("dropout1d", input, p, training, inplace, input.ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, H, W); three dimensions are read as (N, C, L), as in PyTorch."""
    return _channels("dropout2d", input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _channels("dropout3d", input, p, training, inplace, input.ndim != 4)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of standard normal input (Klambauer et al. 2017)."""
    need_probability("alpha_dropout", p)
    if not training:
        return input
    result = tenora_ops.alpha_dropout(input, p, True)
    return input.copy_(result) if inplace else result


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels (N, C, ...)."""
    need_probability("feature_alpha_dropout", p)
    if not training:
        return input
    result = tenora_ops.feature_alpha_dropout(input, p, True)
    return input.copy_(result) if inplace else result


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
