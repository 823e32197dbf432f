"""Normalisation layers: PyTorch's names, defaults, buffers and state_dict keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, int64

from .. import creation
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes, per_dim


def _learnt(module: Module, name: str, shape: tuple[int, ...], wanted: bool, device: Any, dtype: Any) -> None:
    """Registers a parameter, or None under its name."""
    value = Parameter(creation.empty(shape, device=device, dtype=dtype)) if wanted else None
    module.register_parameter(name, value)


def _start(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _Statistics(Module):
    """Weight, bias and running statistics of each channel."""

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    ranks: tuple[int, ...] = ()
    _version = 2  # from 2 on, num_batches_tracked is in the state

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        if affine or track_running_stats:  # else nothing is made of it
            need_sizes(self, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        _learnt(self, "weight", (num_features,), affine, device, dtype)
        _learnt(self, "bias", (num_features,), affine and bias, device, dtype)
        tracked: list[Tensor | None] = [None, None, None]
        if track_running_stats:
            tracked = [
                creation.zeros((num_features,), device=device, dtype=dtype),
                creation.ones((num_features,), device=device, dtype=dtype),
                creation.zeros((), device=device, dtype=int64),
            ]
        for name, value in zip(("running_mean", "running_var", "num_batches_tracked"), tracked, strict=True):
            self.register_buffer(name, value)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches.

        >>> import tenora
        >>> layer = tenora.nn.BatchNorm1d(2)
        >>> _ = layer(tenora.rand(4, 2))
        >>> layer.reset_running_stats()
        >>> layer.running_mean.tolist(), layer.running_var.tolist(), layer.num_batches_tracked.item()
        ([0.0, 0.0], [1.0, 1.0], 0)
        """
        if self.running_mean is not None and self.running_var is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, fresh statistics.

        >>> import tenora
        >>> layer = tenora.nn.BatchNorm1d(2)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([1.0, 1.0], [0.0, 0.0])
        """
        self.reset_running_stats()
        _start(self)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *lists: Any) -> None:
        key = f"{prefix}num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)

    def _check_rank(self, input: Tensor) -> None:
        if input.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] input: got {input.ndim} dimensions, expected {ranks}. Reshape it."
            )

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Statistics):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _factor(self) -> float:
        """How much of the running statistics this batch replaces; the batch is counted."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / int(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        """Normalises by the batch in training (running statistics follow), else by the running statistics."""
        self._check_rank(input)
        factor = self._factor()
        given = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if given else (None, None)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        return tenora_ops.batch_norm(input, mean, var, self.weight, self.bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L) (Ioffe and Szegedy 2015).

    `weight`, `bias` and the running statistics have shape (C), C = `num_features`; the result that of the input.
    ValueError for other numbers of dimensions, and in training for one value per channel.

    >>> import tenora
    >>> tenora.nn.BatchNorm1d(3)(tenora.rand(8, 3)).shape
    tenora.Size([8, 3])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W) (Ioffe and Szegedy 2015).

    `weight`, `bias` and the running statistics have shape (C), C = `num_features`; the result that of the input.
    `momentum` is the share of the batch in the running statistics, None for their plain mean. ValueError for other
    numbers of dimensions, and in training for one value per channel.

    >>> import tenora
    >>> layer = tenora.nn.BatchNorm2d(3)
    >>> y = layer(tenora.rand(8, 3, 4, 4))
    >>> bool(y.mean((0, 2, 3)).abs().max() < 1e-5), layer.num_batches_tracked.item()
    (True, 1)
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W) (Ioffe and Szegedy 2015).

    `weight`, `bias` and the running statistics have shape (C), C = `num_features`; the result that of the input.
    ValueError for other numbers of dimensions, and in training for one value per channel.

    >>> import tenora
    >>> tenora.nn.BatchNorm3d(3).eval()(tenora.zeros(1, 3, 2, 4, 4)).shape
    tenora.Size([1, 3, 2, 4, 4])
    """

    ranks = (5,)


