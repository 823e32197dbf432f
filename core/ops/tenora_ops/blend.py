"""`beta * input + alpha * product`, which addmm and its relatives share.

- Where beta is 0, input is not read: a NaN in it does not reach the result.
- Factors of whole numbers are cut to whole numbers, as PyTorch cuts them.
"""

from __future__ import annotations

from typing import Any

from tenora_engine import _engine
from tenora_ops.formula import ops


def blend(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product, of the product's shape and dtype."""
    dtype = product.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        kind = bool if dtype == _engine.bool else int
        beta, alpha = kind(beta), kind(alpha)
    if alpha != 1:
        product = ops.mul(product, alpha)
    if beta == 0:
        return product
    return ops.add(input if beta == 1 else ops.mul(input, beta), product)
