"""What all functions that make tensors do alike: sizes, `out=`, `requires_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_engine import dtype as DType

from .pinning import pinned


def finish(tensor: Tensor, requires_grad: bool, pin_memory: object = False) -> Tensor:
    """A new leaf, in pinned memory and requiring gradients if that was asked for."""
    if pin_memory:
        tensor = pinned("pin_memory", tensor)
    return tensor.requires_grad_(True) if requires_grad else tensor


def into(op: str, out: Tensor, dtype: DType | None, make: Callable[..., Tensor]) -> Tensor:
    """Fills a given tensor with what `make` makes in its dtype, on its device; it takes on the result's shape.

    Raises RuntimeError for another dtype than the one asked for, and for a tensor that requires gradients.
    """
    if dtype is not None and dtype != out.dtype:
        raise errors.OperationError(
            f"[{op}] out= has another dtype: got {out.dtype}, expected {dtype}. Leave dtype out."
        )
    if out.requires_grad:
        raise errors.OperationError(
            f"[{op}] out= does not support gradients: got a tensor that requires grad, expected another. Detach it."
        )
    made = make(dtype=out.dtype, device=out.device)
    if tuple(out.shape) == tuple(made.shape):
        return out.copy_(made)
    out.data = made
    return out


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None, so that the error of an op without one of them shows only what was passed."""
    return {name: value for name, value in options.items() if value is not None}


def size_of(op: str, sizes: tuple[Any, ...], size: Any) -> Any:
    """`zeros(2, 3)`, `zeros((2, 3))` and `zeros(size=(2, 3))` mean the same; TypeError for two of them."""
    if size is None:
        return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if sizes:
        raise errors.ArgumentTypeError(
            f"[{op}] size: got {sizes} and {size}, expected it once. Write {op}(2, 3) or {op}(size=(2, 3))."
        )
    return size


def need_tensor(op: str, given: object, name: str = "input") -> None:
    """TypeError for an argument that is no tensor."""
    if not isinstance(given, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] {name} is wrong: got {type(given).__name__}, expected Tensor. Convert it with tenora.tensor(...)."
        )