class _InstanceNorm(_Statistics):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """Normalises every channel of every sample; a sample alone may come without its batch dim."""
        self._check_rank(input)
        alone = input.ndim == self.ranks[0]
        channels = input.shape[0 if alone else 1]
        if channels != self.num_features and self.affine:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] input: got {channels} channels, expected num_features {self.num_features}."
                " Check the layer's size."
            )
        result = tenora_ops.instance_norm(
            tenora_ops.unsqueeze(input, 0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return tenora_ops.squeeze(result, 0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L) (Ulyanov et al. 2016).

    The result has the shape of the input. ValueError for other numbers of dimensions, and for another number of
    channels than `num_features` where there is a weight.

    >>> import tenora
    >>> y = tenora.nn.InstanceNorm1d(3)(tenora.tensor([[[1.0, 3.0]] * 3]))
    >>> [round(value, 3) for value in y[0, 0].tolist()]
    [-1.0, 1.0]
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W) (Ulyanov et al. 2016).

    The result has the shape of the input. ValueError for other numbers of dimensions, and for another number of
    channels than `num_features` where there is a weight.

    >>> import tenora
    >>> y = tenora.nn.InstanceNorm2d(3)(tenora.rand(2, 3, 4, 4))
    >>> bool(y.mean((2, 3)).abs().max() < 1e-5)
    True
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W) (Ulyanov et al. 2016).

    The result has the shape of the input. ValueError for other numbers of dimensions, and for another number of
    channels than `num_features` where there is a weight.

    >>> import tenora
    >>> tenora.nn.InstanceNorm3d(3)(tenora.rand(3, 2, 4, 4)).shape
    tenora.Size([3, 2, 4, 4])
    """

    ranks = (4, 5)


class GroupNorm(Module):
    """Normalises groups of channels of every sample (Wu and He 2018).

    (N, C, ...), the result the same; `weight` and `bias` (C). ValueError where `num_groups` does not divide C.

    >>> import tenora
    >>> tenora.nn.GroupNorm(2, 4)(tenora.rand(1, 4, 5)).shape
    tenora.Size([1, 4, 5])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        need_sizes(self, num_channels=num_channels)
        need_sizes(self, 1, num_groups=num_groups)
        if num_channels % num_groups:
            raise errors.ArgumentValueError(
                f"[GroupNorm] num_groups: got {num_groups}, expected a divisor of num_channels {num_channels}."
                " Change the number of groups."
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _learnt(self, "weight", (num_channels,), affine, device, dtype)
        _learnt(self, "bias", (num_channels,), affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0.

        >>> import tenora
        >>> layer = tenora.nn.GroupNorm(1, 2)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([1.0, 1.0], [0.0, 0.0])
        """
        _start(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalises `input` (N, C, ...)."""
        return tenora_ops.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


def _sizes(layer: Module, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes = per_dim(normalized_shape, 1)
    for size in sizes:
        need_sizes(layer, normalized_shape=size)
    return sizes


class LayerNorm(Module):
    """Normalises the last dims, of `normalized_shape` (Ba et al. 2016).

    (..., *normalized_shape), the result the same; `weight` and `bias` have `normalized_shape`. RuntimeError for
    other last sizes.

    >>> import tenora
    >>> tenora.nn.LayerNorm(4)(tenora.rand(2, 4)).shape
    tenora.Size([2, 4])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _learnt(self, "weight", self.normalized_shape, elementwise_affine, device, dtype)
        _learnt(self, "bias", self.normalized_shape, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0.

        >>> import tenora
        >>> layer = tenora.nn.LayerNorm(2)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([1.0, 1.0], [0.0, 0.0])
        """
        _start(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalises the last dims of `input`."""
        return tenora_ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square of the last dims (Zhang and Sennrich 2019).

    `normalized_shape` are the last sizes, those of `weight` too; the result has the shape of the input. `eps` is
    that of the dtype unless given. RuntimeError for other last sizes.

    >>> import tenora
    >>> tenora.nn.RMSNorm(2)(tenora.tensor([[7.0, 1.0]])).detach()
    tensor([[1.4000, 0.2000]])
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _learnt(self, "weight", self.normalized_shape, elementwise_affine, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1.

        >>> import tenora
        >>> layer = tenora.nn.RMSNorm(2)
        >>> layer.reset_parameters()
        >>> layer.weight.tolist()
        [1.0, 1.0]
        """
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Normalises the last dims of `x`."""
        return tenora_ops.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class _AcrossChannels(Module):
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        need_sizes(self, 1, size=size)
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_AcrossChannels):
    """Divides by the squares of neighbouring channels (Krizhevsky et al. 2012).

    x / (`k` + `alpha` / `size` times the sum of x^2 over `size` channels around)^`beta`, for (N, C, ...); the result
    has the shape of the input. ValueError for fewer than three dimensions.

    >>> import tenora
    >>> layer = tenora.nn.LocalResponseNorm(1, alpha=3.0, beta=0.5)
    >>> layer(tenora.ones(1, 2, 1)).tolist()
    [[[0.5], [0.5]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalises `input` (N, C, ...)."""
        return tenora_ops.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_AcrossChannels):
    """Local response normalisation as (Lua) Torch had it, of (N, C, H, W).

    It is `LocalResponseNorm` if `size` is odd; PyTorch's keeps the first channel in the sums of all later ones.
    The window of an even `size` has `size - 1` channels here, and the sum is still divided by `size`.

    >>> import tenora
    >>> layer = tenora.nn.CrossMapLRN2d(1, alpha=3.0, beta=0.5)
    >>> layer(tenora.ones(1, 2, 1, 1)).flatten().tolist()
    [0.5, 0.5]
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Normalises `input` (N, C, H, W)."""
        width = 2 * ((self.size - 1) // 2) + 1
        alpha = self.alpha * width / self.size
        return tenora_ops.local_response_norm(input, width, alpha, self.beta, self.k)
