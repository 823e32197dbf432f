"""Pooling to a given size, and the way back from maxima.

- Window i of `out` over `size` elements runs from floor(i size / out) to ceil((i + 1) size / out), as in PyTorch. The
  windows of a dim differ in length: all are read with the longest length, and what is too much is masked.
- One dim after another: a mean of means over a rectangle is its mean, a maximum of maxima its maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine._engine import OpFunction
from tenora_ops.adaptive_cases import (
    adaptive_back_samples,
    adaptive_samples,
    avg_back_oracle,
    avg_oracle,
    max_oracle,
    unpool_oracle,
    unpool_samples,
    unpooled,
)
from tenora_ops.formula import max_number, ops
from tenora_ops.pool import DISTINCT, max_pool_vjp
from tenora_ops.record import Family, op
from tenora_ops.samples import NUMBERS, REALS
from tenora_ops.windows import Sizes, check_rank, item, items, leading, product, spatial

ADAPTIVE = Family("pool", "float_same", "", "plain", lambda draw: [], REALS, tolerance="reduction")
CHOSEN = Family("pool", "value_index", "", "plain", lambda draw: [], REALS, DISTINCT)
UNPOOL = Family("pool", "like_first", "", "plain", lambda draw: [], NUMBERS)


class Regions:
    """The windows of one dim, as tensors: positions to read (out * longest), which of them count, their number."""

    def __init__(self, like: Any, size: Any, out: Any, ones: int) -> None:
        """`ones`: how many dims follow the pooled one."""
        numbers = ops.arange(0, out, 1, device=like.device)
        parts = max_number(out, 1)  # no windows at all are none of a whole dim
        starts = ops.floor_divide(numbers * size, parts)
        ends = ops.floor_divide((numbers + 1) * size + (parts - 1), parts)
        self.longest = (size + parts - 1) // parts + 1
        reach = ops.reshape(starts, (out, 1)) + ops.arange(0, self.longest, 1, device=like.device)
        tail = [1] * ones
        self.counts = ops.reshape(ops.lt(reach, ops.reshape(ends, (out, 1))), (out, self.longest, *tail))
        self.places = ops.reshape(ops.clamp(reach, 0, size - 1), (out * self.longest,))
        self.length = ops.reshape(ends - starts, (out, *tail))

    def read(self, x: Any, shape: Any, dim: int) -> Any:
        """x with its dim replaced by (out, longest)."""
        return ops.reshape(ops.index_select(x, dim, self.places), shape)


def _steps(x: Any, output_size: Any, n: int) -> Iterable[tuple[int, Regions, Any]]:
    """Per dim, from the last: its number from behind, its regions, the shape after reading them."""
    lead, _ = leading(x, n)
    sizes, out = [x.shape[-n - 1], *spatial(x.shape, n)], [None, *items(output_size, n)]
    for i in range(n, 0, -1):
        after = out[i + 1 :]
        regions = Regions(x, sizes[i], out[i], n - i)
        yield i - n - 1, regions, lead + (*sizes[:i], out[i], regions.longest, *after)


def _adaptive_avg(n: int) -> Callable[..., Any]:
    def formula(x: Any, output_size: Any) -> Any:
        for dim, regions, shape in _steps(x, output_size, n):
            seen = ops.where(regions.counts, regions.read(x, shape, dim), 0.0)
            x = ops.sum(seen, dim) / ops.to(regions.length, x.dtype)
        return x

    return formula


def _adaptive_avg_backward(n: int) -> Callable[..., Any]:
    """Each window's share, added to all of its places: one dim after another, from the first."""

    def formula(g: Any, x: Any) -> Any:
        lead, _ = leading(x, n)
        sizes, out = [x.shape[-n - 1], *spatial(x.shape, n)], [None, *spatial(g.shape, n)]
        for i in range(1, n + 1):
            regions, after = Regions(x, sizes[i], out[i], n - i), out[i + 1 :]
            shares = ops.unsqueeze(g / ops.to(regions.length, g.dtype), i - n - 1)
            spread_out = ops.where(regions.counts, shares, 0.0)
            rows = ops.reshape(spread_out, lead + (*sizes[:i], out[i] * regions.longest, *after))
            whole = ops.zeros(lead + (*sizes[: i + 1], *after), dtype=g.dtype, device=g.device)
            g = ops.index_add(whole, i - n - 1, regions.places, rows)
        return g

    return formula


