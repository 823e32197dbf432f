"""Copies and casts, filling, ramps."""

import numpy as np

from tenora_reference.dtypes import BFLOAT16, Array
from tenora_reference.quiet import silent


@silent
def copy(*inputs: Array, out: Array) -> None:
    """The last input converted to the dtype of `out`: cast, clone and assignment in one.

    Float to integer truncates, anything to bool is `!= 0`, real to complex has imaginary part 0, complex to real
    drops the imaginary part (complex to bool looks at both).
    """
    source = inputs[-1]
    if source.dtype.kind == "c" and out.dtype.kind != "c":
        source = source != 0 if out.dtype.kind == "b" else source.real
    if BFLOAT16 in (source.dtype, out.dtype) and source.dtype != out.dtype and source.dtype.kind != "f":
        source = source.astype(np.float32) if source.dtype == BFLOAT16 else _nearest_float(source)
    np.copyto(out, source, casting="unsafe")


def _nearest_float(source: Array) -> Array:
    """An integer or bool array as float32, the type from which bfloat16 is rounded."""
    return source.astype(np.float32)


@silent
def fill(*inputs: Array, value: complex, out: Array) -> None:
    """Every element of `out` becomes `value`."""
    np.copyto(out, np.asarray(value).astype(out.dtype))


@silent
def iota(*, start: float, step: float, out: Array, **_: object) -> None:
    """start + i * step along the one dimension of `out`."""
    steps: Array = np.arange(out.size, dtype=np.float64 if _fractional(start, step) else np.int64)
    np.copyto(out, start + steps * step, casting="unsafe")


def _fractional(*values: float) -> bool:
    return any(isinstance(value, float) for value in values)
