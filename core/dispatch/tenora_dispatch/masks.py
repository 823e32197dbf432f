"""Dtype masks and kernel flags: the Python names of the bits in `tenora_backend.h`."""

from collections.abc import Iterable
from enum import IntFlag

# The order is that of `tnr_dtype`; bit i of a mask stands for DTYPES[i].
DTYPES = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
GROUPS: dict[str, int] = {
    "bool": 0x1,
    "ints": 0x1FE,
    "half": 0x600,
    "reals": 0x1800,
    "floats": 0x1E00,
    "complex": 0x6000,
    "all": 0x7FFF,
}


class KernelFlag(IntFlag):
    """What a kernel can take, so that the engine need not prepare it; see `tenora_backend.h`."""

    NONE = 0
    STRIDED = 0x1
    NEGATIVE_STRIDES = 0x2
    STRIDED_OUT = 0x4
    BROADCAST = 0x8
    ACCUMULATE = 0x10
    INPLACE = 0x20
    BLOCKS = 0x40


ALL_FLAGS = 0x7F


def dtype_mask(dtypes: int | str | Iterable[str]) -> int:
    """A mask from a mask, a dtype or group name, or several: `("float32", "ints")`. ValueError names a bad one.

    Example:
        >>> hex(dtype_mask(("float32", "ints")))
        '0x9fe'
    """
    if isinstance(dtypes, int):
        if dtypes <= 0 or dtypes & ~GROUPS["all"]:
            raise ValueError(
                f"dtype mask {dtypes:#x} has no or unknown bits; known bits are {GROUPS['all']:#x}"
            )
        return dtypes
    names = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    if not names:
        raise ValueError("no dtype at all; name at least one, or 'all'")
    mask = 0
    for name in names:
        if name in GROUPS:
            mask |= GROUPS[name]
        elif name in DTYPES:
            mask |= 1 << DTYPES.index(name)
        else:
            known = ", ".join(list(DTYPES) + [group for group in GROUPS if group not in DTYPES])
            raise ValueError(f"unknown dtype {name!r}; known are {known}")
    return mask


def mask_names(mask: int) -> tuple[str, ...]:
    """The dtype names of a mask, in the order of `tnr_dtype`."""
    return tuple(name for bit, name in enumerate(DTYPES) if mask >> bit & 1)
