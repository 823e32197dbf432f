"""Pinned memory: memory of the host that the devices of a backend read and write by themselves.

- A copy from it to a device with `non_blocking=True` is left to the device's stream and overlaps with what the host
  does next; other memory of the host is waited for.
- Without a device type it is that of the accelerator which serves unasked or was chosen. A backend that has no pinned
  memory reaches the memory of the host as it is: there a tensor stays where it lies.
"""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_engine import device as Device
from tenora_engine._engine import can_pin, empty_pinned, pinned_for

from .accelerator import served_type


def check_pinning(op: str, pin_memory: object) -> None:
    """TypeError for what is neither a bool nor None; RuntimeError for True where there is no accelerator."""
    if not (pin_memory is None or isinstance(pin_memory, bool)):
        raise errors.ArgumentTypeError(
            f"[{op}] pin_memory is wrong: got {type(pin_memory).__name__}, expected bool. Leave it out."
        )
    if pin_memory:
        _device_type(op, None)


def _device_type(op: str, device: Any) -> str:
    """The device type to pin for."""
    kind = served_type() if device is None else Device(device).type
    if kind is None:
        raise errors.OperationError(
            f"[{op}] there is no accelerator: got pin_memory, expected a device beside the host's to pin for. Leave it "
            "out, or ask only where there is one."
        )
    if kind == "cpu":
        raise errors.OperationError(
            f"[{op}] the device is the host: got device {kind!r} to pin for, expected an accelerator's. Leave it out."
        )
    return kind


def pinned(op: str, tensor: Tensor, device: Any = None) -> Tensor:
    """`tensor` in pinned memory: itself where it is already, or where its device type has none."""
    if tensor.device.type != "cpu":
        raise errors.OperationError(
            f"[{op}] the tensor is not on the host: got one on {tensor.device}, expected one on cpu. "
            "Only memory of the host is pinned: leave it out."
        )
    kind = _device_type(op, device)
    if not can_pin(kind) or pinned_for(tensor) == kind:
        return tensor
    return empty_pinned(list(tensor.shape), tensor.dtype, kind).copy_(tensor)


def is_pinned(tensor: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in pinned memory, of the given device type if there is one."""
    kind = pinned_for(tensor)
    return kind is not None and (device is None or Device(device).type == kind)
