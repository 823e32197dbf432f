"""Oracles of the Fourier transforms: the sums of their definition, term by term in double precision."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

from tenora_ops.lazy import np


def dft(x: Any, dim: int, inverse: bool = False) -> Any:
    """By its definition: one exact sum per number."""
    moved = np.moveaxis(np.asarray(x, dtype=complex), dim, -1)
    n = moved.shape[-1]
    sign = 2j if inverse else -2j
    turns = [cmath.exp(sign * math.pi * (k / n)) for k in range(n)]
    out = np.empty(moved.shape, complex)
    for index in np.ndindex(moved.shape[:-1]):
        row = moved[index].tolist()
        for k in range(n):
            terms = [row[j] * turns[j * k % n] for j in range(n)]
            out[(*index, k)] = complex(math.fsum(t.real for t in terms), math.fsum(t.imag for t in terms))
    return np.moveaxis(out, -1, dim)


def dfts(x: Any, dims: Sequence[int], inverse: bool = False) -> Any:
    for d in dims:
        x = dft(x, d, inverse)
    return x


def half(x: Any, dim: int) -> Any:
    return np.take(x, range(x.shape[dim] // 2 + 1), dim)


def mirrored(x: Any, dim: int, n: int) -> Any:
    """The whole Hermitian spectrum that a half stands for; its first and middle numbers count as real."""
    given = np.moveaxis(np.asarray(x, dtype=complex), dim, -1)
    whole = np.zeros((*given.shape[:-1], n), complex)
    for k in range(n):
        source = given[..., k] if k <= n // 2 else given[..., n - k].conj()
        whole[..., k] = source.real if k == 0 or 2 * k == n else source
    return np.moveaxis(whole, -1, dim)


def expect_c2c(x: Any, s: Any, dim: Any, norm: str | None, inverse: bool) -> Any:
    """The oracle of `c2c`."""
    dims, lengths = _wanted(x, s, dim)
    found = dfts(_resized(x, dims, lengths), dims, inverse)
    return found * factor_of(norm, math.prod(lengths), inverse)


def _wanted(x: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    every = list(range(x.ndim))
    dims = every[x.ndim - len(s) :] if dim is None and s is not None else every if dim is None else list(dim)
    return dims, [x.shape[d] for d in dims] if s is None else list(s)


def factor_of(norm: str | None, count: int, inverse: bool) -> float:
    """The normalisation's factor."""
    return {"ortho": 1 / math.sqrt(count), "forward": 1.0 if inverse else 1 / count}.get(
        norm or "", 1 / count if inverse else 1.0
    )


def _resized(x: Any, dims: Sequence[int], lengths: Sequence[int]) -> Any:
    for d, n in zip(dims, lengths, strict=True):
        x = np.moveaxis(x, d, 0)
        out = np.zeros((n, *x.shape[1:]), x.dtype)
        out[: min(n, len(x))] = x[:n]
        x = np.moveaxis(out, 0, d)
    return x


def expect_r2c(x: Any, s: Any, dim: Any, norm: str | None, inverse: bool) -> Any:
    """The oracle of `r2c`."""
    dims, lengths = _wanted(x, s, dim)
    found = dfts(_resized(x, dims, lengths), dims, inverse)
    return half(found, dims[-1]) * factor_of(norm, math.prod(lengths), inverse)


def expect_c2r(x: Any, s: Any, dim: Any, norm: str | None, inverse: bool) -> Any:
    """The oracle of `c2r`."""
    dims, lengths = _wanted(x, s, dim)
    if s is None:
        lengths[-1] = 2 * (x.shape[dims[-1]] - 1)
    n = lengths[-1]
    x = _resized(np.asarray(x, dtype=complex), dims, [*lengths[:-1], n // 2 + 1])
    x = dfts(x, dims[:-1], inverse)
    return dft(mirrored(x, dims[-1], n), dims[-1], inverse).real * factor_of(
        norm, math.prod(lengths), inverse
    )


def frames_oracle(
    x: Any,
    n_fft: int,
    hop: Any = None,
    win: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: Any = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    return_complex: bool = True,
) -> Any:
    """The short-time transform, frame by frame."""
    hop, win = hop or n_fft // 4, win or n_fft
    weights = np.zeros(n_fft)
    weights[(n_fft - win) // 2 :][:win] = 1 if window is None else window
    edge = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2,) * 2]
    x = (
        np.pad(x, edge, mode={"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode))
        if center
        else x
    )
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    found = np.stack([dft(x[..., s : s + n_fft] * weights, -1) for s in starts], -1)
    found = found * (1 / math.sqrt(n_fft) if normalized else 1.0)
    return found[..., : n_fft // 2 + 1, :] if onesided else found


def signal_oracle(
    x: Any,
    n_fft: int,
    hop: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Any = None,
) -> Any:
    """The signal of a short-time transform without a window: the mean of the frames at every point."""
    hop = hop or n_fft // 4
    count = x.shape[-1]
    total = np.zeros((*x.shape[:-2], n_fft + hop * (count - 1)))
    times = np.zeros(total.shape[-1])
    for i in range(count):
        spectrum = mirrored(x[..., i], -1, n_fft)  # a whole one by its first half
        frame = dft(spectrum, -1, True).real / (math.sqrt(n_fft) if normalized else n_fft)
        total[..., i * hop : i * hop + n_fft] += frame
        times[i * hop : i * hop + n_fft] += 1
    start = n_fft // 2 if center else 0
    whole = (total / times)[..., start : total.shape[-1] - start if length is None else start + length]
    short = 0 if length is None else length - whole.shape[-1]
    return np.pad(whole, [(0, 0)] * (whole.ndim - 1) + [(0, max(short, 0))])