def _adaptive_avg_vjp(n: int) -> Callable[..., Any]:
    return lambda g, x, r: ops.constant_in(getattr(ops, f"adaptive_avg_pool{n}d_backward")(g, x), x)


def _adaptive_avg_second(n: int) -> Callable[..., Any]:
    def formula(h: Any, g: Any, x: Any, r: Any) -> Any:
        return getattr(ops, f"adaptive_avg_pool{n}d")(h, spatial(g.shape, n)), None

    return formula


def _adaptive_max(n: int) -> Callable[..., Any]:
    def formula(x: Any, output_size: Any) -> Any:
        sizes = spatial(x.shape, n)
        numbers = ops.reshape(ops.arange(0, product(sizes), 1, device=x.device), sizes)
        numbers = ops.expand(numbers, x.shape)
        for dim, regions, shape in _steps(x, output_size, n):
            seen = ops.where(regions.counts, regions.read(x, shape, dim), float("-inf"))
            x, chosen = ops.max_dim(seen, dim)
            kept = ops.gather(regions.read(numbers, shape, dim), dim, ops.unsqueeze(chosen, dim))
            numbers = ops.squeeze(kept, dim)
        return x, numbers

    return formula


# ---- the way back from maxima ----------------------------------------------------------------------------


def _unpool_rule(n: int) -> Callable[..., Sizes]:
    name = f"max_unpool{n}d"

    def rule(operands: Any, attributes: Any) -> Sizes:
        (x, _), (indices, dtype) = operands
        if str(dtype) != "tenora.int64":
            raise errors.OperationError(
                f"[{name}] wrong dtype of indices: got {dtype}, expected int64. Cast them."
            )
        if tuple(indices) != tuple(x):
            raise errors.OperationError(
                f"[{name}] indices do not fit: got {tuple(indices)}, expected {tuple(x)} like input. Pass those of "
                "the pooling."
            )
        check_rank(name, x, n)
        return unpooled(name, x, attributes, n)

    return rule


