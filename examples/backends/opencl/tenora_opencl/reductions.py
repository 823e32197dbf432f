"""Sums, extremes, running sums, matrix products: kernels that walk along dimensions. Sorting.

- A reduced dimension has size 1 in `out`; `dim` lists them, and without any nothing is reduced.
- Each element of the result belongs to one kernel, which takes elements in order: results do not hang on threads.
- Sums and products of floating numbers are held in double and rounded once.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .device import device
from .layout import Call, dense
from .memory import Array
from .source import BITS, COMPUTED, EVERY, FLOATS, SIZES, cast, kernel

# What is held at first, what an element `x`, the `j`-th, does to it, and in which type (None: in the elements').
EXTREME = "if (j == 0 || (held == held && (x {} held || x != x)))"
FOLDS: dict[str, tuple[str, str, str | None]] = {
    "sum": ("0", "held += x;", "wide"),
    "prod": ("1", "held *= x;", "wide"),
    "any": ("0", "held |= x != 0;", "ulong"),
    "all": ("1", "held &= x != 0;", "ulong"),
    "amax": ("0", EXTREME.format(">") + " held = x;", None),
    "amin": ("0", EXTREME.format("<") + " held = x;", None),
    "argmax": ("0", EXTREME.format(">") + " { held = x; place = j; }", None),
    "argmin": ("0", EXTREME.format("<") + " { held = x; place = j; }", None),
}
PLACES = ("argmax", "argmin")


def wide(dtype: str) -> str:
    """The OpenCL type in which results of this dtype are added up."""
    return "double" if dtype in FLOATS else "ulong"


@cache
def fold(op: str, dtype: str, target: str) -> str:
    """The source of a reduction's kernel."""
    first, step, kind = FOLDS[op]
    held = wide(target) if kind == "wide" else kind or COMPUTED[dtype]
    result = cast("place", "long", target) if op in PLACES else cast("held", held, target)
    body = f"""const long from = OUTER(0, i);
    {held} held = {first};
    long place = 0;
    for (long j = 0; j < l.inner; ++j) {{
        const {COMPUTED[dtype]} x = READ({dtype}, 0, from + INNER(0, j));
        {step}
    }}
    WRITE({target}, 1, OUTER(1, i), {result});"""
    return kernel(body, (dtype, target), 2)


def walking(array: Array, dims: Sequence[int], last: Sequence[int]) -> Array:
    """The array with the dimensions `dims`, then those of `last`; shape as it is."""
    order = [*dims, *last]
    return array.seen(tuple(array.shape[d] for d in order), tuple(array.strides[d] for d in order))


def reduction(op: str) -> Callable[..., None]:
    """The kernel of a reduction in the table."""

    def run(input: Array, *, out: Array, dim: Sequence[int], **attributes: Any) -> None:
        kept = [d for d in range(len(input.shape)) if d not in dim]
        source = walking(input, kept, dim)
        steps = (*(out.strides[d] for d in kept), *(0 for _ in dim))
        target = out.seen(source.shape, steps)
        if 0 in out.shape:
            return
        Call(source, target, outer=len(kept)).run(fold(op, input.dtype, out.dtype))

    return run


@cache
def running(dtype: str, target: str) -> str:
    """The source of the kernel of running sums."""
    held = wide(target)
    body = f"""const long from = OUTER(0, i), to = OUTER(1, i);
    {held} held = 0;
    for (long j = 0; j < l.inner; ++j) {{
        held += READ({dtype}, 0, from + INNER(0, j));
        WRITE({target}, 1, to + INNER(1, j), {cast("held", held, target)});
    }}"""
    return kernel(body, (dtype, target), 2)


def lines(array: Array, dim: int) -> Array:
    """The array with the dimension `dim` last; a number is a line of one."""
    if not array.shape:
        return array.seen((1,), (0,))
    others = [d for d in range(len(array.shape)) if d != dim]
    return walking(array, others, [dim])


def cumsum(input: Array, *, out: Array, dim: int, dtype: Any = None) -> None:
    """Running sums along `dim`."""
    source = lines(input, dim)
    Call(source, lines(out, dim), outer=len(source.shape) - 1).run(running(input.dtype, out.dtype))


