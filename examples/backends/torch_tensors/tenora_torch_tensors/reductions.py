"""Sums, extremes, running sums, sorting and matrix products.

A reduced dimension has size 1 in `out`; `dim` lists them, and without any nothing is reduced.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .memory import EVERY, REALS, Kernel, Table, multiplied


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype to add up in where PyTorch would round after each step, or adds no truth values."""
    wider = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.bool: torch.int64}
    return wider.get(dtype, dtype)


def total(input: Tensor, *, out: Tensor, dim: Sequence[int], **attributes: Any) -> None:
    """Sums in the dtype of the result, half types in float32."""
    kind = wide(out.dtype)
    out.copy_(torch.sum(input, tuple(dim), keepdim=True, dtype=kind) if dim else input)


def product(input: Tensor, *, out: Tensor, dim: Sequence[int], **attributes: Any) -> None:
    """Products in the dtype of the result; PyTorch reduces one dimension at a time."""
    found = input.to(out.dtype).to(wide(out.dtype))  # a truth value first, where the result is one
    for each in dim:
        found = torch.prod(found, each, keepdim=True)
    out.copy_(found)


def extreme(function: Callable[..., Tensor]) -> Kernel:
    """A kernel for the largest or smallest element; one that is no number wins."""

    def kernel(input: Tensor, *, out: Tensor, dim: Sequence[int], keepdim: bool = False) -> None:
        out.copy_(function(input, dim, keepdim=True) if dim else input)

    return kernel


def truth(function: Callable[..., Tensor]) -> Kernel:
    """A kernel that asks whether any, or all, elements are other than zero."""

    def kernel(input: Tensor, *, out: Tensor, dim: Sequence[int], keepdim: bool = False) -> None:
        found = input != 0
        out.copy_(function(found, tuple(dim), keepdim=True) if dim else found)

    return kernel


def place(function: Callable[..., Tensor]) -> Kernel:
    """A kernel for the first place of an extreme along the one dimension of `dim`."""

    def kernel(input: Tensor, *, out: Tensor, dim: Sequence[int], keepdim: bool = False) -> None:
        countable = input.to(torch.uint8) if input.dtype == torch.bool else input
        out.copy_(function(countable, dim[0], keepdim=True))

    return kernel


def running(function: Callable[..., Tensor]) -> Kernel:
    """A kernel for running sums or products along `dim`."""

    def kernel(input: Tensor, *, out: Tensor, dim: int, dtype: Any = None) -> None:
        out.copy_(function(input.to(out.dtype), dim, dtype=wide(out.dtype)))

    return kernel


def sort(
    input: Tensor, *, out: tuple[Tensor, Tensor], dim: int, descending: bool = False, stable: bool = False
) -> None:
    """Values in order and where they were, equal ones as they came; what is no number counts as largest."""
    values, places = torch.sort(input, dim=dim, descending=descending, stable=True)
    out[0].copy_(values)
    out[1].copy_(places)


def matmul(input: Tensor, other: Tensor, *, out: Tensor) -> None:
    """Products of matrices, (..., M, K) x (..., K, N); of truth values, whether any of the products holds."""
    if out.dtype == torch.bool:
        out.copy_(torch.matmul(input.to(torch.float32), other.to(torch.float32)) != 0)
    else:
        out.copy_(multiplied(torch.matmul, input, other))


KERNELS: Table = {
    "sum": (total, EVERY),
    "prod": (product, EVERY),
    "amax": (extreme(torch.amax), REALS),
    "amin": (extreme(torch.amin), REALS),
    "any": (truth(torch.any), EVERY),
    "all": (truth(torch.all), EVERY),
    "argmax": (place(torch.argmax), REALS),
    "argmin": (place(torch.argmin), REALS),
    "cumsum": (running(torch.cumsum), EVERY),
    "cumprod": (running(torch.cumprod), EVERY),
    "sort": (sort, REALS),
    "matmul": (matmul, EVERY),
}
