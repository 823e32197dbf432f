"""Cross entropy of a linear layer's outputs, as one loss."""

from __future__ import annotations

import math
from typing import Any

from tenora_engine import Tensor

from .functional_linear import LinearCrossEntropyOptions, linear_cross_entropy
from .linear import Linear
from .loss import WeightedLoss
from .sizes import need_sizes


class LinearCrossEntropyLoss(WeightedLoss):
    """A linear layer to `num_classes` (times `out_features`) logits and their cross entropy.

    Shapes as in `linear_cross_entropy`; the layer is `self.linear`, with its rows in one dimension.

    >>> import tenora
    >>> loss = tenora.nn.LinearCrossEntropyLoss(3, 4)
    >>> loss(tenora.zeros(2, 3), tenora.tensor([1, 0])).shape
    tenora.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        need_sizes(self, in_features=in_features, num_classes=num_classes)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, rows, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the layer's outputs for `input` against `target`."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(*shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]
