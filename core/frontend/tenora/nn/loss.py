"""Loss functions as modules."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor

from .module import Module


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(
                f"[{type(self).__name__}] reduction: got {reduction!r}, expected 'none', 'mean' or 'sum'."
            )
        self.reduction = reduction


class MSELoss(_Loss):
    """Mean of squared differences; shapes broadcast.

    >>> import tenora
    >>> tenora.nn.MSELoss()(tenora.tensor([1.0, 3.0]), tenora.tensor([1.0, 1.0])).item()
    2.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return tenora_ops.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_Loss):
    """Negative log-likelihood of class indices under log-probabilities: input `(N, C)`, target `(N,)` int64."""

    def __init__(self, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return tenora_ops.nll_loss(input, target, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(NLLLoss):
    """`NLLLoss` of `log_softmax(input)` over the classes: input `(N, C)` logits, target `(N,)` int64.

    >>> import tenora
    >>> round(tenora.nn.CrossEntropyLoss()(tenora.zeros(2, 4), tenora.tensor([1, 3])).item(), 4)
    1.3863
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return tenora_ops.cross_entropy(
            input, target, ignore_index=self.ignore_index, reduction=self.reduction
        )
