"""A memory space in Python among threads: its functions take the GIL while the allocator's lock is held."""

from conftest import MANIFEST, Install, run_python

SPACE = """
import ctypes
import time

import numpy as np
import tenora_reference


class Slow:
    device_type, dlpack_type, host_accessible, granule, alignment = "slow", 12, False, 64, 64

    def __init__(self):
        self.blocks = {}

    def device_count(self):
        return 1

    def alloc(self, device, nbytes):
        time.sleep(0.001)  # other threads have the GIL meanwhile, and ask for memory
        kept = [[] for _ in range(2000)]  # so many that the collector would run
        block = (ctypes.c_char * (nbytes + 64))()
        address = ctypes.addressof(block)
        address += -address % 64
        self.blocks[address] = block
        return address

    def release(self, device, address, nbytes):
        time.sleep(0.001)
        del self.blocks[address]

    def copy(self, dst, dst_device, src, src_device, nbytes, kind, stream):
        ctypes.memmove(dst, src, nbytes)

    def memory_info(self, device):
        return 1 << 30, 1 << 30

    def synchronize(self, device):
        time.sleep(0.001)

    def wrap(self, address, shape, strides, dtype, device):
        raw = (ctypes.c_char * max(1, sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize))
        return np.ndarray(shape, dtype.name, raw.from_address(address), strides=strides)


def load(registry):
    registry.space(Slow())
    tenora_reference.load(registry)
"""
PROGRAM = """
import faulthandler
import threading

import tenora

faulthandler.dump_traceback_later(100, exit=True)
tenora.set_default_backend("slow")


def in_a_cycle(tensor):
    cycle = [tensor]
    cycle.append(cycle)


def work():
    for step in range(10):
        for _ in range(8):  # each in a segment of its own
            in_a_cycle(tenora.empty(11 << 20, dtype=tenora.uint8, device="slow"))
        tenora.slow.empty_cache()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", flush=True)
"""


def test_threads_that_want_its_memory_do_not_wait_for_each_other_for_ever(install: Install) -> None:
    """Tensors go in all ways meanwhile, those in cycles among them: when the collector runs, it must not be there."""
    home = install("slow", package=SPACE, manifest=MANIFEST.replace('"cpu"', '"slow"'))
    done = run_python(["-c", PROGRAM], path=home.parent)
    assert done.stdout == "done\n", done.stderr
