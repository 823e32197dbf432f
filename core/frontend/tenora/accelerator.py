"""One module for every kind of device: `tenora.cuda`, a stranger's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import tenora_dispatch
import tenora_engine

from .lazy_names import refused


class Accelerator(ModuleType):
    """The functions of one device type. Without a device they answer honestly; nothing is loaded by asking.

    >>> import tenora
    >>> tenora.cuda.is_available() in (True, False)
    True
    """

    def __init__(self, device_type: str) -> None:
        super().__init__(f"tenora.{device_type}", f"Devices of type {device_type!r}.")
        self.device_type = device_type

    def is_available(self) -> bool:
        """Whether a backend for this device type is usable and sees at least one device.

        >>> import tenora
        >>> tenora.cuda.is_available() == (tenora.cuda.device_count() > 0)
        True
        """
        return self.device_count() > 0

    def device_count(self) -> int:
        """How many devices of this type there are; 0 when no backend serves it.

        >>> Accelerator("nothing").device_count()
        0
        """
        return tenora_dispatch.device_count(self.device_type)

    def _device(self, device: Any) -> Any:
        if device is None:
            device = tenora_engine.current_device_index(self.device_type)
        if isinstance(device, int):
            return tenora_engine.device(f"{self.device_type}:{device}")
        return tenora_engine.device(device)

    def synchronize(self, device: Any = None) -> None:
        """Waits until everything submitted to the device has finished.

        BackendNotFoundError where no backend serves the device, as in most functions below.

        >>> Accelerator("cpu").synchronize()
        """
        tenora_engine.synchronize(self._device(device))

    def current_stream(self, device: Any = None) -> Any:
        """The stream that this thread submits to; None on a device without streams.

        >>> Accelerator("cpu").current_stream()
        """
        return tenora_engine.current_stream(self._device(device))

    def Stream(self, device: Any = None, priority: int = 0) -> tenora_engine.Stream:
        """A new queue of work on a device: what is submitted to it runs in order, beside the work of other streams.

        It has `wait_stream(other)`, `wait_event(event)`, `record_event(event=None)`, `query()` and `synchronize()`.
        RuntimeError on a device that works in the order of the host, where there is nothing to wait for.

        >>> try:
        ...     Accelerator("cpu").Stream()
        ... except RuntimeError as error:
        ...     print(str(error)[:39])
        [stream] device cpu works in host order
        """
        return tenora_engine.Stream(self._device(device), priority)

    def Event(self, enable_timing: bool = False, device: Any = None) -> tenora_engine.Event:
        """A point in a stream: `record(stream=None)`, then `wait(stream=None)`, `query()`, `synchronize()`.

        With `enable_timing` on both, `begin.elapsed_time(end)` is the time between two recorded events in milliseconds.
        RuntimeError on a device that works in the order of the host.

        >>> try:
        ...     Accelerator("cpu").Event()
        ... except RuntimeError as error:
        ...     print(str(error)[:38])
        [event] device cpu works in host order
        """
        return tenora_engine.Event(self._device(device), enable_timing)

    @contextlib.contextmanager
    def stream(self, stream: tenora_engine.Stream | None) -> Iterator[tenora_engine.Stream | None]:
        """Submits what this thread does in the block to `stream`; None changes nothing.

        Nothing waits at the borders: let the streams wait for each other where one uses what the other makes.

        >>> with Accelerator("cpu").stream(None) as used:
        ...     used is None
        True
        """
        if stream is None:
            yield None
            return
        index = tenora_engine.current_device_index(self.device_type)
        previous = tenora_engine.set_current_stream(stream)
        try:
            yield stream
        finally:
            tenora_engine.set_current_stream(previous, stream.device)
            tenora_engine.set_current_device_index(self._device(index))

    def set_stream(self, stream: tenora_engine.Stream | None) -> None:
        """Submits what this thread does from now on to `stream`; None changes nothing.

        >>> cpu = Accelerator("cpu")
        >>> cpu.set_stream(cpu.current_stream())
        """
        if stream is not None:
            tenora_engine.set_current_stream(stream)

    def current_device(self) -> int:
        """The index of the device that this thread means when it names none.

        >>> Accelerator("cpu").current_device()
        0
        """
        return tenora_engine.current_device_index(self.device_type)

    def set_device(self, device: Any) -> None:
        """Makes a device, or the device of that index, the one that this thread means when it names none.

        >>> Accelerator("cpu").set_device(0)
        """
        tenora_engine.set_current_device_index(self._device(device))

    @contextlib.contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """`set_device` for a block.

        >>> cpu = Accelerator("cpu")
        >>> with cpu.device(0):
        ...     cpu.current_device()
        0
        """
        index = self.current_device()
        self.set_device(device)
        try:
            yield
        finally:
            self.set_device(index)

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        """Counters of the caching allocator, in bytes and calls.

        >>> stats = Accelerator("cpu").memory_stats()
        >>> stats["reserved_bytes"] >= stats["live_bytes"]
        True
        """
        return tenora_engine.memory_stats(self._device(device))

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes in use by live tensors.

        >>> import tenora
        >>> before = Accelerator("cpu").memory_allocated()
        >>> x = tenora.zeros(1000)
        >>> Accelerator("cpu").memory_allocated() - before >= 4000
        True
        """
        return self.memory_stats(device)["live_bytes"]

    def max_memory_allocated(self, device: Any = None) -> int:
        """The highest `memory_allocated` since the last reset.

        >>> host = Accelerator("cpu")
        >>> host.max_memory_allocated() >= host.memory_allocated()
        True
        """
        return self.memory_stats(device)["live_bytes_peak"]

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes held by the allocator, cached memory included.

        >>> host = Accelerator("cpu")
        >>> host.memory_reserved() >= host.memory_allocated()
        True
        """
        return self.memory_stats(device)["reserved_bytes"]

    def empty_cache(self, device: Any = None) -> None:
        """Gives cached memory back; nothing where there is no such device, as in PyTorch.

        >>> Accelerator("cpu").empty_cache()
        >>> Accelerator("nothing").empty_cache()
        """
        if self.device_count():
            tenora_engine.empty_cache(self._device(device))

    def manual_seed(self, seed: int) -> None:
        """Fixes the random numbers of the current device; nothing where there is no such device, as in PyTorch.

        >>> Accelerator("nothing").manual_seed(0)
        """
        value = int(seed)
        if self.device_count():
            tenora_engine.default_generator(self._device(None)).manual_seed(value)

    def manual_seed_all(self, seed: int) -> None:
        """Fixes the random numbers of all devices of the type; nothing where there is none, as in PyTorch.

        >>> Accelerator("nothing").manual_seed_all(0)
        """
        value = int(seed)
        for index in range(self.device_count()):
            tenora_engine.default_generator(self._device(index)).manual_seed(value)

    def __getattr__(self, name: str) -> Any:
        raise refused(self.__name__, name, dir(self))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Starts the peaks anew.

        >>> host = Accelerator("cpu")
        >>> host.reset_peak_memory_stats()
        >>> host.max_memory_allocated() == host.memory_allocated()
        True
        """
        tenora_engine.reset_peak_memory(self._device(device))


