"""Tensor methods that are conveniences over ops rather than ops: conversions, `new_*`, and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import (
    Tensor,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    set_tensor_method,
    uint8,
)
from tenora_engine import bool as bool_
from tenora_engine import device as Device
from tenora_engine import dtype as DType

from . import creation, sharing
from .creation_steps import need_tensor


def _destination(
    args: tuple[Any, ...], device: Any, dtype: DType | None
) -> tuple[Any, DType | None, bool | None, bool | None]:
    """The forms of `to`: (dtype), (device), (device, dtype), (other), each with trailing non_blocking and copy."""
    flags: list[bool] = []
    for argument in args:
        if isinstance(argument, bool):
            flags.append(argument)
        elif isinstance(argument, DType):
            dtype = argument
        elif isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, (str, Device)):
            device = argument
        elif argument is not None:
            raise errors.ArgumentTypeError(
                f"[to] argument: got {type(argument).__name__}, expected a dtype, a device or a Tensor. "
                "Write x.to(tenora.float64), x.to('cpu') or x.to(other)."
            )
    return device, dtype, flags[0] if flags else None, flags[1] if len(flags) > 1 else None


def to(
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Tensor:
    """`self` with another dtype or on another device; `self` itself when nothing changes and `copy` is false.

    `non_blocking` leaves copies between devices of one type, and those from pinned memory of the host to a device, to
    the stream: do not write to pinned memory before the copy is over. Other memory of the host may be written at once,
    and what comes to the host read at once: those copies wait.

    >>> import tenora
    >>> tenora.ones(2).to(tenora.int64).tolist()
    [1, 1]
    """
    device, dtype, blocking_flag, copy_flag = _destination(args, device, dtype)
    copy = bool(copy if copy_flag is None else copy_flag)
    non_blocking = bool(non_blocking if blocking_flag is None else blocking_flag)
    target = self.device if device is None else Device(device)
    moved = target != self.device
    if not moved and dtype in (None, self.dtype):
        return self.clone() if copy else self
    if moved:
        return tenora_ops.to(self, dtype, target, non_blocking)
    return tenora_ops.cast(self, dtype)


def _converter(dtype: DType, name: str) -> Callable[[Tensor], Tensor]:
    def convert(self: Tensor) -> Tensor:
        return self if self.dtype == dtype else tenora_ops.cast(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"""`self.to({dtype})`; `self` itself where that is its dtype. The shape stays.

    >>> import tenora
    >>> tenora.tensor([1, 0]).{name}().dtype
    {dtype}
    """
    return convert


def cpu(self: Tensor) -> Tensor:
    """`self` on the host; `self` itself when it is there.

    >>> import tenora
    >>> x = tenora.ones(2)
    >>> x.cpu() is x
    True
    """
    return to(self, device="cpu")


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """`self` with the dtype and on the device of `other`; TypeError where that is no tensor.

    >>> import tenora
    >>> tenora.ones(2).type_as(tenora.tensor([1])).dtype
    tenora.int64
    """
    need_tensor("type_as", other, "other")
    return to(self, device=other.device, dtype=other.dtype)


def is_floating_point(self: Tensor) -> bool:
    """Whether the dtype is floating.

    >>> import tenora
    >>> tenora.ones(2).is_floating_point(), tenora.tensor([1]).is_floating_point()
    (True, False)
    """
    return bool(self.dtype.is_floating_point)


def is_complex(self: Tensor) -> bool:
    """Whether the dtype is complex.

    >>> import tenora
    >>> tenora.ones(2).is_complex(), tenora.tensor([1j]).is_complex()
    (False, True)
    """
    return bool(self.dtype.is_complex)


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`tenora.tensor(data)` with this tensor's dtype and device unless others are given.

    >>> import tenora
    >>> tenora.ones(2, dtype=tenora.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=tenora.float64)
    """
    return creation.tensor(
        data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


def zero_(self: Tensor) -> Tensor:
    """Fills with zeros in place.

    >>> import tenora
    >>> tenora.ones(2).zero_()
    tensor([0., 0.])
    """
    return self.fill_(0)


def _new(make: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def new(
        self: Tensor,
        *sizes: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **named: Any,
    ) -> Tensor:
        return make(
            *sizes,
            dtype=dtype or self.dtype,
            device=device or self.device,
            requires_grad=requires_grad,
            **named,
        )

    new.__name__ = f"new_{name}"
    new.__doc__ = f"""`tenora.{name}` with this tensor's dtype and device unless others are given.

    >>> import tenora
    >>> tenora.ones(2, dtype=tenora.int32).new_{name}({"(3,), 7" if name == "full" else "3"}).dtype
    tenora.int32
    """
    return new


def install() -> None:
    """Puts the methods on `Tensor`; called once when tenora is imported."""
    conversions = {
        "float": float32,
        "double": float64,
        "half": float16,
        "bfloat16": bfloat16,
        "long": int64,
        "int": int32,
        "short": int16,
        "char": int8,
        "byte": uint8,
        "bool": bool_,
        "cfloat": complex64,
        "cdouble": complex128,
    }
    for name, dtype in conversions.items():
        set_tensor_method(name, _converter(dtype, name))
    for make in (creation.empty, creation.zeros, creation.ones, creation.full):
        set_tensor_method(f"new_{make.__name__}", _new(make, make.__name__))
    for function in (to, cpu, zero_, type_as, is_floating_point, is_complex, new_tensor):
        set_tensor_method(function.__name__, function)
    set_tensor_method("to_numpy", sharing.to_numpy)
    set_tensor_method("tobytes", sharing.tobytes)
    set_tensor_method("__array_interface__", sharing.array_interface)
