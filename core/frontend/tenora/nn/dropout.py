"""Dropout as modules: noise in training, the input itself otherwise."""

from __future__ import annotations

from tenora_engine import Tensor
from tenora_ops.checks import need_probability

from . import functional
from .module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        need_probability(type(self).__name__, p)
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training zeroes elements with probability `p` and scales the rest by `1 / (1 - p)` (Hinton et al. 2012)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Zeroes whole channels of (N, C, L) or (C, L) (Tompson et al. 2015)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zeroes whole channels of (N, C, H, W) or (N, C, L) (Tompson et al. 2015)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) (Tompson et al. 2015)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for selu (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
