"""Pooling, and windows as columns: windows that do not fit, and inputs that they do not slide over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals
from tenora_ops.refusals.makers import of, pairs, per_dim


def _pool(n: int, *behind: Any) -> Callable[..., Call]:
    """(input, kernel_size, stride, padding, ...) on sizes of 5."""

    def call(x: Any = None, kernel_size: Any = 2, stride: Any = None, padding: Any = 0, **more: Any) -> Call:
        x = reals(2, 3, *(5,) * n) if x is None else x
        return Call(x, kernel_size, stride, padding, *behind, **more)

    return call


def _ranks(call: Callable[..., Call], n: int, channels: bool = True) -> dict[str, Refusal]:
    """What is slid over: unbatched or batched, only the batch may be empty."""
    sizes, taken = (5,) * n, (3, *(5,) * n)
    ranks = pairs(
        "shape",
        f"expected {n + 1} (unbatched) or {n + 2} (batched) dims",
        rank_below=(call(reals(*sizes)), call(reals(*taken))),
        rank_above=(call(reals(1, 1, *taken)), call(reals(1, *taken))),
    )
    return (
        ranks
        | pairs(
            "shape",
            "input has no elements",
            no_elements=(call(reals(2, 3, *sizes[1:], 0)), call(reals(0, *taken))),
            no_elements_first=(call(reals(2, 3, 0, *sizes[1:])), call(reals(0, *taken))),
        )
        | (
            pairs("shape", no_channels=(call(reals(2, 0, *sizes)), call(reals(0, 3, *sizes))))
            if channels
            else {}
        )
    )


def _windows(call: Callable[..., Call], n: int) -> dict[str, Refusal]:
    """Kernels that are larger than the sizes of 5."""
    ones = (1,) * (n - 1)
    return pairs(
        "shape",
        "the result would be empty",
        kernel_above=(call(kernel_size=6), call(kernel_size=5)),
        kernel_above_last=(call(kernel_size=(*ones, 6)), call(kernel_size=(*ones, 5))),
        kernel_above_first=(call(kernel_size=(6, *ones)), call(kernel_size=(5, *ones))),
        kernel_above_stride=(call(kernel_size=6, stride=3), call(kernel_size=5, stride=3)),
        kernel_far_above=(call(kernel_size=9, stride=2), call(kernel_size=4, stride=2)),
        kernel_above_ceiled=(
            call(kernel_size=7, stride=2, ceil_mode=True),
            call(kernel_size=6, stride=2, ceil_mode=True),
        ),
    )


def _padded(call: Callable[..., Call], n: int) -> dict[str, Refusal]:
    """Padding of at most half a kernel."""
    none = (0,) * (n - 1)
    return (
        per_dim(call, "padding", n, 0)
        | pairs(
            "shape",
            "padding is too large",
            padding_above=(call(padding=2), call(padding=1)),
            padding_above_odd=(call(kernel_size=3, padding=2), call(kernel_size=3, padding=1)),
            padding_above_one=(call(kernel_size=1, padding=1), call(kernel_size=1, padding=0)),
            padding_above_last=(call(padding=(*none, 2)), call(padding=(*none, 1))),
            padding_above_first=(call(padding=(2, *none)), call(padding=(1, *none))),
        )
        | pairs(
            "shape",
            "the result would be empty",
            kernel_above_padded=(
                call(reals(2, 3, *(1,) * n), kernel_size=4, padding=1),
                call(reals(2, 3, *(1,) * n), kernel_size=3, padding=1),
            ),
        )
    )


def _strides(call: Callable[..., Call], n: int) -> dict[str, Refusal]:
    """Of pooling; PyTorch takes a stride of no number for none that is given."""
    return {name: wrong for name, wrong in per_dim(call, "stride", n, 1).items() if name != "stride_unnamed"}


def _max_pool(n: int) -> dict[str, Refusal]:
    call = _pool(n)
    return (
        _ranks(call, n)
        | _windows(call, n)
        | _padded(call, n)
        | per_dim(call, "kernel_size", n, 1)
        | _strides(call, n)
        | per_dim(call, "dilation", n, 1)
        | pairs(
            "shape",
            dilation_above=(call(dilation=5), call(dilation=4)),
            dilation_above_three=(call(kernel_size=3, dilation=3), call(kernel_size=3, dilation=2)),
        )
        | pairs(
            "dtype",
            bool=(call(of("bool", 3, *(5,) * n)), call(of("float64", 3, *(5,) * n))),
            complex64=(call(of("complex64", 3, *(5,) * n)), call(of("float16", 3, *(5,) * n))),
        )
    )


def _avg_pool(n: int) -> dict[str, Refusal]:
    call = _pool(n)
    divisor = pairs(
        "shape",
        "divisor_override",
        divisor_zero=(call(divisor_override=0), call(divisor_override=1)),
        divisor_zero_beside=(call(divisor_override=0), call(divisor_override=-1)),
        divisor_zero_or_none=(call(divisor_override=0), call(divisor_override=None)),
    )
    return (
        _ranks(call, n)
        | _windows(call, n)
        | _padded(call, n)
        | per_dim(call, "kernel_size", n, 1)
        | _strides(call, n)
        | (divisor if n > 1 else {})
    )


def _avg_pool_backward(n: int) -> dict[str, Refusal]:
    windows = (2,) * n

    def call(grad: Any) -> Call:
        return Call(grad, reals(2, 3, *(5,) * n), 2)

    taken = call(reals(2, 3, *windows))
    return pairs(
        "shape",
        "gradient does not fit",
        grad_last=(call(reals(2, 3, *windows[1:], 3)), taken),
        grad_last_below=(call(reals(2, 3, *windows[1:], 1)), taken),
        grad_first=(call(reals(2, 3, 3, *windows[1:])), taken),
        grad_channels=(call(reals(2, 2, *windows)), taken),
        grad_batch=(call(reals(1, 3, *windows)), taken),
        grad_rank=(call(reals(3, *windows)), taken),
        grad_rank_above=(call(reals(2, 3, *windows, 1)), taken),
    )


def _lp_pool(n: int) -> dict[str, Refusal]:
    def call(x: Any = None, kernel_size: Any = 2, stride: Any = None, **more: Any) -> Call:
        return Call(reals(2, 3, *(5,) * n) if x is None else x, 2.0, kernel_size, stride, **more)

    return _ranks(call, n) | _windows(call, n) | per_dim(call, "kernel_size", n, 1) | _strides(call, n)


def _adaptive(n: int, channels: bool) -> dict[str, Refusal]:
    def call(x: Any = None, output_size: Any = 2) -> Call:
        return Call(reals(2, 3, *(5,) * n) if x is None else x, output_size)

    sizes = (5,) * n
    none = pairs(
        "shape",
        no_channels_of_none=(call(reals(2, 0, *sizes[1:], 0)), call(reals(0, *sizes))),
        no_channels_either=(
            call(reals(2, 3, *sizes[1:], 0)),
            call(reals(0, 3, *sizes) if channels else reals(2, 0, *sizes)),
        ),
    )
    return _ranks(call, n, channels) | per_dim(call, "output_size", n, 0) | none


def _adaptive_max_pool(n: int) -> dict[str, Refusal]:
    sizes = (5,) * n
    return _adaptive(n, True) | pairs(
        "dtype",
        bool=(Call(of("bool", 3, *sizes), 2), Call(of("float64", 3, *sizes), 2)),
        int64=(Call(of("int64", 3, *sizes), 2), Call(of("float32", 3, *sizes), 2)),
    )


def _adaptive_backward(n: int) -> dict[str, Refusal]:
    sizes, taken = (5,) * n, Call(reals(2, 3, *(2,) * n), reals(2, 3, *(5,) * n))
    return pairs(
        "shape",
        "gradient does not fit",
        grad_channels=(Call(reals(2, 2, *(2,) * n), reals(2, 3, *sizes)), taken),
        grad_batch=(Call(reals(1, 3, *(2,) * n), reals(2, 3, *sizes)), taken),
        grad_rank=(Call(reals(3, *(2,) * n), reals(2, 3, *sizes)), taken),
        grad_rank_above=(Call(reals(2, 3, *(2,) * n, 1), reals(2, 3, *sizes)), taken),
        channels_unbatched=(
            Call(reals(2, *(2,) * n), reals(3, *sizes)),
            Call(reals(3, *(2,) * n), reals(3, *sizes)),
        ),
    )


def _unfold(
    x: Any = None, kernel_size: Any = 2, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Call:
    return Call(reals(2, 3, 4, 5) if x is None else x, kernel_size, dilation, padding, stride)


def _fold(
    x: Any = None,
    output_size: Any = (3, 4),
    kernel_size: Any = (1, 2),
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Call:
    """Two channels of windows of 1 by 2 on 3 by 4, where there are 3 by 3 of them."""
    return Call(reals(1, 4, 9) if x is None else x, output_size, kernel_size, dilation, padding, stride)


def _columns(call: Callable[..., Call]) -> dict[str, Refusal]:
    return per_dim(call, "dilation", 2, 1) | per_dim(call, "padding", 2, 0) | per_dim(call, "stride", 2, 1)


REFUSED: dict[str, dict[str, Refusal]] = {
    "max_pool1d_with_indices": _max_pool(1),
    "max_pool2d_with_indices": _max_pool(2),
    "max_pool3d_with_indices": _max_pool(3),
    "avg_pool1d": _avg_pool(1),
    "avg_pool2d": _avg_pool(2),
    "avg_pool3d": _avg_pool(3),
    "avg_pool1d_backward": _avg_pool_backward(1),
    "avg_pool2d_backward": _avg_pool_backward(2),
    "lp_pool1d": _lp_pool(1),
    "lp_pool2d": _lp_pool(2),
    "adaptive_avg_pool1d": _adaptive(1, False),
    "adaptive_avg_pool2d": _adaptive(2, False),
    "adaptive_max_pool1d_with_indices": _adaptive_max_pool(1),
    "adaptive_max_pool2d_with_indices": _adaptive_max_pool(2),
    "adaptive_max_pool3d_with_indices": _adaptive_max_pool(3),
    "adaptive_avg_pool1d_backward": _adaptive_backward(1),
    "adaptive_avg_pool2d_backward": _adaptive_backward(2),
    "unfold": _columns(_unfold)
    | per_dim(_unfold, "kernel_size", 2, 1)
    | pairs(
        "shape",
        "wrong input",
        rank_below=(_unfold(reals(4, 5)), _unfold(reals(3, 4, 5))),
        rank_above=(_unfold(reals(1, 2, 3, 4, 5)), _unfold()),
        no_rows=(_unfold(reals(2, 3, 0, 5)), _unfold(reals(0, 3, 4, 5))),
        no_columns=(_unfold(reals(2, 3, 4, 0), padding=2), _unfold(reals(2, 3, 4, 1), padding=2)),
        no_channels=(_unfold(reals(2, 0, 4, 5)), _unfold(reals(0, 1, 4, 5))),
    )
    | pairs(
        "shape",
        "no window fits",
        kernel_above_first=(_unfold(kernel_size=(5, 1)), _unfold(kernel_size=(4, 1))),
        kernel_above_last=(_unfold(kernel_size=(1, 6)), _unfold(kernel_size=(1, 5))),
        kernel_above_padded=(_unfold(kernel_size=7, padding=1), _unfold(kernel_size=6, padding=1)),
        dilation_above=(_unfold(dilation=4), _unfold(dilation=3)),
        kernel_above_stride=(_unfold(kernel_size=5, stride=3), _unfold(kernel_size=4, stride=3)),
    ),
    "fold": _columns(lambda **given: _fold(reals(1, 1, 1), (1, 1), 1, **given))
    | pairs(
        "shape",
        "wrong input",
        rank_below=(_fold(reals(4)), _fold(reals(4, 9))),
        rank_above=(_fold(reals(1, 1, 4, 9)), _fold(reals(1, 4, 9))),
        no_rows=(_fold(reals(1, 0, 9)), _fold(reals(1, 2, 9))),
        no_windows=(_fold(reals(1, 4, 0)), _fold(reals(0, 4, 9))),
        rows_above=(_fold(reals(1, 5, 9)), _fold(reals(1, 4, 9))),
        rows_below=(_fold(reals(1, 3, 9)), _fold(reals(1, 2, 9))),
    )
    | pairs(
        "shape",
        "wrong number of windows",
        windows_above=(_fold(reals(1, 4, 10)), _fold(reals(1, 4, 9))),
        windows_below=(_fold(reals(1, 4, 8)), _fold(reals(1, 4, 9))),
        windows_of_output=(_fold(output_size=(3, 3)), _fold(reals(1, 4, 6), output_size=(3, 3))),
    )
    | pairs(
        "shape",
        "output_size",
        output_size_zero=(_fold(output_size=(0, 4)), _fold(reals(1, 4, 3), output_size=(1, 4))),
        output_size_last_zero=(_fold(output_size=(3, 0)), _fold(reals(1, 4, 3), output_size=(3, 2))),
        output_size_of_three=(_fold(output_size=(3, 4, 1)), _fold(output_size=(3, 4))),
    )
    | pairs(
        "shape",
        "kernel_size",
        kernel_zero=(_fold(kernel_size=(0, 2)), _fold(kernel_size=(1, 2))),
        kernel_last_zero=(_fold(kernel_size=(1, 0)), _fold(kernel_size=(1, 2))),
        kernel_of_three=(_fold(kernel_size=(1, 2, 1)), _fold(kernel_size=(1, 2))),
    )
    | pairs(
        "shape",
        "no window fits",
        kernel_above_first=(
            _fold(reals(1, 4, 4), (3, 4), (4, 1)),
            _fold(reals(1, 3, 4), (3, 4), (3, 1)),
        ),
        kernel_above_last=(
            _fold(reals(1, 5, 3), (3, 4), (1, 5)),
            _fold(reals(1, 4, 3), (3, 4), (1, 4)),
        ),
    ),
}
