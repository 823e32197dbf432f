"""Elementary functions of complex numbers by their real and imaginary parts: what composites take where x is complex.

- Formulas and branch cuts: Kahan, Branch cuts for complex elementary functions (1987). The sign of a zero decides
  the side of a cut.
- Limits at infinity are those of C's annex G, chosen beside the formulas, where infinities meet zeros.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_ops.formula import conj, ops

#: From where on log |1 + z| is log |z| in double precision, and the square of |z| is still finite in single.
LARGE = 1e17


def _parts(z: Any) -> tuple[Any, Any]:
    return ops.real(z), ops.imag(z)


def _far(x: Any, y: Any) -> Any:
    return ops.logical_or(ops.eq(ops.abs(x), math.inf), ops.eq(ops.abs(y), math.inf))


def _times(a: Any, b: Any) -> Any:
    """a b, where a zero beside an infinity or NaN stays one."""
    return ops.where(ops.eq(a, 0), a, ops.where(ops.eq(b, 0), b * ops.sign(a), a * b))


def scaled(z: Any, factor: float) -> Any:
    """Each part times a real number: a product of complex numbers would multiply infinities by 0."""
    x, y = _parts(z)
    return ops.complex(x * factor, y * factor)


def _roots(z: Any) -> tuple[Any, Any]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = _parts(z)
    return ops.sqrt(ops.complex(1 - x, -y)), ops.sqrt(ops.complex(x + 1, y))


def asin(z: Any) -> Any:
    (x, y), (left, right) = _parts(z), _roots(z)
    far = _far(x, y)
    return ops.complex(
        ops.atan2(x * 1.0, ops.where(far, ops.abs(y), ops.real(left * right))),
        ops.copysign(ops.where(far, math.inf, ops.asinh(ops.imag(conj(left) * right))), y),
    )


def acos(z: Any) -> Any:
    (x, y), (left, right) = _parts(z), _roots(z)
    far = _far(x, y)
    return ops.complex(
        ops.where(far, ops.atan2(ops.abs(y), x), ops.atan2(ops.real(left), ops.real(right)) * 2),
        ops.copysign(ops.where(far, math.inf, ops.asinh(ops.imag(conj(right) * left))), -y),
    )


def turned(z: Any) -> Any:
    """i z, zeros with their signs."""
    x, y = _parts(z)
    return ops.complex(-y, x * 1.0)


def turned_back(z: Any) -> Any:
    """-i z, zeros with their signs."""
    x, y = _parts(z)
    return ops.complex(y * 1.0, -x)


def asinh(z: Any) -> Any:
    return turned_back(asin(turned(z)))


def acosh(z: Any) -> Any:
    x, y = _parts(z)
    low, high = ops.sqrt(ops.complex(x - 1, y * 1.0)), ops.sqrt(ops.complex(x + 1, y * 1.0))
    far = _far(x, y)
    return ops.complex(
        ops.where(far, math.inf, ops.asinh(ops.real(conj(low) * high))),
        ops.where(far, ops.atan2(y, x), ops.atan2(ops.imag(low), ops.real(high)) * 2),
    )


def atanh(z: Any) -> Any:
    x, y = _parts(z)
    t = ops.abs(x)
    size = ops.log1p(t * 4 / ((1 - t) * (1 - t) + y * y)) * 0.25
    angle = ops.atan2(y * 2, (1 - t) * (t + 1) - y * y) * 0.5
    far = _far(x, y)
    return ops.complex(
        ops.copysign(ops.where(far, 0, size), x),
        ops.copysign(ops.where(ops.logical_and(far, ops.eq(y, y)), math.pi / 2, angle), y),
    )


def atan(z: Any) -> Any:
    return turned_back(atanh(turned(z)))


def sinh(z: Any) -> Any:
    x, y = _parts(z)
    return ops.complex(_times(ops.sinh(x), ops.cos(y)), _times(ops.cosh(x), ops.sin(y)))


def cosh(z: Any) -> Any:
    x, y = _parts(z)
    return ops.complex(_times(ops.cosh(x), ops.cos(y)), _times(ops.sinh(x), ops.sin(y)))


def tan(z: Any) -> Any:
    """sin / cos, by tanh of the imaginary part, which does not overflow."""
    x, y = _parts(z)
    t, h = ops.tan(x), ops.tanh(y)
    below = t * t * h * h + 1
    far = ops.eq(ops.abs(y), math.inf)
    return ops.complex(ops.where(far, 0, t * (1 - h * h) / below), ops.where(far, h, h * (t * t + 1) / below))


def expm1(z: Any) -> Any:
    x, y = _parts(z)
    half = ops.sin(y * 0.5)
    return ops.complex(ops.expm1(x) * ops.cos(y) - half * half * 2, ops.exp(x) * ops.sin(y))


def log1p(z: Any) -> Any:
    """Of large numbers by the magnitude, whose square would overflow."""
    x, y = _parts(z)
    size = ops.abs(z)
    near = ops.log1p(x * (x + 2) + y * y) * 0.5
    return ops.complex(ops.where(ops.gt(size, LARGE), ops.log(size), near), ops.atan2(y * 1.0, x + 1))


def logaddexp(a: Any, b: Any) -> Any:
    first = ops.ge(ops.real(a), ops.real(b))
    large, small = ops.where(first, a, b), ops.where(first, b, a)
    return large + log1p(ops.exp(small - large))
