"""Where loaded memory goes: `map_location` in its four forms, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenora_dispatch.errors import ArgumentTypeError, BackendError
from tenora_engine import Storage
from tenora_engine import device as Device

from .errors import foreign, shown, unreadable
from .source import all_bytes

MapLocation = Callable[[Storage, str], Storage | None] | Device | str | Mapping[str, str] | None


class Places:
    """Moves storages from the host to where `map_location`, or else the file, wants them."""

    def __init__(self, map_location: MapLocation) -> None:
        if isinstance(map_location, str):
            map_location = Device(map_location)
        if not (map_location is None or isinstance(map_location, Device | Mapping) or callable(map_location)):
            raise ArgumentTypeError(
                f"[load] map_location: got {type(map_location).__name__}, expected a device, its name, a dict of names "
                "or a function (storage, name) -> storage. Pass one of these."
            )
        self._wanted = map_location

    def place(self, storage: Storage, location: str) -> Storage:
        """The storage, where it belongs; `location` is the file's word for it."""
        wanted = self._wanted
        if isinstance(wanted, Device):
            return _moved(storage, wanted)
        if isinstance(wanted, Mapping):
            with foreign():
                target = Device(wanted.get(location, location))
            return _moved(storage, target)
        if wanted is not None:
            with foreign():
                answer = wanted(storage, location)
                if not isinstance(answer, Storage | None):
                    raise ArgumentTypeError(
                        f"[load] map_location: got a function that returns {type(answer).__name__}, expected a Storage "
                        "or None. Return the storage that it is given, or None."
                    )
            if answer is not None:
                return answer
        return _moved(storage, _device(location))


def _device(location: str) -> Device:
    try:
        return Device(location)
    except (RuntimeError, ValueError, TypeError) as error:
        raise unreadable(f"the device {shown(location)}", "the name of a device") from error


def _moved(storage: Storage, device: Device) -> Storage:
    if device.type == "cpu":
        return storage
    try:
        return all_bytes(storage).to(device).untyped_storage()
    except BackendError as error:
        raise unreadable(
            f"tensors of the device '{device}', which no backend serves here",
            "a device that is there",
            "Pass map_location='cpu'.",
        ) from error
