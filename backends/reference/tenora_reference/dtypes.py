"""Dtypes by name, and the rule for half types: compute in float32, round once."""

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)

BOOL = ("bool",)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = UNSIGNED + SIGNED
HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
COMPLEX = ("complex64", "complex128")
REALS = BOOL + INTEGERS + FLOATS
NUMBERS = INTEGERS + FLOATS
EVERY = REALS + COMPLEX


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether arithmetic on `dtype` is done in float32."""
    return dtype == FLOAT16 or dtype == BFLOAT16


def widen(array: Array) -> Array:
    """A half array as float32; any other array as it is."""
    return array.astype(FLOAT32) if is_half(array.dtype) else array


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Real floating dtypes; bfloat16 is of NumPy kind "V" or "f" depending on the version of ml_dtypes."""
    return dtype.kind == "f" or dtype == BFLOAT16
