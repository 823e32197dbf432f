"""Clipping of gradients, by their norm or by value.

- The norm of many small gradients is one call on all of them joined; only large ones are reduced one by one.
- On the CPU the norm is read: gradients that fit already are not written at all. On other devices nothing waits for
  the norm, and every gradient is multiplied.
- `foreach` is accepted everywhere and changes nothing.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import tenora_ops
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from ... import creation

Tensors = Tensor | Iterable[Tensor]

_SMALL = 16384  # elements: below, joining costs less than a reduction of its own


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Sequence[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _norm(tensor: Tensor, order: float) -> Any:
    return tenora_ops.resolve("linalg.vector_norm")(tensor, order)


def _joined(tensors: list[Tensor], order: float) -> Any:
    """The norm of tensors of one device; a large one stands for itself by its own norm."""
    if len(tensors) == 1:
        return _norm(tensors[0], order)
    # Counting what is not zero (order 0) is done twice, in each tensor and over them, as in PyTorch.
    small = _SMALL if order else -1
    parts = [
        tensor.reshape(-1) if tensor.numel() <= small else _norm(tensor, order).reshape(1)
        for tensor in tensors
    ]
    return _norm(tenora_ops.cat(parts), order)


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors, as if they were one vector; on the device of the first of them.

    `norm_type`: any order, `math.inf` or "inf" included. With `error_if_nonfinite` a norm that is infinite or no
    number raises RuntimeError. Without tensors it is 0.

    Tensors of any shapes; the result has no dims.

    >>> import tenora
    >>> get_total_norm([tenora.tensor([3.0]), tenora.tensor([[4.0]])])
    tensor(5.)
    """
    with no_grad():
        listed, order = _listed(tensors), float(norm_type)
        if not listed:
            return creation.tensor(0.0)
        groups: dict[Any, list[Tensor]] = {}
        for tensor in listed:
            groups.setdefault(tensor.device, []).append(tensor)
        norms = [_joined(group, order) for group in groups.values()]
        total: Tensor = norms[0]
        if len(norms) > 1:
            total = _norm(tenora_ops.stack([norm.to(listed[0].device) for norm in norms]), order)
        if error_if_nonfinite and not total.isfinite().item():
            raise errors.OperationError(
                f"[get_total_norm] norm of order {order}: got {total.item()}, expected a finite number. Look for "
                "infinities in the loss, or pass error_if_nonfinite=False to go on."
            )
        return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiplies the gradients with `max_norm / (total_norm + 1e-6)` where that is less than 1.

    `total_norm` has no dims: what `get_total_norm` gave. Parameters without a gradient are left out.

    >>> import tenora
    >>> weight = tenora.zeros(2, requires_grad=True)
    >>> weight.grad = tenora.tensor([30.0, 40.0])
    >>> clip_grads_with_norm_(weight, 5.0, get_total_norm(weight.grad))
    >>> weight.grad
    tensor([3., 4.])
    """
    with no_grad():
        gradients = _gradients(_listed(parameters))
        if not gradients:
            return
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        factors: dict[Any, Any] = {factor.device: factor}
        if factor.device.type == "cpu":
            factors[factor.device] = factor.item()
            if factors[factor.device] == 1.0:
                return
        for gradient in gradients:
            device = gradient.device
            if device not in factors:
                factors[device] = factor.to(device)
            gradient.mul_(factors[device])


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients so that their norm, taken together, is at most `max_norm`; returns the norm before.

    Parameters without a gradient are left out. `norm_type` and `error_if_nonfinite` are as in `get_total_norm`.

    Source: Pascanu, Mikolov and Bengio 2013, https://arxiv.org/abs/1211.5063. The result has no dims.

    >>> import tenora
    >>> layer = tenora.nn.Linear(2, 2)
    >>> layer(tenora.ones(2)).sum().backward()
    >>> norm = clip_grad_norm_(layer.parameters(), max_norm=1.0)
    >>> round(norm.item(), 4), round(get_total_norm([p.grad for p in layer.parameters()]).item(), 4)
    (2.4495, 1.0)
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn(
            "[clip_grad_norm_] parameters: got a generator without elements; nothing is clipped. A generator serves "
            "once: make a list of the parameters to use them again.",
            stacklevel=2,
        )
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`; a FutureWarning says so.

    >>> import tenora, warnings
    >>> weight = tenora.zeros(2, requires_grad=True)
    >>> weight.grad = tenora.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     clip_grad_norm([weight], 1.0).item()
    5.0
    """
    warnings.warn("[clip_grad_norm] is the old name: use clip_grad_norm_.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cuts every element of the gradients to the range from `-clip_value` to `clip_value`.

    Parameters without a gradient are left out.

    >>> import tenora
    >>> weight = tenora.zeros(3, requires_grad=True)
    >>> weight.grad = tenora.tensor([-2.0, 0.1, 5.0])
    >>> clip_grad_value_(weight, 1.0)
    >>> weight.grad
    tensor([-1.0000,  0.1000,  1.0000])
    """
    with no_grad():
        bound = float(clip_value)
        for gradient in _gradients(_listed(parameters)):
            gradient.clamp_(-bound, bound)
