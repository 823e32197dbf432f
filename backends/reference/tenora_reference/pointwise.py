"""Pointwise arithmetic, comparison, logic and selection.

Every kernel hands `out` to the ufunc, so a call costs no more than the bare NumPy call. Operands broadcast as in
NumPy; numbers arrive as 0-d arrays of the compute dtype. NumPy computes half types in float32 and rounds once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenora_reference.dtypes import Array, is_floating
from tenora_reference.quiet import quiet, silent

Kernel = Callable[..., Any]


def unary(ufunc: np.ufunc) -> Kernel:
    """A kernel that is one ufunc of one operand."""

    def kernel(input: Array, *, out: Array) -> None:
        quiet.run(ufunc, input, out)

    return kernel


def binary(ufunc: np.ufunc) -> Kernel:
    """A kernel that is one ufunc of two operands."""

    def kernel(input: Array, other: Array, *, out: Array) -> None:
        quiet.run(ufunc, input, other, out)  # by position: a keyword costs a tenth of a small call

    return kernel


def extremum(ufunc: np.ufunc) -> Kernel:
    """As `binary` for maximum and minimum, of which NumPy wants the output by keyword."""

    def kernel(input: Array, other: Array, *, out: Array) -> None:
        quiet.run(ufunc, input, other, out=out)

    return kernel


def rounding(ufunc: np.ufunc) -> Kernel:
    """A rounding ufunc; integers are whole already."""

    def kernel(input: Array, *, out: Array) -> None:
        if is_floating(input.dtype):
            quiet.run(ufunc, input, out)
        else:
            np.copyto(out, input)

    return kernel


def floor_divide(input: Array, other: Array, *, out: Array) -> None:
    """Quotient rounded down, Python's rule for signs."""
    if not is_floating(out.dtype):
        _refuse_zero(other)
    quiet.run(np.floor_divide, input, other, out)


def remainder(input: Array, other: Array, *, out: Array) -> None:
    """Remainder with the sign of the divisor, Python's rule."""
    if not is_floating(out.dtype):
        _refuse_zero(other)
    quiet.run(np.remainder, input, other, out)


def fmod(input: Array, other: Array, *, out: Array) -> None:
    """Remainder with the sign of the dividend, C's rule."""
    if not is_floating(out.dtype):
        _refuse_zero(other)
    quiet.run(np.fmod, input, other, out)


def _refuse_zero(divisor: Array) -> None:
    if not divisor.all():
        raise ZeroDivisionError("integer division by zero")


@silent
def power(input: Array, exponent: Array, *, out: Array) -> None:
    """Power; an integer to a negative power is 1 / input ** -exponent rounded towards zero."""
    if exponent.dtype.kind != "i" or not (exponent < 0).any():
        np.power(input, exponent, out=out)
        return
    negative = exponent < 0
    odd = (exponent & 1).astype(bool)
    unit = np.where(input == 1, 1, np.where(input == -1, np.where(odd, -1, 1), 0))
    positive = np.power(input, np.where(negative, 0, exponent).astype(input.dtype))
    np.copyto(out, np.where(negative, unit, positive), casting="unsafe")


def sign(input: Array, *, out: Array) -> None:
    """-1, 0 or 1; 0 for NaN, as in PyTorch; a bool is its own sign."""
    if out.dtype.kind == "b":
        np.copyto(out, input)
        return
    quiet.run(np.sign, input, out)
    if is_floating(out.dtype):
        np.copyto(out, 0, where=quiet.run(np.isnan, out), casting="unsafe")


def absolute(input: Array, *, out: Array) -> None:
    """Magnitude; the output of a complex input is real."""
    quiet.run(np.absolute, input, out)


def bitwise_not(input: Array, *, out: Array) -> None:
    """Every bit flipped; logical not for bool."""
    np.invert(input, out)


def where(condition: Array, input: Array, other: Array, *, out: Array) -> None:
    """`input` where the condition holds, `other` elsewhere."""
    np.copyto(out, np.where(condition, input, other))


def isnan(input: Array, *, out: Array) -> None:
    """Whether each element is not a number."""
    quiet.run(np.not_equal, input, input, out)


neg = unary(np.negative)
sqrt = unary(np.sqrt)
floor = rounding(np.floor)
ceil = rounding(np.ceil)
trunc = rounding(np.trunc)
round_half_to_even = rounding(np.rint)
logical_not = unary(np.logical_not)
add = binary(np.add)
sub = binary(np.subtract)
multiply = binary(np.multiply)
divide = binary(np.true_divide)
maximum = extremum(np.maximum)
minimum = extremum(np.minimum)
equal = binary(np.equal)
not_equal = binary(np.not_equal)
less = binary(np.less)
less_equal = binary(np.less_equal)
greater = binary(np.greater)
greater_equal = binary(np.greater_equal)
logical_and = binary(np.logical_and)
logical_or = binary(np.logical_or)
logical_xor = binary(np.logical_xor)
bitwise_and = binary(np.bitwise_and)
bitwise_or = binary(np.bitwise_or)
bitwise_xor = binary(np.bitwise_xor)
left_shift = binary(np.left_shift)  # NumPy leaves nothing, or the sign, of a shift by the width or more
right_shift = binary(np.right_shift)
copysign = binary(np.copysign)
