"""Layers that move elements between dims: padding, resizing, folding, shuffling. None has parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .functional_padding import pad as pad_around
from .module import Module
from .sizes import Sizes, need_sizes, need_windows, per_dim


class _Pad(Module):
    """`padding`: one number for all sides, or (before, after) pairs from the last dim backwards."""

    dims: ClassVar[int]
    mode: ClassVar[str] = "constant"

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        self.padding = per_dim(padding, 2 * self.dims)
        for amount in self.padding:
            need_sizes(self, None, padding=amount)

    def forward(self, input: Tensor) -> Tensor:
        """Pads the last dims of `input`."""
        return pad_around(input, self.padding, mode=self.mode)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Pads the last dims of `input` with `value`."""
        return pad_around(input, self.padding, value=self.value)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dim with `value`.

    `padding`: one number, or (left, right); negative ones crop. RuntimeError for a tensor without dims.

    >>> import tenora
    >>> tenora.nn.ConstantPad1d((1, 2), 7.0)(tenora.zeros(1, 2)).tolist()
    [[7.0, 0.0, 0.0, 7.0, 7.0]]
    """

    dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dims with `value`.

    `padding`: one number, or (left, right, top, bottom); negative ones crop. RuntimeError for fewer dimensions.

    >>> import tenora
    >>> tenora.nn.ConstantPad2d((1, 0, 0, 1), 7.0)(tenora.zeros(1, 1, 2)).tolist()
    [[[7.0, 0.0, 0.0], [7.0, 7.0, 7.0]]]
    """

    dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dims with `value`.

    `padding`: one number, or (left, right, top, bottom, front, back); negative ones crop. RuntimeError for fewer
    dimensions.

    >>> import tenora
    >>> tenora.nn.ConstantPad3d((1, 1, 0, 0, 0, 2), 7.0)(tenora.zeros(1, 2, 3, 4)).shape
    tenora.Size([1, 4, 3, 6])
    """

    dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pads the last dim with zeros; `padding`: one number, or (left, right), negative ones crop.

    >>> import tenora
    >>> tenora.nn.ZeroPad1d((2, -1))(tenora.ones(1, 3)).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """

    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pads the last two dims with zeros; `padding`: one number, or (left, right, top, bottom), negative ones crop.

    >>> import tenora
    >>> tenora.nn.ZeroPad2d(1)(tenora.ones(1, 1, 1)).tolist()
    [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]
    """

    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pads the last three dims with zeros.

    `padding`: one number, or six from the last dim backwards, negative ones crop.

    >>> import tenora
    >>> tenora.nn.ZeroPad3d(1)(tenora.ones(1, 2, 3, 4)).shape
    tenora.Size([1, 4, 5, 6])
    """

    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """Mirrors the last dim at its edges, which are not repeated.

    `padding`: one number, or (left, right), each below the dim's size, else RuntimeError. The input is (N, C, L) or
    (C, L), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReflectionPad1d(2)(tenora.tensor([[0.0, 1.0, 2.0]])).tolist()
    [[2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0]]
    """

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirrors the last two dims at their edges, which are not repeated.

    `padding`: one number, or (left, right, top, bottom), each below the dim's size, else RuntimeError. The input is
    (N, C, H, W) or (C, H, W), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReflectionPad2d(1)(tenora.arange(4.0).reshape(1, 2, 2)).tolist()
    [[[3.0, 2.0, 3.0, 2.0], [1.0, 0.0, 1.0, 0.0], [3.0, 2.0, 3.0, 2.0], [1.0, 0.0, 1.0, 0.0]]]
    """

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirrors the last three dims at their edges, which are not repeated.

    `padding`: one number, or six from the last dim backwards, each below the dim's size, else RuntimeError. The
    input is (N, C, D, H, W) or (C, D, H, W), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReflectionPad3d(1)(tenora.zeros(1, 2, 3, 4)).shape
    tenora.Size([1, 4, 5, 6])
    """

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Repeats the edges of the last dim.

    `padding`: one number, or (left, right). The input is (N, C, L) or (C, L), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReplicationPad1d((1, 2))(tenora.tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 2.0, 2.0, 2.0]]
    """

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Repeats the edges of the last two dims.

    `padding`: one number, or (left, right, top, bottom). The input is (N, C, H, W) or (C, H, W), else
    NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReplicationPad2d((1, 0, 0, 1))(tenora.tensor([[[1.0, 2.0]]])).tolist()
    [[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]]
    """

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Repeats the edges of the last three dims.

    `padding`: one number, or six from the last dim backwards. The input is (N, C, D, H, W) or (C, D, H, W), else
    NotImplementedError.

    >>> import tenora
    >>> tenora.nn.ReplicationPad3d(1)(tenora.zeros(1, 2, 3, 4)).shape
    tenora.Size([1, 4, 5, 6])
    """

    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Wraps the last dim around.

    `padding`: one number, or (left, right), each at most the dim's size, else RuntimeError. The input is (N, C, L) or
    (C, L), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.CircularPad1d((1, 2))(tenora.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]
    """

    dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Wraps the last two dims around.

    `padding`: one number, or (left, right, top, bottom), each at most the dim's size, else RuntimeError. The input is
    (N, C, H, W) or (C, H, W), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.CircularPad2d((1, 0, 0, 1))(tenora.arange(4.0).reshape(1, 2, 2)).tolist()
    [[[1.0, 0.0, 1.0], [3.0, 2.0, 3.0], [1.0, 0.0, 1.0]]]
    """

    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Wraps the last three dims around.

    `padding`: one number, or six from the last dim backwards, each at most the dim's size, else RuntimeError. The
    input is (N, C, D, H, W) or (C, D, H, W), else NotImplementedError.

    >>> import tenora
    >>> tenora.nn.CircularPad3d(1)(tenora.zeros(1, 2, 3, 4)).shape
    tenora.Size([1, 4, 5, 6])
    """

    dims, mode = 3, "circular"


