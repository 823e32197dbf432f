"""Convolution layers in one, two and three spatial dims."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import functional, init
from .module import Module
from .parameter import Parameter
from .sizes import Sizes, need_sizes, need_windows, per_dim


class _Conv(Module):
    """What the layers share: parameters of `kernel_size` windows in `groups`, their start, the repr.

    Weight and bias start uniform in `[-b, b]`, `b = sqrt(groups / (in_channels * prod(kernel_size)))`, as in PyTorch.
    """

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False
    _convolve: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        output_padding: Sizes,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        need_sizes(self, in_channels=in_channels, out_channels=out_channels)
        need_windows(self, self.dims, 1, kernel_size=kernel_size, stride=stride, dilation=dilation)
        need_windows(self, self.dims, 0, output_padding=output_padding)
        if not isinstance(padding, str):
            need_windows(self, self.dims, 0, padding=padding)
        self._check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = per_dim(kernel_size, self.dims)
        self.stride = per_dim(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else per_dim(padding, self.dims)
        self.dilation = per_dim(dilation, self.dims)
        self.output_padding = per_dim(output_padding, self.dims)
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(creation.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias: Parameter | None = Parameter(
                creation.empty((out_channels,), device=device, dtype=dtype)
            )
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check(
        self, in_channels: int, out_channels: int, groups: int, padding: Any, stride: Any, padding_mode: str
    ) -> None:
        name = type(self).__name__
        need_sizes(self, None, groups=groups)
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise errors.ArgumentValueError(
                f"[{name}] groups: got {groups} for {in_channels} and {out_channels} channels, expected a common "
                "divisor."
                " Change the groups or the channels."
            )
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise errors.ArgumentValueError(
                f"[{name}] padding_mode: got {padding_mode!r}, expected one of {list(modes)}."
                " Choose one of them."
            )
        if isinstance(padding, str):
            if self.transposed or padding not in ("same", "valid"):
                raise errors.ArgumentValueError(
                    f"[{name}] padding: got {padding!r}, expected numbers, 'same' or 'valid'."
                    " Pass one of these."
                )
            if padding == "same" and max(per_dim(stride, self.dims)) > 1:
                raise errors.ArgumentValueError(
                    f"[{name}] padding='same': got stride {stride}, expected stride 1."
                    " Pass the padding as numbers."
                )

    def reset_parameters(self) -> None:
        """Draws weight and bias anew.

        >>> import tenora
        >>> layer = tenora.nn.Conv2d(4, 3, 1)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def _around(self) -> list[int]:
        """The padding as `pad` takes it: pairs from the last dim on."""
        if isinstance(self.padding, str) and self.padding == "valid":
            return [0] * (2 * self.dims)
        if isinstance(self.padding, str):
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [amount for total in reversed(totals) for amount in (total // 2, total - total // 2)]
        return [amount for amount in reversed(per_dim(self.padding, self.dims)) for _ in range(2)]

    def forward(self, input: Tensor) -> Tensor:
        """Convolves `input` (N, C, spatial...) or (C, spatial...)."""
        where = (self.stride, self.padding, self.dilation, self.groups)
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._around(), mode=self.padding_mode)
            where = (self.stride, (0,) * self.dims, self.dilation, self.groups)
        return self._convolve(input, self.weight, self.bias, *where)

    def extra_repr(self) -> str:
        """Arguments for the repr: those that differ from the defaults."""
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * self.dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Forward(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, 0, device,
            dtype,
        )  # fmt: skip


class Conv1d(_Forward):
    """Convolution of `(N, in_channels, L)` with windows of `kernel_size`; the result is `(N, out_channels, L_out)`.

    `L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1`. `padding` may be 'valid' or 'same',
    `padding_mode` 'zeros', 'reflect', 'replicate' or 'circular'.

    RuntimeError for another number of channels or dimensions; ValueError where `groups` does not divide both numbers of
    channels.

    >>> import tenora
    >>> tenora.nn.Conv1d(16, 33, 3, stride=2)(tenora.zeros(20, 16, 50)).shape
    tenora.Size([20, 33, 24])
    """

    dims = 1
    _convolve = staticmethod(functional.conv1d)


class Conv2d(_Forward):
    """Convolution of `(N, in_channels, H, W)`; sizes as in `Conv1d`, one number or one per dim.

    The result is (N, out_channels, H_out, W_out); errors as in `Conv1d`.

    >>> import tenora
    >>> tenora.nn.Conv2d(3, 8, (3, 5), padding="same")
    Conv2d(3, 8, kernel_size=(3, 5), stride=(1, 1), padding=same)
    >>> tenora.nn.Conv2d(1, 4, 3, padding=1)(tenora.zeros(2, 1, 8, 8)).shape
    tenora.Size([2, 4, 8, 8])
    """

    dims = 2
    _convolve = staticmethod(functional.conv2d)


class Conv3d(_Forward):
    """Convolution of `(N, in_channels, D, H, W)`; sizes as in `Conv1d`, one number or one per dim.

    The result is (N, out_channels, D_out, H_out, W_out); errors as in `Conv1d`.

    >>> import tenora
    >>> tenora.nn.Conv3d(2, 4, 3)(tenora.zeros(1, 2, 5, 6, 7)).shape
    tenora.Size([1, 4, 3, 4, 5])
    """

    dims = 3
    _convolve = staticmethod(functional.conv3d)


class _Transposed(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            output_padding, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | tuple[int, ...] | None = None) -> Tensor:
        """Applies the adjoint of a convolution; `output_size` chooses among the sizes that a stride leaves open."""
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return self._convolve(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _extra(self, input: Tensor, output_size: list[int] | tuple[int, ...]) -> tuple[int, ...]:
        wanted = tuple(output_size)[-self.dims :]
        assert not isinstance(self.padding, str)
        rows = zip(
            input.shape[-self.dims :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
        )
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in rows]
        extra = tuple(w - m for w, m in zip(wanted, least, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] output_size: got {wanted}, expected from {tuple(least)} to less than a "
                f"stride {self.stride} more."
                " Choose a size in between."
            )
        return extra


class ConvTranspose1d(_Transposed):
    """The adjoint of `Conv1d` as a layer: `(N, in_channels, L)` to `(N, out_channels, L_out)`.

    `L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`.

    RuntimeError for another number of channels than `in_channels` (Zeiler et al. 2010).

    >>> import tenora
    >>> tenora.nn.ConvTranspose1d(4, 2, 3, stride=2)(tenora.zeros(1, 4, 5)).shape
    tenora.Size([1, 2, 11])
    """

    dims = 1
    _convolve = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """The adjoint of `Conv2d` as a layer; sizes as in `ConvTranspose1d`, one number or one per dim.

    (N, C, H, W) or (C, H, W); RuntimeError for another number of channels than `in_channels`.

    >>> import tenora
    >>> layer = tenora.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> layer(tenora.zeros(1, 4, 6, 6), output_size=(12, 12)).shape
    tenora.Size([1, 2, 12, 12])
    """

    dims = 2
    _convolve = staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """The adjoint of `Conv3d` as a layer; sizes as in `ConvTranspose1d`, one number or one per dim.

    (N, C, D, H, W) or (C, D, H, W); RuntimeError for another number of channels than `in_channels`.

    >>> import tenora
    >>> tenora.nn.ConvTranspose3d(2, 1, 2)(tenora.zeros(1, 2, 3, 3, 3)).shape
    tenora.Size([1, 1, 4, 4, 4])
    """

    dims = 3
    _convolve = staticmethod(functional.conv_transpose3d)


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
