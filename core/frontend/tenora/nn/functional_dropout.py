"""Dropout under PyTorch's names: without `training` the result is the input itself."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor


def _check(op: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"[{op}] p: got {p}, expected a probability from 0 to 1.")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability `p` and scales the others by `1 / (1 - p)` (Srivastava et al. 2014).

    Without `training` the result is `input` itself. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> dropout(tenora.ones(3), 1.0).tolist()
    [0.0, 0.0, 0.0]
    """
    _check("dropout", p)
    if not training:
        return input
    result = tenora_ops.dropout(input, p, True)
    return input.copy_(result) if inplace else result


__all__ = ["dropout"]
