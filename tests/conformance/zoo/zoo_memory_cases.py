"""Devices whose memory is wrong: `pond`, a space in Python over ordinary memory, with the reference's kernels."""

from broken_cases import Broken
from conftest import MANIFEST

POND = """
import ctypes

import numpy as np
import tenora_reference

FULL = 1 << 30
GRANULE = 512


class Pond:
    device_type, dlpack_type, host_accessible, granule, alignment = "pond", 12, False, GRANULE, GRANULE

    def __init__(self):
        self.blocks = {}

    def device_count(self):
        return 1

    def alloc(self, device, nbytes):
        if nbytes + sum(map(len, self.blocks.values())) > FULL:
            raise MemoryError("the pond is full")
        block = (ctypes.c_char * (nbytes + GRANULE))()
        address = ctypes.addressof(block)
        address += -address % GRANULE
        self.blocks[address] = block
        return address

    def release(self, device, address, nbytes):
        del self.blocks[address]

    def copy(self, dst, dst_device, src, src_device, nbytes, kind, stream):
        ctypes.memmove(dst, src, nbytes)

    def memory_info(self, device):
        return FULL - sum(map(len, self.blocks.values())), FULL

    def synchronize(self, device):
        pass

    def wrap(self, address, shape, strides, dtype, device):
        count = max(1, sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize)
        raw = (ctypes.c_char * count).from_address(address)
        return np.ndarray(shape, str(dtype).rpartition(".")[2], raw, strides=strides)


SPACE = Pond


def load(registry):
    registry.space(SPACE())
    tenora_reference.load(registry)
"""
PLACE = MANIFEST.replace('"cpu"', '"pond"') + 'capabilities = ["float32", "int64", "bool"]\n'


def pond(methods: str) -> str:
    """A pond with other methods."""
    lines = "\n".join(f"    {line}" for line in methods.strip().split("\n"))
    return f"{POND}\nclass Broken(Pond):\n{lines}\n\nSPACE = Broken\n"


MEMORY = (
    Broken("pond", POND, passes="*", ops=("add", "neg", "@memory", "@loading"), manifest=PLACE),
    Broken(
        "no_device",
        pond("def device_count(self):\n    return 0"),
        ops=("@loading",),
        level="L0",
        manifest=PLACE,
    ),
    Broken(
        "misaligned",
        pond("""def alloc(self, device, nbytes):
    return Pond.alloc(self, device, nbytes + 8) + 8
def release(self, device, address, nbytes):
    Pond.release(self, device, address - 8, nbytes + 8)"""),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "forgets_the_tail",
        pond("""def copy(self, dst, dst_device, src, src_device, nbytes, kind, stream):
    ctypes.memmove(dst, src, nbytes - (nbytes > 4096))"""),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "never_full",
        pond("""def alloc(self, device, nbytes):
    return Pond.alloc(self, device, nbytes if nbytes < FULL else 4096)"""),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "full_in_other_words",
        pond("""def alloc(self, device, nbytes):
    if nbytes > FULL:
        raise LookupError("no room")
    return Pond.alloc(self, device, nbytes)"""),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "never_releases",
        pond("def release(self, device, address, nbytes):\n    pass"),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "one_block",
        pond("""def alloc(self, device, nbytes):
    if not self.blocks:
        self.address = Pond.alloc(self, device, 1 << 26)
    if nbytes > 1 << 26:
        raise MemoryError("full")
    return self.address
def release(self, device, address, nbytes):
    pass"""),
        ops=("@memory",),
        manifest=PLACE,
    ),
    Broken(
        "ignores_offset",
        pond("""def wrap(self, address, shape, strides, dtype, device):
    return Pond.wrap(self, address - address % GRANULE, shape, strides, dtype, device)"""),
        ops=("neg", "@loading"),
        manifest=PLACE,
    ),
    Broken(
        "ignores_stream",
        POND
        + """
import functools

QUEUE = []


class Later:
    def __init__(self, registry):
        self.registry = registry

    def __getattr__(self, name):
        return getattr(self.registry, name)

    def kernel(self, op, function, **options):
        @functools.wraps(function)
        def queued(*arrays, **attributes):
            if len(QUEUE) < 1000:
                QUEUE.append(functools.partial(function, *arrays, **attributes))

        return self.registry.kernel(op, queued, **options)


class Broken(Pond):
    def release(self, device, address, nbytes):
        pass

    def synchronize(self, device):
        while QUEUE:
            QUEUE.pop(0)()


def load(registry):
    registry.space(Broken())
    tenora_reference.load(Later(registry))
""",
        ops=("neg", "@loading", "@memory"),
        manifest=PLACE,
    ),
)
