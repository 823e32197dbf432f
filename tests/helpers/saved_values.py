"""Dtypes of tensors, and NumPy's numbers and arrays, that files are to keep."""

from __future__ import annotations

import ml_dtypes
import numpy as np

DTYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
NUMBERS = [
    np.float64(0.1),
    np.float32(1.5),
    np.float16(-0.0),
    np.int64(-3),
    np.uint64(2**64 - 1),
    np.int8(-1),
    np.bool_(True),
    np.complex64(1 - 2j),
    np.complex128(1j),
    np.str_("größer"),
    np.str_(""),
    np.bytes_(b"ab"),
    np.datetime64("2024-02-29T12"),
    np.timedelta64(25, "s"),
]
RECORDS = np.zeros(5, dtype=[("a", "u1"), ("b", "f4")])
ARRAYS = [
    *(np.arange(6).astype(kind).reshape(2, 3) for kind in "? b B h H i I l L e f d F D".split()),
    np.arange(6).astype(ml_dtypes.bfloat16),
    np.arange(6.0)[::-2],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.broadcast_to(np.arange(3), (2, 3)),
    np.lib.stride_tricks.sliding_window_view(np.arange(5), 3),
    RECORDS["b"],
    np.arange(3, dtype=">f4"),
    np.array(2.5),
    np.zeros((2, 0)),
    np.array(["cat", "größer", ""]),
    np.array([b"a", b"bc"]),
    np.array(["2024-02-29", "NaT"], dtype="M8[D]"),
    np.array([1, 2], dtype="m8[25s]"),
    np.zeros((0, 2), dtype="U3"),
]
