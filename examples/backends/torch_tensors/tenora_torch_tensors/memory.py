"""The memory of the device type `torch`, and the tensors that kernels are handed of it.

- A block is a tensor of bytes, so PyTorch's allocator gives it and takes it back. tenora's caching allocator stands
  above and cuts blocks up; an address may lie anywhere inside one.
- A kernel's operand is a tensor over the bytes at its address, with the shape and strides that tenora says; nothing is
  copied. tenora keeps the memory alive for the time of the call, and no kernel keeps a tensor longer.
- The host reads and writes this memory with plain pointers, and all work is finished when a kernel returns.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Kernel = Callable[..., None]
# A kernel, and the dtypes of its first operand that it takes.
Table = dict[str, tuple[Kernel, tuple[str, ...]]]

BOOL = ("bool",)
INTS = ("uint8", "int8", "int16", "int32", "int64")
HALF = ("float16", "bfloat16")
FLOATS = (*HALF, "float32", "float64")
COMPLEX = ("complex64", "complex128")
REALS = BOOL + INTS + FLOATS
NUMBERS = INTS + FLOATS + COMPLEX
INEXACT = FLOATS + COMPLEX
EVERY = BOOL + NUMBERS
# PyTorch stores and converts uint32, which random words come as, and computes little with it.
TYPES = {name: getattr(torch, name) for name in (*EVERY, "uint32")}
DLPACK_EXTENSION = 12  # kDLExtDev: a device that DLPack has no number for


def bytes_at(address: int, nbytes: int) -> Tensor:
    """The bytes at an address as a tensor that shares them; `nbytes` is 1 or more."""
    return torch.frombuffer((ctypes.c_char * nbytes).from_address(address), dtype=torch.uint8)


class Memory:
    """The space `torch`, with one device; see `tenora_dispatch.Space`."""

    device_type, dlpack_type, host_accessible, granule, alignment = "torch", DLPACK_EXTENSION, True, 64, 64

    def __init__(self) -> None:
        self.blocks: dict[int, Tensor] = {}  # by address; one statement each, so the GIL is its lock

    def device_count(self) -> int:
        """One: the host's memory."""
        return 1

    def alloc(self, device: int, nbytes: int) -> int:
        """Address of a new block. Raises: MemoryError."""
        try:
            block = torch.empty(nbytes, dtype=torch.uint8)
        except RuntimeError as error:  # what PyTorch raises when there is not enough
            raise MemoryError(str(error)) from error
        address = int(block.data_ptr())
        self.blocks[address] = block
        return address

    def release(self, device: int, address: int, nbytes: int) -> None:
        """Gives a block back to PyTorch."""
        del self.blocks[address]

    def copy(
        self, dst: int, dst_device: int, src: int, src_device: int, nbytes: int, kind: int, stream: int
    ) -> None:
        """Copies bytes; both sides are the host's memory, whatever the kind."""
        ctypes.memmove(dst, src, nbytes)

    def memory_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes: the machine's."""
        with open("/proc/meminfo", encoding="ascii") as lines:
            sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        return sizes["MemAvailable"], sizes["MemTotal"]

    def synchronize(self, device: int) -> None:
        """Nothing to wait for."""

    def wrap(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, device: int
    ) -> Tensor:
        """The tensor of an operand; strides in bytes, none negative."""
        kind = TYPES[str(dtype).rpartition(".")[2]]
        steps = [stride // kind.itemsize for stride in strides]
        if not address or 0 in shape:
            return torch.empty_strided(shape, steps, dtype=kind)
        reach = sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) + 1
        buffer = (ctypes.c_char * (reach * kind.itemsize)).from_address(address)
        return torch.frombuffer(buffer, dtype=kind).as_strided(shape, steps)


def multiplied(function: Callable[..., Tensor], *operands: Tensor | None, **where: Any) -> Tensor:
    """A product or convolution, that of bfloat16 in float32.

    On processors with instructions for bfloat16, PyTorch's own takes terms in pairs and makes up the last one of an odd
    number with a zero, which an infinity beside it turns into NaN.
    """
    wide = [x.to(torch.float32) if x is not None and x.dtype == torch.bfloat16 else x for x in operands]
    return function(*wide, **where)


def number(value: Any, dtype: torch.dtype) -> Tensor:
    """A number as a tensor without dimensions: rounded once, a whole one cut to the width of `dtype`."""
    widest = torch.complex128 if isinstance(value, complex) else torch.float64
    widest = torch.int64 if isinstance(value, int) else widest
    return torch.tensor(value, dtype=widest).to(dtype)


def taking_numbers(kernel: Kernel) -> Kernel:
    """The kernel with tensors for the numbers of a program, which arrive as NumPy arrays without dimensions."""

    def call(*operands: Any, **named: Any) -> None:
        tensors = [
            torch.tensor(each.item(), dtype=TYPES[each.dtype.name]) if isinstance(each, np.ndarray) else each
            for each in operands
        ]
        kernel(*tensors, **named)

    return call
