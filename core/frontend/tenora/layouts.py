"""Functions about shapes and memory layouts that are no ops: broadcast_shapes, empty tensors of given strides."""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Size, Tensor, complex64, set_tensor_method
from tenora_ops.checks import broadcast_shape, ints

from . import creation, defaults
from .pinning import check_pinning


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: sizes differ and neither is 1.

    >>> import tenora
    >>> tenora.broadcast_shapes((3, 1), (4,))
    tenora.Size([3, 4])
    """
    return Size(broadcast_shape("broadcast_shapes", [ints(shape) for shape in shapes]))


def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A 0-d tensor; of the default dtype unless another is given.

    TypeError for what is no number.

    >>> import tenora
    >>> tenora.scalar_tensor(2)
    tensor(2.)
    """
    kind = dtype or (complex64 if isinstance(s, complex) else defaults.get_default_dtype())
    return creation.tensor(s, dtype=kind, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Uninitialised memory seen with the given shape and strides.

    Raises:
        RuntimeError: shape and strides differ in number, or one is negative.

    >>> import tenora
    >>> tenora.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if pin_memory is not False:
        check_pinning("empty_strided", pin_memory)
    sizes, steps = ints(size), ints(stride)
    if len(sizes) != len(steps) or any(n < 0 for n in (*sizes, *steps)):
        raise errors.OperationError(
            f"[empty_strided] strides do not fit: got {steps} for shape {sizes}, expected one for every size, none "
            "negative. Give a stride for every size."
        )
    room = 0 if 0 in sizes else 1 + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    memory = creation.empty(room, dtype=dtype, device=device, pin_memory=pin_memory)
    return memory.as_strided(sizes, steps).detach().requires_grad_(requires_grad)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Uninitialised dense memory whose dims lie in the given order, the last one innermost.

    Raises:
        RuntimeError: the layout is no permutation of the dims.

    >>> import tenora
    >>> tenora.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    if pin_memory is not False:
        check_pinning("empty_permuted", pin_memory)
    sizes, order = ints(size), ints(physical_layout)
    if sorted(order) != list(range(len(sizes))):
        raise errors.OperationError(
            f"[empty_permuted] layout is wrong: got {order}, expected a permutation of {len(sizes)} dims. Name each "
            "dim once."
        )
    memory = creation.empty([sizes[d] for d in order], dtype=dtype, device=device, pin_memory=pin_memory)
    back = [order.index(d) for d in range(len(sizes))]
    return tenora_ops.permute(memory, back).detach().requires_grad_(requires_grad)


def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    device: Any = None,
    *,
    pin_memory: bool | None = False,
) -> Tensor:
    """`empty_strided` with this tensor's dtype and device unless others are given.

    >>> import tenora
    >>> tenora.ones(2, dtype=tenora.int32).new_empty_strided((2, 3), (1, 2)).dtype
    tenora.int32
    """
    return empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, pin_memory=pin_memory
    )


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """A copy of `input` with `input[indices]` set to `values`, or with `values` added there.

    `indices` is a tuple of tensors of whole numbers or bools, `values` broadcasts to what they name; the result has the
    shape and dtype of `input`. IndexError for a place that is not there, RuntimeError for values that do not broadcast.

    >>> import tenora
    >>> tenora.index_put(tenora.zeros(3), (tenora.tensor([0, 2]),), tenora.ones(2))
    tensor([1., 0., 1.])
    """
    return tenora_ops.ops.index_put(input, values, list(indices), accumulate=accumulate)


def install() -> None:
    """Puts the methods on `Tensor`; called once when tenora is imported."""
    set_tensor_method("new_empty_strided", new_empty_strided)


__all__ = ["broadcast_shapes", "empty_permuted", "empty_strided", "index_put", "scalar_tensor"]
