"""What the kernels share: the type of their arrays, groups of dtypes, and silence about IEEE arithmetic."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[..., Any]
# A kernel, and the dtypes of its first operand that it takes.
Table = dict[str, tuple[Kernel, tuple[str, ...]]]

BOOL = ("bool",)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*UNSIGNED, "int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
NUMBERS = INTS + FLOATS
EVERY = BOOL + NUMBERS


def silent(kernel: Kernel) -> Kernel:
    """The kernel without warnings: 1 / 0 and overflow are defined, and nobody asked to hear of them."""
    return np.errstate(all="ignore")(kernel)


def is_float(array: Array) -> bool:
    """Whether the elements are floating."""
    return array.dtype.kind == "f"
