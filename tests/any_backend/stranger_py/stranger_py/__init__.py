"""A backend in pure Python on the host's memory: it shares tensors with every other `cpu` backend.

An array comes in as lists (`tolist`), is computed with, and goes out element by element (`out.flat`).
"""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from tenora_dispatch import KernelFlag, Probe, Registry

STRIDED = KernelFlag.STRIDED | KernelFlag.NEGATIVE_STRIDES | KernelFlag.STRIDED_OUT
said: dict[str, Any] = {}


def probe() -> Probe:
    """Python is always there."""
    return Probe(devices={"cpu": 1})


def set_option(option: str, value: Any) -> None:
    """Keeps what it is told."""
    said[option] = value


def flat(array: Any) -> list[Any]:
    """The elements in row-major order."""
    return array.ravel().tolist()


def pointwise(function: Callable[..., Any]) -> Callable[..., None]:
    """A kernel that maps a function over its operands, which have the shape of the output or none."""

    def kernel(*arrays: Any, out: Any, **attributes: Any) -> None:
        operands = [flat(array) if array.ndim else [array.item()] * out.size for array in arrays]
        out.flat[:] = list(map(function, *operands)) if out.size else []

    return kernel


def positions(shape: tuple[int, ...]) -> Any:
    """All index tuples of a shape in row-major order."""
    return itertools.product(*map(range, shape))


def reduction(function: Callable[[list[Any]], Any]) -> Callable[..., None]:
    """A kernel that combines the elements along the reduced dimensions, which have size 1 in the output."""

    def kernel(array: Any, *, out: Any, dim: Any = None, **attributes: Any) -> None:
        groups: dict[tuple[int, ...], list[Any]] = {place: [] for place in positions(out.shape)}
        for place, value in zip(positions(array.shape), flat(array), strict=True):
            groups[tuple(min(i, size - 1) for i, size in zip(place, out.shape, strict=True))].append(value)
        for place, values in groups.items():
            out[place] = function(values)

    return kernel


def matmul(a: Any, b: Any, *, out: Any, **attributes: Any) -> None:
    """Products of rows and columns, for each matrix of the batch."""
    for batch in positions(out.shape[:-2]):
        columns = list(zip(*b[batch].tolist(), strict=True))
        for row, values in enumerate(a[batch].tolist()):
            for column, others in enumerate(columns):
                out[(*batch, row, column)] = sum(map(operator.mul, values, others))


def fill(*, out: Any, value: Any) -> None:
    """The same value everywhere."""
    out.flat[:] = value


def moved(place: tuple[int, ...], dim: int, chosen: int, size: int) -> tuple[int, ...]:
    """The place with another index along `dim`."""
    if not 0 <= chosen < size:
        raise IndexError(f"index {chosen} is out of bounds for dimension {dim} with size {size}")
    return (*place[:dim], chosen, *place[dim + 1 :])


def gather(array: Any, index: Any, *, out: Any, dim: int, **attributes: Any) -> None:
    """out[i][j] = array[index[i][j]][j] for dim 0, and so on."""
    for place, chosen in zip(positions(index.shape), flat(index), strict=True):
        out[place] = array[moved(place, dim, chosen, array.shape[dim])]


def scatter(array: Any, index: Any, src: Any, *, out: Any, dim: int, **attributes: Any) -> None:
    """out holds the old values; src replaces them where the index says."""
    for place, chosen in zip(positions(index.shape), flat(index), strict=True):
        out[moved(place, dim, chosen, out.shape[dim])] = src[place].item()


def scatter_add(array: Any, index: Any, src: Any, *, out: Any, dim: int, **attributes: Any) -> None:
    """out holds the old values; src is added where the index says."""
    for place, chosen in zip(positions(index.shape), flat(index), strict=True):
        out[moved(place, dim, chosen, out.shape[dim])] += src[place].item()


def divide(a: float, b: float) -> float:
    """IEEE division."""
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def power(a: Any, b: Any) -> Any:
    """IEEE power for reals."""
    try:
        result = a**b
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return math.nan if isinstance(result, complex) else result


def exponential(a: float) -> float:
    """exp with infinity instead of an error."""
    return math.exp(a) if a < 709.7 else a * math.inf


POINTWISE: dict[str, Callable[..., Any]] = {
    "copy": lambda a: a,
    "neg": operator.neg,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "exp": exponential,
    "log": lambda a: math.log(a) if a > 0 else -math.inf if a == 0 else math.nan,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "tanh": math.tanh,
    "erf": math.erf,
    "logical_not": operator.not_,
    "isnan": lambda a: a != a,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": divide,
    "pow": power,
    "maximum": lambda a, b: a if a != a or a > b else b,
    "minimum": lambda a, b: a if a != a or a < b else b,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "where": lambda condition, a, b: a if condition else b,
}
REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum,
    "prod": math.prod,
    "amax": max,
    "amin": min,
    "any": any,
    "all": all,
}


def load(registry: Registry) -> None:
    """Registers all kernels."""
    types = ("reals", "int64", "int32", "bool")
    for op, function in POINTWISE.items():
        registry.kernel(op, pointwise(function), dtypes=types, flags=STRIDED | KernelFlag.INPLACE)
    for op, combine in REDUCTIONS.items():
        registry.kernel(op, reduction(combine), dtypes=types, flags=STRIDED)
    for kernel in (fill, matmul, gather, scatter, scatter_add):
        registry.kernel(kernel.__name__, kernel, dtypes=types, flags=STRIDED)
