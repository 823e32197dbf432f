"""Discrete Fourier transforms.

- Three ops do the work, without a factor: complex to complex, real to half complex, half complex to real; a backend may
  have kernels for them. The public functions trim or pad, choose dims and scale, and are recorded through these.
- Gradients: a transform is linear, so its adjoint is a transform: of the other sign, with the weights 1 and 2 by which
  a half spectrum stands for the whole one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops import fourier_steps
from tenora_ops.formula import ops
from tenora_ops.fourier_cases import dft, dfts, half, mirrored
from tenora_ops.linalg_rules import PRECISE, Operands, refuse
from tenora_ops.linalg_steps import real_dtype
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, sample

TRANSFORM = Family("fft", "", "", "plain", lambda draw: [], PRECISE, tolerance="contraction")
PUBLIC = Family("fft", "", "", "", lambda draw: [], PRECISE, tolerance="contraction")
REAL = ("float32", "float64")


# ---- the three transforms -----------------------------------------------------------------------------------------
def _complex_dtype(dtype: Any) -> Any:
    return _engine.complex128 if real_dtype(dtype) == _engine.float64 else _engine.complex64


def _whole_rule(operands: Operands, attributes: Operands) -> Any:
    return operands[0][1]


def _half_shape(operands: Operands, attributes: Operands) -> Any:
    shape = list(operands[0][0])
    shape[attributes[0]] = shape[attributes[0]] // 2 + 1
    return shape


def _back_shape(operands: Operands, attributes: Operands) -> Any:
    shape = list(operands[0][0])
    shape[attributes[0]] = attributes[1]
    return shape


fft_c2c = op(
    "fft_c2c(input: Tensor, dim: int[], inverse: bool) -> Tensor",
    family=TRANSFORM,
    dtype=_whole_rule,
    shape=lambda operands, attributes: operands[0][0],
    function=lambda input, dim, inverse: fourier_steps.along(input, dim, inverse),
    vjp=lambda g, x, r, dim, inverse: ops.fft_c2c(g, dim, not inverse),
    dtypes=COMPLEX,
    samples=lambda draw: [
        sample(draw.array(*shape), dim, inverse)
        for shape, dim, inverse in (
            ((5,), (0,), False),
            ((2, 8), (1,), True),
            ((3, 4), (0, 1), False),
            ((2, 1, 3), (1,), True),
            ((2, 2, 2, 3), (3, 1), False),
            ((1,), (0,), True),
            ((0, 3), (1,), False),
            ((66,), (0,), False),
            ((67,), (0,), True),
        )
    ],
    oracle=dfts,
    doc="Sums of input[j] exp(-2 pi i j k / n), or + when inverse, over each dim.",
    example="tenora.fft.fft(tenora.tensor([1.0, 2.0]))",
    public="",
)


def _weights(half: Any, n: Any) -> Any:
    """1 for the numbers of a half spectrum that stand for themselves, 2 for those that stand for two (last dim)."""
    place = ops.iota(0, 1, half.shape[-1], device=half.device)
    return ops.where(ops.logical_or(ops.eq(place, 0), ops.eq(place * 2, n)), 1.0, 2.0)


def _r2c_gradient(g: Any, x: Any, r: Any, dim: Any) -> Any:
    last, n = ops.transpose(g, dim, -1), x.shape[dim]
    share = 1.0 / _weights(last, n)
    return ops.fft_c2r(ops.transpose(last * ops.to(share, g.dtype), dim, -1), dim, n)


def _c2r_gradient(g: Any, x: Any, r: Any, dim: Any, n: Any) -> Any:
    half = ops.transpose(ops.fft_r2c(g, dim), dim, -1)
    return ops.transpose(half * ops.to(_weights(half, n), half.dtype), dim, -1)


def _r2c(input: Any, dim: int) -> Any:
    whole = fourier_steps.along(ops.to(input, _complex_dtype(input.dtype)), [dim], False)
    return ops.contiguous(ops.narrow(whole, dim, 0, input.shape[dim] // 2 + 1))


def _c2r(input: Any, dim: int, n: int) -> Any:
    last = ops.transpose(input, dim, -1)
    spectrum = last[..., : n // 2 + 1]
    rest = ops.conj(ops.flip(spectrum[..., 1 : n - n // 2], [-1]))
    whole = fourier_steps.transform(ops.cat([spectrum, rest], -1), True)
    # What is not real in the first and middle numbers has no part in a real result.
    return ops.contiguous(ops.transpose(ops.clone(ops.real(whole)), dim, -1))


fft_r2c = op(
    "fft_r2c(input: Tensor, dim: int) -> Tensor",
    family=TRANSFORM,
    dtype=lambda operands, attributes: _complex_dtype(operands[0][1]),
    shape=_half_shape,
    function=lambda input, dim: _r2c(input, dim),
    vjp=_r2c_gradient,
    dtypes=REAL,
    samples=lambda draw: [
        sample(draw.array(*shape), dim)
        for shape, dim in (
            ((5,), 0),
            ((6,), 0),
            ((2, 4), 1),
            ((3, 2), 0),
            ((2, 1, 3), -1),
            ((0, 4), 1),
            ((1,), 0),
        )
    ],
    oracle=lambda x, dim: half(dft(x, dim), dim),
    doc="The first half of the spectrum of real numbers, along one dim.",
    example="tenora.fft.rfft(tenora.tensor([1.0, 2.0]))",
    public="",
    complex_within=True,
)
fft_c2r = op(
    "fft_c2r(input: Tensor, dim: int, n: int) -> Tensor",
    family=TRANSFORM,
    dtype=lambda operands, attributes: real_dtype(operands[0][1]),
    shape=_back_shape,
    function=lambda input, dim, n: _c2r(input, dim, n),
    vjp=_c2r_gradient,
    dtypes=COMPLEX,
    samples=lambda draw: [
        sample(draw.array(*shape), dim, n)
        for shape, dim, n in (
            ((3,), 0, 4),
            ((3,), 0, 5),
            ((2, 4), 1, 6),
            ((2, 3), 0, 3),
            ((2, 1, 4), -1, 7),
            ((0, 2), 1, 2),
            ((1,), 0, 1),
        )
    ],
    oracle=lambda x, dim, n: dft(mirrored(x, dim, n), dim, True).real,
    doc="The n real numbers whose half spectrum is input, along one dim; n times as large.",
    example="tenora.fft.irfft(tenora.tensor([1.0 + 0j, 2.0 + 0j]))",
    public="",
)


# ---- what the public functions do around them ----------------------------------------------------------------------
def _scale(name: str, norm: str | None, count: int, inverse: bool) -> float:
    """The factor of a normalisation: backward (1/n in inverse transforms), forward, ortho."""
    norm = norm or "backward"
    if norm not in ("backward", "forward", "ortho"):
        raise errors.OperationError(
            f"[{name}] norm: got {norm!r}, expected 'backward', 'forward' or 'ortho'. Choose one.", op=name
        )
    if norm == "ortho":
        return 1.0 / math.sqrt(count) if count else 1.0
    return 1.0 / count if count and (norm == "backward") == inverse else 1.0


def _times(x: Any, factor: float) -> Any:
    return x if factor == 1.0 else x * factor


def _floating(name: str, x: Any, complex: bool) -> Any:
    """Integers become float32; real numbers complex ones where asked for; half types are refused."""
    dtype = x.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = _engine.default_dtype()
    if dtype.itemsize == 2:
        raise refuse(
            name,
            "dtype",
            dtype,
            "float32, float64, complex64 or complex128",
            "Convert it with .to(...).",
            "dtype",
        )
    wanted = _complex_dtype(dtype) if complex else dtype
    return x if x.dtype == wanted else ops.to(x, wanted)


def _real(name: str, x: Any) -> Any:
    if x.dtype.is_complex:
        raise refuse(name, "dtype", x.dtype, "real numbers", "Use the transform of complex numbers.", "dtype")
    return _floating(name, x, False)


def _sized(name: str, x: Any, dims: Sequence[int], lengths: Sequence[int]) -> Any:
    """x cut or padded with zeros to these lengths."""
    for d, n in zip(dims, lengths, strict=True):
        if n < 1:
            raise refuse(name, "number of points", n, "at least 1", "Check n, s and the operand.")
        have = x.shape[d]
        if n < have:
            x = ops.narrow(x, d, 0, n)
        elif n > have:
            after = x.ndim - 1 - d
            x = ops.pad(x, [0, 0] * after + [0, n - have])
    return x


def _plan(name: str, x: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The dims (non-negative) and their lengths."""
    if dim is None:
        dims = list(range(x.ndim))[x.ndim - len(s) :] if s is not None else list(range(x.ndim))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -x.ndim <= d < x.ndim:
            raise errors.IndexRangeError(
                f"[{name}] dim: got {d}, expected a number in [{-x.ndim}, {x.ndim}). Name an existing dim.",
                op=name,
            )
    dims = [d % x.ndim for d in dims]
    if len(set(dims)) != len(dims):
        raise refuse(name, "dims", dims, "different dims", "Name every dim once.")
    if s is not None and len(s) != len(dims):
        raise refuse(name, "lengths", list(s), f"as many as dims ({len(dims)})", "Give one for each.")
    if s is None:
        return dims, [x.shape[d] for d in dims]
    return dims, [x.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]


