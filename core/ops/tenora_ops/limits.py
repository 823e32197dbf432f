"""What the dtypes of numbers hold: stated once, from the bits of their formats.

- A floating format is bits of exponent and of fraction (IEEE 754; bfloat16 is the upper half of a float32).
- A complex dtype has the limits of its parts.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine

#: Floating dtype -> bits of exponent and of fraction.
FORMATS = {
    _engine.float16: (5, 10),
    _engine.bfloat16: (8, 7),
    _engine.float32: (8, 23),
    _engine.float64: (11, 52),
}
WHOLE = tuple(getattr(_engine, f"{kind}{bits}") for kind in ("uint", "int") for bits in (8, 16, 32, 64))
PARTS = {_engine.complex64: _engine.float32, _engine.complex128: _engine.float64}


def _short(dtype: Any) -> str:
    return str(dtype).removeprefix("tenora.")


class finfo:
    """The limits of a floating dtype; of a complex one those of its parts, without `type` those of the default dtype.

    `bits` of an element, `eps` from 1 to the next number, `max` and `min`, `smallest_normal` (also `tiny`),
    `resolution` (the power of 10 that has all digits) and `dtype`, a name. TypeError for any other dtype.

    >>> import tenora
    >>> tenora.finfo(tenora.float16).max, tenora.finfo(tenora.float16).resolution
    (65504.0, 0.001)
    >>> tenora.finfo(tenora.float32).eps == 2.0**-23
    True
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None) -> None:
        given = _engine.default_dtype() if type is None else type
        part = PARTS.get(given, given) if isinstance(given, _engine.dtype) else given
        if not isinstance(part, _engine.dtype) or part not in FORMATS:
            raise errors.ArgumentTypeError(
                f"[finfo] type is wrong: got {type!r}, expected a floating or complex dtype. Use tenora.iinfo for "
                "whole numbers."
            )
        exponent, fraction = FORMATS[part]
        bias = 2 ** (exponent - 1) - 1
        self.bits = 1 + exponent + fraction
        self.eps: float = 2.0**-fraction
        self.max: float = 2.0**bias * (2 - self.eps)
        self.min = -self.max
        self.smallest_normal: float = 2.0 ** (1 - bias)
        self.tiny = self.smallest_normal
        self.resolution = float(f"1e-{math.floor(fraction * math.log10(2))}")
        self.dtype = _short(part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


class iinfo:
    """The limits of a dtype of whole numbers: `bits` of an element, `max`, `min` and `dtype`, a name.

    TypeError for any other dtype, bool too.

    >>> import tenora
    >>> tenora.iinfo(tenora.uint8)
    iinfo(min=0, max=255, dtype=uint8)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        if not isinstance(type, _engine.dtype) or type not in WHOLE:
            raise errors.ArgumentTypeError(
                f"[iinfo] type is wrong: got {type!r}, expected a dtype of whole numbers. Use tenora.finfo for "
                "floating ones."
            )
        self.bits = type.itemsize * 8
        values = self.bits - type.is_signed  # bits of the value
        self.max = 2**values - 1
        self.min = -(2**values) if type.is_signed else 0
        self.dtype = _short(type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def smallest_subnormal(dtype: Any) -> float:
    """The least number above 0 of a floating or complex dtype."""
    info = finfo(dtype)
    least: float = info.tiny * info.eps
    return least


def default_eps(dtype: Any) -> float:
    """eps of the dtype that sums and means of this one are computed in: at least float32."""
    part = PARTS.get(dtype, dtype)
    return finfo(part if part == _engine.float64 else _engine.float32).eps
