"""The discrete Fourier transform over other ops, for any length and a whole stack at once.

- Up to `DIRECT` points: a product with the matrix of the transform. Longer: split by the largest factor up to that
  (Cooley and Tukey 1965); what has none, as a convolution of a length that splits (Bluestein 1970).
- Angles are reduced to one turn with integers before they become floating numbers, so they are as exact as the dtype.
- Sums have the sign exp(-2 pi i j k / n), or + when `inverse`, and no factor.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.linalg_steps import integers, real_dtype

DIRECT = 64


def roots(like: Any, numbers: Any, period: int, inverse: bool) -> Any:
    """exp(-+ 2 pi i number / period) for integers, in the dtype of `like`."""
    angle = ops.to(numbers % period, _engine.float64) * ((2.0 if inverse else -2.0) * math.pi / period)
    real = real_dtype(like.dtype)
    cosine, sine = (
        ops.to(ops.to(_exact_zeros(part), real), like.dtype) for part in (ops.cos(angle), ops.sin(angle))
    )
    return cosine + sine * 1j


def _exact_zeros(parts: Any) -> Any:
    """Zero at the quarter turns, where rounded angles give 1e-16: what is not zero is at least 1 / period."""
    return ops.where(ops.lt(ops.abs(parts), 1e-15), 0, parts)


def largest_factor(n: int) -> int:
    """The largest divisor that a matrix does; 1 where there is none."""
    return next(p for p in range(DIRECT, 0, -1) if n % p == 0)


def transform(x: Any, inverse: bool) -> Any:
    """Over the last dim of a complex tensor."""
    n = x.shape[-1]
    if n <= 1:
        return ops.clone(x)
    if n <= DIRECT:
        place = integers(x, n)
        return ops.matmul(x, roots(x, ops.unsqueeze(place, -1) * place, n, inverse))
    p = largest_factor(n)
    if p == 1:
        return _convolved(x, inverse)
    m = n // p
    # x[q + p r] -> (..., q, r): transforms of length m, twiddles, transforms of length p
    parts = ops.transpose(ops.reshape(x, [*x.shape[:-1], m, p]), -2, -1)
    inner = transform(ops.contiguous(parts), inverse)
    turns = ops.unsqueeze(integers(x, p), -1) * integers(x, m)
    inner = ops.transpose(inner * roots(x, turns, n, inverse), -2, -1)
    outer = transform(ops.contiguous(inner), inverse)  # (..., k2, k1): result k2 + m k1
    return ops.reshape(ops.transpose(outer, -2, -1), x.shape)


def _convolved(x: Any, inverse: bool) -> Any:
    """Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution."""
    n = x.shape[-1]
    size = 1 << (2 * n - 1).bit_length()
    place = integers(x, n)
    chirp = roots(x, place * place, 2 * n, inverse)
    signal = ops.pad(x * chirp, [0, size - n])
    kernel = ops.conj(chirp)
    around = ops.flip(kernel[1:], [0])
    middle = ops.zeros([size - 2 * n + 1], dtype=x.dtype, device=x.device)
    kernel = ops.cat([kernel, middle, around], 0)
    product = transform(signal, False) * transform(kernel, False)
    return transform(product, True)[..., :n] * chirp / size


def along(x: Any, dims: Any, inverse: bool) -> Any:
    """Over several dims, one after another."""
    for d in dims:
        x = ops.transpose(transform(ops.contiguous(ops.transpose(x, d, -1)), inverse), d, -1)
    return ops.contiguous(x)
