"""Device memory that the host cannot read: a space of tenora over OpenCL buffers.

tenora's allocator wants addresses and computes with them; OpenCL has handles. So a buffer is given a range of numbers
that no program's memory is ever mapped at: `blocks` leads from a number inside of it back to the buffer, and whoever
takes such a number for a pointer ends with a fault at once. No number is used twice.
"""

import bisect
import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from tenora_dispatch import NotSupportedError, OperationError

from .device import device
from .source import EVERY

Shape = tuple[int, ...]

LOWEST = 1 << 52
GRANULE = 512
HOST_TO_DEVICE, DEVICE_TO_HOST = 0, 1


@dataclass(frozen=True, slots=True)
class Array:
    """An operand of a kernel: elements of a buffer. `offset` and `strides` count bytes; `dtype` is a name."""

    buffer: Any
    offset: int
    shape: Shape
    strides: Shape
    dtype: str

    def seen(self, shape: Shape, strides: Shape) -> "Array":
        """The same elements, counted in another way."""
        return Array(self.buffer, self.offset, shape, strides, self.dtype)


def host_bytes(address: int, nbytes: int) -> Any:
    """The host's memory at an address."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


class OpenCLSpace:
    """The memory of one OpenCL device, in the form of `tenora_dispatch.Space`."""

    device_type = "opencl"
    dlpack_type = (
        12  # an extension's device: DLPack's OpenCL means that data is a cl_mem, which an address is not
    )
    host_accessible = False
    granule = GRANULE
    alignment = GRANULE

    def __init__(self) -> None:
        self._lock = threading.Lock()  # over the fields below
        self._starts: list[int] = []  # in ascending order
        self._buffers: dict[int, Any] = {}
        self._next = LOWEST
        self._taken = 0

    def device_count(self) -> int:
        """The queue is one device's."""
        return 1

    def alloc(self, index: int, nbytes: int) -> int:
        """The number of the first byte of a new buffer. MemoryError when there is not enough memory."""
        with self._lock:
            free, total = self._room()
            if nbytes > free:
                raise MemoryError(f"{nbytes} bytes of OpenCL memory: {free} of {total} are free")
            buffer = device.scratch(nbytes)
            start = self._next
            self._next += -(-(nbytes + GRANULE) // GRANULE) * GRANULE
            self._starts.append(start)
            self._buffers[start] = buffer
            self._taken += nbytes
        return start

    def release(self, index: int, address: int, nbytes: int) -> None:
        """Gives a buffer back."""
        with self._lock:
            del self._starts[bisect.bisect_left(self._starts, address)]
            self._buffers.pop(address).release()
            self._taken -= nbytes

    def copy(
        self, dst: int, dst_device: int, src: int, src_device: int, nbytes: int, kind: int, stream: int
    ) -> None:
        """Copies bytes, and waits for them."""
        if not nbytes:
            return
        device.check_process()
        if kind == HOST_TO_DEVICE:
            buffer, offset = self._place(dst)
            cl.enqueue_copy(device.queue, buffer, host_bytes(src, nbytes), dst_offset=offset)
        elif kind == DEVICE_TO_HOST:
            buffer, offset = self._place(src)
            cl.enqueue_copy(device.queue, host_bytes(dst, nbytes), buffer, src_offset=offset)
        else:
            (source, start), (target, offset) = self._place(src), self._place(dst)
            cl.enqueue_copy(
                device.queue, target, source, byte_count=nbytes, src_offset=start, dst_offset=offset
            ).wait()

    def memory_info(self, index: int) -> tuple[int, int]:
        """Free and total bytes."""
        with self._lock:
            return self._room()

    def synchronize(self, index: int) -> None:
        """Nothing is ever left to wait for, except what another thread has put into the queue."""
        device.check_process()
        device.queue.finish()

    def wrap(self, address: int, shape: Shape, strides: Shape, dtype: Any, index: int) -> Array:
        """What a kernel is handed for an operand. NotSupportedError for a dtype that no kernel knows."""
        if dtype.name not in EVERY:
            raise NotSupportedError(
                f"[opencl] not supported: got {dtype.name}, expected one of {', '.join(EVERY)}. "
                "Compute on another device.",
                dtype=dtype.name,
            )
        buffer, offset = (None, 0) if 0 in shape else self._place(address)
        return Array(buffer, offset, shape, strides, dtype.name)

    def _room(self) -> tuple[int, int]:
        total = device.context.devices[0].global_mem_size
        return total - self._taken, total

    def _place(self, address: int) -> tuple[Any, int]:
        """The buffer that an address lies in, and where in it."""
        with self._lock:
            found = bisect.bisect_right(self._starts, address)
            if not found:
                raise OperationError(
                    f"[opencl] memory: got {address:#x}, expected an address of an OpenCL buffer. "
                    "Move the operand to the device."
                )
            start = self._starts[found - 1]
            return self._buffers[start], address - start
