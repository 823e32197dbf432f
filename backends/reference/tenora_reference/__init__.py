"""The NumPy backend of tenora: always there, and the readable twin of every native kernel.

`load` is called by the dispatcher the first time this backend is used; until then only the manifest is read.
"""

from collections.abc import Callable
from typing import Any

from tenora_dispatch.contract import Registry
from tenora_dispatch.masks import KernelFlag
from tenora_reference import (
    dtypes,
    factor,
    fourier,
    index,
    linalg,
    movement,
    pointwise,
    random,
    reduce,
    sort,
    transcendental,
)

Kernel = Callable[..., Any]

# NumPy reads and writes arrays of any strides and broadcasts by itself.
_ANY_LAYOUT = KernelFlag.STRIDED | KernelFlag.NEGATIVE_STRIDES | KernelFlag.STRIDED_OUT
_UFUNC = _ANY_LAYOUT | KernelFlag.BROADCAST | KernelFlag.INPLACE

_NUMERIC = dtypes.NUMBERS + dtypes.COMPLEX
_INEXACT = dtypes.FLOATS + dtypes.COMPLEX
_WHOLE = dtypes.BOOL + dtypes.INTEGERS
_PRECISE = ("float32", "float64", *dtypes.COMPLEX)

_POINTWISE: dict[str, tuple[Kernel, tuple[str, ...]]] = {
    "neg": (pointwise.neg, _NUMERIC),
    "abs": (pointwise.absolute, dtypes.EVERY),
    "sign": (pointwise.sign, dtypes.REALS),
    "exp": (transcendental.exp, _INEXACT),
    "log": (transcendental.log, _INEXACT),
    "sqrt": (pointwise.sqrt, _INEXACT),
    "sin": (transcendental.sin, _INEXACT),
    "cos": (transcendental.cos, _INEXACT),
    "tanh": (transcendental.tanh, _INEXACT),
    "erf": (transcendental.erf, dtypes.FLOATS),
    "floor": (pointwise.floor, dtypes.REALS),
    "ceil": (pointwise.ceil, dtypes.REALS),
    "trunc": (pointwise.trunc, dtypes.REALS),
    "round": (pointwise.round_half_to_even, dtypes.REALS),
    "logical_not": (pointwise.logical_not, dtypes.EVERY),
    "bitwise_not": (pointwise.bitwise_not, _WHOLE),
    "isnan": (pointwise.isnan, dtypes.EVERY),
    "add": (pointwise.add, dtypes.EVERY),
    "sub": (pointwise.sub, _NUMERIC),
    "mul": (pointwise.multiply, dtypes.EVERY),
    "div": (pointwise.divide, _INEXACT),
    "pow": (pointwise.power, _NUMERIC),
    "maximum": (pointwise.maximum, dtypes.REALS),
    "minimum": (pointwise.minimum, dtypes.REALS),
    "floor_divide": (pointwise.floor_divide, dtypes.NUMBERS),
    "remainder": (pointwise.remainder, dtypes.NUMBERS),
    "atan2": (transcendental.atan2, dtypes.FLOATS),
    "eq": (pointwise.equal, dtypes.EVERY),
    "ne": (pointwise.not_equal, dtypes.EVERY),
    "lt": (pointwise.less, dtypes.REALS),
    "le": (pointwise.less_equal, dtypes.REALS),
    "gt": (pointwise.greater, dtypes.REALS),
    "ge": (pointwise.greater_equal, dtypes.REALS),
    "logical_and": (pointwise.logical_and, dtypes.EVERY),
    "logical_or": (pointwise.logical_or, dtypes.EVERY),
    "logical_xor": (pointwise.logical_xor, dtypes.EVERY),
    "bitwise_and": (pointwise.bitwise_and, _WHOLE),
    "bitwise_or": (pointwise.bitwise_or, _WHOLE),
    "bitwise_xor": (pointwise.bitwise_xor, _WHOLE),
    "bitwise_left_shift": (pointwise.left_shift, dtypes.INTEGERS),
    "bitwise_right_shift": (pointwise.right_shift, dtypes.INTEGERS),
    "fmod": (pointwise.fmod, dtypes.NUMBERS),
    "copysign": (pointwise.copysign, dtypes.FLOATS),
}
for _name in (
    "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2", "expm1", "log2", "log10",
    "log1p", "hypot", "logaddexp", "logaddexp2",
):  # fmt: skip
    _POINTWISE[_name] = (getattr(transcendental, _name), dtypes.FLOATS)

_OTHERS: dict[str, tuple[Kernel, tuple[str, ...]]] = {
    "where": (pointwise.where, dtypes.BOOL),
    "copy": (movement.copy, dtypes.EVERY),
    "fill": (movement.fill, dtypes.EVERY),
    "iota": (movement.iota, dtypes.EVERY),
    "random_bits": (random.random_bits, ("uint32",)),
    "sum": (reduce.sum, dtypes.EVERY),
    "prod": (reduce.prod, dtypes.EVERY),
    "amax": (reduce.amax, dtypes.REALS),
    "amin": (reduce.amin, dtypes.REALS),
    "any": (reduce.any, dtypes.EVERY),
    "all": (reduce.all, dtypes.EVERY),
    "argmax": (reduce.argmax, dtypes.REALS),
    "argmin": (reduce.argmin, dtypes.REALS),
    "cumsum": (reduce.cumsum, dtypes.EVERY),
    "cumprod": (reduce.cumprod, dtypes.EVERY),
    "cummax": (reduce.cummax, dtypes.REALS),
    "cummin": (reduce.cummin, dtypes.REALS),
    "gather": (index.gather, dtypes.EVERY),
    "scatter": (index.scatter, dtypes.EVERY),
    "scatter_add": (index.scatter_add, dtypes.EVERY),
    "index": (index.index, dtypes.EVERY),
    "index_put": (index.index_put, dtypes.EVERY),
    "index_select": (index.index_select, dtypes.EVERY),
    "matmul": (linalg.matmul, dtypes.EVERY),
    "sort": (sort.sort, dtypes.REALS),
}


def load(registry: Registry) -> None:
    """Register ring 0 and what NumPy has beyond it. Called once by the dispatcher."""
    for op, (kernel, supported) in _POINTWISE.items():
        registry.kernel(op, kernel, dtypes=supported, flags=_UFUNC)
    for op, (kernel, supported) in _OTHERS.items():
        registry.kernel(op, kernel, dtypes=supported, flags=_ANY_LAYOUT)
    for op, kernel in factor.KERNELS.items():
        registry.kernel(op, kernel, dtypes=_PRECISE, flags=_ANY_LAYOUT)
    for op, (kernel, supported) in fourier.KERNELS.items():
        registry.kernel(op, kernel, dtypes=supported, flags=_ANY_LAYOUT)
