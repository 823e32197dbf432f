"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor


def _on_one_device(who: str, parameters: Iterable[Tensor]) -> list[Tensor]:
    listed = list(parameters)
    devices = list(dict.fromkeys(parameter.device for parameter in listed))
    if len(devices) > 1:
        raise errors.ArgumentTypeError(
            f"[{who}] parameters: got tensors on {', '.join(map(str, devices))}, expected one device. Move them first."
        )
    return listed


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements one after the other; gradients flow back. Raises TypeError for tensors on several devices.

    >>> import tenora
    >>> parameters_to_vector([tenora.ones(2), tenora.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    listed = _on_one_device("parameters_to_vector", parameters)
    joined: Tensor = tenora_ops.cat([parameter.reshape(-1) for parameter in listed])
    return joined


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters' data pieces of `vec`, one after the other; they share its memory from then on.

    Raises TypeError for what is no tensor and for several devices, RuntimeError where `vec` is too short.

    >>> import tenora
    >>> layer = tenora.nn.Linear(1, 1)
    >>> vector_to_parameters(tenora.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise errors.ArgumentTypeError(
            f"[vector_to_parameters] vec: got {type(vec).__name__}, expected a Tensor. Pass one vector."
        )
    listed = _on_one_device("vector_to_parameters", parameters)
    needed = sum(parameter.numel() for parameter in listed)
    if vec.numel() < needed:
        raise errors.OperationError(
            f"[vector_to_parameters] vec: got {vec.numel()} elements, expected {needed} or more, those of the "
            "parameters. Pass what parameters_to_vector gave."
        )
    values, start = vec.detach(), 0
    for parameter in listed:
        parameter.data = values[start : start + parameter.numel()].view(parameter.shape)
        start += parameter.numel()
