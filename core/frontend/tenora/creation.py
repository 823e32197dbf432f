"""Making tensors: from data, by value, by range, at random.

Every function takes `dtype`, `device` and `requires_grad` by keyword. Without `dtype`, numbers decide (bool, int64 or
the default floating dtype); without `device`, the default device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Number, Real
from typing import Any

import tenora_engine
import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Generator, Tensor, as_tensor_data, float64
from tenora_engine import dtype as DType

from .defaults import default_device, get_default_dtype


def promote_types(type1: DType, type2: DType) -> DType:
    """The dtype that two dtypes meet in.

    The rules are PyTorch's: kinds go from bool over whole, floating to complex numbers. TypeError for what is no dtype.

    >>> import tenora
    >>> tenora.promote_types(tenora.int64, tenora.float16)
    tenora.float16
    """
    return tenora_engine.promote_types(type1, type2)


def _finish(tensor: Tensor, requires_grad: bool) -> Tensor:
    return tensor.requires_grad_(True) if requires_grad else tensor


def _into(op: str, out: Tensor, dtype: DType | None, make: Callable[..., Tensor]) -> Tensor:
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


def _size(op: str, sizes: tuple[Any, ...], size: Any) -> Any:
    """`zeros(2, 3)`, `zeros((2, 3))` and `zeros(size=(2, 3))` mean the same; TypeError for two of them."""
    if size is None:
        return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if sizes:
        raise errors.ArgumentTypeError(
            f"[{op}] size: got {sizes} and {size}, expected it once. Write {op}(2, 3) or {op}(size=(2, 3))."
        )
    return size


def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf with a copy of `data`: a number, nested sequences, an array or another tensor.

    Raises ValueError for ragged sequences, TypeError for what is not a number.

    The shape is that of the data; without `dtype` it decides that too (bool, int64, the default or its complex dtype).

    >>> import tenora
    >>> tenora.tensor([[1, 2], [3, 4]]).dtype
    tenora.int64
    """
    result = as_tensor_data(data, dtype=dtype, device=default_device(device), copy=True)
    return _finish(result.detach(), requires_grad)


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
) -> Tensor:
    """Uninitialised memory of the given size.

    RuntimeError for a negative size; with `out`, for another `dtype` than that of `out`.

    >>> import tenora
    >>> tenora.empty(2, 3, dtype=tenora.int32).shape
    tenora.Size([2, 3])
    """
    if out is not None:
        return _into("empty", out, dtype, lambda **options: empty(*sizes, size=size, **options))
    return _finish(
        tenora_ops.empty(_size("empty", sizes, size), dtype=dtype, device=default_device(device)),
        requires_grad,
    )


