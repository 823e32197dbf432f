"""Dropout under PyTorch's names: without `training`, and with p = 0, the result is the input itself.

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

    Any shape, the result the same; `inplace` writes it into the input.

    >>> import tenora
    >>> dropout(tenora.ones(3), 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    need_probability("dropout", p)
    if not training or p == 0:
        return input
    result = tenora_ops.dropout(input, p, True)
    return input.copy_(result) if inplace else result


def _channels(op: str, input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Whole channels; an input without batch gets one for the while."""
    need_probability(op, p)
    if not training or p == 0:
        return input
    one = input if batched else tenora_ops.unsqueeze(input, 0)
    result = tenora_ops.feature_dropout(one, p, True)
    result = result if batched else tenora_ops.squeeze(result, 0)
    return input.copy_(result) if inplace else result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L) and scales the others by `1 / (1 - p)` (Tompson et al. 2015).

    The result has the shape of `input` and is it without `training`. ValueError unless `p` lies between 0 and 1,
    RuntimeError for other numbers of dimensions.

    >>> import tenora
    >>> y = dropout1d(tenora.ones(2, 8, 5), 0.5)
    >>> y.unique().tolist(), bool((y.amin(2) == y.amax(2)).all())  # a channel is zero, or doubled, as a whole
    ([0.0, 2.0], True)
    """
    if input.ndim not in (2, 3):
        raise errors.OperationError(
            f"[dropout1d] input: got {input.ndim} dimensions, expected 2 or 3, (N, C, L). Reshape it."
        )
    return _channels("dropout1d", input, p, training, inplace, input.ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, H, W) and scales the others by `1 / (1 - p)` (Tompson et al. 2015).

    Three dimensions are read as (N, C, L), as in PyTorch. The result has the shape of `input` and is it without
    `training`. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = dropout2d(tenora.ones(2, 8, 3, 3), 0.5)
    >>> y.unique().tolist(), bool((y.flatten(2).amin(2) == y.flatten(2).amax(2)).all())
    ([0.0, 2.0], True)
    """
    return _channels("dropout2d", input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) and scales the others (Tompson et al. 2015).

    The factor is `1 / (1 - p)`. The result has the shape of `input` and is it without `training`. ValueError unless `p`
    lies between 0 and 1.

    >>> import tenora
    >>> y = dropout3d(tenora.ones(8, 2, 3, 3), 0.5)
    >>> y.unique().tolist(), bool((y.flatten(1).amin(1) == y.flatten(1).amax(1)).all())
    ([0.0, 2.0], True)
    """
    return _channels("dropout3d", input, p, training, inplace, input.ndim != 4)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of standard normal input (Klambauer et al. 2017).

    What is dropped becomes -1.7581, then all is scaled and moved. The result has the shape of `input` and is it without
    `training`. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = alpha_dropout(tenora.randn(100000), 0.3, training=True)
    >>> bool(y.mean().abs() < 0.05 and (y.var() - 1).abs() < 0.05)
    True
    """
    need_probability("alpha_dropout", p)
    if not training or p == 0:
        return input
    result = tenora_ops.alpha_dropout(input, p, True)
    return input.copy_(result) if inplace else result


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels (N, C, ...) (Klambauer et al. 2017).

    The result has the shape of `input` and is it without `training`. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = feature_alpha_dropout(tenora.zeros(2, 8, 5), 0.5, training=True)
    >>> len(y.unique()), bool((y.amin(2) == y.amax(2)).all())
    (2, True)
    """
    need_probability("feature_alpha_dropout", p)
    if not training or p == 0:
        return input
    result = tenora_ops.feature_alpha_dropout(input, p, True)
    return input.copy_(result) if inplace else result


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
