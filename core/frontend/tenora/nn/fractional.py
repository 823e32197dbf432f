"""Fractional max pooling layers (Graham 2014); see the functions of the same names in `nn.functional`."""

from __future__ import annotations

from typing import Any, ClassVar

from tenora_engine import Tensor
from tenora_ops.checks import need_size_or_ratio

from . import functional
from .module import Module
from .sizes import Sizes, need_windows


class _FractionalMaxPool(Module):
    dims: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        need_size_or_ratio(type(self).__name__, output_size, output_ratio)
        need_windows(self, self.dims, 1, kernel_size=kernel_size)
        if output_size is not None:
            need_windows(self, self.dims, 0, output_size=output_size)
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        """The largest element of each window, with its position if `return_indices`."""
        pool = getattr(functional, f"fractional_max_pool{self.dims}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of `output_size` windows of `(N, C, H, W)`, whose places are drawn.

    The result is (N, C, *output_size), or with `output_ratio` that share of each size (Graham 2014,
    https://arxiv.org/abs/1412.6071). ValueError unless exactly one of both is given.

    >>> import tenora
    >>> tuple(tenora.nn.FractionalMaxPool2d(2, output_size=3)(tenora.ones(1, 1, 7, 7)).shape)
    (1, 1, 3, 3)
    """

    dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of `output_size` windows of `(N, C, D, H, W)`, whose places are drawn.

    The result is (N, C, *output_size), or with `output_ratio` that share of each size (Graham 2014,
    https://arxiv.org/abs/1412.6071). ValueError unless exactly one of both is given.

    >>> import tenora
    >>> tuple(tenora.nn.FractionalMaxPool3d(2, output_ratio=0.5)(tenora.ones(1, 1, 8, 8, 8)).shape)
    (1, 1, 4, 4, 4)
    """

    dims = 3
