"""The OpenCL device: one context, one queue in order, and kernels that are compiled when they are first run.

- A kernel waits for its result: the space is in host order, and its author never thinks of events.
- Kernels are found by their source text. Each is compiled once in a process; PoCL also keeps what it compiled on disk.
- OpenCL's kernel objects hold the arguments of the next launch, so launches of two threads take turns.
- The device's own threads do not survive a fork: a forked child is refused instead of left hanging.
"""

import os
import threading
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl

from tenora_dispatch import DeviceLostError

from .source import UNTOUCHED

# How many work items run together. One number for all launches: PoCL compiles a kernel anew for every other.
GROUP = 64
OPTIONS = ["-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", "-w"]


class Device:
    """The first device of the first platform that has one."""

    def __init__(self) -> None:
        self._kernels: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @cached_property
    def context(self) -> Any:
        """Memory and programs belong to it."""
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
        if not devices:
            raise RuntimeError(
                "[opencl] device: got no OpenCL device, expected one. Install pocl-opencl-icd."
            )
        return cl.Context(devices[:1])

    @cached_property
    def queue(self) -> Any:
        """What is put into it runs in that order."""
        return cl.CommandQueue(self.context)

    @cached_property
    def _first(self) -> Any:
        """One number in device memory: where a search found something first."""
        return self.scratch(8, np.array([UNTOUCHED]))

    def check_process(self) -> None:
        """Raises: DeviceLostError in a child that was forked after the device had been opened."""
        if os.getpid() != self._process:
            raise DeviceLostError(
                "[opencl] device: got a call in a forked process, expected one in the process that opened the "
                "device. Start processes with multiprocessing's 'spawn' instead of fork."
            )

    def scratch(self, nbytes: int, content: Any = None) -> Any:
        """Device memory, given back when nobody holds it. MemoryError when there is not enough."""
        self.check_process()
        try:
            buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(nbytes, 1))
            if content is not None:
                cl.enqueue_copy(self.queue, buffer, content)
        except cl.Error as error:
            raise MemoryError(f"{nbytes} bytes of OpenCL memory: {error}") from error
        return buffer

    def launch(self, source: str, count: int, layout: bytes, buffers: list[Any]) -> None:
        """Runs a kernel for each number below `count`, and waits for it."""
        self.check_process()
        with self._lock:
            kernel = self._kernels.get(source) or self._compile(source)
            items = -(-count // GROUP) * GROUP
            kernel(self.queue, (items,), (GROUP,), layout, *buffers)
            self.queue.finish()

    def search(self, source: str, count: int, layout: bytes, buffers: list[Any]) -> int | None:
        """Runs a kernel that may report numbers with `found(first, i)`; the lowest of them, or None."""
        self.launch(source, count, layout, [*buffers, self._first])
        found = np.empty(1, np.int64)
        cl.enqueue_copy(self.queue, found, self._first)
        if found[0] == UNTOUCHED:
            return None
        cl.enqueue_copy(self.queue, self._first, np.array([UNTOUCHED]))
        return int(found[0])

    def _compile(self, source: str) -> Any:
        program = cl.Program(self.context, source).build(options=OPTIONS)
        return self._kernels.setdefault(source, cl.Kernel(program, "run"))


device = Device()
