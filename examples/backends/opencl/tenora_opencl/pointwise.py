"""Arithmetic, comparison, logic and selection: one OpenCL expression per op and kind of dtype.

- `a`, `b`, `c` are the operands' elements. The result is cast to the dtype of `out`.
- Whole numbers wrap around: they are computed as unsigned numbers of 64 bits, of which the low ones stay.
- Halves are computed in float and rounded once. `doubles` are floating dtypes whose elements are computed in double:
  OpenCL lets its functions err by several units of the last place, which in float a difference from 1 would show.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from .layout import Call, bits
from .memory import Array
from .source import BITS, BOOL, COMPUTED, EVERY, FLOATS, INTS, SIZES, UNSIGNED, cast, kernel

# For the dtypes that none of the narrower keys names, `every` stands; a dtype without an expression is not taken.
RULES: dict[str, dict[str, str]] = {
    "neg": {"ints": "-(ulong)a", "reals": "-a"},
    "abs": {"bool": "a", "unsigned": "a", "signed": "a < 0 ? -(ulong)a : (ulong)a", "reals": "fabs(a)"},
    "sign": {"every": "(a > 0) - (a < 0)"},
    "exp": {"doubles": "exp(a)"},
    "log": {"doubles": "log(a)"},
    "sqrt": {"reals": "sqrt(a)"},
    "sin": {"doubles": "sin(a)"},
    "cos": {"doubles": "cos(a)"},
    "tanh": {"doubles": "tanh(a)"},
    "erf": {"doubles": "erf(a)"},
    "floor": {"every": "a", "reals": "floor(a)"},
    "ceil": {"every": "a", "reals": "ceil(a)"},
    "trunc": {"every": "a", "reals": "trunc(a)"},
    "round": {"every": "a", "reals": "rint(a)"},
    "isnan": {"every": "a != a"},
    "add": {"bool": "a | b", "ints": "(ulong)a + (ulong)b", "reals": "a + b"},
    "sub": {"ints": "(ulong)a - (ulong)b", "reals": "a - b"},
    "mul": {"bool": "a & b", "ints": "(ulong)a * (ulong)b", "reals": "a * b"},
    "div": {"reals": "a / b"},
    "floor_divide": {"unsigned": "a / b", "signed": "floor_quotient(a, b)", "reals": "floor_quotient(a, b)"},
    "remainder": {"unsigned": "a % b", "signed": "floor_rest(a, b)", "reals": "floor_rest(a, b)"},
    "pow": {"unsigned": "power(a, b)", "signed": "signed_power(a, b)", "doubles": "pow(a, b)"},
    "atan2": {"doubles": "atan2(a, b)"},
    "copysign": {"reals": "copysign(a, b)"},
    "maximum": {"every": "a != a || a > b ? a : b"},
    "minimum": {"every": "a != a || a < b ? a : b"},
    "eq": {"every": "a == b"},
    "ne": {"every": "a != b"},
    "lt": {"every": "a < b"},
    "le": {"every": "a <= b"},
    "gt": {"every": "a > b"},
    "ge": {"every": "a >= b"},
    "logical_not": {"every": "a == 0"},
    "logical_and": {"every": "a != 0 && b != 0"},
    "logical_or": {"every": "a != 0 || b != 0"},
    "logical_xor": {"every": "(a != 0) != (b != 0)"},
    "bitwise_not": {"bool": "!a", "ints": "~a"},
    "bitwise_and": {"bool": "a & b", "ints": "a & b"},
    "bitwise_or": {"bool": "a | b", "ints": "a | b"},
    "bitwise_xor": {"bool": "a ^ b", "ints": "a ^ b"},
}
DIVISIONS = ("floor_divide", "remainder")
BINARY = {op for op, texts in RULES.items() if any(re.search(r"\bb\b", text) for text in texts.values())}

# Quotients rounded down and rests with the divisor's sign, Python's rule; the lowest number has no quotient by -1.
WHOLE = """
long floor_rest(long a, long b) {
    const long rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
long floor_quotient(long a, long b) {
    return b == -1 ? (long)-(ulong)a : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
ulong power(ulong base, ulong n) {
    ulong result = 1;
    for (; n; n >>= 1, base *= base)
        if (n & 1) result *= base;
    return result;
}
long signed_power(long a, long b) {  // to a negative power: 1 / a^-b, rounded towards zero
    return b >= 0 ? (long)power(a, b) : a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}
"""
REAL = """
REAL floor_rest(REAL a, REAL b) {
    const REAL rest = fmod(a, b);
    if (rest == 0) return copysign((REAL)0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}
REAL floor_quotient(REAL a, REAL b) {
    if (b == 0) return a / b;
    const REAL rest = fmod(a, b);  // of an infinite divisor, of either sign, a itself
    const REAL quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0)), low = floor(quotient);
    if (quotient == 0) return copysign((REAL)0, a / b);
    return quotient - low > (REAL)0.5 ? low + 1 : low;
}
"""


def rule(op: str, dtype: str) -> tuple[str, str] | None:
    """An op's expression for a dtype, and the OpenCL type that its operands are computed in."""
    if dtype in BOOL:
        kinds = {"bool": "uchar", "every": "uchar"}
    elif dtype in INTS:
        whole = COMPUTED[dtype]
        kinds = {"unsigned" if dtype in UNSIGNED else "signed": whole, "ints": whole, "every": whole}
    else:
        kinds = {"doubles": "double", "reals": COMPUTED[dtype], "every": COMPUTED[dtype]}
    return next(((RULES[op][kind], computed) for kind, computed in kinds.items() if kind in RULES[op]), None)


@cache
def elementwise(
    text: str, inputs: tuple[str, ...], result: str, target: str, helpers: str = "", held: str = ""
) -> str:
    """The source of a kernel that evaluates an expression for each element.

    `result` is the expression's OpenCL type, `held` that of the elements, where they are not taken as they come.
    """
    lines = [
        f"const {held or COMPUTED[dtype]} {name} = READ({dtype}, {k}, OUTER({k}, i));"
        for k, (name, dtype) in enumerate(zip("abc", inputs, strict=False))
    ]
    last = len(inputs)
    lines.append(f"WRITE({target}, {last}, OUTER({last}, i), {cast(text, result, target)});")
    return kernel("\n    ".join(lines), (*inputs, target), last + 1, helpers)


@cache
def rule_source(op: str, dtype: str, target: str) -> str:
    """The source of an op's kernel for operands of one dtype."""
    found = rule(op, dtype)
    assert found is not None
    text, held = found
    inputs = (dtype,) * (2 if op in BINARY else 1)
    if dtype in FLOATS:
        return elementwise(
            text, inputs, held, target, REAL.replace("REAL", held) if "floor_" in text else "", held
        )
    return elementwise(text, inputs, "ulong", target, WHOLE if "(a, b)" in text else "")


@cache
def zero_search(dtype: str) -> str:
    """The source of a kernel that looks for a zero."""
    return kernel(f"if (READ({dtype}, 0, OUTER(0, i)) == 0) found(p1, i);", (dtype,), 2)


def refuse_zero(divisor: Any) -> None:
    """Raises: ZeroDivisionError where a whole number would be divided by zero."""
    if isinstance(divisor, Array):
        zero = Call(divisor).search(zero_search(divisor.dtype)) is not None
    else:
        zero = bits(divisor) == 0
    if zero:
        raise ZeroDivisionError("integer division by zero")


def dtype_of(operand: Any) -> str:
    """The name of an operand's dtype, be it on the device or a number of the program."""
    return operand.dtype if isinstance(operand, Array) else str(operand.dtype)


def pointwise(op: str) -> Callable[..., None]:
    """The kernel of an op in the table."""

    def run(*operands: Any, out: Array) -> None:
        dtype = dtype_of(operands[0])
        if op in DIVISIONS and dtype in INTS and 0 not in out.shape:
            refuse_zero(operands[1])
        Call(*operands, out).run(rule_source(op, dtype, out.dtype))

    return run


def where(condition: Any, input: Any, other: Any, *, out: Array) -> None:
    """`input` where the condition holds, `other` elsewhere."""
    moved = BITS[SIZES[out.dtype]]
    source = elementwise("a ? b : c", ("bool", moved, moved), "ulong", moved)
    Call(condition, input, other, out).run(source)


def copy(input: Any, *, out: Array) -> None:
    """The elements of `input` in the dtype of `out`: a float is cut to an integer, to bool it is `!= 0`."""
    dtype = dtype_of(input)
    if dtype == out.dtype:
        moved = BITS[SIZES[dtype]]
        source = elementwise("a", (moved,), "ulong", moved)
    else:
        source = elementwise("a", (dtype,), COMPUTED[dtype], out.dtype)
    Call(input, out).run(source)


KERNELS = {op: (pointwise(op), tuple(dtype for dtype in EVERY if rule(op, dtype))) for op in RULES} | {
    "where": (where, BOOL),
    "copy": (copy, EVERY),
}
