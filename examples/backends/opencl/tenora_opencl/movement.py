"""What makes and moves elements: ramps, random bits, reading and writing at indices.

- Indices are turned into distances in memory first, all of them: one that is out of range is an IndexError, and then
  nothing has been written.
- What is written twice at one place is written by one kernel, in order: the last one stays, and sums are the same in
  every run, those of halves in float. Kernels run side by side along the dimensions that no index names.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl

from .device import device
from .layout import Call, dense
from .memory import Array, Shape
from .pointwise import copy, elementwise
from .reductions import walking
from .source import BITS, COMPUTED, EVERY, FLOATS, HALVES, SIZES, cast, kernel

# Philox4x32-10. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
PHILOX = """
uint philox(ulong counter, ulong seed, int word) {
    uint4 x = (uint4)(counter, counter >> 32, 0, 0);
    uint2 key = (uint2)(seed, seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const ulong a = x.x * 0xD2511F53UL, b = x.z * 0xCD9E8D57UL;
        x = (uint4)((uint)(b >> 32) ^ x.y ^ key.x, (uint)b, (uint)(a >> 32) ^ x.w ^ key.y, (uint)a);
        key += (uint2)(0x9E3779B9, 0xBB67AE85);
    }
    return word == 0 ? x.x : word == 1 ? x.y : word == 2 ? x.z : x.w;
}
"""


def double_bits(number: float) -> int:
    """The bits of a double as a whole number."""
    return int(np.float64(number).view(np.int64))


def fill(*, out: Array, value: float) -> None:
    """Every element becomes `value`."""
    if isinstance(value, int) and (value < 2**63 or out.dtype == "uint64"):
        Call(out, numbers=[value]).run(elementwise("l.number[0]", (), "long", out.dtype))
    else:
        source = elementwise("as_double(l.number[0])", (), "double", out.dtype)
        Call(out, numbers=[double_bits(value)]).run(source)


def iota(*, out: Array, start: float, step: float) -> None:
    """start + i * step along the one dimension of `out`."""
    if isinstance(start, int) and isinstance(step, int):
        text = "(long)((ulong)l.number[0] + i * (ulong)l.number[1])"
        Call(out, numbers=[start, step]).run(elementwise(text, (), "long", out.dtype))
    else:
        text = "as_double(l.number[0]) + i * as_double(l.number[1])"
        source = elementwise(text, (), "double", out.dtype)
        Call(out, numbers=[double_bits(start), double_bits(step)]).run(source)


def random_bits(*, out: Array, seed: int, offset: int) -> None:
    """Word i % 4 of the Philox block with counter offset + i / 4 and key `seed`, for each element i."""
    text = "philox((ulong)l.number[1] + i / 4, l.number[0], i % 4)"
    Call(out, numbers=(seed, offset)).run(elementwise(text, (), "uint", out.dtype, PHILOX))


# Adds how far an index leads; operands: the index and the distances; numbers: size and stride of the dimension, the
# lowest index, and whether there are distances already.
LOCATE = kernel(
    """long place = READ(int64, 0, OUTER(0, i));
    const long size = l.number[0], at = OUTER(1, i);
    if (place < l.number[2] || place >= size) {
        found(p2, i);
        place = 0;
    }
    const long way = (place < 0 ? place + size : place) * l.number[1];
    WRITE(int64, 1, at, l.number[3] ? READ(int64, 1, at) + way : way);""",
    ("int64",),
    3,
)


def distances(indices: Sequence[Array], shape: Shape, strides: Shape, first: int, lowest: int) -> Array:
    """How many bytes each set of indices leads along dimensions first, first + 1, ... of an array.

    Negative indices count from the end where `lowest` is -1. Raises: IndexError naming the first one out of range.
    """
    like = indices[0].shape
    steps = dense(like, 8)
    buffer = device.scratch(8 * int(np.prod(like, dtype=np.int64)))
    ways = Array(buffer, 0, like, steps, "int64")
    for k, index in enumerate(indices):
        size, stride = shape[first + k], strides[first + k]
        wrong = Call(index, ways, numbers=(size, stride, lowest * size, k > 0)).search(LOCATE)
        if wrong is not None:
            place = element(index, wrong)
            raise IndexError(f"index {place} is out of bounds for dimension {first + k} with size {size}")
    return ways


def element(array: Array, number: int) -> int:
    """The element of an int64 array that is so many places behind the first."""
    at = np.unravel_index(number, array.shape)
    offset = array.offset + sum(int(i) * stride for i, stride in zip(at, array.strides, strict=True))
    value = np.empty(1, np.int64)
    cl.enqueue_copy(device.queue, value, array.buffer, src_offset=offset)
    return int(value[0])


@cache
def taking(moved: str) -> str:
    """The source of a kernel that reads at distances; operands: distances, elements, result."""
    read = f"READ({moved}, 1, OUTER(1, i) + READ(int64, 0, OUTER(0, i)))"
    return kernel(f"WRITE({moved}, 2, OUTER(2, i), {read});", (moved, "int64"), 3)


@cache
def putting(moved: str, dtype: str, accumulate: bool) -> str:
    """The source of a kernel that writes at distances, or adds; operands: distances, elements `moved`, target."""
    value = f"READ({moved}, 1, source + INNER(1, j))"
    if accumulate:
        held = COMPUTED[dtype] if dtype in FLOATS else "ulong"
        value = cast(f"({held})READ({dtype}, 2, at) + ({held}){value}", held, dtype)
    body = f"""const long way = OUTER(0, i), source = OUTER(1, i), target = OUTER(2, i);
    for (long j = 0; j < l.inner; ++j) {{
        const long at = target + INNER(2, j) + READ(int64, 0, way + INNER(0, j));
        WRITE({dtype}, 2, at, {value});
    }}"""
    return kernel(body, tuple(dict.fromkeys((moved, dtype, "int64"))), 3)


def put(ways: Array, source: Array, target: Array, indexed: Sequence[int], accumulate: bool) -> None:
    """Writes elements at distances, or adds them; along the dimensions `indexed` one kernel walks."""
    free = [d for d in range(len(target.shape)) if d not in indexed]
    arrays = [walking(array, free, indexed) for array in (ways, source, target)]
    bits = BITS[SIZES[target.dtype]]
    moved, dtype = (source.dtype, target.dtype) if accumulate else (bits, bits)
    Call(*arrays, outer=len(free)).run(putting(moved, dtype, accumulate))


def summed(out: Array, add: Callable[[Array], None]) -> None:
    """Adds to `out`; to halves in float, rounded once: a half that counts stops where its steps are larger than 1."""
    if out.dtype not in HALVES:
        return add(out)
    steps = dense(out.shape, 4)
    sums = Array(device.scratch(4 * int(np.prod(out.shape, dtype=np.int64))), 0, out.shape, steps, "float32")
    copy(out, out=sums)
    add(sums)
    copy(sums, out=out)


def row(array: Array) -> Array:
    """The array, one without dimensions as a row of one element."""
    return array if array.shape else array.seen((1,), (0,))


def standing(array: Array, shape: Shape, dim: int) -> Array:
    """The array with a shape along which its dimension `dim` does not move."""
    return array.seen(shape, tuple(0 if d == dim else stride for d, stride in enumerate(array.strides)))


def gather(input: Array, index: Array, *, out: Array, dim: int) -> None:
    """out[i][j] = input[index[i][j]][j] in dimension 0; `out` has the shape of `index`."""
    if 0 in index.shape:
        return
    input, index, out = row(input), row(index), row(out)
    ways = distances([index], input.shape, input.strides, dim, 0)
    Call(ways, standing(input, index.shape, dim), out).run(taking(BITS[SIZES[out.dtype]]))


def scatter_along(index: Array, src: Array, out: Array, dim: int, accumulate: bool) -> None:
    """out[index[i][j]][j] = src[i][j] in dimension 0, or += with `accumulate`."""
    if 0 in index.shape:
        return
    index, src, out = row(index), row(src), row(out)
    ways = distances([index], out.shape, out.strides, dim, 0)
    source, target = src.seen(index.shape, src.strides), standing(out, index.shape, dim)
    put(ways, source, target, [dim], accumulate)


def scatter(input: Array, index: Array, src: Array, *, out: Array, dim: int) -> None:
    """out[index[i][j]][j] = src[i][j] in dimension 0; `out` holds `input` already."""
    scatter_along(index, src, out, dim, False)


def scatter_add(input: Array, index: Array, src: Array, *, out: Array, dim: int) -> None:
    """out[index[i][j]][j] += src[i][j] in dimension 0; `out` holds `input` already."""
    summed(out, lambda sums: scatter_along(index, src, sums, dim, True))


def index(input: Array, *indices: Array, out: Array) -> None:
    """input[indices]: the first dimensions are indexed, the others follow."""
    if 0 in indices[0].shape:
        return
    ways = distances(indices, input.shape, input.strides, 0, -1)
    places, rest = len(ways.shape), len(out.shape) - len(ways.shape)
    ways = ways.seen(out.shape, (*ways.strides, *(0,) * rest))
    source = input.seen(out.shape, (*(0,) * places, *input.strides[len(indices) :]))
    Call(ways, source, out).run(taking(BITS[SIZES[out.dtype]]))


def index_put(input: Array, values: Array, *indices: Array, out: Array, accumulate: bool = False) -> None:
    """out[indices] = values, or += with `accumulate`; `out` holds `input` already."""
    if 0 in indices[0].shape:
        return
    if accumulate:
        summed(out, lambda sums: put_at(values, indices, sums, True))
    else:
        put_at(values, indices, out, False)


def put_at(values: Array, indices: Sequence[Array], out: Array, accumulate: bool) -> None:
    """out[indices] = values, or +=."""
    ways = distances(indices, out.shape, out.strides, 0, -1)
    shape, places = values.shape, range(len(ways.shape))
    rest = len(shape) - len(places)
    ways = ways.seen(shape, (*ways.strides, *(0,) * rest))
    target = out.seen(shape, (*(0 for _ in places), *out.strides[len(indices) :]))
    put(ways, values, target, places, accumulate)


KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "fill": (fill, EVERY),
    "iota": (iota, EVERY),
    "random_bits": (random_bits, ("uint32",)),
    "gather": (gather, EVERY),
    "scatter": (scatter, EVERY),
    "scatter_add": (scatter_add, EVERY),
    "index": (index, EVERY),
    "index_put": (index_put, EVERY),
}
