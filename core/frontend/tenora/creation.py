"""Making tensors: from data, by value. Ranges and random numbers have files of their own.

Every function takes `dtype`, `device` and `requires_grad` by keyword. Without `dtype`, numbers decide (bool, int64 or
the default floating dtype); without `device`, the default device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tenora_engine
import tenora_ops
from tenora_engine import Tensor, as_tensor_data
from tenora_engine import dtype as DType

from .creation_steps import finish, into, size_of
from .defaults import default_device, get_default_dtype
from .pinning import check_pinning


def promote_types(type1: DType, type2: DType) -> DType:
    """The dtype that two dtypes meet in.

    The rules are PyTorch's: kinds go from bool over whole, floating to complex numbers. TypeError for what is no dtype.

    >>> import tenora
    >>> tenora.promote_types(tenora.int64, tenora.float16)
    tenora.float16
    """
    return tenora_engine.promote_types(type1, type2)


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A new leaf with a copy of `data`: a number, nested sequences, an array or another tensor.

    Raises ValueError for ragged sequences, TypeError for what is not a number.

    The shape is that of the data; without `dtype` it decides that too (bool, int64, the default or its complex dtype).

    >>> import tenora
    >>> tenora.tensor([[1, 2], [3, 4]]).dtype
    tenora.int64
    """
    if pin_memory is not False:
        check_pinning("tensor", pin_memory)
    result = as_tensor_data(data, dtype=dtype, device=default_device(device), copy=True)
    return finish(result.detach(), requires_grad, pin_memory)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory and history where dtype and device already fit.

    The shape is that of the data. TypeError for what is no number, ValueError for ragged sequences.

    >>> import numpy
    >>> as_tensor(numpy.int16(3)).dtype
    tenora.int16
    """
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    return as_tensor_data(data, dtype=dtype, device=default_device(device), copy=False)


def empty(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Uninitialised memory of the given size.

    RuntimeError for a negative size; with `out`, for another `dtype` than that of `out`.

    >>> import tenora
    >>> tenora.empty(2, 3, dtype=tenora.int32).shape
    tenora.Size([2, 3])
    """
    if out is not None:
        return into("empty", out, dtype, lambda **options: empty(*sizes, size=size, **options))
    if pin_memory is not False:
        check_pinning("empty", pin_memory)
    return finish(
        tenora_ops.empty(size_of("empty", sizes, size), dtype=dtype, device=default_device(device)),
        requires_grad,
        pin_memory,
    )


def zeros(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Zeros of the given size.

    >>> import tenora
    >>> tenora.zeros(2, 3).shape
    tenora.Size([2, 3])
    """
    if out is not None:
        return into("zeros", out, dtype, lambda **options: zeros(*sizes, size=size, **options))
    if pin_memory is not False:
        check_pinning("zeros", pin_memory)
    return finish(
        tenora_ops.zeros(size_of("zeros", sizes, size), dtype=dtype, device=default_device(device)),
        requires_grad,
        pin_memory,
    )


def ones(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Ones of the given size.

    The default dtype unless another is given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.ones(2, 3).sum().item()
    6.0
    """
    if out is not None:
        return into("ones", out, dtype, lambda **options: ones(*sizes, size=size, **options))
    if pin_memory is not False:
        check_pinning("ones", pin_memory)
    return finish(
        tenora_ops.ones(size_of("ones", sizes, size), dtype=dtype, device=default_device(device)),
        requires_grad,
        pin_memory,
    )


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`fill_value` everywhere; its kind decides the dtype when none is given.

    That is bool, int64, the default dtype or the complex dtype of its width. RuntimeError for a negative size,
    TypeError for what is no number.

    >>> import tenora
    >>> tenora.full((2,), 7).tolist()
    [7, 7]
    """
    if out is not None:
        return into("full", out, dtype, lambda **options: full(size, fill_value, **options))
    if pin_memory is not False:
        check_pinning("full", pin_memory)
    if isinstance(fill_value, complex):
        dtype = dtype or get_default_dtype().to_complex()
        return finish(empty(size, dtype=dtype, device=device).fill_(fill_value), requires_grad, pin_memory)
    return finish(
        tenora_ops.full(size, fill_value, dtype=dtype, device=default_device(device)),
        requires_grad,
        pin_memory,
    )


def empty_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`empty` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.empty_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    if pin_memory is not False:
        check_pinning("empty_like", pin_memory)
    return finish(tenora_ops.empty_like(input, dtype=dtype, device=device), requires_grad, pin_memory)


def zeros_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`zeros` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.zeros_like(tenora.tensor([1, 2])).tolist()
    [0, 0]
    """
    if pin_memory is not False:
        check_pinning("zeros_like", pin_memory)
    return finish(tenora_ops.zeros_like(input, dtype=dtype, device=device), requires_grad, pin_memory)


def ones_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`ones` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.ones_like(tenora.tensor([5, 6])).tolist()
    [1, 1]
    """
    if pin_memory is not False:
        check_pinning("ones_like", pin_memory)
    return finish(tenora_ops.ones_like(input, dtype=dtype, device=device), requires_grad, pin_memory)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`full` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.full_like(tenora.zeros(2), 7).tolist()
    [7.0, 7.0]
    """
    if pin_memory is not False:
        check_pinning("full_like", pin_memory)
    if isinstance(fill_value, complex):
        return finish(
            tenora_ops.empty_like(input, dtype=dtype, device=device).fill_(fill_value),
            requires_grad,
            pin_memory,
        )
    return finish(
        tenora_ops.full_like(input, fill_value, dtype=dtype, device=device), requires_grad, pin_memory
    )
