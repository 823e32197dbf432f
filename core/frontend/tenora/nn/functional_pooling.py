"""Pooling under PyTorch's names: `return_indices` chooses the form with positions, None in a size keeps a dim.

Whole numbers are pooled exactly: the maximum of each dtype but bool (PyTorch has kernels for some), means of int64, cut
towards zero as in PyTorch, and power means by way of floating numbers.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, float64, int64, uint64

from .functional_activation import is_whole
from .sizes import is_empty

Sizes = int | list[int] | tuple[int, ...]
OptionalSizes = int | None | list[int | None] | tuple[int | None, ...]

#: What docstrings say by the number of spatial dims: shapes of inputs, the input of an example (0, 1, 2, ...), and what
#: its two windows of 2 along every dim have as the largest element, as the mean and as the sum.
_SHAPES = {
    1: "(N, C, L) or (C, L)",
    2: "(N, C, H, W) or (C, H, W)",
    3: "(N, C, D, H, W) or (C, D, H, W)",
}
_ROW = {1: "4.0).reshape(1, 1, 4)", 2: "8.0).reshape(1, 1, 2, 4)", 3: "16.0).reshape(1, 1, 2, 2, 4)"}
_LARGEST = {1: [1.0, 3.0], 2: [5.0, 7.0], 3: [13.0, 15.0]}
_MEAN = {1: [0.5, 2.5], 2: [2.5, 4.5], 3: [6.5, 8.5]}
_SUM = {1: [1.0, 5.0], 2: [10.0, 18.0], 3: [52.0, 68.0]}
_REFUSED = (
    "RuntimeError for other numbers of dimensions, and for windows or padding that do not fit; NotImplementedError for "
    "dtypes that are not pooled."
)


def _comparable(input: Tensor) -> Tensor:
    """Floating numbers in the order of whole ones: ranks for those that float64 does not tell apart."""
    if input.dtype not in (int64, uint64):
        return tenora_ops.cast(input, float64)
    ranks = tenora_ops.unique(input, return_inverse=True)[1]
    return tenora_ops.cast(ranks, float64)


def _whole_pool(with_indices: Any, dims: int, input: Tensor, where: Any) -> tuple[Tensor, Tensor]:
    """Of whole numbers: their order is looked at, and the elements are read at the places that were found."""
    places = with_indices(_comparable(input), *where)[1]
    flat = tenora_ops.flatten(input, -dims, -1)
    values = tenora_ops.gather(flat, -1, tenora_ops.flatten(places, -dims, -1))
    return tenora_ops.reshape(values, places.shape), places


def _own(stride: Sizes | None) -> Sizes | None:
    """An empty stride is none: the windows then lie side by side, as in PyTorch."""
    return None if is_empty(stride) else stride


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
        where = (kernel_size, _own(stride), padding, dilation, ceil_mode)
        if isinstance(input, Tensor) and is_whole(input):
            found = _whole_pool(with_indices, dims, input, where)
            return found if return_indices else found[0]
        return (with_indices if return_indices else values)(input, *where)

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    sizes = (
        f"`input` {_SHAPES[dims]}; a spatial size becomes (size + 2 padding - dilation (kernel_size - 1) - 1) / stride "
        f"+ 1, cut or, with `ceil_mode`, rounded up. Positions are int64. {_REFUSED}"
    )
    return (
        _named(
            max_pool,
            f"max_pool{dims}d",
            "The largest element of each window; with `return_indices` also its place in the flattened spatial dims.",
            sizes,
            (dims, f"max_pool{dims}d(x, 2)", _LARGEST[dims]),
        ),
        _named(
            max_pool_with_indices,
            f"max_pool{dims}d_with_indices",
            f"`max_pool{dims}d`, always with positions.",
            sizes,
            (dims, f"max_pool{dims}d_with_indices(x, 2).indices", [int(place) for place in _LARGEST[dims]]),
        ),
    )


def _whole_sums(dims: int, input: Tensor, window: Any, padding: Any, ceil_mode: bool) -> Tensor:
    """The sum of each window of an int64 tensor, which wraps; halves of 32 bits have exact sums in float64."""
    pool = getattr(tenora_ops, f"avg_pool{dims}d")
    low = tenora_ops.bitwise_and(input, 0xFFFFFFFF)
    high = tenora_ops.bitwise_right_shift(input, 32)
    sums = [
        tenora_ops.cast(pool(tenora_ops.cast(half, float64), *window, padding, ceil_mode, True, 1), int64)
        for half in (low, high)
    ]
    return tenora_ops.add(sums[0], tenora_ops.bitwise_left_shift(sums[1], 32))


def _whole_counts(
    dims: int, input: Tensor, window: Any, padding: Any, ceil_mode: bool, include_pad: bool
) -> Tensor:
    """How many elements each window has, padding among them or not; what `ceil_mode` adds is none."""
    ones = tenora_ops.ones(input.shape, dtype=int64, device=input.device)
    if not include_pad:
        return _whole_sums(dims, ones, window, padding, ceil_mode)
    edges = [padding] * dims if isinstance(padding, int) else list(padding) * (dims // len(padding))
    around = [edge for edge in reversed(edges) for _ in range(2)]
    return _whole_sums(dims, tenora_ops.pad(ones, around, "constant", 1), window, 0, ceil_mode)


def _whole_average(
    dims: int,
    input: Tensor,
    window: tuple[Sizes, Sizes | None],
    padding: Sizes,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """The means of an int64 tensor, cut towards zero."""
    sums = _whole_sums(dims, input, window, padding, ceil_mode)
    by: Any = divisor
    if by is None:
        by = _whole_counts(dims, input, window, padding, ceil_mode, include_pad)
        for dim in range(-dims, 0):  # a last window beyond the input may be in the count alone
            by = tenora_ops.narrow(by, dim, 0, sums.shape[dim])
    return tenora_ops.div(sums, by, rounding_mode="trunc")


def _in_two_dims(sizes: Any, other: int) -> Any:
    """A size of one dim for a row of that length: `other` for the dim before it."""
    return None if sizes is None else [other, *(sizes if isinstance(sizes, list | tuple) else [sizes])]


def _avg_pool(dims: int) -> Any:
    average = getattr(tenora_ops, f"avg_pool{dims}d")

    def avg_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        stride = _own(stride)
        more = (divisor_override,) if dims > 1 else ()
        arguments = (kernel_size, stride, padding, ceil_mode, count_include_pad, *more)
        if not isinstance(input, Tensor) or input.dtype != int64:
            return average(input, *arguments)
        average(tenora_ops.cast(input, float64), *arguments)  # refuses what does not fit
        if dims > 1:
            window = (kernel_size, stride)
            return _whole_average(
                dims, input, window, padding, ceil_mode, count_include_pad, divisor_override
            )
        flat = (_in_two_dims(kernel_size, 1), _in_two_dims(stride, 1))
        rows = tenora_ops.unsqueeze(input, -2)
        found = _whole_average(
            2, rows, flat, _in_two_dims(padding, 0), ceil_mode, count_include_pad, divisor_override
        )
        return tenora_ops.squeeze(found, -2)

    def avg_pool_of_rows(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Any:
        return avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    return _named(
        avg_pool if dims > 1 else avg_pool_of_rows,
        f"avg_pool{dims}d",
        "The mean of each window, of int64 cut towards zero.",
        f"`input` {_SHAPES[dims]}; a spatial size becomes (size + 2 padding - kernel_size) / stride + 1, cut or, "
        f"with `ceil_mode`, rounded up. Padding counts as zeros unless `count_include_pad` is False. {_REFUSED}",
        (dims, f"avg_pool{dims}d(x, 2)", _MEAN[dims]),
    )


def _whole_powers(dims: int, input: Tensor, norm_type: int, window: Any, ceil_mode: bool) -> Tensor:
    """The power mean of whole numbers: where norm_type is an int, the mean of powers is whole, as in PyTorch."""
    if norm_type < 0:
        raise errors.OperationError(
            f"[lp_pool{dims}d] norm_type does not fit whole numbers: got {norm_type} for {input.dtype}, expected an "
            f"int above 0. Pass norm_type={float(norm_type)}."
        )
    powers = tenora_ops.pow(input, norm_type)
    if powers.dtype != int64:
        raise errors.NotImplementedOperationError(
            f"[lp_pool{dims}d] dtype not supported: got {input.dtype} with the int norm_type {norm_type}, expected a "
            f"floating type or int64. Pass norm_type={float(norm_type)}, or cast with .to(tenora.float32)."
        )
    mean = globals()[f"avg_pool{dims}d"](powers, *window, 0, ceil_mode)
    sizes = window[0] if isinstance(window[0], list | tuple) else [window[0]] * dims
    total = tenora_ops.mul(abs(mean), math.prod(sizes) if len(sizes) == dims else sizes[0] ** dims)
    found: Tensor = tenora_ops.pow(tenora_ops.mul(tenora_ops.sign(mean), total), 1 / norm_type)
    return found


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
        stride = _own(stride)
        if isinstance(norm_type, int | float) and norm_type == 0:
            raise errors.ZeroNumberError(
                f"[lp_pool{dims}d] norm_type is wrong: got 0, expected another number, as the root of order 0 is "
                "not defined. Count the elements that are not 0 instead."
            )
        if not (isinstance(input, Tensor) and isinstance(norm_type, float) and math.isinf(norm_type)):
            if isinstance(input, Tensor) and not (input.dtype.is_floating_point or input.dtype.is_complex):
                if type(norm_type) is int:
                    return _whole_powers(dims, input, norm_type, (kernel_size, stride), ceil_mode)
                input = tenora_ops.mul(input, 1.0)
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
        f"p is `norm_type`. `input` {_SHAPES[dims]}; a spatial size becomes (size - kernel_size) / stride + 1, cut or, "
        f"with `ceil_mode`, rounded up. ZeroDivisionError where p is 0. {_REFUSED}",
        (dims, f"lp_pool{dims}d(x, 1.0, 2)", _SUM[dims]),
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
    what = "Means" if kind == "avg" else "The largest elements"
    return _named(
        made,
        name,
        f"{what} of as many windows as `output_size` says; None keeps a dim.",
        f"`input` {_SHAPES[dims]}; `output_size` is one size, or one for each spatial dim. Window i of n reaches from "
        "floor(i size / n) to ceil((i + 1) size / n), as in PyTorch. RuntimeError for other numbers of dimensions.",
        (
            dims,
            f"{name}(x, {2 if dims == 1 else (1,) * (dims - 1) + (2,)})",
            _MEAN[dims] if kind == "avg" else _LARGEST[dims],
        ),
    )


def _named(function: Any, name: str, summary: str, more: str, example: tuple[int, str, list[Any]]) -> Any:
    """Gives a function its name and a docstring; the example is a call on the row of so many spatial dims."""
    dims, call, shown = example
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}

    {textwrap.fill(more, 110, subsequent_indent="    ")}

    >>> import tenora
    >>> x = tenora.arange({_ROW[dims]}
    >>> {call}.flatten().tolist()
    {shown}
    """
    return function


avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool(1), _avg_pool(2), _avg_pool(3)
lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)
max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)
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
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
]
