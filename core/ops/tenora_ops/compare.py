"""Comparisons, logical and bitwise ops: no gradient, results exact."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    ALL,
    BOOLEAN,
    FLOATING,
    INTEGERS,
    NUMBERS,
    ORDERED,
    Domain,
    Draw,
    Sample,
    binary,
    sample,
    unary,
)

SMALL = Domain(-2.0, 2.0)
COMPARE = Family("compare", "promote_bool", "broadcast", "pointwise", binary, ALL, SMALL)
ORDER = Family("compare", "promote_bool_real", "broadcast", "pointwise", binary, ORDERED, SMALL)
PREDICATE = Family("predicate", "bool", "same", "pointwise", unary, ALL, SMALL)
LOGICAL = Family("logical", "promote_bool", "broadcast", "pointwise", binary, ALL, SMALL)
BITWISE = Family(
    "bitwise", "promote_integral", "broadcast", "pointwise", binary, BOOLEAN + INTEGERS, Domain(-8.0, 8.0)
)


def special_values(draw: Draw) -> Iterable[Sample]:
    """Every shape, and the non-finite numbers."""
    found = list(unary(draw))
    if draw.dtype in FLOATING:
        row = np.array([math.nan, math.inf, -math.inf, 0.0, -1.5])
        found.append(sample(row.astype(draw.array().dtype)))
        found.append(sample(np.stack([row, row[::-1]]).astype(draw.array().dtype)))
    return found


def masks(draw: Draw) -> Iterable[Sample]:
    """Arrays in a binary call without Python numbers."""
    return [s for s in binary(draw) if all(hasattr(a, "dtype") for a in s.arguments)]


eq = op(
    "eq(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=COMPARE,
    oracle=lambda a, b: np.asarray(a) == np.asarray(b),
    doc="True where the elements are equal.",
    example="tenora.eq(tenora.tensor([1, 2]), 2)",
    method=True,
    inplace=True,
    operator="eq",
    out=True,
)
ne = op(
    "ne(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=COMPARE,
    oracle=lambda a, b: np.asarray(a) != np.asarray(b),
    doc="True where the elements differ; NaN differs from everything.",
    example="tenora.ne(tenora.tensor([1, 2]), 2)",
    method=True,
    inplace=True,
    operator="ne",
    out=True,
    aliases=("not_equal",),
)
lt = op(
    "lt(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=ORDER,
    oracle=lambda a, b: np.asarray(a) < np.asarray(b),
    doc="True where input < other.",
    example="tenora.lt(tenora.tensor([1, 2]), 2)",
    method=True,
    inplace=True,
    operator="lt",
    out=True,
    aliases=("less",),
)
le = op(
    "le(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=ORDER,
    oracle=lambda a, b: np.asarray(a) <= np.asarray(b),
    doc="True where input <= other.",
    example="tenora.le(tenora.tensor([1, 2]), 1)",
    method=True,
    inplace=True,
    operator="le",
    out=True,
    aliases=("less_equal",),
)
gt = op(
    "gt(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=ORDER,
    oracle=lambda a, b: np.asarray(a) > np.asarray(b),
    doc="True where input > other.",
    example="tenora.gt(tenora.tensor([1, 2]), 1)",
    method=True,
    inplace=True,
    operator="gt",
    out=True,
    aliases=("greater",),
)
ge = op(
    "ge(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=ORDER,
    oracle=lambda a, b: np.asarray(a) >= np.asarray(b),
    doc="True where input >= other.",
    example="tenora.ge(tenora.tensor([1, 2]), 2)",
    method=True,
    inplace=True,
    operator="ge",
    out=True,
    aliases=("greater_equal",),
)
isnan = op(
    "isnan(input: Tensor) -> Tensor",
    family=PREDICATE,
    dtypes=FLOATING,
    samples=special_values,
    oracle=lambda x: np.asarray(x) != np.asarray(x),
    doc="True where the element is not a number.",
    example="tenora.isnan(tenora.tensor([1.0, float('nan')]))",
    method=True,
)
isinf = op(
    "isinf(input: Tensor) -> Tensor",
    family=PREDICATE,
    dtypes=NUMBERS,
    samples=special_values,
    composite=lambda x: ops.eq(ops.abs(x), math.inf),
    differentiable=False,
    oracle=lambda x: (np.abs(np.real(x)) == np.inf) | (np.abs(np.imag(x)) == np.inf),
    doc="True where the element is infinite.",
    example="tenora.isinf(tenora.tensor([1.0, float('inf')]))",
    method=True,
)
isfinite = op(
    "isfinite(input: Tensor) -> Tensor",
    family=PREDICATE,
    dtypes=NUMBERS,
    samples=special_values,
    composite=lambda x: ops.lt(ops.abs(x), math.inf),
    differentiable=False,
    oracle=lambda x: np.asarray(x) - np.asarray(x) == 0,
    doc="True where the element is neither infinite nor NaN.",
    example="tenora.isfinite(tenora.tensor([1.0, float('inf')]))",
    method=True,
)
logical_not = op(
    "logical_not(input: Tensor) -> Tensor",
    family=PREDICATE,
    oracle=lambda x: np.asarray(x) == 0,
    doc="True where the element is zero.",
    example="tenora.logical_not(tenora.tensor([0, 2]))",
    method=True,
    inplace=True,
    out=True,
)
logical_and = op(
    "logical_and(input: Tensor, other: Tensor) -> Tensor",
    family=LOGICAL,
    samples=masks,
    oracle=lambda a, b: (np.asarray(a) != 0) & (np.asarray(b) != 0),
    doc="True where both are non-zero.",
    example="tenora.logical_and(tenora.tensor([0, 2]), tenora.tensor([1, 1]))",
    method=True,
    inplace=True,
    out=True,
)
logical_or = op(
    "logical_or(input: Tensor, other: Tensor) -> Tensor",
    family=LOGICAL,
    samples=masks,
    oracle=lambda a, b: (np.asarray(a) != 0) | (np.asarray(b) != 0),
    doc="True where either is non-zero.",
    example="tenora.logical_or(tenora.tensor([0, 2]), tenora.tensor([0, 0]))",
    method=True,
    inplace=True,
    out=True,
)
logical_xor = op(
    "logical_xor(input: Tensor, other: Tensor) -> Tensor",
    family=LOGICAL,
    samples=masks,
    oracle=lambda a, b: (np.asarray(a) != 0) != (np.asarray(b) != 0),
    doc="True where exactly one is non-zero.",
    example="tenora.logical_xor(tenora.tensor([0, 2]), tenora.tensor([1, 1]))",
    method=True,
    inplace=True,
    out=True,
)
bitwise_not = op(
    "bitwise_not(input: Tensor) -> Tensor",
    family=BITWISE,
    shape="same",
    samples=unary,
    oracle=lambda x: (
        np.where(x, False, True)
        if x.dtype == bool
        else -1 - x
        if x.dtype.kind == "i"
        else x ^ np.iinfo(x.dtype).max
    ),
    doc="Every bit inverted; booleans negated.",
    example="tenora.bitwise_not(tenora.tensor([0, 5]))",
    method=True,
    operator="invert",
    inplace=True,
    out=True,
)
bitwise_and = op(
    "bitwise_and(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BITWISE,
    oracle=lambda a, b: np.bitwise_and(a, b),
    doc="Bits set in both.",
    example="tenora.bitwise_and(tenora.tensor([6]), 3)",
    method=True,
    operator="and",
    inplace=True,
    out=True,
)
bitwise_or = op(
    "bitwise_or(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BITWISE,
    oracle=lambda a, b: np.bitwise_or(a, b),
    doc="Bits set in either.",
    example="tenora.bitwise_or(tenora.tensor([6]), 3)",
    method=True,
    operator="or",
    inplace=True,
    out=True,
)
bitwise_xor = op(
    "bitwise_xor(input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BITWISE,
    oracle=lambda a, b: np.bitwise_xor(a, b),
    doc="Bits set in exactly one.",
    example="tenora.bitwise_xor(tenora.tensor([6]), 3)",
    method=True,
    operator="xor",
    inplace=True,
    out=True,
)
