"""Arrays, layouts and comparisons for the tests of native kernels."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_table import BFLOAT16, Array, numpy_dtype

LAYOUTS = ("dense", "transposed", "strided", "negative", "offset")


def library() -> Path:
    """The native library: TENORA_CPU_MKL_LIBRARY (a build with sanitizers) or the installed one."""
    given = os.environ.get("TENORA_CPU_MKL_LIBRARY")
    if given:
        return Path(given)
    package = pytest.importorskip("tenora_cpu_mkl", reason="tenora-cpu-mkl is not installed")
    return Path(package.library_path())


def draw(
    name: str,
    shape: tuple[int, ...],
    *,
    seed: int = 0,
    positive: bool = False,
    nonzero: bool = False,
    small: bool = False,
) -> Array:
    """Random numbers of a dtype; magnitudes up to about 6, small: up to 3."""
    rng = np.random.default_rng(seed)
    top = 3 if small else 7
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in name:
        low = 0 if name.startswith("u") or positive else -top
        values = rng.integers(low, top + 1, shape)
        if nonzero:
            values = np.where(values == 0, 1, values)
        if small:
            values = np.abs(values)
        return values.astype(name)
    values = rng.uniform(0.1 if positive else -top, top, shape)
    if nonzero:
        values = np.where(np.abs(values) < 0.1, 0.5, values)
    if name.startswith("complex"):
        return np.asarray(values / 3 + 1j * rng.uniform(-2, 2, shape)).astype(name)
    return np.asarray(values).astype(numpy_dtype(name))


def empty_like_layout(shape: tuple[int, ...], dtype: np.dtype[Any], layout: str) -> Array:
    """An uninitialised array of a shape, laid out in memory in the named way."""
    if layout == "transposed":
        return np.empty(shape[::-1], dtype).T
    if layout == "strided":
        return np.empty(tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "negative":
        return np.empty(shape, dtype)[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "offset":
        return np.empty(tuple(n + 3 for n in shape), dtype)[tuple(slice(1, n + 1) for n in shape)]
    return np.empty(shape, dtype)


def lay_out(array: Array, layout: str) -> Array:
    """The same values in another layout."""
    out = empty_like_layout(array.shape, array.dtype, layout)
    out[...] = array
    return out


def as_wide(array: Array) -> Array:
    """Real floats as float64, complex as complex128; others as they are."""
    if array.dtype == BFLOAT16 or array.dtype.kind == "f":
        return array.astype(np.float64)
    return array.astype(np.complex128) if array.dtype.kind == "c" else array


def spacing(want: Array, dtype: np.dtype[Any]) -> Array:
    """One unit in the last place of `dtype` at each wanted value."""
    magnitude = np.abs(want).astype(np.float64)
    if dtype == BFLOAT16:
        return np.maximum(2.0 ** (np.floor(np.log2(np.maximum(magnitude, 2.0**-126))) - 7), 2.0**-133)
    real = np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name))
    with np.errstate(all="ignore"):
        return np.asarray(np.spacing(magnitude.astype(real)), np.float64)


def close(got: Array, want: Array, units: float, message: str) -> None:
    """Exact for bool and integers; for floats within `units` of the last place (+ half of one for the rounding)."""
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=message)
        return
    wide = as_wide(got)
    both_special = np.broadcast_to(~np.isfinite(want) | ~np.isfinite(wide), got.shape)
    np.testing.assert_array_equal(
        wide[both_special], np.broadcast_to(want, got.shape)[both_special], err_msg=message
    )
    error = np.abs(wide - want)[~both_special]
    allowed = ((units + 0.5) * spacing(np.broadcast_to(want, got.shape), got.dtype))[~both_special]
    worst = float(np.max(error / allowed, initial=0))
    assert worst <= 1, f"{message}: {worst * (units + 0.5):.2f} units in the last place"