class Upsample(Module):
    """Resizes the spatial dims of (N, C, spatial...); see `nn.functional.interpolate`.

    `size` is one number or one for each spatial dim, `scale_factor` likewise; ValueError unless exactly one of them is
    given. Modes: 'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area'.

    >>> import tenora
    >>> tenora.nn.Upsample(scale_factor=2, mode="bilinear")(tenora.zeros(1, 3, 4, 5)).shape
    tenora.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        for number in () if size is None else per_dim(size, 1):
            need_sizes(self, 1, size=number)
        self.size = size
        try:
            if isinstance(scale_factor, tuple):
                self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
            else:
                self.scale_factor = float(scale_factor) if scale_factor else None
        except (TypeError, ValueError):
            raise errors.ArgumentTypeError(
                f"[{type(self).__name__}] scale_factor: got {scale_factor!r}, expected a number or a tuple of them. "
                "Pass numbers."
            ) from None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Resizes `input`."""
        resize: Any = tenora_ops.interpolate
        result: Tensor = resize(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes (N, C, H, W) by the nearest element, to `size` or by `scale_factor`.

    ValueError, when called, unless exactly one of them is given.

    >>> import tenora
    >>> tenora.nn.UpsamplingNearest2d(scale_factor=2)(tenora.tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes (N, C, H, W) bilinearly with aligned corners, to `size` or by `scale_factor`.

    ValueError, when called, unless exactly one of them is given.

    >>> import tenora
    >>> tenora.nn.UpsamplingBilinear2d(size=(1, 3))(tenora.tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.5, 2.0]]]]
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """(N, C r^2, H, W) to (N, C, H r, W r) with `r = upscale_factor`.

    Source: Shi et al. 2016, https://arxiv.org/abs/1609.05158. RuntimeError where r^2 does not divide the channels.

    >>> import tenora
    >>> tenora.nn.PixelShuffle(3)(tenora.zeros(1, 9, 4, 4)).shape
    tenora.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        need_sizes(self, 1, upscale_factor=upscale_factor)
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Moves channels into space."""
        return tenora_ops.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(N, C, H r, W r) to (N, C r^2, H, W) with `r = downscale_factor` (Shi et al. 2016, backwards).

    RuntimeError where the factor does not divide both sizes.

    >>> import tenora
    >>> tenora.nn.PixelUnshuffle(2)(tenora.arange(4.0).reshape(1, 1, 2, 2)).flatten().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        need_sizes(self, 1, downscale_factor=downscale_factor)
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Moves space into channels."""
        return tenora_ops.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of (N, C, ...) out of `groups`, one from each in turn (Zhang et al. 2018).

    The result has the shape of the input. RuntimeError where `groups` does not divide C.

    >>> import tenora
    >>> tenora.nn.ChannelShuffle(2)(tenora.arange(4.0).reshape(1, 4, 1, 1)).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        need_sizes(self, 1, groups=groups)
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Reorders the channels."""
        return tenora_ops.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"groups={self.groups}"


class Unfold(Module):
    """The windows of (N, C, H, W) as columns, (N, C * kernel, windows).

    RuntimeError for other numbers of dimensions than 3 or 4 and for windows that do not fit.

    >>> import tenora
    >>> tenora.nn.Unfold((2, 3))(tenora.zeros(2, 5, 3, 4)).shape
    tenora.Size([2, 30, 4])
    """

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        need_windows(self, 2, 1, kernel_size=kernel_size, dilation=dilation, stride=stride)
        need_windows(self, 2, 0, padding=padding)
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The windows as columns."""
        where = (self.kernel_size, self.dilation, self.padding, self.stride)
        return tenora_ops.resolve("nn.functional.unfold")(input, *where)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Adds columns of windows into (N, C, *output_size): the adjoint of `Unfold`.

    Columns (N, C * kernel, windows) or (C * kernel, windows). RuntimeError for another number of windows than fit.

    >>> import tenora
    >>> tenora.nn.Fold((2, 3), (2, 2))(tenora.ones(1, 4, 2)).tolist()
    [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]]
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        need_windows(self, 2, 1, output_size=output_size)
        self.output_size = output_size
        need_windows(self, 2, 1, kernel_size=kernel_size, dilation=dilation, stride=stride)
        need_windows(self, 2, 0, padding=padding)
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Sums the columns in their places."""
        where = (self.kernel_size, self.dilation, self.padding, self.stride)
        return tenora_ops.fold(input, self.output_size, *where)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


__all__ = [
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
