"""What makes and moves elements: copies and casts, filling, ramps, random bits, reading and writing at indices.

An index that is out of range is an IndexError, and then nothing is written.
"""

from typing import Any

import numpy as np

from .arrays import EVERY, Array, Table, silent


@silent
def copy(input: Array, *, out: Array) -> None:
    """The elements of `input` in the dtype of `out`: a float is cut to an integer, to bool it is `!= 0`."""
    np.copyto(out, input, casting="unsafe")


@silent
def fill(*, out: Array, value: complex) -> None:
    """Every element becomes `value`."""
    np.copyto(out, np.asarray(value).astype(out.dtype))


@silent
def iota(*, out: Array, start: float, step: float) -> None:
    """start + i * step along the one dimension of `out`."""
    whole = isinstance(start, int) and isinstance(step, int)
    counts: Array = np.arange(out.size, dtype=np.int64 if whole else np.float64)
    np.copyto(out, start + counts * step, casting="unsafe")


def random_bits(*, out: Array, seed: int, offset: int) -> None:
    """Philox4x32-10: word i % 4 of the block with counter offset + i // 4 and key `seed`, for each element i.

    These bits are the same on every backend, and all random ops are made of them. Source: Salmon, Moraes, Dror, Shaw,
    "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    counter: Array = np.arange(-(-out.size // 4), dtype=np.uint64) + np.uint64(offset % 2**64)
    a, b = counter & low, counter >> half
    c, d = np.zeros_like(counter), np.zeros_like(counter)
    keys = [seed % 2**32, (seed >> 32) % 2**32]
    for _ in range(10):
        left, right = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (right >> half) ^ b ^ np.uint64(keys[0]), right & low
        c, d = (left >> half) ^ d ^ np.uint64(keys[1]), left & low
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    words: Any = np.stack([a, b, c, d], axis=-1).ravel()[: out.size]
    np.copyto(out, words.reshape(out.shape), casting="unsafe")


def check(places: Array, size: int, dim: int, lowest: int = 0) -> None:
    """Raises: IndexError naming the first index that is not lowest .. size - 1."""
    wrong = places[(places < lowest) | (places >= size)]
    if wrong.size:
        raise IndexError(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {size}")


def along(index: Array, dim: int) -> tuple[Any, ...]:
    """Coordinates that take `index` in dimension `dim`, and every other dimension where it is."""
    places: list[Any] = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    places[dim] = index
    return tuple(places)


def rows(*arrays: Array) -> list[Array]:
    """The arrays, those without dimensions as rows of one element."""
    return [np.atleast_1d(array) for array in arrays]


def gather(input: Array, index: Array, *, out: Array, dim: int) -> None:
    """out[i][j] = input[index[i][j]][j] in dimension 0; `out` has the shape of `index`."""
    if index.size:
        input, index, out = rows(input, index, out)
        check(index, input.shape[dim], dim)
        np.copyto(out, input[along(index, dim)])


def scatter(input: Array, index: Array, src: Array, *, out: Array, dim: int) -> None:
    """out[index[i][j]][j] = src[i][j] in dimension 0; `out` holds `input` already."""
    if index.size:
        index, src, out = rows(index, src, out)
        check(index, out.shape[dim], dim)
        out[along(index, dim)] = src[tuple(slice(size) for size in index.shape)]


@silent
def scatter_add(input: Array, index: Array, src: Array, *, out: Array, dim: int) -> None:
    """out[index[i][j]][j] += src[i][j] in dimension 0; `out` holds `input` already."""
    if index.size:
        index, src, out = rows(index, src, out)
        check(index, out.shape[dim], dim)
        np.add.at(out, along(index, dim), src[tuple(slice(size) for size in index.shape)])


def index(input: Array, *indices: Array, out: Array) -> None:
    """input[indices]: the first dimensions are indexed, the others follow."""
    for dim, places in enumerate(indices):
        check(places, input.shape[dim], dim, -input.shape[dim])
    np.copyto(out, input[indices])


@silent
def index_put(input: Array, values: Array, *indices: Array, out: Array, accumulate: bool = False) -> None:
    """out[indices] = values, or += with `accumulate`; `out` holds `input` already."""
    for dim, places in enumerate(indices):
        check(places, out.shape[dim], dim, -out.shape[dim])
    if accumulate:
        np.add.at(out, indices, values)
    else:
        out[indices] = values


KERNELS: Table = {
    "copy": (copy, EVERY),
    "fill": (fill, EVERY),
    "iota": (iota, EVERY),
    "random_bits": (random_bits, ("uint32",)),
    "gather": (gather, EVERY),
    "scatter": (scatter, EVERY),
    "scatter_add": (scatter_add, EVERY),
    "index": (index, EVERY),
    "index_put": (index_put, EVERY),
}
