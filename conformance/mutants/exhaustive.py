"""Checks that show a mutant to be equivalent by trying everything it can meet; `equivalents.toml` names them."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np


def extremes_of_halves() -> bool:
    """argmax and argmin order the half types as they order their float32 values: all neighbours, and all beside NaN.

    Both only compare, and the order is transitive, so neighbours in it say everything.
    """
    bits = np.arange(1 << 16, dtype=np.uint16)
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        values = bits.view(dtype)
        ordered = values[np.argsort(values.astype(np.float32), kind="stable")]
        beside = np.full_like(values, np.nan)
        pairs = [(ordered[:-1], ordered[1:]), (values, values), (values, beside)]
        for a, b in [*pairs, *((b, a) for a, b in pairs)]:
            rows = np.stack([a, b], axis=-1)
            for find in (np.argmax, np.argmin):
                if not np.array_equal(find(rows, axis=-1), find(rows.astype(np.float32), axis=-1)):
                    return False
    return True


CHECKS: dict[str, Callable[[], bool]] = {"extremes_of_halves": extremes_of_halves}
