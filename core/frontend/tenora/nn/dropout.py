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
    """In training zeroes elements with probability `p` and scales the rest by `1 / (1 - p)` (Hinton et al. 2012).

    Any shape, the result the same. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> layer = tenora.nn.Dropout(0.5)
    >>> layer(tenora.ones(100)).unique().tolist(), layer.eval()(tenora.ones(2)).tolist()
    ([0.0, 2.0], [1.0, 1.0])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Zeroes whole channels of (N, C, L) or (C, L) in training and scales the rest (Tompson et al. 2015).

    ValueError unless `p` lies between 0 and 1, RuntimeError for other numbers of dimensions.

    >>> import tenora
    >>> y = tenora.nn.Dropout1d(0.5)(tenora.ones(4, 8, 3))
    >>> bool((y.amin(2) == y.amax(2)).all()), y.unique().tolist()
    (True, [0.0, 2.0])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zeroes whole channels of (N, C, H, W) or (N, C, L) in training and scales the rest (Tompson et al. 2015).

    ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = tenora.nn.Dropout2d(0.5)(tenora.ones(4, 8, 3, 3))
    >>> bool((y.amin((2, 3)) == y.amax((2, 3))).all()), y.unique().tolist()
    (True, [0.0, 2.0])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) in training and scales the rest (Tompson et al. 2015).

    ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = tenora.nn.Dropout3d(0.5)(tenora.ones(4, 8, 2, 2, 2))
    >>> bool((y.amin((2, 3, 4)) == y.amax((2, 3, 4))).all()), y.unique().tolist()
    (True, [0.0, 2.0])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for selu (Klambauer et al. 2017).

    Any shape, the result the same; the input itself in `eval`. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = tenora.nn.AlphaDropout(0.3)(tenora.randn(100000))
    >>> bool(y.mean().abs() < 0.05 and (y.var() - 1).abs() < 0.05)
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels (N, C, ...) (Klambauer et al. 2017).

    The result has the shape of the input, and is it in `eval`. ValueError unless `p` lies between 0 and 1.

    >>> import tenora
    >>> y = tenora.nn.FeatureAlphaDropout(0.5)(tenora.zeros(2, 8, 5))
    >>> len(y.unique()), bool((y.amin(2) == y.amax(2)).all())
    (2, True)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies dropout in training mode, returns `input` otherwise."""
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