def c2c(name: str, x: Any, s: Any, dim: Any, norm: str | None, inverse: bool) -> Any:
    """fft, ifft and their forms over several dims."""
    x = _floating(name, x, True)
    dims, lengths = _plan(name, x, s, dim)
    x = _sized(name, x, dims, lengths)
    factor = _scale(name, norm, math.prod(lengths), inverse)
    if not dims:
        return ops.clone(x)
    return _times(ops.fft_c2c(x, dims, inverse), factor)


def r2c(name: str, x: Any, s: Any, dim: Any, norm: str | None, inverse: bool = False) -> Any:
    """rfft and ihfft and their forms: the last dim gives half a spectrum."""
    x = _real(name, x)
    dims, lengths = _plan(name, x, s, dim)
    if not dims:
        raise refuse(name, "dims", dims, "at least one", "Name a dim.")
    x = _sized(name, x, dims, lengths)
    half = ops.fft_r2c(x, dims[-1])
    if inverse:
        half = ops.conj(half)
    if len(dims) > 1:
        half = ops.fft_c2c(half, dims[:-1], inverse)
    return _times(half, _scale(name, norm, math.prod(lengths), inverse))


def c2r(name: str, x: Any, s: Any, dim: Any, norm: str | None, inverse: bool = True) -> Any:
    """irfft and hfft and their forms: the last dim of the operand is half a spectrum."""
    x = _floating(name, x, True)
    dims, lengths = _plan(name, x, s, dim)
    if not dims:
        raise refuse(name, "dims", dims, "at least one", "Name a dim.")
    last = dims[-1]
    if s is None or s[-1] == -1:
        lengths[-1] = 2 * (x.shape[last] - 1)
    if lengths[-1] < 1:
        raise refuse(name, "number of points", lengths[-1], "at least 1", "Check n, s and the operand.")
    x = _sized(name, x, dims, [*lengths[:-1], lengths[-1] // 2 + 1])
    if len(dims) > 1:
        x = ops.fft_c2c(x, dims[:-1], inverse)
    if not inverse:
        x = ops.conj(x)
    return _times(ops.fft_c2r(x, last, lengths[-1]), _scale(name, norm, math.prod(lengths), inverse))