def _unpool(n: int) -> Callable[..., Any]:
    def formula(x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
        lead, batch = leading(x, n)
        rows, flat = batch * x.shape[-n - 1], product(spatial(x.shape, n))
        if output_size is None:
            steps = kernel_size if stride is None else stride
            out = [
                (x.shape[i - n] - 1) * item(steps, i) - item(padding, i) * 2 + item(kernel_size, i)
                for i in range(n)
            ]
        else:
            out = spatial(output_size, n)
        empty = ops.zeros((rows, product(out)), dtype=x.dtype, device=x.device)
        where, values = ops.reshape(indices, (rows, flat)), ops.reshape(x, (rows, flat))
        return ops.reshape(ops.scatter(empty, 1, where, values), lead + (x.shape[-n - 1], *out))

    return formula


def _unpool_vjp(n: int) -> Callable[..., Any]:
    def formula(g: Any, x: Any, indices: Any, r: Any) -> Any:
        rows = leading(x, n)[1] * x.shape[-n - 1]
        lines = ops.reshape(g, (rows, product(spatial(g.shape, n))))
        places = ops.reshape(indices, (rows, product(spatial(x.shape, n))))
        return ops.reshape(ops.gather(lines, 1, places), x.shape), None

    return formula


# ---- records ---------------------------------------------------------------------------------------------
def _ones(n: int) -> str:
    """The shape of an example's input."""
    return "1, 1" + ", 4" * n


def _declare_mean(n: int) -> tuple[OpFunction, OpFunction]:
    shape = _ones(n)
    average = op(
        f"adaptive_avg_pool{n}d(input: Tensor, output_size: int[]) -> Tensor",
        family=ADAPTIVE,
        shape=f"adaptive_avg_pool{n}d",
        composite=_adaptive_avg(n),
        vjp=_adaptive_avg_vjp(n),
        samples=adaptive_samples(n),
        oracle=avg_oracle(n),
        doc="Means over windows floor(i size / out) to ceil((i + 1) size / out) of every dim.",
        example=f"tenora.nn.functional.adaptive_avg_pool{n}d(tenora.ones({shape}), 2)",
        public=f"nn.functional.adaptive_avg_pool{n}d",
        aliases=("adaptive_avg_pool1d",) if n == 1 else (),
    )
    backward = op(
        f"adaptive_avg_pool{n}d_backward(grad: Tensor, input: Tensor) -> Tensor",
        family=ADAPTIVE,
        shape=f"adaptive_avg_pool{n}d_backward",
        shape_only=("input",),
        composite=_adaptive_avg_backward(n),
        vjp=_adaptive_avg_second(n),
        samples=adaptive_back_samples(n),
        oracle=avg_back_oracle(n),
        doc="The gradient of means over windows: each window's share, added to all of its places.",
        example=f"tenora.nn.functional.adaptive_avg_pool{n}d(tenora.ones({shape}, requires_grad=True), 2)"
        ".sum().backward()",
        public="",
    )
    return average, backward


def _declare_largest(n: int) -> tuple[OpFunction, OpFunction]:
    shape = _ones(n)
    largest = op(
        f"adaptive_max_pool{n}d_with_indices(input: Tensor, output_size: int[]) -> (Tensor, Tensor)",
        family=CHOSEN,
        shape=f"adaptive_max_pool{n}d",
        composite=_adaptive_max(n),
        vjp=max_pool_vjp(n),
        not_differentiable=(1,),
        samples=adaptive_samples(n),
        oracle=max_oracle(n),
        doc="The largest element of windows as in adaptive_avg_pool, and its position in the flattened dims.",
        example=f"tenora.nn.functional.adaptive_max_pool{n}d_with_indices(tenora.ones({shape}), 2)",
        public=f"nn.functional.adaptive_max_pool{n}d_with_indices",
        renames=f"nn.functional.adaptive_max_pool{n}d",
        result=("values", "indices"),
    )
    values = op(
        f"adaptive_max_pool{n}d(input: Tensor, output_size: int[]) -> Tensor",
        family=CHOSEN,
        dtype="",
        shape="",
        prepare="",
        composite=_values_of(f"adaptive_max_pool{n}d_with_indices"),
        samples=adaptive_samples(n),
        oracle=lambda x, output_size: max_oracle(n)(x, output_size)[0],
        doc="The largest element of windows as in adaptive_avg_pool.",
        example=f"tenora.nn.functional.adaptive_max_pool{n}d(tenora.ones({shape}), 2)",
        public=f"nn.functional.adaptive_max_pool{n}d",
    )
    return largest, values


def _declare_unpool(n: int) -> OpFunction:
    return op(
        f"max_unpool{n}d(input: Tensor, indices: Tensor, kernel_size: int[], stride: int[]? = None, "
        "padding: int[] = 0, output_size: int[]? = None) -> Tensor",
        family=UNPOOL,
        shape=_unpool_rule(n),
        composite=_unpool(n),
        vjp=_unpool_vjp(n),
        samples=unpool_samples(n),
        oracle=unpool_oracle(n),
        doc="Zeros with the values of input at the positions that max pooling found.",
        example=f"tenora.nn.functional.max_unpool{n}d(*tenora.nn.functional.max_pool{n}d_with_indices("
        f"tenora.ones({_ones(n)}), 2), 2)",
        public=f"nn.functional.max_unpool{n}d",
    )


def _values_of(name: str) -> Callable[..., Any]:
    return lambda x, output_size: getattr(ops, name)(x, output_size)[0]


adaptive_avg_pool1d, adaptive_avg_pool1d_backward = _declare_mean(1)
adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _declare_largest(1)
max_unpool1d = _declare_unpool(1)
adaptive_avg_pool2d, adaptive_avg_pool2d_backward = _declare_mean(2)
adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _declare_largest(2)
max_unpool2d = _declare_unpool(2)
adaptive_avg_pool3d, adaptive_avg_pool3d_backward = _declare_mean(3)
adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _declare_largest(3)
max_unpool3d = _declare_unpool(3)
