"""What makes and moves elements: copies and casts, filling, ramps, random bits, reading and writing at indices.

An index that is out of range is an IndexError, and then nothing is written.
"""

import torch
from torch import Tensor

from .memory import EVERY, HALF, TYPES, Table, number

LOW = 0xFFFFFFFF
HALF_TYPES = {TYPES[name] for name in HALF}


def copy(input: Tensor, *, out: Tensor) -> None:
    """The elements of `input` in the dtype of `out`: a float is cut to an integer, to bool it is `!= 0`."""
    if input.is_complex() and not out.is_complex():
        input = input != 0 if out.dtype == torch.bool else torch.view_as_real(input)[..., 0]
    out.copy_(input)


def fill(*, out: Tensor, value: complex) -> None:
    """Every element becomes `value`."""
    out.copy_(number(value, out.dtype))


def iota(*, out: Tensor, start: float, step: float) -> None:
    """start + i * step along the one dimension of `out`."""
    whole = isinstance(start, int) and isinstance(step, int)
    counts = torch.arange(out.numel(), dtype=torch.int64 if whole else torch.float64)
    out.copy_(counts * step + start)


def random_bits(*, out: Tensor, seed: int, offset: int) -> None:
    """Philox4x32-10: word i % 4 of the block with counter offset + i // 4 and key `seed`, for each element i.

    These bits are the same on every backend, and all random ops are made of them. Source: Salmon, Moraes, Dror, Shaw,
    "Parallel random numbers: as easy as 1, 2, 3", SC 2011. In int64, whose products wrap: the words are their halves.
    """
    counter = torch.arange(-(-out.numel() // 4), dtype=torch.int64) + number(offset, torch.int64)
    a, b = counter & LOW, counter >> 32 & LOW
    c, d = torch.zeros_like(counter), torch.zeros_like(counter)
    first, second = seed & LOW, seed >> 32 & LOW
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b = (right >> 32 & LOW) ^ b ^ first, right & LOW
        c, d = (left >> 32 & LOW) ^ d ^ second, left & LOW
        first, second = first + 0x9E3779B9 & LOW, second + 0xBB67AE85 & LOW
    words = torch.stack([a, b, c, d], dim=-1).flatten()[: out.numel()]
    out.copy_(words.reshape(out.shape))


def check(places: Tensor, size: int, dim: int, lowest: int = 0) -> None:
    """Raises: IndexError naming the first index that is not lowest .. size - 1."""
    wrong = places[(places < lowest) | (places >= size)]
    if wrong.numel():
        raise IndexError(f"index {int(wrong[0])} is out of bounds for dimension {dim} with size {size}")


def gather(input: Tensor, index: Tensor, *, out: Tensor, dim: int) -> None:
    """out[i][j] = input[index[i][j]][j] in dimension 0; `out` has the shape of `index`."""
    if index.numel():
        check(index, input.shape[dim] if input.ndim else 1, dim)
        torch.gather(input, dim, index, out=out)


def scatter(input: Tensor, index: Tensor, src: Tensor, *, out: Tensor, dim: int) -> None:
    """out[index[i][j]][j] = src[i][j] in dimension 0; `out` holds `input` already."""
    if index.numel():
        check(index, out.shape[dim] if out.ndim else 1, dim)
        out.scatter_(dim, index, src)


def scatter_add(input: Tensor, index: Tensor, src: Tensor, *, out: Tensor, dim: int) -> None:
    """out[index[i][j]][j] += src[i][j] in dimension 0; `out` holds `input` already."""
    if not index.numel():
        return
    check(index, out.shape[dim] if out.ndim else 1, dim)
    if out.dtype in HALF_TYPES:  # many terms may meet in one element: rounded once
        out.copy_(out.to(torch.float32).scatter_add_(dim, index, src.to(torch.float32)))
    else:
        out.scatter_add_(dim, index, src)


def index(input: Tensor, *indices: Tensor, out: Tensor) -> None:
    """input[indices]: the first dimensions are indexed, the others follow."""
    for dim, places in enumerate(indices):
        check(places, input.shape[dim], dim, -input.shape[dim])
    out.copy_(input[indices])


def index_select(input: Tensor, index: Tensor, *, out: Tensor) -> None:
    """Rows of `input`, by places from 0 on."""
    check(index, input.shape[0], 0)
    out.copy_(torch.index_select(input, 0, index))


def index_put(input: Tensor, values: Tensor, *indices: Tensor, out: Tensor, accumulate: bool = False) -> None:
    """out[indices] = values, or += with `accumulate`; `out` holds `input` already."""
    for dim, places in enumerate(indices):
        check(places, out.shape[dim], dim, -out.shape[dim])
    if accumulate and out.dtype in HALF_TYPES:
        summed = out.to(torch.float32).index_put_(indices, values.to(torch.float32), accumulate=True)
        out.copy_(summed)
    else:
        out.index_put_(indices, values, accumulate=accumulate)


KERNELS: Table = {
    "copy": (copy, (*EVERY, "uint32")),
    "fill": (fill, EVERY),
    "iota": (iota, EVERY),
    "random_bits": (random_bits, ("uint32",)),
    "gather": (gather, EVERY),
    "scatter": (scatter, EVERY),
    "scatter_add": (scatter_add, EVERY),
    "index": (index, EVERY),
    "index_select": (index_select, EVERY),
    "index_put": (index_put, EVERY),
}
