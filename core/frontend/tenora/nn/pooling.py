"""Pooling layers. None has parameters; see the functions of the same names in `nn.functional`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from tenora_engine import Tensor

from . import functional
from .module import Module
from .sizes import Sizes, is_empty, need_windows, per_dim


def _need_windows(
    layer: Any, kernel_size: Any, stride: Any, padding: Any = 0, may_be_empty: bool = True
) -> None:
    need_windows(layer, layer.dims, 1, kernel_size=kernel_size)
    if stride is not None and not (may_be_empty and is_empty(stride)):  # else it is kernel_size
        need_windows(layer, layer.dims, 1, stride=stride)
    need_windows(layer, layer.dims, 0, padding=padding)


def _need_output_size(layer: Any, output_size: Any) -> None:
    """One number or one per dim; None in its place keeps a dim's size."""
    one = output_size if isinstance(output_size, Iterable) else (output_size,)
    need_windows(layer, layer.dims, 0, output_size=[0 if size is None else size for size in one])


class _MaxPool(Module):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        _need_windows(self, kernel_size, stride, padding)
        need_windows(self, self.dims, 1, dilation=dilation)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest element of each window, with its position if `return_indices`."""
        pool = getattr(functional, f"max_pool{self.dims}d")
        where = (self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
        return pool(input, self.kernel_size, *where)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of `(N, C, L)`.

    Arguments, sizes and errors as in `nn.functional.max_pool1d`.

    >>> import tenora
    >>> tenora.nn.MaxPool1d(2)(tenora.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[3.0, 2.0]]]
    """

    dims = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of `(N, C, H, W)`.

    Arguments, sizes and errors as in `nn.functional.max_pool2d`.

    >>> import tenora
    >>> tenora.nn.MaxPool2d(2)(tenora.zeros(1, 3, 8, 8)).shape
    tenora.Size([1, 3, 4, 4])
    """

    dims = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W).

    Arguments, sizes and errors as in `nn.functional.max_pool3d`.

    >>> import tenora
    >>> tenora.nn.MaxPool3d(2)(tenora.arange(16.0).reshape(1, 1, 2, 2, 4)).flatten().tolist()
    [13.0, 15.0]
    """

    dims = 3


