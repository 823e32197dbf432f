"""Elementary functions of complex numbers by their real and imaginary parts: what composites take where x is complex.

- Formulas and branch cuts: Kahan, Branch cuts for complex elementary functions (1987). The sign of a zero decides
  the side of a cut.
"""

from __future__ import annotations

from typing import Any

from tenora_ops.formula import conj, ops


def _parts(z: Any) -> tuple[Any, Any]:
    return ops.real(z), ops.imag(z)


def _roots(z: Any) -> tuple[Any, Any]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    x, y = _parts(z)
    return ops.sqrt(ops.complex(1 - x, -y)), ops.sqrt(ops.complex(x + 1, y))


def asin(z: Any) -> Any:
    left, right = _roots(z)
    return ops.complex(
        ops.atan2(ops.real(z) * 1.0, ops.real(left * right)), ops.asinh(ops.imag(conj(left) * right))
    )


def acos(z: Any) -> Any:
    left, right = _roots(z)
    return ops.complex(
        ops.atan2(ops.real(left), ops.real(right)) * 2, ops.asinh(ops.imag(conj(right) * left))
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
    return ops.complex(ops.asinh(ops.real(conj(low) * high)), ops.atan2(ops.imag(low), ops.real(high)) * 2)


def atanh(z: Any) -> Any:
    x, y = _parts(z)
    t = ops.abs(x)
    size = ops.log1p(t * 4 / ((1 - t) * (1 - t) + y * y)) * 0.25
    return ops.complex(ops.copysign(size, x), ops.atan2(y * 2, (1 - t) * (t + 1) - y * y) * 0.5)


def atan(z: Any) -> Any:
    return turned_back(atanh(turned(z)))


def sinh(z: Any) -> Any:
    x, y = _parts(z)
    return ops.complex(ops.sinh(x) * ops.cos(y), ops.cosh(x) * ops.sin(y))


def cosh(z: Any) -> Any:
    x, y = _parts(z)
    return ops.complex(ops.cosh(x) * ops.cos(y), ops.sinh(x) * ops.sin(y))


def tan(z: Any) -> Any:
    """sin / cos, by tanh of the imaginary part, which does not overflow."""
    x, y = _parts(z)
    t, h = ops.tan(x), ops.tanh(y)
    below = t * t * h * h + 1
    return ops.complex(t * (1 - h * h) / below, h * (t * t + 1) / below)


def expm1(z: Any) -> Any:
    x, y = _parts(z)
    half = ops.sin(y * 0.5)
    return ops.complex(ops.expm1(x) * ops.cos(y) - half * half * 2, ops.exp(x) * ops.sin(y))


def log1p(z: Any) -> Any:
    x, y = _parts(z)
    return ops.complex(ops.log1p(x * (x + 2) + y * y) * 0.5, ops.atan2(y * 1.0, x + 1))


def logaddexp(a: Any, b: Any) -> Any:
    first = ops.ge(ops.real(a), ops.real(b))
    large, small = ops.where(first, a, b), ops.where(first, b, a)
    return large + log1p(ops.exp(small - large))
