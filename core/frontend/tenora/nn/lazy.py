"""Lazy layers: the sizes of their inputs are read off the first input.

Until then the parameters are `UninitializedParameter`s; the first call (or loading a state) gives them their shapes
and starts them as the plain layer would, then the object's class becomes the plain layer's.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor, int64

from .. import creation
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .normalisation import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _BatchNorm,
    _InstanceNorm,
)
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from .sizes import Sizes, need_sizes


class LazyModuleMixin(Module):
    """What makes a layer lazy: a subclass defines `initialize_parameters(input)`, and `cls_to_become` if it likes."""

    cls_to_become: ClassVar[type[Any] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet.

        >>> import tenora
        >>> layer = tenora.nn.LazyLinear(3)
        >>> layer.has_uninitialized_params()
        True
        """
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes, from the arguments of the first call; a subclass defines it.

        >>> import tenora
        >>> layer = tenora.nn.LazyLinear(3)
        >>> layer.initialize_parameters(tenora.zeros(2, 5))
        >>> layer.weight.shape
        tenora.Size([3, 5])
        """
        raise errors.NotImplementedOperationError(
            f"[{type(self).__name__}] initialize_parameters is not defined: got a first call, expected the method. "
            "Define it in the subclass."
        )

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Gives parameters the shapes that a state has for them."""
        for name, own in itertools.chain(self._parameters.items(), self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if is_lazy(own) and saved is not None and not is_lazy(saved):
                own.materialize(saved.shape)

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with no_grad():
            self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise errors.OperationError(
                f"[{type(self).__name__}] initialize_parameters: got parameters without a shape afterwards, expected "
                "none. Materialize all of them there."
            )
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` is the size of the first input's last dim.

    (..., in_features) to (..., out_features).

    >>> import tenora
    >>> layer = tenora.nn.LazyLinear(3)
    >>> layer(tenora.zeros(2, 5)).shape
    tenora.Size([2, 3])
    >>> layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        need_sizes(self, out_features=out_features)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Reads `in_features` off `input`."""
        if self.has_uninitialized_params():
            if input.ndim == 0:
                raise errors.IndexRangeError(
                    "[LazyLinear] input: got a tensor without dims, expected one or more, the last of in_features. "
                    "Reshape the input."
                )
            self.in_features = input.shape[-1]
            _materialize(self.weight, (self.out_features, self.in_features))
            _materialize(self.bias, (self.out_features,))
            self.reset_parameters()
        self.in_features = self.in_features or self.weight.shape[-1]


def _materialize(tensor: Any, shape: tuple[int, ...]) -> None:
    if is_lazy(tensor):
        tensor.materialize(shape)


class _LazyConv(LazyModuleMixin):
    dims: ClassVar[int]
    transposed: ClassVar[bool]
    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def __init__(
        self, out_channels: int, kernel_size: Sizes, bias: bool, device: Any, dtype: Any, **where: Any
    ) -> None:
        super().__init__(0, 0, kernel_size, bias=False, **where)
        need_sizes(self, out_channels=out_channels)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            plain: Any = super()
            plain.reset_parameters()

    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None:
        """Reads `in_channels` off `input`."""
        if self.has_uninitialized_params():
            self.in_channels = self._channels(input)
            if self.in_channels % self.groups:
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] groups: got {self.groups} for {self.in_channels} channels, expected a "
                    "divisor. Change the groups or the input."
                )
            first, second = self.out_channels, self.in_channels
            if self.transposed:
                first, second = second, first
            _materialize(self.weight, (first, second // self.groups, *self.kernel_size))
            _materialize(self.bias, (self.out_channels,))
            self.reset_parameters()
        if not self.in_channels:
            loaded = self.weight.shape
            self.in_channels = loaded[0] if self.transposed else loaded[1] * self.groups

    def _channels(self, input: Tensor) -> int:
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise errors.OperationError(
                f"[{type(self).__name__}] input: got {input.ndim} dimensions, expected {self.dims + 1} or "
                f"{self.dims + 2}. Reshape it."
            )
        return input.shape[1 if input.ndim == self.dims + 2 else 0]


class _LazyForward(_LazyConv):
    def __init__(
        self,
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
            out_channels, kernel_size, bias, device, dtype,
            stride=stride, padding=padding, dilation=dilation, groups=groups, padding_mode=padding_mode,
        )  # fmt: skip


class LazyConv1d(_LazyForward, Conv1d):
    """`Conv1d` whose `in_channels` are those of the first input.

    The input is (N, C, L) or (C, L), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConv1d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 3]), 2)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """`Conv2d` whose `in_channels` are those of the first input.

    The input is (N, C, H, W) or (C, H, W), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConv2d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 3, 3]), 2)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """`Conv3d` whose `in_channels` are those of the first input.

    The input is (N, C, D, H, W) or (C, D, H, W), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConv3d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5, 5, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 3, 3, 3]), 2)
    """

    cls_to_become = Conv3d


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
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
            out_channels, kernel_size, bias, device, dtype,
            stride=stride, padding=padding, output_padding=output_padding, groups=groups, dilation=dilation,
            padding_mode=padding_mode,
        )  # fmt: skip


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` are those of the first input.

    The input is (N, C, L) or (C, L), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConvTranspose1d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 7]), 2)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """`ConvTranspose2d` whose `in_channels` are those of the first input.

    The input is (N, C, H, W) or (C, H, W), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConvTranspose2d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 7, 7]), 2)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """`ConvTranspose3d` whose `in_channels` are those of the first input.

    The input is (N, C, D, H, W) or (C, D, H, W), else RuntimeError; ValueError where `groups` does not divide C.

    >>> import tenora
    >>> layer = tenora.nn.LazyConvTranspose3d(4, 3)
    >>> layer(tenora.zeros(1, 2, 5, 5, 5)).shape, layer.in_channels
    (tenora.Size([1, 4, 7, 7, 7]), 2)
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
        if affine and bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = creation.zeros((), device=device, dtype=int64)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, fresh statistics, once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            plain: Any = super()
            plain.reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Reads `num_features` off `input`."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                _materialize(tensor, (self.num_features,))
            self.reset_parameters()
        if not self.num_features:
            known = [t for t in (self.weight, self.bias, self.running_mean) if t is not None]
            self.num_features = known[0].shape[0] if known else input.shape[1]


