"""A user's allocator: memory that is handed out of one arena, first fit; the kernels are the reference's.

Addresses are offsets into the arena above `BASE`, so memory that anybody else reads or writes is noticed at once.
"""

import bisect

import numpy as np

import tenora_reference

BASE = 1 << 60
BYTES = 512 << 20


class Arena:
    """One array, and a list of what is free in it, as (offset, size) in order."""

    device_type, dlpack_type, host_accessible, granule, alignment = "arena", 12, False, 64, 64

    def __init__(self):
        self.memory = np.zeros(BYTES, np.uint8)  # the system gives pages when they are first written
        self.free = [(0, BYTES)]
        self.live = {}
        self.requests = 0

    def device_count(self):
        return 1

    def alloc(self, device, nbytes):
        for place, (offset, size) in enumerate(self.free):
            if size >= nbytes:
                rest = [(offset + nbytes, size - nbytes)] if size > nbytes else []
                self.free[place : place + 1] = rest
                self.live[BASE + offset] = nbytes
                self.requests += 1
                return BASE + offset
        raise MemoryError(f"the arena has no {nbytes} bytes in one piece")

    def release(self, device, address, nbytes):
        assert self.live.pop(address) == nbytes, "another size comes back than was handed out"
        bisect.insort(self.free, (address - BASE, nbytes))
        joined = self.free[:1]
        for offset, size in self.free[1:]:
            if sum(joined[-1]) == offset:
                joined[-1] = (joined[-1][0], joined[-1][1] + size)
            else:
                joined.append((offset, size))
        self.free = joined

    def copy(self, dst, dst_device, src, src_device, nbytes, kind, stream):
        to = self.bytes_at(dst, nbytes) if kind != 1 else host_bytes(dst, nbytes)
        to[...] = self.bytes_at(src, nbytes) if kind != 0 else host_bytes(src, nbytes)

    def memory_info(self, device):
        return sum(size for _, size in self.free), BYTES

    def synchronize(self, device):
        pass

    def bytes_at(self, address, nbytes):
        """The bytes of the arena at an address."""
        assert address >= BASE, "an address that the arena never gave"
        return self.memory[address - BASE : address - BASE + nbytes]

    def wrap(self, address, shape, strides, dtype, device):
        count = max(1, sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize)
        name = str(dtype).rpartition(".")[2]
        return np.ndarray(shape, name, self.bytes_at(address, count), strides=strides)


def host_bytes(address, nbytes):
    """The bytes of the host's memory at an address."""
    return np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * nbytes).from_address(address))


ARENA = Arena()


def load(registry):
    """Registers the memory, then NumPy's kernels for it."""
    registry.space(ARENA)
    tenora_reference.load(registry)
