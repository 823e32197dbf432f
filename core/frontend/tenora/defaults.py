"""Process-wide defaults: dtype and device of what is created."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import default_dtype
from tenora_engine import device as Device
from tenora_engine import dtype as DType
from tenora_engine import set_default_dtype as _set_default_dtype

__all__ = [
    "default_device",
    "get_default_device",
    "get_default_dtype",
    "set_default_device",
    "set_default_dtype",
]

_process: list[Device] = []  # empty or one device


def get_default_dtype() -> DType:
    """The floating dtype of new tensors without one.

    >>> import tenora
    >>> tenora.get_default_dtype()
    tenora.float32
    """
    return default_dtype()


def set_default_dtype(d: DType) -> None:
    """Sets the floating dtype of new tensors without one; TypeError unless it is floating.

    >>> import tenora
    >>> tenora.set_default_dtype(tenora.float64); tenora.zeros(1).dtype
    tenora.float64
    >>> tenora.set_default_dtype(tenora.float32)
    """
    if not isinstance(d, DType) or not d.is_floating_point:
        raise errors.ArgumentTypeError(
            f"[set_default_dtype] dtype: got {d!r}, expected a floating dtype such as tenora.float32."
            " Choose a floating dtype."
        )
    _set_default_dtype(d)


def set_default_device(device: Any) -> None:
    """Sets where new tensors live unless a device is given; None returns to the host.

    RuntimeError for what is no name of a device, TypeError for what is no text. A name that no backend serves shows
    in the error of what is created.

    >>> import tenora
    >>> tenora.set_default_device("cpu"); tenora.zeros(1).device
    device(type='cpu')
    >>> tenora.set_default_device(None)
    """
    _process[:] = [] if device is None else [Device(device)]


def get_default_device() -> Device:
    """The device of new tensors.

    >>> import tenora
    >>> tenora.get_default_device()
    device(type='cpu')
    """
    return _process[0] if _process else Device("cpu")


def default_device(device: Any) -> Any:
    """`device`, or the default when it is None (None again stands for the host, the engine's own default)."""
    if device is not None:
        return device
    return _process[0] if _process else None