class LazyBatchNorm1d(_LazyNorm, _BatchNorm):
    """`BatchNorm1d` whose `num_features` are the channels of the first input.

    The input is (N, C) or (N, C, L), else ValueError.

    >>> import tenora
    >>> layer = tenora.nn.LazyBatchNorm1d()
    >>> layer(tenora.zeros(4, 2, 5)).shape, type(layer).__name__, layer.num_features
    (tenora.Size([4, 2, 5]), 'BatchNorm1d', 2)
    """

    cls_to_become = BatchNorm1d
    ranks = BatchNorm1d.ranks


class LazyBatchNorm2d(_LazyNorm, _BatchNorm):
    """`BatchNorm2d` whose `num_features` are the channels of the first input.

    The input is (N, C, H, W), else ValueError.

    >>> import tenora
    >>> layer = tenora.nn.LazyBatchNorm2d()
    >>> layer(tenora.zeros(4, 2, 5, 5)).shape, type(layer).__name__, layer.num_features
    (tenora.Size([4, 2, 5, 5]), 'BatchNorm2d', 2)
    """

    cls_to_become = BatchNorm2d
    ranks = BatchNorm2d.ranks


class LazyBatchNorm3d(_LazyNorm, _BatchNorm):
    """`BatchNorm3d` whose `num_features` are the channels of the first input.

    The input is (N, C, D, H, W), else ValueError.

    >>> import tenora
    >>> layer = tenora.nn.LazyBatchNorm3d()
    >>> layer(tenora.zeros(4, 2, 5, 5, 5)).shape, type(layer).__name__, layer.num_features
    (tenora.Size([4, 2, 5, 5, 5]), 'BatchNorm3d', 2)
    """

    cls_to_become = BatchNorm3d
    ranks = BatchNorm3d.ranks


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm):
    """`InstanceNorm1d` whose `num_features` are the channels of the first input.

    The first input is (N, C, L), else ValueError; later ones may be (C, L).

    >>> import tenora
    >>> layer = tenora.nn.LazyInstanceNorm1d()
    >>> layer(tenora.zeros(4, 2, 5)).shape, layer.num_features
    (tenora.Size([4, 2, 5]), 2)
    """

    cls_to_become = InstanceNorm1d
    ranks = InstanceNorm1d.ranks


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm):
    """`InstanceNorm2d` whose `num_features` are the channels of the first input.

    The first input is (N, C, H, W), else ValueError; later ones may be (C, H, W).

    >>> import tenora
    >>> layer = tenora.nn.LazyInstanceNorm2d()
    >>> layer(tenora.zeros(4, 2, 5, 5)).shape, layer.num_features
    (tenora.Size([4, 2, 5, 5]), 2)
    """

    cls_to_become = InstanceNorm2d
    ranks = InstanceNorm2d.ranks


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm):
    """`InstanceNorm3d` whose `num_features` are the channels of the first input.

    The first input is (N, C, D, H, W), else ValueError; later ones may be (C, D, H, W).

    >>> import tenora
    >>> layer = tenora.nn.LazyInstanceNorm3d()
    >>> layer(tenora.zeros(4, 2, 5, 5, 5)).shape, layer.num_features
    (tenora.Size([4, 2, 5, 5, 5]), 2)
    """

    cls_to_become = InstanceNorm3d
    ranks = InstanceNorm3d.ranks


__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
]
