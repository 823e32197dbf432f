"""Fourier transforms through NumPy's pocketfft, without a factor; it keeps single precision single."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenora_reference.dtypes import Array


def complex_to_complex(input: Array, *, dim: Sequence[int], inverse: bool, out: Array) -> None:
    """Over each of `dim`."""
    transform: Callable[..., Any] = np.fft.ifft if inverse else np.fft.fft
    for axis in dim:
        input = transform(input, axis=axis, norm="forward" if inverse else "backward")
    np.copyto(out, input)


def real_to_half(input: Array, *, dim: int, out: Array) -> None:
    """The first half of the spectrum."""
    np.copyto(out, np.fft.rfft(input, axis=dim))


def half_to_real(input: Array, *, dim: int, n: int, out: Array) -> None:
    """n real numbers."""
    np.copyto(out, np.fft.irfft(input, n, axis=dim, norm="forward"))


KERNELS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "fft_c2c": (complex_to_complex, ("complex64", "complex128")),
    "fft_r2c": (real_to_half, ("float32", "float64")),
    "fft_c2r": (half_to_real, ("complex64", "complex128")),
}