def zeros(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of the given size.

    >>> import tenora
    >>> tenora.zeros(2, 3).shape
    tenora.Size([2, 3])
    """
    if out is not None:
        return _into("zeros", out, dtype, lambda **options: zeros(*sizes, size=size, **options))
    return _finish(
        tenora_ops.zeros(_size("zeros", sizes, size), dtype=dtype, device=default_device(device)),
        requires_grad,
    )


def ones(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of the given size.

    The default dtype unless another is given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.ones(2, 3).sum().item()
    6.0
    """
    if out is not None:
        return _into("ones", out, dtype, lambda **options: ones(*sizes, size=size, **options))
    return _finish(
        tenora_ops.ones(_size("ones", sizes, size), dtype=dtype, device=default_device(device)), requires_grad
    )


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`fill_value` everywhere; its kind decides the dtype when none is given.

    That is bool, int64, the default dtype or the complex dtype of its width. RuntimeError for a negative size,
    TypeError for what is no number.

    >>> import tenora
    >>> tenora.full((2,), 7).tolist()
    [7, 7]
    """
    if out is not None:
        return _into("full", out, dtype, lambda **options: full(size, fill_value, **options))
    if isinstance(fill_value, complex):
        dtype = dtype or get_default_dtype().to_complex()
        return _finish(empty(size, dtype=dtype, device=device).fill_(fill_value), requires_grad)
    return _finish(
        tenora_ops.full(size, fill_value, dtype=dtype, device=default_device(device)), requires_grad
    )


def empty_like(
    input: Tensor, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`empty` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.empty_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    return _finish(tenora_ops.empty_like(input, dtype=dtype, device=device), requires_grad)


def zeros_like(
    input: Tensor, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`zeros` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.zeros_like(tenora.tensor([1, 2])).tolist()
    [0, 0]
    """
    return _finish(tenora_ops.zeros_like(input, dtype=dtype, device=device), requires_grad)


def ones_like(
    input: Tensor, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`ones` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.ones_like(tenora.tensor([5, 6])).tolist()
    [1, 1]
    """
    return _finish(tenora_ops.ones_like(input, dtype=dtype, device=device), requires_grad)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`full` with the size, dtype and device of `input`; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.full_like(tenora.zeros(2), 7).tolist()
    [7.0, 7.0]
    """
    if isinstance(fill_value, complex):
        return _finish(
            tenora_ops.empty_like(input, dtype=dtype, device=device).fill_(fill_value), requires_grad
        )
    return _finish(tenora_ops.full_like(input, fill_value, dtype=dtype, device=device), requires_grad)


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`start, start + step, ...` below `end`; `arange(n)` and `arange(end=n)` count from 0.

    The result is 1-d: int64 for whole numbers, else of the default dtype, unless another is given. RuntimeError for
    a step of 0 or one that leads away from `end`, TypeError without an end.

    >>> import tenora
    >>> tenora.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    if out is not None:
        return _into("arange", out, dtype, lambda **options: arange(start, end, step, **options))
    if start is None or end is None:
        start, end = 0, start if end is None else end
    if end is None:
        raise errors.ArgumentTypeError(
            "[arange] end: got none, expected a number. Write arange(5) or arange(2, 5)."
        )
    return _finish(
        tenora_ops.arange(start, end, step, dtype=dtype, device=default_device(device)), requires_grad
    )


def _line(op: str, start: Any, end: Any, steps: int, dtype: DType | None, device: Any) -> Tensor:
    """Evenly spaced values of any dtype."""
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    for name, v in (("start", start), ("end", end)):
        if not isinstance(v, Number):
            raise errors.ArgumentTypeError(
                f"[{op}] {name} is wrong: got {type(v).__name__}, expected a number. Pass a Python number."
            )
    if steps < 0:
        raise errors.OperationError(
            f"[{op}] negative dimension: got {steps} steps, expected 0 or more. Ask for none or more."
        )
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = get_default_dtype().to_complex()
    if dtype is None or dtype.is_floating_point:
        return tenora_ops.linspace(start, end, steps, dtype=dtype, device=device)
    if not dtype.is_complex:  # the ends are cut first, as PyTorch does
        ends = _whole(op, start), _whole(op, end)
        line = tenora_ops.linspace(*ends, steps, dtype=float64, device=device)
        return tenora_ops.cast(line, dtype)
    start, end, part = complex(start), complex(end), dtype.to_real()
    return tenora_ops.complex(
        tenora_ops.linspace(start.real, end.real, steps, dtype=part, device=device),
        tenora_ops.linspace(start.imag, end.imag, steps, dtype=part, device=device),
    )


def _whole(op: str, number: Any) -> int:
    number = number.item() if isinstance(number, Tensor) else number
    if not isinstance(number, Real) or not math.isfinite(number):
        raise errors.OperationError(
            f"[{op}] an end is wrong: got {number}, expected a finite number for a whole dtype."
            " Pass finite numbers, or a floating dtype."
        )
    return int(math.trunc(number))


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced; of a whole dtype: cut to whole numbers.

    The result is (steps), of the default dtype unless another is given. RuntimeError for a negative number of steps
    and an end that is not finite in a whole dtype, TypeError for what is no number.

    >>> import tenora
    >>> tenora.linspace(0, 10, 4, dtype=tenora.int64).tolist()
    [0, 3, 6, 10]
    """
    if out is not None:
        return _into("linspace", out, dtype, lambda **options: linspace(start, end, steps, **options))
    line = _line("linspace", start, end, steps, dtype, default_device(device))
    return _finish(line, requires_grad)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` powers of `base`, whose exponents are those of `linspace`.

    The result is (steps), of the default dtype unless another is given. RuntimeError for a negative number of steps,
    TypeError for what is no number.

    >>> import tenora
    >>> tenora.logspace(0, 3, 4, base=2.0).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    if out is not None:
        return _into("logspace", out, dtype, lambda **options: logspace(start, end, steps, base, **options))
    place = default_device(device)
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        exponents = _line("logspace", start, end, steps, dtype, place)
        return _finish(tenora_ops.pow(base, exponents), requires_grad)
    ends = _whole("logspace", start), _whole("logspace", end)
    wide = tenora_ops.pow(base, _line("logspace", *ends, steps, float64, place))
    return _finish(tenora_ops.cast(wide, dtype), requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal of an n x m matrix (n x n without `m`), zeros elsewhere.

    The default dtype unless another is given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.eye(2, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if out is not None:
        return _into("eye", out, dtype, lambda **options: eye(n, m, **options))
    return _finish(tenora_ops.eye(n, m, dtype=dtype, device=default_device(device)), requires_grad)


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform on [0, 1), bit-identical on every backend for the same seed.

    The default dtype unless another floating or complex one is given. Bits come from Philox 4x32-10 (Salmon et al.
    2011). RuntimeError for a negative size or a whole dtype.

    >>> import tenora
    >>> x = tenora.rand(2, 3)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (tenora.Size([2, 3]), True)
    """
    if out is not None:
        return _into(
            "rand", out, dtype, lambda **options: rand(*sizes, size=size, generator=generator, **options)
        )
    result = tenora_ops.rand(
        _size("rand", sizes, size), generator=generator, dtype=dtype, device=default_device(device)
    )
    return _finish(result, requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal with mean 0 and variance 1, by the formula of Box and Muller (1958) from the bits of `rand`.

    The default dtype unless another floating or complex one is given. RuntimeError for a negative size or a whole
    dtype.

    >>> import tenora
    >>> x = tenora.randn(10000)
    >>> bool(x.mean().abs() < 0.05 and (x.var() - 1).abs() < 0.1)
    True
    """
    if out is not None:
        return _into(
            "randn", out, dtype, lambda **options: randn(*sizes, size=size, generator=generator, **options)
        )
    result = tenora_ops.randn(
        _size("randn", sizes, size), generator=generator, dtype=dtype, device=default_device(device)
    )
    return _finish(result, requires_grad)


def randint(
    low: int | None = None,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from `low` to `high - 1`, each as likely; `randint(high, size)` begins at 0, `size` by keyword too.

    int64 unless `dtype` says otherwise. RuntimeError unless `low` is below `high`, TypeError without a size.

    >>> import tenora
    >>> x = tenora.randint(2, 5, (100,))
    >>> x.unique().tolist()
    [2, 3, 4]
    """
    if out is not None:
        return _into(
            "randint", out, dtype, lambda **options: randint(low, high, size, generator=generator, **options)
        )
    if size is None and not (high is None or isinstance(high, int)):
        high, size = None, high
    if size is None:
        raise errors.ArgumentTypeError(
            "[randint] size: got none, expected a sequence of sizes, as in randint(10, (3,))."
            " Pass the result's size."
        )
    if low is None or high is None:
        low, high = 0, low if high is None else high
    if high is None:
        raise errors.ArgumentTypeError(
            "[randint] high: got none, expected a number. Write randint(10, (3,)) or randint(5, 10, (3,))."
        )
    result = tenora_ops.randint(
        low, high, size, generator=generator, dtype=dtype, device=default_device(device)
    )
    return _finish(result, requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """A random order of 0 .. n - 1, int64 unless `dtype` says otherwise; RuntimeError for a negative `n`.

    >>> import tenora
    >>> tenora.randperm(5).sort().values.tolist()
    [0, 1, 2, 3, 4]
    """
    if out is not None:
        return _into("randperm", out, dtype, lambda **options: randperm(n, generator=generator, **options))
    order: Tensor = tenora_ops.randperm(n, generator=generator, dtype=dtype, device=default_device(device))
    return order


def _need_tensor(op: str, input: object) -> None:
    """TypeError for what has no size, dtype and device to make something like."""
    if not isinstance(input, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] input is wrong: got {type(input).__name__}, expected Tensor. Convert it with tenora.tensor(...)."
        )


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`rand` with the size, dtype and device of `input`; RuntimeError for a whole dtype.

    >>> import tenora
    >>> tenora.rand_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    _need_tensor("rand_like", input)
    return rand(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=device or input.device,
        requires_grad=requires_grad,
    )


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`randn` with the size, dtype and device of `input`; RuntimeError for a whole dtype.

    >>> import tenora
    >>> tenora.randn_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    _need_tensor("randn_like", input)
    return randn(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=device or input.device,
        requires_grad=requires_grad,
    )
