"""Convolutions: numbers per spatial dim, weights, biases and inputs that do not fit, and windows that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals
from tenora_ops.refusals.makers import pairs, per_dim

_HUGE = 2**62


def _conv(n: int) -> Callable[..., Call]:
    """A convolution of 6 channels in two groups: three to each of 4 outputs, a kernel of 2 on sizes of 5."""

    def call(
        x: Any = None,
        w: Any = None,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 2,
    ) -> Call:
        x = reals(1, 6, *(5,) * n) if x is None else x
        return Call(x, reals(4, 3, *(2,) * n) if w is None else w, bias, stride, padding, dilation, groups)

    return call


def _transposed(n: int) -> Callable[..., Call]:
    """A transposed one of 4 channels in two groups, to 3 outputs each."""

    def call(
        x: Any = None,
        w: Any = None,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 2,
        dilation: Any = 1,
    ) -> Call:
        x = reals(1, 4, *(5,) * n) if x is None else x
        w = reals(4, 3, *(2,) * n) if w is None else w
        return Call(x, w, bias, stride, padding, output_padding, groups, dilation)

    return call


def _fits(call: Callable[..., Call], n: int, channels: int, outputs: int) -> dict[str, Refusal]:
    """Input, weight, bias and groups, in either direction."""
    sizes, kernel = (5,) * n, (2,) * n
    return (
        pairs(
            "shape",
            no_elements=(call(reals(1, channels, *sizes[1:], 0)), call(reals(0, channels, *sizes))),
            no_elements_first=(call(reals(1, channels, 0, *sizes[1:])), call(reals(0, channels, *sizes))),
        )
        | pairs(
            "shape",
            f"expected {n + 1} (unbatched) or {n + 2} (batched) dims",
            rank_below=(call(reals(*sizes)), call(reals(channels, *sizes))),
            rank_above=(call(reals(1, 1, channels, *sizes)), call(reals(1, channels, *sizes))),
        )
        | pairs(
            "shape",
            "expected at least 1",
            no_group=(call(groups=0), call()),
            groups_below_zero=(call(groups=-2), call(groups=2)),
        )
        | pairs(
            "shape",
            "groups do not divide the weight",
            groups_of_three=(call(groups=3), call()),
        )
        | pairs(
            "shape",
            f"expected {channels} channels of input",
            channels_above=(call(reals(1, channels + 1, *sizes)), call(reals(1, channels, *sizes))),
            channels_below=(call(reals(1, channels - 1, *sizes)), call(reals(channels, *sizes))),
            channels_unbatched=(call(reals(channels + 1, *sizes)), call(reals(channels, *sizes))),
        )
        | pairs(
            "shape",
            f"expected {n + 2} dims",
            weight_rank_below=(call(w=reals(3, *kernel)), call()),
            weight_rank_above=(call(w=reals(4, 3, *kernel, 1)), call()),
        )
        | pairs(
            "shape",
            "the kernel is empty",
            kernel_empty=(call(w=reals(4, 3, *kernel[1:], 0)), call(w=reals(4, 3, *kernel[1:], 1))),
            kernel_empty_first=(call(w=reals(4, 3, 0, *kernel[1:])), call(w=reals(4, 3, 1, *kernel[1:]))),
        )
        | pairs(
            "shape",
            f"expected ({outputs},)",
            bias_above=(call(bias=reals(outputs + 1)), call(bias=reals(outputs))),
            bias_below=(call(bias=reals(outputs - 1)), call(bias=reals(outputs))),
            bias_of_one=(call(bias=reals(1)), call(bias=reals(outputs))),
            bias_rank_below=(call(bias=reals()), call(bias=reals(outputs))),
            bias_rank_above=(call(bias=reals(outputs, 1)), call(bias=reals(outputs))),
        )
    )


def _forward(n: int) -> dict[str, Refusal]:
    call, sizes, ones = _conv(n), (5,) * n, (1,) * n
    return (
        _fits(call, n, 6, 4)
        | per_dim(call, "stride", n, 1)
        | per_dim(call, "padding", n, 0)
        | per_dim(call, "dilation", n, 1)
        | pairs(
            "shape",
            outputs_undivided=(call(w=reals(3, 3, *ones)), call(w=reals(2, 3, *ones))),
            outputs_missing=(call(w=reals(0, 3, *ones)), call(w=reals(2, 3, *ones))),
            output_missing=(call(w=reals(0, 6, *ones), groups=1), call(w=reals(1, 6, *ones), groups=1)),
            channels_of_one_group=(
                call(reals(1, 5, *sizes), reals(4, 3, *ones)),
                call(reals(1, 3, *sizes), reals(4, 3, *ones), groups=1),
            ),
        )
        | pairs(
            "shape",
            "the kernel is larger than the padded input",
            kernel_above=(call(w=reals(2, 3, *ones[1:], 6)), call(w=reals(2, 3, *ones[1:], 5))),
            kernel_above_first=(call(w=reals(2, 3, 6, *ones[1:])), call(w=reals(2, 3, 5, *ones[1:]))),
            kernel_above_padded=(
                call(w=reals(2, 3, *ones[1:], 8), padding=1),
                call(w=reals(2, 3, *ones[1:], 7), padding=1),
            ),
            kernel_above_apart=(
                call(w=reals(2, 3, *ones[1:], 4), dilation=2),
                call(w=reals(2, 3, *ones[1:], 3), dilation=2),
            ),
            dilation_above=(call(dilation=5), call(dilation=4)),
            kernel_above_stride=(
                call(w=reals(2, 3, *ones[1:], 6), stride=3),
                call(w=reals(2, 3, *ones[1:], 5), stride=3),
            ),
        )
    )


def _named(n: int) -> dict[str, Refusal]:
    call, wide = _conv(n), (1,) * (n - 1)
    return (
        pairs(
            "shape",
            "unknown padding",
            padding_unknown=(call(padding="Same"), call(padding="same")),
            padding_unknown_too=(call(padding="Valid"), call(padding="valid")),
        )
        | pairs(
            "shape",
            "padding='same' with a stride",
            stride_of_same=(call(padding="same", stride=2), call(padding="same", stride=1)),
            last_stride_of_same=(
                call(padding="same", stride=(*wide, 2)),
                call(padding="valid", stride=(*wide, 2)),
            ),
            first_stride_of_same=(
                call(padding="same", stride=(2, *wide)),
                call(padding="valid", stride=(2, *wide)),
            ),
        )
        | pairs(
            "shape",
            kernel_above=(
                call(w=reals(2, 3, *wide, 6), padding="valid"),
                call(w=reals(2, 3, *wide, 6), padding="same"),
            ),
            dilation_above=(call(padding="valid", dilation=5), call(padding="same", dilation=5)),
            bias_above=(call(bias=reals(5), padding="same"), call(bias=reals(4), padding="same")),
            channels_above=(
                call(reals(1, 7, *wide, 5), padding="same"),
                call(reals(1, 6, *wide, 5), padding="same"),
            ),
        )
    )


def _backward(n: int) -> dict[str, Refusal]:
    call, ones = _transposed(n), (1,) * (n - 1)
    # In double precision: in single PyTorch has kernels that give a result without elements.
    small, pair = reals(1, 4, *(1,) * n, dtype="float64"), reals(1, 4, *(2,) * n, dtype="float64")
    kernel = reals(4, 3, *(2,) * n, dtype="float64")
    return (
        _fits(call, n, 4, 6)
        | per_dim(call, "stride", n, 1)
        | per_dim(call, "padding", n, 0)
        | per_dim(call, "output_padding", n, 0)
        | per_dim(call, "dilation", n, 1)
        | pairs(
            "shape",
            outputs_missing=(call(w=reals(4, 0, *(2,) * n)), call(w=reals(4, 1, *(2,) * n))),
            undivided=(
                call(reals(1, 3, *(5,) * n), reals(3, 3, *(2,) * n)),
                call(reals(1, 2, *(5,) * n), reals(2, 3, *(2,) * n)),
            ),
            no_channels=(call(reals(1, 0, *(5,) * n)), call(reals(0, 4, *(5,) * n))),
        )
        | pairs(
            "shape",
            "output_padding is too large",
            output_padding_above=(call(output_padding=1), call(output_padding=0)),
            output_padding_above_stride=(
                call(stride=3, output_padding=(*ones, 3)),
                call(stride=3, output_padding=(*ones, 2)),
            ),
            output_padding_above_first=(
                call(stride=2, output_padding=(2, *ones)),
                call(stride=2, output_padding=(1, *ones)),
            ),
            output_padding_above_dilation=(
                call(dilation=2, output_padding=2),
                call(dilation=2, output_padding=1),
            ),
        )
        | pairs(
            "shape",
            "the result would be empty",
            nothing_left=(
                call(small, kernel, padding=1),
                call(small, kernel, stride=2, padding=1, output_padding=1),
            ),
            nothing_left_last=(
                call(small, kernel, padding=(*(0,) * (n - 1), 1)),
                call(small, kernel, padding=(*(0,) * (n - 1), 1), dilation=2),
            ),
            nothing_left_of_two=(
                call(pair, kernel, padding=2, stride=2),
                call(pair, kernel, padding=2, stride=3),
            ),
        )
    )


def _gradients_of_input(n: int) -> dict[str, Refusal]:
    """(grad, weight, size, ...): 4 windows of a kernel of 2 on sizes of 5."""
    size, windows = (2, 6, *(5,) * n), (4,) * n

    def call(grad: Any = None, size: tuple[int, ...] = size, groups: int = 2) -> Call:
        grad = reals(2, 4, *windows) if grad is None else grad
        return Call(grad, reals(4, 3, *(2,) * n), size, 1, 0, 1, groups)

    return (
        _gradients(call, n)
        | pairs(
            "shape",
            channels_above=(call(size=(2, 7, *size[2:])), call()),
            rank_below=(call(size=size[2:]), call()),
            groups_of_four=(call(groups=4), call()),
        )
        | pairs("shape", "negative dimension", size_below_zero=(call(size=(-2, *size[1:])), call()))
    )


def _gradients_of_weight(n: int) -> dict[str, Refusal]:
    """(grad, input, size, ...): the same."""
    size, windows = (4, 3, *(2,) * n), (4,) * n

    def call(grad: Any = None, size: tuple[int, ...] = size, groups: int = 2) -> Call:
        grad = reals(2, 4, *windows) if grad is None else grad
        return Call(grad, reals(2, 6, *(5,) * n), size, 1, 0, 1, groups)

    return (
        _gradients(call, n)
        | pairs(
            "shape",
            channels_above=(call(size=(4, 4, *size[2:])), call()),
            rank_below=(call(size=size[1:]), call()),
            outputs_undivided=(call(reals(2, 3, *windows), size=(3, *size[1:])), call()),
            kernel_above=(
                call(size=(4, 3, *size[3:], 6)),
                call(reals(2, 4, *windows[1:], 1), size=(4, 3, *size[3:], 5)),
            ),
        )
        | pairs("shape", "negative dimension", size_below_zero=(call(size=(-4, *size[1:])), call()))
    )


def _gradients(call: Callable[..., Call], n: int) -> dict[str, Refusal]:
    windows = (4,) * n
    return pairs(
        "shape",
        "gradient does not fit",
        grad_rank=(call(reals(4, *windows)), call(reals(2, 4, *windows))),
        grad_batch=(call(reals(1, 4, *windows)), call(reals(2, 4, *windows))),
        grad_batch_above=(call(reals(3, 4, *windows)), call(reals(2, 4, *windows))),
        grad_channels=(call(reals(2, 3, *windows)), call(reals(2, 4, *windows))),
        grad_channels_above=(call(reals(2, 5, *windows)), call(reals(2, 4, *windows))),
        grad_windows_first=(call(reals(2, 4, 5, *windows[1:])), call(reals(2, 4, 3, *windows[1:]))),
        grad_windows_last=(call(reals(2, 4, *windows[1:], 5)), call(reals(2, 4, *windows[1:], 3))),
    ) | pairs(
        "shape",
        "input has no elements",
        grad_of_none=(call(reals(2, 4, *windows[1:], 0)), call(reals(2, 4, *windows[1:], 1))),
    )


REFUSED: dict[str, dict[str, Refusal]] = {
    "conv1d": _forward(1),
    "conv2d": _forward(2),
    "conv3d": _forward(3),
    "conv1d_padding": _named(1),
    "conv2d_padding": _named(2),
    "conv3d_padding": _named(3),
    "conv_transpose1d": _backward(1)
    | pairs(
        "shape",
        "a size overflows 64 bits",
        too_many_elements=(
            _transposed(1)(reals(1, 4, 3), stride=_HUGE),
            _transposed(1)(reals(1, 4, 1), stride=_HUGE),
        ),
    ),
    "conv_transpose2d": _backward(2),
    "conv_transpose3d": _backward(3),
    "conv1d_input": _gradients_of_input(1),
    "conv2d_input": _gradients_of_input(2),
    "conv2d_weight": _gradients_of_weight(2),
    "conv3d_weight": _gradients_of_weight(3),
}
