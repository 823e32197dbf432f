"""Pooling in one, two and three spatial dims: max (with positions), average, power mean.

- All see the windows of the padded input through one strided view and reduce them. Padding never wins: it is -inf for
  the maximum, and the divisors of averages count what `count_include_pad` says.
- Positions are numbers in the flattened spatial dims of the input, as in PyTorch; the gradient adds to those places.
- `ceil_mode` keeps a last window that leaves the padded input, if it begins inside input or left padding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_engine._engine import OpFunction
from tenora_ops.formula import ops
from tenora_ops.pool_cases import (
    avg_back_oracle,
    avg_oracle,
    avg_samples,
    back_samples,
    lp_oracle,
    lp_samples,
    max_oracle,
    max_samples,
)
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Domain
from tenora_ops.windows import (
    Windows,
    around,
    items,
    leading,
    product,
    spatial,
    window_count,
)

DISTINCT = Domain(-8.0, 8.0, distinct=True, gap=0.02)
POOL = Family("pool", "float_same", "", "plain", lambda draw: [], REALS, tolerance="few_ulp")
MOVED = Family("pool", "value_index", "", "plain", lambda draw: [], REALS, DISTINCT)


# ---- sizes -----------------------------------------------------------------------------------------------
class Pool:
    """The windows of one call, as symbols: sizes, and how many each dim has."""

    def __init__(
        self, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, n: int
    ) -> None:
        self.n = n
        self.sizes = spatial(x.shape, n)
        self.kernel = items(kernel, n)
        self.stride = items(kernel if stride is None else stride, n)
        self.padding = items(padding, n)
        self.dilation = [1] * n if dilation is None else items(dilation, n)
        rows = zip(self.sizes, self.kernel, self.stride, self.dilation, self.padding, strict=True)
        self.out = [window_count(*row, ceil_mode) for row in rows]
        reach = [
            (self.out[i] - 1) * self.stride[i] + self.dilation[i] * (self.kernel[i] - 1) + 1 for i in range(n)
        ]
        self.after = [reach[i] - self.sizes[i] - self.padding[i] for i in range(n)]
        self.room = reach
        self.lead, batch = leading(x, n)
        self.rows = batch * x.shape[-n - 1]
        self.shape = self.lead + (x.shape[-n - 1], *self.out)

    def windows(self) -> Windows:
        return Windows([self.rows], self.room, self.kernel, self.stride, self.dilation, self.out)

    def seen(self, x: Any, value: float) -> Any:
        """The windows of x, (N C, windows, kernel)."""
        room = ops.contiguous(ops.pad(x, around(self.padding, self.after), "constant", value))
        where = self.windows()
        seen = where.view(room, where.outer, where.out, where.kernel)
        return ops.reshape(seen, (self.rows, product(self.out), product(self.kernel)))

    def starts(self, i: int, like: Any) -> Any:
        """The first position of each window in dim i, padding negative, shaped to broadcast over the windows."""
        numbers = ops.arange(0, self.out[i], 1, device=like.device)
        shape = [1] * self.n
        shape[i] = self.out[i]
        return ops.reshape(numbers * self.stride[i] - self.padding[i], shape)


# ---- maximum ---------------------------------------------------------------------------------------------
def _max_pool(n: int) -> Callable[..., Any]:
    def formula(x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        pool = Pool(x, kernel_size, stride, padding, dilation, ceil_mode, n)
        values, chosen = ops.max_dim(pool.seen(x, float("-inf")), -1)
        values, rest = ops.reshape(values, pool.shape), ops.reshape(chosen, pool.shape)
        places: list[Any] = []
        for i in reversed(range(n)):
            within = ops.remainder(rest, pool.kernel[i]) * pool.dilation[i] + pool.starts(i, x)
            places.insert(0, ops.clamp(within, 0, pool.sizes[i] - 1))
            rest = ops.floor_divide(rest, pool.kernel[i])
        flat = places[0]
        for i in range(1, n):
            flat = flat * pool.sizes[i] + places[i]
        return values, flat

    return formula


def max_pool_vjp(n: int) -> Callable[..., Any]:
    def formula(g: Any, x: Any, values: Any, indices: Any) -> Any:
        rows = leading(x, n)[1] * x.shape[-n - 1]
        flat = (rows, product(spatial(g.shape, n)))
        empty = ops.zeros((rows, product(spatial(x.shape, n))), dtype=g.dtype, device=g.device)
        added = ops.scatter_add(empty, 1, ops.reshape(indices, flat), ops.reshape(g, flat))
        return ops.constant_in(ops.reshape(added, x.shape), x)

    return formula


# ---- average ---------------------------------------------------------------------------------------------
def _divisor(pool: Pool, like: Any, include: bool, override: Any, plain: bool) -> Any:
    """What a window's sum is divided by: a number, or a tensor over the windows."""
    if override is not None:
        return override
    if plain:
        return product(pool.kernel)
    total: Any = None
    for i in range(pool.n):
        start = pool.starts(i, like)
        edge = pool.padding[i] if include else 0
        end = ops.clamp(start + pool.kernel[i], None, pool.sizes[i] + edge)
        count = end - (start if include else ops.clamp(start, 0, None))
        total = count if total is None else total * count
    return ops.to(total, like.dtype)


