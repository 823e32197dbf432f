"""Exponentials, logarithms, trigonometry, the error function."""

import math

import numpy as np

from tenora_reference.dtypes import Array
from tenora_reference.pointwise import binary, unary
from tenora_reference.quiet import quiet

exp = unary(np.exp)
log = unary(np.log)
sin = unary(np.sin)
cos = unary(np.cos)
tanh = unary(np.tanh)
tan = unary(np.tan)
asin = unary(np.arcsin)
acos = unary(np.arccos)
atan = unary(np.arctan)
sinh = unary(np.sinh)
cosh = unary(np.cosh)
asinh = unary(np.arcsinh)
acosh = unary(np.arccosh)
atanh = unary(np.arctanh)
exp2 = unary(np.exp2)
expm1 = unary(np.expm1)
log2 = unary(np.log2)
log10 = unary(np.log10)
log1p = unary(np.log1p)
atan2 = binary(np.arctan2)
hypot = binary(np.hypot)
logaddexp = binary(np.logaddexp)
logaddexp2 = binary(np.logaddexp2)


def erf_of(input: Array) -> Array:
    """The error function in float64, element by element through the C library: NumPy has none."""
    values = np.fromiter(map(math.erf, input.ravel().tolist()), dtype=np.float64, count=input.size)
    return values.reshape(input.shape)


def erf(input: Array, *, out: Array) -> None:
    """2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    np.copyto(out, erf_of(input), casting="unsafe")


def sigmoid(input: Array, *, out: Array) -> None:
    """1 / (1 + exp(-x)) through tanh, which neither overflows nor cancels: (1 + tanh(x / 2)) / 2."""
    wide = input.astype(np.float64)
    # For very negative x the sum above would cancel, so the exponential form is used there.
    small = quiet.run(np.exp, wide)
    large = 1 / (1 + quiet.run(np.exp, -np.abs(wide)))
    np.copyto(out, np.where(wide < 0, small / (1 + np.minimum(small, 1)), large), casting="unsafe")
