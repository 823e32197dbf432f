"""A backend with a memory space written in Python, as text: tests install it (test_python_space.py)."""

RANGES = 'protocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
MANIFEST = 'name = "{name}"\ndevice_types = ["attic"]\nauto = true\n' + RANGES
PACKAGE = """
import ctypes

import numpy as np

from tenora_dispatch import KernelFlag

OFFSET = 1 << 60
FULL = 1 << 20


class Attic:
    device_type, dlpack_type, host_accessible, granule, alignment = "attic", 12, False, 64, 16

    def __init__(self):
        self.handed_out = {}
        self.copies = 0

    def device_count(self):
        return 1

    def alloc(self, device, nbytes):
        if sum(map(len, self.handed_out.values())) + nbytes > FULL:
            raise MemoryError("the attic is full")
        block = (ctypes.c_char * nbytes)()
        address = ctypes.addressof(block) + OFFSET
        self.handed_out[address] = block
        return address

    def release(self, device, address, nbytes):
        assert len(self.handed_out.pop(address)) == nbytes

    def copy(self, dst, dst_device, src, src_device, nbytes, kind, stream):
        self.copies += 1
        ctypes.memmove(dst - OFFSET * (kind != 1), src - OFFSET * (kind != 0), nbytes)

    def memory_info(self, device):
        return FULL - sum(map(len, self.handed_out.values())), FULL

    def synchronize(self, device):
        pass

    def wrap(self, address, shape, strides, dtype, device):
        count = max(1, sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize)
        raw = (ctypes.c_char * count).from_address(address - OFFSET)
        return np.ndarray(shape, str(dtype).rpartition(".")[2], raw, strides=strides)


SPACE = Attic()


def add(a, b, *, out):
    np.add(a, b, out=out)


def multiply(a, b, *, out):
    return np.multiply(a, b)  # wrong on purpose: only this package could store it


def copy(a, *, out):
    np.copyto(out, a, casting="unsafe")


def fill(*, out, value):
    out[...] = value


def total(a, *, out, dim, **attributes):
    np.sum(a, axis=dim, keepdims=True, out=out)


def load(registry):
    registry.space(SPACE)
    layout = KernelFlag.STRIDED | KernelFlag.STRIDED_OUT
    for name, kernel in {"add": add, "mul": multiply, "copy": copy, "fill": fill, "sum": total}.items():
        registry.kernel(name, kernel, dtypes="reals", flags=layout)
"""
