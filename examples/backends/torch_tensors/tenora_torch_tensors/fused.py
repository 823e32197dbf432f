"""Ops that tenora composes of ring 0 and PyTorch has whole: these kernels take the composites' places.

Gradients follow: those of convolution are ops, `conv2d_input` and `conv2d_weight`, with kernels of their own; those of
the others are composed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn import grad as gradients

from .memory import FLOATS, INEXACT, Kernel, Table, multiplied


def along(function: Callable[..., Tensor]) -> Kernel:
    """A kernel of a function along one dimension."""

    def kernel(input: Tensor, *, out: Tensor, dim: int) -> None:
        out.copy_(function(input, dim))

    return kernel


def linear(input: Tensor, weight: Tensor, bias: Tensor | None, *, out: Tensor) -> None:
    """input weight^T + bias"""
    out.copy_(multiplied(functional.linear, input, weight, bias))


def standardise(input: Tensor, *, out: Tensor, dim: Sequence[int], eps: float, centred: bool) -> None:
    """What layers normalise by; PyTorch normalises over the last dimensions."""
    last = tuple(range(-len(dim), 0))
    moved = input.movedim(tuple(dim), last)
    over = moved.shape[input.ndim - len(dim) :]
    normal = (
        functional.layer_norm(moved, over, eps=eps) if centred else functional.rms_norm(moved, over, eps=eps)
    )
    out.copy_(normal.movedim(last, tuple(dim)))


def batch_norm_eval(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    *,
    out: Tensor,
    eps: float,
) -> None:
    """Channels normalised by a given mean and variance."""
    out.copy_(functional.batch_norm(input, running_mean, running_var, weight, bias, False, 0.0, eps))


def max_pool(function: Callable[..., tuple[Tensor, Tensor]]) -> Kernel:
    """A kernel of max pooling: the values, and their places in the flattened spatial dimensions."""

    def kernel(input: Tensor, *, out: tuple[Tensor, Tensor], **window: Any) -> None:
        values, places = function(input, return_indices=True, **window)
        out[0].copy_(values)
        out[1].copy_(places)

    return kernel


def convolution(function: Callable[..., Tensor]) -> Kernel:
    """A kernel of convolution, (N, C, ...) or (C, ...)."""

    def kernel(input: Tensor, weight: Tensor, bias: Tensor | None, *, out: Tensor, **where: Any) -> None:
        out.copy_(multiplied(function, input, weight, bias, **where))

    return kernel


Where = dict[str, Any]


def items(value: Any, n: int) -> tuple[int, ...]:
    """A number for each spatial dimension."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    return values * n if len(values) == 1 else values


def whole(grad: Tensor, size: Sequence[int], kernel: Sequence[int], where: Where) -> Tensor:
    """`grad` (N, C, ...) with zeros for the windows that fit into an input of `size` and that it lacks.

    A transposed convolution whose output_padding is beyond its stride has them; PyTorch's own gradient does not ask.
    """
    n = len(kernel)
    stride, padding, dilation = (items(where[each], n) for each in ("stride", "padding", "dilation"))
    fitting = [
        (size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)
    ]
    missing = [have - want for have, want in zip(fitting, grad.shape[-n:], strict=True)]
    sides = [side for each in reversed(missing) for side in (0, each)]
    return functional.pad(grad, sides) if any(missing) else grad


def convolution_input(function: Callable[..., Tensor], n: int) -> Kernel:
    """A kernel of the gradient for the input, whose size is given."""

    def kernel(grad: Tensor, weight: Tensor, *, out: Tensor, size: Sequence[int], **where: Any) -> None:
        batched = grad if len(size) == n + 2 else grad.unsqueeze(0)
        spread = {name: value if name == "groups" else items(value, n) for name, value in where.items()}
        padded = whole(batched, size[-n:], weight.shape[-n:], where)
        images = (padded.shape[0], *size[-n - 1 :])
        found = multiplied(lambda *given: function(images, *given, **spread), weight, padded)
        out.copy_(found.reshape(out.shape))

    return kernel


def convolution_weight(function: Callable[..., Tensor], n: int) -> Kernel:
    """A kernel of the gradient for the weight, whose size is given."""

    def kernel(grad: Tensor, input: Tensor, *, out: Tensor, size: Sequence[int], **where: Any) -> None:
        batched, images = (grad, input) if input.ndim == n + 2 else (grad.unsqueeze(0), input.unsqueeze(0))
        spread = {name: value if name == "groups" else items(value, n) for name, value in where.items()}
        padded = whole(batched, images.shape[-n:], size[-n:], where)
        out.copy_(
            multiplied(lambda *given: function(given[0], tuple(size), given[1], **spread), images, padded)
        )

    return kernel


KERNELS: Table = {
    "softmax": (along(torch.softmax), FLOATS),
    "log_softmax": (along(torch.log_softmax), FLOATS),
    "linear": (linear, INEXACT),
    "standardise": (standardise, FLOATS),
    "batch_norm_eval": (batch_norm_eval, FLOATS),
}
for _n in (1, 2, 3):
    _name = f"conv{_n}d"
    KERNELS[_name] = convolution(getattr(functional, _name)), FLOATS
    KERNELS[f"{_name}_input"] = convolution_input(getattr(gradients, f"{_name}_input"), _n), FLOATS
    KERNELS[f"{_name}_weight"] = convolution_weight(getattr(gradients, f"{_name}_weight"), _n), FLOATS
    KERNELS[f"max_pool{_n}d_with_indices"] = max_pool(getattr(functional, f"max_pool{_n}d")), FLOATS