def _avg_pool(n: int) -> Callable[..., Any]:
    def formula(
        x: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any = None,
    ) -> Any:
        pool = Pool(x, kernel_size, stride, padding, None, ceil_mode, n)
        total = ops.reshape(ops.sum(pool.seen(x, 0.0), -1), pool.shape)
        return total / _divisor(
            pool, x, count_include_pad, divisor_override, count_include_pad and not ceil_mode
        )

    return formula


def _avg_backward(n: int) -> Callable[..., Any]:
    def formula(
        g: Any,
        x: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any = None,
    ) -> Any:
        pool = Pool(x, kernel_size, stride, padding, None, ceil_mode, n)
        each = g / _divisor(pool, g, count_include_pad, divisor_override, count_include_pad and not ceil_mode)
        each = ops.reshape(each, (*[1] * n, pool.rows, *pool.out))
        each = ops.expand(each, (*pool.kernel, pool.rows, *pool.out))
        whole = pool.windows().add(each, [pool.rows, *pool.room])
        cut = around([-p for p in pool.padding], [-a for a in pool.after])
        return ops.reshape(ops.pad(whole, cut), x.shape)

    return formula


def _avg_vjp(n: int) -> Callable[..., Any]:
    if n == 1:
        return lambda g, x, r, kernel_size, stride, padding, ceil_mode, count_include_pad: ops.constant_in(
            ops.avg_pool1d_backward(g, x, kernel_size, stride, padding, ceil_mode, count_include_pad), x
        )

    def formula(
        g: Any,
        x: Any,
        r: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> Any:
        backward = getattr(ops, f"avg_pool{n}d_backward")
        shares = backward(g, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return ops.constant_in(shares, x)

    return formula


def _avg_second(n: int) -> Callable[..., Any]:
    if n == 1:
        return lambda h, g, x, r, kernel_size, stride, padding, ceil_mode, count_include_pad: (
            ops.avg_pool1d(h, kernel_size, stride, padding, ceil_mode, count_include_pad),
            None,
        )

    def formula(
        h: Any,
        g: Any,
        x: Any,
        r: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> Any:
        forward = getattr(ops, f"avg_pool{n}d")
        return forward(h, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), None

    return formula


# ---- power mean ------------------------------------------------------------------------------------------
def _lp_pool(n: int) -> Callable[..., Any]:
    def formula(x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
        average = getattr(ops, f"avg_pool{n}d")
        mean = average(ops.pow(x, norm_type), kernel_size, stride, 0, ceil_mode)
        # 0 has a gradient of 0, as PyTorch's relu gives it one; NaN keeps its own.
        total = ops.where(ops.eq(mean, 0), 0, ops.abs(mean)) * product(items(kernel_size, n))
        return ops.pow(ops.sign(mean) * total, 1 / norm_type)

    return formula


# ---- records ---------------------------------------------------------------------------------------------
def _declare_max(n: int) -> tuple[OpFunction, OpFunction]:
    rest = "kernel_size: int[], stride: int[]? = None, padding: int[] = 0, dilation: int[] = 1, ceil_mode: bool = False"
    call = f"(tenora.ones({'1, 1' + ', 4' * n}), 2)"
    found = op(
        f"max_pool{n}d_with_indices(input: Tensor, {rest}) -> (Tensor, Tensor)",
        family=MOVED,
        shape=f"max_pool{n}d",
        composite=_max_pool(n),
        vjp=max_pool_vjp(n),
        not_differentiable=(1,),
        samples=max_samples(n),
        oracle=max_oracle(n),
        doc="The largest element of each window, and its position in the flattened spatial dims.",
        example=f"tenora.nn.functional.max_pool{n}d_with_indices{call}",
        public=f"nn.functional.max_pool{n}d_with_indices",
        renames=f"nn.functional.max_pool{n}d",
        result=("values", "indices"),
    )
    values = op(
        f"max_pool{n}d(input: Tensor, {rest}) -> Tensor",
        family=MOVED,
        dtype="",
        shape="",
        prepare="",
        composite=_values_of(f"max_pool{n}d_with_indices"),
        samples=max_samples(n),
        oracle=lambda *arguments, **options: max_oracle(n)(*arguments, **options)[0],
        doc="The largest element of each window.",
        example=f"tenora.nn.functional.max_pool{n}d{call}",
        public=f"nn.functional.max_pool{n}d",
        aliases=(f"max_pool{n}d",),
    )
    return found, values


def _values_of(name: str) -> Callable[..., Any]:
    def formula(x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        return getattr(ops, name)(x, kernel_size, stride, padding, dilation, ceil_mode)[0]

    return formula


def _declare_avg(n: int) -> tuple[OpFunction, OpFunction]:
    rest = (
        "kernel_size: int[], stride: int[]? = None, padding: int[] = 0, ceil_mode: bool = False, "
        "count_include_pad: bool = True" + (", divisor_override: int? = None" if n > 1 else "")
    )
    shape = "1, 1" + ", 4" * n
    forward = op(
        f"avg_pool{n}d(input: Tensor, {rest}) -> Tensor",
        family=POOL,
        shape=f"avg_pool{n}d",
        composite=_avg_one if n == 1 else _avg_pool(n),
        vjp=_avg_vjp(n),
        tolerance="reduction",
        samples=avg_samples(n),
        oracle=avg_oracle(n),
        doc="The mean of each window; padding counts as zeros unless count_include_pad is False.",
        example=f"tenora.nn.functional.avg_pool{n}d(tenora.ones({shape}), 2)",
        public=f"nn.functional.avg_pool{n}d",
        aliases=("avg_pool1d",) if n == 1 else (),
    )
    backward = op(
        f"avg_pool{n}d_backward(grad: Tensor, input: Tensor, {rest}) -> Tensor",
        family=POOL,
        shape=f"avg_pool{n}d_backward",
        shape_only=("input",),
        composite=_avg_one_backward if n == 1 else _avg_backward(n),
        vjp=_avg_second(n),
        tolerance="reduction",
        samples=back_samples(n),
        oracle=avg_back_oracle(n),
        doc="The gradient of the mean of windows: each window's share, added to all of its places.",
        example=f"tenora.nn.functional.avg_pool{n}d(tenora.ones({shape}, requires_grad=True), 2).sum().backward()",
        public="",
    )
    return forward, backward


def _declare_power(n: int) -> OpFunction:
    shape = "1, 1" + ", 4" * n
    return op(
        f"lp_pool{n}d(input: Tensor, norm_type: float, kernel_size: int[], stride: int[]? = None, "
        "ceil_mode: bool = False) -> Tensor",
        family=POOL,
        shape=f"lp_pool{n}d",
        composite=_lp_pool(n),
        domain=Domain(0.2, 3.0),
        tolerance="reduction",
        samples=lp_samples(n),
        oracle=lp_oracle(n),
        doc="(sum of x^p over each window)^(1/p).",
        example=f"tenora.nn.functional.lp_pool{n}d(tenora.ones({shape}), 2.0, 2)",
        public=f"nn.functional.lp_pool{n}d",
    )


def _avg_one(
    x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool
) -> Any:
    return _avg_pool(1)(x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _avg_one_backward(
    g: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool
) -> Any:
    return _avg_backward(1)(g, x, kernel_size, stride, padding, ceil_mode, count_include_pad)


max_pool1d_with_indices, max_pool1d = _declare_max(1)
max_pool2d_with_indices, max_pool2d = _declare_max(2)
max_pool3d_with_indices, max_pool3d = _declare_max(3)
avg_pool1d, avg_pool1d_backward = _declare_avg(1)
lp_pool1d = _declare_power(1)
avg_pool2d, avg_pool2d_backward = _declare_avg(2)
lp_pool2d = _declare_power(2)
avg_pool3d, avg_pool3d_backward = _declare_avg(3)
lp_pool3d = _declare_power(3)
