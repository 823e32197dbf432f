"""Making tensors at random. Draws are counter-based, so a seed gives the same bits on every backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Generator, Tensor
from tenora_engine import dtype as DType

from .creation_steps import finish, given, into, need_tensor, size_of
from .defaults import default_device
from .pinning import check_pinning


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
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
        return into(
            "rand", out, dtype, lambda **options: rand(*sizes, size=size, generator=generator, **options)
        )
    if pin_memory is not False:
        check_pinning("rand", pin_memory)
    result = tenora_ops.rand(
        size_of("rand", sizes, size), generator=generator, dtype=dtype, device=default_device(device)
    )
    return finish(result, requires_grad, pin_memory)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
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
        return into(
            "randn", out, dtype, lambda **options: randn(*sizes, size=size, generator=generator, **options)
        )
    if pin_memory is not False:
        check_pinning("randn", pin_memory)
    result = tenora_ops.randn(
        size_of("randn", sizes, size), generator=generator, dtype=dtype, device=default_device(device)
    )
    return finish(result, requires_grad, pin_memory)


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
    pin_memory: bool | None = False,
) -> Tensor:
    """Integers from `low` to `high - 1`, each as likely; `randint(high, size)` begins at 0, `size` by keyword too.

    int64 unless `dtype` says otherwise. RuntimeError unless `low` is below `high`, TypeError without a size.

    >>> import tenora
    >>> x = tenora.randint(2, 5, (100,))
    >>> x.unique().tolist()
    [2, 3, 4]
    """
    if out is not None:
        return into(
            "randint", out, dtype, lambda **options: randint(low, high, size, generator=generator, **options)
        )
    if pin_memory is not False:
        check_pinning("randint", pin_memory)
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
    return finish(result, requires_grad, pin_memory)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """A random order of 0 .. n - 1, int64 unless `dtype` says otherwise; RuntimeError for a negative `n`.

    >>> import tenora
    >>> tenora.randperm(5).sort().values.tolist()
    [0, 1, 2, 3, 4]
    """
    if out is not None:
        return into("randperm", out, dtype, lambda **options: randperm(n, generator=generator, **options))
    if pin_memory is not False:
        check_pinning("randperm", pin_memory)
    order: Tensor = tenora_ops.randperm(n, generator=generator, dtype=dtype, device=default_device(device))
    return finish(order, False, pin_memory)


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`rand` with the size, dtype and device of `input`; RuntimeError for a whole dtype.

    >>> import tenora
    >>> tenora.rand_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    need_tensor("rand_like", input)
    return rand(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=device or input.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`randn` with the size, dtype and device of `input`; RuntimeError for a whole dtype.

    >>> import tenora
    >>> tenora.randn_like(tenora.zeros(2, 3)).shape
    tenora.Size([2, 3])
    """
    need_tensor("randn_like", input)
    return randn(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=device or input.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def randint_like(
    input: Tensor,
    low: int | None = None,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`randint` with the size, dtype and device of `input`; `randint_like(input, high)` begins at 0.

    RuntimeError unless `low` is below `high` and both fit into the dtype, TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.randint_like(tenora.zeros(100), 2, 5).unique().tolist()
    [2.0, 3.0, 4.0]
    """
    if pin_memory is not False:
        check_pinning("randint_like", pin_memory)
    like = input if device is None else tenora_ops.empty_like(input, device=device)
    bounds = [bound for bound in (low, high) if bound is not None]
    options = given(generator=generator, dtype=dtype)
    return finish(tenora_ops.randint_like(like, *bounds, **options), requires_grad, pin_memory)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Normal numbers: of one mean and deviation and the given size, or one for each element of tensors of them.

    With a size both are numbers, and the default dtype is taken unless another floating or complex one is given.
    Without one `mean` or `std` is a tensor; they broadcast, and decide the dtype. RuntimeError for a negative
    deviation or size and a whole dtype, TypeError for numbers without a size and for options that only a size takes.

    >>> import tenora
    >>> tenora.normal(0.0, 1.0, (2, 3)).shape, tenora.normal(tenora.zeros(4), 0.1).shape
    (tenora.Size([2, 3]), tenora.Size([4]))
    """
    if size is None:  # the op refuses what it does not take
        options = given(generator=generator, out=out, dtype=dtype, device=device)
        options |= given(requires_grad=requires_grad or None, pin_memory=pin_memory or None)
        numbers: Tensor = tenora_ops.normal(mean, std, **options)
        return numbers
    if out is not None:
        return into(
            "normal", out, dtype, lambda **options: normal(mean, std, size, generator=generator, **options)
        )
    if pin_memory is not False:
        check_pinning("normal", pin_memory)
    options = given(generator=generator, dtype=dtype, device=default_device(device))
    return finish(tenora_ops.normal(mean, std, size, **options), requires_grad, pin_memory)
