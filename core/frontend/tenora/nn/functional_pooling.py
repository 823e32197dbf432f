"""Pooling under PyTorch's names: `return_indices` chooses the form with positions, None in a size keeps a dim."""

from __future__ import annotations

import math
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, float64

from .functional_activation import is_whole

Sizes = int | list[int] | tuple[int, ...]
OptionalSizes = int | None | list[int | None] | tuple[int | None, ...]


def _whole_pool(with_indices: Any, dims: int, input: Tensor, where: Any) -> tuple[Tensor, Tensor]:
    """Of whole numbers: compared in float64, then read at the places that were found."""
    places = with_indices(tenora_ops.cast(input, float64), *where)[1]
    flat = tenora_ops.flatten(input, -dims, -1)
    values = tenora_ops.gather(flat, -1, tenora_ops.flatten(places, -dims, -1))
    return tenora_ops.reshape(values, places.shape), places


def _max_pool(dims: int) -> Any:
    with_indices = getattr(tenora_ops, f"max_pool{dims}d_with_indices")
    values = getattr(tenora_ops, f"max_pool{dims}d")

    def max_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        where = (kernel_size, stride, padding, dilation, ceil_mode)
        if isinstance(input, Tensor) and is_whole(input):
            found = _whole_pool(with_indices, dims, input, where)
            return found if return_indices else found[0]
        return (with_indices if return_indices else values)(input, *where)

    return _named(
        max_pool,
        f"max_pool{dims}d",
        "The largest element of each window; with `return_indices` also its position in the flattened spatial dims.",
    )


def _lp_pool(dims: int) -> Any:
    power, largest = getattr(tenora_ops, f"lp_pool{dims}d"), getattr(tenora_ops, f"max_pool{dims}d")

    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        found: Tensor
        if isinstance(norm_type, int | float) and norm_type == 0:
            raise errors.ZeroNumberError(
                f"[lp_pool{dims}d] norm_type is wrong: got 0, expected another number, as the root of order 0 is "
                "not defined. Count the elements that are not 0 instead."
            )
        if not (isinstance(input, Tensor) and isinstance(norm_type, float) and math.isinf(norm_type)):
            found = power(input, norm_type, kernel_size, stride, ceil_mode)
            return found
        # The limit: powers themselves are 0 or infinite.
        sign = 1 if norm_type > 0 else -1
        found = largest(abs(input) * sign, kernel_size, stride, 0, 1, ceil_mode)
        return found * sign

    return _named(
        lp_pool,
        f"lp_pool{dims}d",
        "(sum of x^p over each window)^(1/p); the largest, or smallest, |x| where p is infinite.",
    )


def _adaptive(kind: str, dims: int) -> Any:
    name = f"adaptive_{kind}_pool{dims}d"
    values = getattr(tenora_ops, name)
    with_indices = getattr(tenora_ops, f"{name}_with_indices", None) if kind == "max" else None

    def size_of(input: Tensor, output_size: OptionalSizes) -> Any:
        given = [None] * dims if output_size is None else output_size
        if not isinstance(given, list | tuple) or None not in given or not isinstance(input, Tensor):
            return given
        kept = input.shape[-dims:]
        if len(given) != len(kept):
            raise errors.OperationError(
                f"[{name}] output_size: got {tuple(given)} for shape {tuple(input.shape)}, expected {dims} sizes. "
                "Give one per spatial dim."
            )
        return [k if size is None else size for size, k in zip(given, kept, strict=True)]

    def adaptive_avg_pool(input: Tensor, output_size: OptionalSizes) -> Any:
        return values(input, size_of(input, output_size))

    def adaptive_max_pool(input: Tensor, output_size: OptionalSizes, return_indices: bool = False) -> Any:
        size = size_of(input, output_size)
        if with_indices is not None and isinstance(input, Tensor) and is_whole(input):
            found = _whole_pool(with_indices, dims, input, (size,))
            return found if return_indices else found[0]
        pool = with_indices if return_indices and with_indices is not None else values
        return pool(input, size)

    made = adaptive_avg_pool if kind == "avg" else adaptive_max_pool
    return _named(made, name, f"Pools to `output_size`; None keeps a dim. See `tenora_ops.{name}`.")


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)
max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)
adaptive_avg_pool1d, adaptive_max_pool1d = _adaptive("avg", 1), _adaptive("max", 1)
adaptive_avg_pool2d, adaptive_max_pool2d = _adaptive("avg", 2), _adaptive("max", 2)
adaptive_avg_pool3d, adaptive_max_pool3d = _adaptive("avg", 3), _adaptive("max", 3)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]
