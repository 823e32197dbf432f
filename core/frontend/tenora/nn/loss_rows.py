"""Loss functions as modules: over rows, of classes, labels, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from . import functional
from .distance import PairwiseDistance
from .loss import Loss


class CosineEmbeddingLoss(Loss):
    """1 - cos where the target is 1, max(0, cos - `margin`) where it is -1.

    Inputs (N, D) with targets (N), or (D) with one; the result is one number, or with reduction 'none' (N).

    RuntimeError for shapes that do not fit.

    >>> import tenora
    >>> a, b = tenora.tensor([[1.0, 0.0]]), tenora.tensor([[0.0, 1.0]])
    >>> tenora.nn.CosineEmbeddingLoss()(a, b, tenora.tensor([1.0])).item()
    1.0
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss of the angle between `input1` and `input2` against `target`, 1 or -1."""
        return tenora_ops.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class MultiMarginLoss(Loss):
    """The mean over classes of max(0, `margin` - x[target] + x)^`p` but the target's (Weston and Watkins 1999).

    `input` (N, C) or (C), `target` class numbers (N) or one; `weight` (C) is a buffer. The result is one number, or
    with reduction 'none' (N). ValueError unless `p` is 1 or 2, and for a weight with more than one dim.

    >>> import tenora
    >>> round(tenora.nn.MultiMarginLoss()(tenora.tensor([[0.5, 0.25, 1.0]]), tenora.tensor([2])).item(), 4)
    0.25
    """

    weight: Tensor | None

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if p not in (1, 2):
            raise errors.ArgumentValueError(f"[MultiMarginLoss] p: got {p}, expected 1 or 2. Choose 1 or 2.")
        if weight is not None and weight.ndim != 1:
            raise errors.ArgumentValueError(
                f"[MultiMarginLoss] weight: got {weight.ndim} dimensions, expected 1."
                " Pass one number per class."
            )
        self.register_buffer("weight", weight)
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` (N, C) against class numbers (N)."""
        return functional.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(Loss):
    """Hinge of labels against all other classes; labels end at the first -1.

    The sum over labels i and other classes j of max(0, 1 - x[i] + x[j]), divided by C. `input` (N, C) or (C), `target`
    int64 of the same shape; the result is one number, or with reduction 'none' (N).

    >>> import tenora
    >>> x, labels = tenora.tensor([[0.0, 0.5, 1.0, 0.25]]), tenora.tensor([[2, 1, -1, 0]])
    >>> tenora.nn.MultiLabelMarginLoss()(x, labels).item()
    0.375
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` (N, C) against labels (N, C)."""
        return tenora_ops.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Loss):
    """Binary cross entropy of each class, their mean; `weight` is a buffer.

    `input` scores and `target` of 0 and 1, both (N, C) or (C), `weight` (C); the result is one number, or with
    reduction 'none' (N).

    >>> import tenora
    >>> round(tenora.nn.MultiLabelSoftMarginLoss()(tenora.zeros(1, 2), tenora.tensor([[1.0, 0.0]])).item(), 4)
    0.6931
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` (N, C) against 0 and 1 (N, C)."""
        return tenora_ops.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class TripletMarginLoss(Loss):
    """max(0, |anchor - positive| - |anchor - negative| + `margin`) in the `p`-norm (Balntas et al. 2016).

    Vectors (N, D) or (D), which broadcast; the result is one number, or with reduction 'none' (N). ValueError unless
    `margin` is positive.

    >>> import tenora
    >>> anchor, near, far = tenora.zeros(1, 2), tenora.tensor([[3.0, 4.0]]), tenora.tensor([[0.0, 4.5]])
    >>> round(tenora.nn.TripletMarginLoss()(anchor, near, far).item(), 4)
    1.5
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise errors.ArgumentValueError(
                f"[TripletMarginLoss] margin: got {margin}, expected more than 0. Choose a positive number."
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of three tensors of vectors."""
        return functional.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with a distance of one's own, `PairwiseDistance` unless given (Balntas et al. 2016).

    `distance_function` takes two of the tensors and returns (N); the result is one number, or with reduction 'none'
    (N). ValueError unless `margin` is positive.

    >>> import tenora
    >>> def largest(a, b):
    ...     return (a - b).abs().amax(-1)
    >>> loss = tenora.nn.TripletMarginWithDistanceLoss(distance_function=largest)
    >>> loss(tenora.zeros(1, 2), tenora.tensor([[3.0, 4.0]]), tenora.tensor([[0.0, 4.5]])).item()
    0.5
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise errors.ArgumentValueError(
                f"[TripletMarginWithDistanceLoss] margin: got {margin}, expected more than 0."
                " Choose a positive number."
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of three tensors of vectors."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al. 2006): log-probabilities (T, N, C) against label sequences.

    >>> import tenora
    >>> scores = tenora.log_softmax(tenora.zeros(3, 1, 2), 2)
    >>> lengths = tenora.tensor([3]), tenora.tensor([1])
    >>> round(tenora.nn.CTCLoss()(scores, tenora.tensor([[1]]), *lengths).item(), 4)
    0.2877
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        """The loss of frames (T, N, C) against labels (N, S), or against one row of all labels."""
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