@cache
def product(dtype: str, target: str) -> str:
    """The source of the kernel of matrix products."""
    held = wide(target)
    body = f"""const long row = OUTER(0, i), column = OUTER(1, i);
    {held} held = 0;
    for (long j = 0; j < l.inner; ++j)
        held += ({held})READ({dtype}, 0, row + INNER(0, j)) * ({held})READ({dtype}, 1, column + INNER(1, j));
    WRITE({target}, 2, OUTER(2, i), {cast("held", held, target)});"""
    return kernel(body, (dtype, target), 3)


def matmul(input: Array, other: Array, *, out: Array) -> None:
    """Products of matrices, (..., M, K) x (..., K, N); of bools it is "or" of "and"."""
    depth = input.shape[-1]
    shape = (*out.shape, depth)
    *batches, row, deep = input.strides
    rows = input.seen(shape, (*batches, row, 0, deep))
    *batches, deep, column = other.strides
    columns = other.seen(shape, (*batches, 0, column, deep))
    target = out.seen(shape, (*out.strides, 0))
    Call(rows, columns, target, outer=len(out.shape)).run(product(input.dtype, out.dtype))


# One pass of a merge sort, for all elements side by side: each finds its place in the merged run by counting, with a
# binary search, how many of the neighbouring run go before it. Equal ones stay as they came; NaN counts as largest.
# Operands: the elements, and the order so far and the next one; numbers: length of a run, whether descending.
MERGE = """const long n = l.inner, line = i / n * n, at = i % n, width = l.number[0];
    const long run = at / (2 * width) * (2 * width), middle = min(run + width, n), end = min(run + 2 * width, n);
    const __global long *order = (const __global long *)p1 + line;
    const long from = OUTER(0, line / n), mine = width == 1 ? at : order[at];
    const {computed} x = READ({dtype}, 0, from + INNER(0, mine));
    long low = at < middle ? middle : run, high = at < middle ? end : middle;
    const long first = low;
    while (low < high) {{
        const long half_way = (low + high) / 2;
        const {computed} y = READ({dtype}, 0, from + INNER(0, width == 1 ? half_way : order[half_way]));
        const bool before = at < middle ? (l.number[1] ? GOES(x, y) : GOES(y, x))
                                        : !(l.number[1] ? GOES(y, x) : GOES(x, y));
        if (before) low = half_way + 1;
        else high = half_way;
    }}
    ((__global long *)p2)[line + (at < middle ? at : run + at - middle) + low - first] = mine;"""
GOES = "#define GOES(a, b) ((a) == (a) && ((a) < (b) || (b) != (b)))\n"
SORTED = """const long n = l.inner, at = i % n, place = ((const __global long *)p1)[i];
    WRITE({moved}, 2, OUTER(2, i / n) + INNER(2, at), READ({moved}, 0, OUTER(0, i / n) + INNER(0, place)));
    WRITE(int64, 3, OUTER(3, i / n) + INNER(3, at), place);"""


@cache
def merge_pass(dtype: str) -> str:
    """The source of the kernel that merges runs."""
    return kernel(MERGE.format(dtype=dtype, computed=COMPUTED[dtype]), (dtype,), 3, GOES)


def sort(
    input: Array, *, out: tuple[Array, Array], dim: int, descending: bool = False, stable: bool = False
) -> None:
    """Values in order and where they were, equal ones as they came; what is no number counts as largest."""
    elements, values, places = (lines(array, dim) for array in (input, *out))
    outer, length = len(elements.shape) - 1, elements.shape[-1]
    if 0 in elements.shape:
        return
    strides = dense(elements.shape, 8)
    order, merged = (
        Array(device.scratch(elements.shape[0] * strides[0]), 0, elements.shape, strides, "int64")
        for _ in "ab"
    )
    width = 1
    while width == 1 or width < length:
        call = Call(elements, order, merged, outer=outer, times=length, numbers=(width, descending))
        call.run(merge_pass(input.dtype))
        order, merged = merged, order
        width *= 2
    moved = BITS[SIZES[input.dtype]]
    source = kernel(SORTED.format(moved=moved), (moved, "int64"), 4)
    Call(elements, order, values, places, outer=outer, times=length).run(source)


KERNELS = {op: (reduction(op), EVERY) for op in FOLDS} | {
    "cumsum": (cumsum, EVERY),
    "matmul": (matmul, EVERY),
    "sort": (sort, EVERY),
}
