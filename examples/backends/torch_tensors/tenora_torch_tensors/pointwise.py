"""Arithmetic, comparison, logic and selection, element by element.

A kernel fills `out`; operands broadcast as PyTorch's do, and have been converted to one dtype.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .memory import BOOL, EVERY, FLOATS, INEXACT, INTS, NUMBERS, REALS, Kernel, Table, taking_numbers


def plain(function: Callable[..., Tensor]) -> Kernel:
    """A kernel that is one function of PyTorch."""

    def kernel(*operands: Tensor, out: Tensor) -> None:
        function(*operands, out=out)

    return kernel


def rounding(function: Callable[..., Tensor]) -> Kernel:
    """A kernel that rounds; integers and truth values are whole already."""

    def kernel(input: Tensor, *, out: Tensor) -> None:
        if input.is_floating_point():
            function(input, out=out)
        else:
            out.copy_(input)

    return kernel


def division(function: Callable[..., Tensor]) -> Kernel:
    """A kernel that divides; an integer has no quotient by zero."""

    def kernel(input: Tensor, other: Tensor, *, out: Tensor) -> None:
        if not out.is_floating_point() and not other.all():
            raise ZeroDivisionError("integer division by zero")
        if out.dtype == torch.uint32:  # only random words come so; PyTorch does not divide them
            out.copy_(function(input.to(torch.int64), other.to(torch.int64)))
        else:
            function(input, other, out=out)

    return kernel


def float_rest(function: np.ufunc, input: Tensor, other: Tensor) -> Tensor:
    """A remainder of floats by NumPy: PyTorch divides first, and a quotient beyond the range makes NaN of the rest."""
    kind = torch.float32 if input.dtype == torch.bfloat16 else input.dtype
    with np.errstate(all="ignore"):
        rest = function(input.to(kind).numpy(), other.to(kind).numpy())
    return torch.from_numpy(np.asarray(rest))


def remainder(whole: Callable[..., Tensor], function: np.ufunc) -> Kernel:
    """A kernel for what a division leaves: of integers by PyTorch, of floats by NumPy."""
    of_integers = division(whole)

    def kernel(input: Tensor, other: Tensor, *, out: Tensor) -> None:
        if out.is_floating_point():
            out.copy_(float_rest(function, input, other))
        else:
            of_integers(input, other, out=out)

    return kernel


def absolute(input: Tensor, *, out: Tensor) -> None:
    """Magnitude, a real number also where the input is complex."""
    if input.dtype == torch.bool:
        out.copy_(input)
    else:
        torch.abs(input, out=out)


def erf(input: Tensor, *, out: Tensor) -> None:
    """The error function; PyTorch's own for bfloat16 makes 0 of subnormal numbers."""
    if input.dtype == torch.bfloat16:
        out.copy_(torch.erf(input.to(torch.float32)))
    else:
        torch.erf(input, out=out)


def where(condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor) -> None:
    """`input` where the condition holds, `other` elsewhere."""
    torch.where(condition, input, other, out=out)


def isnan(input: Tensor, *, out: Tensor) -> None:
    """Whether each element is not a number: it is unlike itself."""
    torch.ne(input, input, out=out)


_KERNELS: Table = {
    "neg": (plain(torch.neg), NUMBERS),
    "abs": (absolute, EVERY),
    "sign": (plain(torch.sign), REALS),
    "floor": (rounding(torch.floor), REALS),
    "ceil": (rounding(torch.ceil), REALS),
    "trunc": (rounding(torch.trunc), REALS),
    "round": (rounding(torch.round), REALS),
    "isnan": (isnan, EVERY),
    "sub": (plain(torch.sub), NUMBERS),
    "div": (plain(torch.div), INEXACT),
    "floor_divide": (division(torch.floor_divide), (*INTS, "uint32", *FLOATS)),
    "remainder": (remainder(torch.remainder, np.remainder), INTS + FLOATS),
    "fmod": (remainder(torch.fmod, np.fmod), INTS + FLOATS),
    "pow": (plain(torch.pow), NUMBERS),
    "erf": (erf, FLOATS),
    "where": (where, BOOL),
}
# tenora's ops and PyTorch's functions have the same names where they mean the same.
_SAME_NAMES = {
    EVERY: "add mul eq ne logical_not logical_and logical_or logical_xor",
    REALS: "maximum minimum lt le gt ge",
    INEXACT: "exp log sqrt sin cos tanh square reciprocal",
    FLOATS: "tan asin acos atan sinh cosh asinh acosh atanh exp2 expm1 log2 log10 sigmoid rsqrt "
    "atan2 copysign hypot",
    BOOL + INTS: "bitwise_not bitwise_and bitwise_or bitwise_xor",
    INTS: "bitwise_left_shift bitwise_right_shift",
}
for _dtypes, _names in _SAME_NAMES.items():
    _KERNELS |= {name: (plain(getattr(torch, name)), _dtypes) for name in _names.split()}

KERNELS: Table = {op: (taking_numbers(kernel), dtypes) for op, (kernel, dtypes) in _KERNELS.items()}
