"""Arithmetic, comparison, logic and selection, element by element.

A kernel fills `out`. Operands broadcast; a number of the program arrives as an array without dimensions.
"""

import math

import numpy as np

from .arrays import BOOL, EVERY, FLOATS, INTS, NUMBERS, Array, Kernel, Table, is_float, silent


def ufunc(function: np.ufunc) -> Kernel:
    """A kernel that is one function of NumPy."""

    def kernel(*operands: Array, out: Array) -> None:
        function(*operands, out=out)

    return silent(kernel)


def rounding(function: np.ufunc) -> Kernel:
    """A kernel that rounds; integers are whole already."""

    def kernel(input: Array, *, out: Array) -> None:
        if is_float(input):
            function(input, out=out)
        else:
            np.copyto(out, input)

    return silent(kernel)


def division(function: np.ufunc) -> Kernel:
    """A kernel that divides; an integer has no quotient by zero."""

    def kernel(input: Array, other: Array, *, out: Array) -> None:
        if not is_float(out) and not other.all():
            raise ZeroDivisionError("integer division by zero")
        function(input, other, out=out)

    return silent(kernel)


@silent
def power(input: Array, exponent: Array, *, out: Array) -> None:
    """Power; an integer to a negative power is 1 / input ** -exponent, rounded towards zero."""
    if exponent.dtype.kind != "i" or not (exponent < 0).any():
        np.power(input, exponent, out=out)
        return
    odd = exponent % 2 != 0
    inverse = np.select([input == 1, input == -1], [1, np.where(odd, -1, 1)], 0)
    positive = np.power(input, np.maximum(exponent, 0))
    np.copyto(out, np.where(exponent < 0, inverse, positive), casting="unsafe")


@silent
def sign(input: Array, *, out: Array) -> None:
    """-1, 0 or 1; 0 for what is no number; a bool is its own sign."""
    np.copyto(
        out, (input > 0) if input.dtype.kind in "bu" else np.subtract(input > 0, input < 0, dtype=np.int8)
    )


@silent
def not_a_number(input: Array, *, out: Array) -> None:
    """Whether each element is not a number: it is unlike itself."""
    np.not_equal(input, input, out=out)


def erf(input: Array, *, out: Array) -> None:
    """The error function, through Python's own: NumPy has none."""
    values = [math.erf(value) for value in input.ravel().tolist()]
    np.copyto(out, np.array(values, dtype=np.float64).reshape(input.shape), casting="same_kind")


def where(condition: Array, input: Array, other: Array, *, out: Array) -> None:
    """`input` where the condition holds, `other` elsewhere."""
    np.copyto(out, np.where(condition, input, other))


KERNELS: Table = {
    "neg": (ufunc(np.negative), NUMBERS),
    "abs": (ufunc(np.absolute), EVERY),
    "sign": (sign, EVERY),
    "exp": (ufunc(np.exp), FLOATS),
    "log": (ufunc(np.log), FLOATS),
    "sqrt": (ufunc(np.sqrt), FLOATS),
    "sin": (ufunc(np.sin), FLOATS),
    "cos": (ufunc(np.cos), FLOATS),
    "tanh": (ufunc(np.tanh), FLOATS),
    "erf": (erf, FLOATS),
    "floor": (rounding(np.floor), EVERY),
    "ceil": (rounding(np.ceil), EVERY),
    "trunc": (rounding(np.trunc), EVERY),
    "round": (rounding(np.rint), EVERY),
    "isnan": (not_a_number, EVERY),
    "add": (ufunc(np.add), EVERY),
    "sub": (ufunc(np.subtract), NUMBERS),
    "mul": (ufunc(np.multiply), EVERY),
    "div": (ufunc(np.true_divide), FLOATS),
    "floor_divide": (division(np.floor_divide), NUMBERS),
    "remainder": (division(np.remainder), NUMBERS),
    "pow": (power, NUMBERS),
    "atan2": (ufunc(np.arctan2), FLOATS),
    "maximum": (ufunc(np.maximum), EVERY),
    "minimum": (ufunc(np.minimum), EVERY),
    "eq": (ufunc(np.equal), EVERY),
    "ne": (ufunc(np.not_equal), EVERY),
    "lt": (ufunc(np.less), EVERY),
    "le": (ufunc(np.less_equal), EVERY),
    "gt": (ufunc(np.greater), EVERY),
    "ge": (ufunc(np.greater_equal), EVERY),
    "logical_not": (ufunc(np.logical_not), EVERY),
    "logical_and": (ufunc(np.logical_and), EVERY),
    "logical_or": (ufunc(np.logical_or), EVERY),
    "logical_xor": (ufunc(np.logical_xor), EVERY),
    "bitwise_not": (ufunc(np.invert), BOOL + INTS),
    "bitwise_and": (ufunc(np.bitwise_and), BOOL + INTS),
    "bitwise_or": (ufunc(np.bitwise_or), BOOL + INTS),
    "bitwise_xor": (ufunc(np.bitwise_xor), BOOL + INTS),
    "where": (where, BOOL),
}
