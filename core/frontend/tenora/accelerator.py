"""One module for every kind of device: `tenora.cuda`, a stranger's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import tenora_dispatch
import tenora_engine
from tenora_engine import Event, Stream


class Accelerator(ModuleType):
    """The functions of one device type. Without a device they answer honestly; nothing is loaded by asking.

    >>> import tenora
    >>> tenora.cuda.is_available() in (True, False)
    True
    """

    Stream = Stream
    Event = Event

    def __init__(self, device_type: str) -> None:
        super().__init__(f"tenora.{device_type}", f"Devices of type {device_type!r}.")
        self.device_type = device_type

    def is_available(self) -> bool:
        """Whether a backend for this device type is usable and sees at least one device."""
        return self.device_count() > 0

    def device_count(self) -> int:
        """How many devices of this type there are; 0 when no backend serves it."""
        return tenora_dispatch.device_count(self.device_type)

    def _device(self, device: Any) -> Any:
        if device is None or isinstance(device, int):
            return tenora_engine.device(f"{self.device_type}:{device or 0}")
        return tenora_engine.device(device)

    def synchronize(self, device: Any = None) -> None:
        """Waits until everything submitted to the device has finished."""
        tenora_engine.synchronize(self._device(device))

    def current_stream(self, device: Any = None) -> Any:
        """The stream that this thread submits to."""
        return tenora_engine.current_stream(self._device(device))

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        """Counters of the caching allocator, in bytes and calls."""
        return tenora_engine.memory_stats(self._device(device))

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes in use by live tensors."""
        return self.memory_stats(device)["live_bytes"]

    def max_memory_allocated(self, device: Any = None) -> int:
        """The highest `memory_allocated` since the last reset."""
        return self.memory_stats(device)["live_bytes_peak"]

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes held by the allocator, cached memory included."""
        return self.memory_stats(device)["reserved_bytes"]

    def empty_cache(self, device: Any = None) -> None:
        """Gives cached memory back."""
        tenora_engine.empty_cache(self._device(device))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Starts the peaks anew."""
        tenora_engine.reset_peak_memory(self._device(device))


_modules: dict[str, Accelerator] = {}


def accelerator(device_type: str) -> Accelerator:
    """The module of a device type, one object per type."""
    if device_type not in _modules:
        _modules[device_type] = Accelerator(device_type)
    return _modules[device_type]