_modules: dict[str, Accelerator] = {}


def accelerator(device_type: str) -> Accelerator:
    """The module of a device type, one object per type; nothing is loaded, and none need be there.

    >>> accelerator("cuda") is accelerator("cuda")
    True
    """
    if device_type not in _modules:
        _modules[device_type] = Accelerator(device_type)
    return _modules[device_type]


def served_type() -> str | None:
    """A device type beside the host's that has a device and a backend which serves it unasked, or was chosen.

    >>> served_type() in (None, *tenora_dispatch.device_types())
    True
    """
    types = sorted(tenora_dispatch.device_types() - {"cpu"})
    served = (kind for kind in types if tenora_dispatch.explain_choice(kind).problem is None)
    return next((kind for kind in served if tenora_dispatch.device_count(kind) > 0), None)


class _Loader:
    """Gives `import tenora.cuda` the module that `tenora.cuda` is."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return accelerator(spec.name.rpartition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """It is filled already."""


def spec_of(module: object) -> ModuleSpec | None:
    """What an import needs to find the module of a device type; None for anything else.

    >>> spec_of(accelerator("cuda")).name
    'tenora.cuda'
    """
    if not isinstance(module, Accelerator):
        return None
    loader: Any = _Loader()  # a protocol: importlib.abc is not worth its import
    return ModuleSpec(module.__name__, loader, is_package=True)