class _MaxUnpool(Module):
    dims: ClassVar[int]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        _need_windows(self, kernel_size, stride, padding, may_be_empty=False)
        self.kernel_size = per_dim(kernel_size, self.dims)
        self.stride = per_dim(kernel_size if stride is None else stride, self.dims)
        self.padding = per_dim(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Zeros with `input` at `indices`, as max pooling gave them."""
        unpool = getattr(functional, f"max_unpool{self.dims}d")
        result: Tensor = unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The way back from `MaxPool1d(return_indices=True)`: all else is zero (Zeiler and Fergus 2014).

    `input` and `indices` (N, C, L) or (C, L); `output_size` says which of the sizes that pool alike is meant.

    >>> import tenora
    >>> pool = tenora.nn.MaxPool1d(2, return_indices=True)
    >>> tenora.nn.MaxUnpool1d(2)(*pool(tenora.arange(4.0).reshape(1, 1, 4))).flatten().tolist()
    [0.0, 1.0, 0.0, 3.0]
    """

    dims = 1


class MaxUnpool2d(_MaxUnpool):
    """The way back from `MaxPool2d(return_indices=True)`: all else is zero.

    `input` and `indices` (N, C, H, W) or (C, H, W); `output_size` says which of the sizes that pool alike is meant.
    IndexError for a position that is not there.

    >>> import tenora
    >>> values, indices = tenora.nn.MaxPool2d(2, return_indices=True)(tenora.ones(1, 1, 4, 4))
    >>> tenora.nn.MaxUnpool2d(2)(values, indices).sum().item()
    4.0
    """

    dims = 2


class MaxUnpool3d(_MaxUnpool):
    """The way back from `MaxPool3d(return_indices=True)`: all else is zero (Zeiler and Fergus 2014).

    `input` and `indices` (N, C, D, H, W) or (C, D, H, W); `output_size` says which of the sizes that pool alike is
    meant.

    >>> import tenora
    >>> pool = tenora.nn.MaxPool3d(2, return_indices=True)
    >>> tenora.nn.MaxUnpool3d(2)(*pool(tenora.arange(16.0).reshape(1, 1, 2, 2, 4))).flatten().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 13.0, 0.0, 15.0]
    """

    dims = 3


class AvgPool1d(Module):
    """The mean of each window of `(N, C, L)`.

    Arguments, sizes and errors as in `nn.functional.avg_pool1d`.

    >>> import tenora
    >>> tenora.nn.AvgPool1d(2)(tenora.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[2.0, 1.0]]]
    """

    dims: ClassVar[int] = 1

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        _need_windows(self, kernel_size, stride, padding)
        self.kernel_size = per_dim(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else per_dim(stride, 1)
        self.padding = per_dim(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        where = (self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        result: Tensor = functional.avg_pool1d(input, self.kernel_size, *where)
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        _need_windows(self, kernel_size, stride, padding)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window."""
        pool = getattr(functional, f"avg_pool{self.dims}d")
        where = (self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        result: Tensor = pool(input, self.kernel_size, *where)
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of `(N, C, H, W)`.

    Arguments, sizes and errors as in `nn.functional.avg_pool2d`; `divisor_override` divides in place of the window's
    size.

    >>> import tenora
    >>> tenora.nn.AvgPool2d(3, stride=2)(tenora.zeros(1, 3, 9, 7)).shape
    tenora.Size([1, 3, 4, 3])
    """

    dims = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    Arguments, sizes and errors as in `nn.functional.avg_pool3d`; `divisor_override` divides in place of the window's
    size.

    >>> import tenora
    >>> tenora.nn.AvgPool3d(2)(tenora.arange(16.0).reshape(1, 1, 2, 2, 4)).flatten().tolist()
    [6.5, 8.5]
    """

    dims = 3


class _LPPool(Module):
    dims: ClassVar[int]

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        _need_windows(self, kernel_size, stride)
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """(sum of x^p over each window)^(1/p)."""
        pool = getattr(functional, f"lp_pool{self.dims}d")
        result: Tensor = pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """(sum of x^p over each window)^(1/p) of (N, C, L) or (C, L), with p = `norm_type`.

    Sizes and errors as in `nn.functional.lp_pool1d`.

    >>> import tenora
    >>> tenora.nn.LPPool1d(1, 2)(tenora.arange(4.0).reshape(1, 1, 4)).flatten().tolist()
    [1.0, 5.0]
    """

    dims = 1


class LPPool2d(_LPPool):
    """(sum of x^p over each window)^(1/p) of (N, C, H, W) or (C, H, W), with p = `norm_type`.

    Sizes and errors as in `nn.functional.lp_pool2d`.

    >>> import tenora
    >>> tenora.nn.LPPool2d(1, 2)(tenora.arange(8.0).reshape(1, 1, 2, 4)).flatten().tolist()
    [10.0, 18.0]
    """

    dims = 2


class LPPool3d(_LPPool):
    """(sum of x^p over each window)^(1/p) of (N, C, D, H, W) or (C, D, H, W), with p = `norm_type`.

    Sizes and errors as in `nn.functional.lp_pool3d`.

    >>> import tenora
    >>> tenora.nn.LPPool3d(1, 2)(tenora.arange(16.0).reshape(1, 1, 2, 2, 4)).flatten().tolist()
    [52.0, 68.0]
    """

    dims = 3


class _AdaptiveAvgPool(Module):
    dims: ClassVar[int]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        _need_output_size(self, output_size)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Means over as many windows as `output_size` says."""
        result: Tensor = getattr(functional, f"adaptive_avg_pool{self.dims}d")(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of (N, C, L) or (C, L) over `output_size` windows.

    Windows and errors as in `nn.functional.adaptive_avg_pool1d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveAvgPool1d(2)(tenora.arange(4.0).reshape(1, 1, 4)).flatten().tolist()
    [0.5, 2.5]
    """

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of `(N, C, H, W)` over `output_size` windows; None keeps a dim.

    Windows and errors as in `nn.functional.adaptive_avg_pool2d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveAvgPool2d((5, None))(tenora.zeros(1, 3, 8, 9)).shape
    tenora.Size([1, 3, 5, 9])
    """

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of (N, C, D, H, W) or (C, D, H, W) over `output_size` windows; None keeps a dim.

    Windows and errors as in `nn.functional.adaptive_avg_pool3d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveAvgPool3d((1, 1, 2))(tenora.arange(16.0).reshape(1, 1, 2, 2, 4)).flatten().tolist()
    [6.5, 8.5]
    """

    dims = 3


class _AdaptiveMaxPool(Module):
    dims: ClassVar[int]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        _need_output_size(self, output_size)
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Maxima over as many windows as `output_size` says."""
        pool = getattr(functional, f"adaptive_max_pool{self.dims}d")
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of (N, C, L) or (C, L) over `output_size` windows.

    With `return_indices` a pair: their positions in the flattened spatial dims too. Windows and errors as in
    `nn.functional.adaptive_max_pool1d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveMaxPool1d(2)(tenora.arange(4.0).reshape(1, 1, 4)).flatten().tolist()
    [1.0, 3.0]
    """

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of (N, C, H, W) or (C, H, W) over `output_size` windows; None keeps a dim.

    With `return_indices` a pair: their positions in the flattened spatial dims too. Windows and errors as in
    `nn.functional.adaptive_max_pool2d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveMaxPool2d((1, 2))(tenora.arange(8.0).reshape(1, 1, 2, 4)).flatten().tolist()
    [5.0, 7.0]
    """

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of (N, C, D, H, W) or (C, D, H, W) over `output_size` windows; None keeps a dim.

    With `return_indices` a pair: their positions in the flattened spatial dims too. Windows and errors as in
    `nn.functional.adaptive_max_pool3d`.

    >>> import tenora
    >>> tenora.nn.AdaptiveMaxPool3d((1, 1, 2))(tenora.arange(16.0).reshape(1, 1, 2, 2, 4)).flatten().tolist()
    [13.0, 15.0]
    """

    dims = 3


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
