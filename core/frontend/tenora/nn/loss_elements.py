"""Loss functions as modules: element by element. Constructors take PyTorch's arguments, `reduction` by keyword."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor

from . import functional
from .loss import Loss, WeightedLoss


class L1Loss(Loss):
    """Absolute differences.

    Shapes broadcast, with a warning; the result is one number, or with reduction 'none' the broadcast shape.
    ValueError for another reduction.

    >>> import tenora
    >>> tenora.nn.L1Loss()(tenora.tensor([1.0, 3.0]), tenora.tensor([1.0, 1.0])).item()
    1.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """Squares / (2 `beta`) up to `beta`, |x - y| - `beta` / 2 beyond (Girshick 2015).

    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape. RuntimeError, when called,
    for a negative `beta`.

    >>> import tenora
    >>> tenora.nn.SmoothL1Loss()(tenora.tensor([1.0, 3.0]), tenora.zeros(2)).item()
    1.5
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """Half squares up to `delta`, `delta` (|x - y| - `delta` / 2) beyond (Huber 1964).

    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape. RuntimeError, when called,
    unless `delta` is positive.

    >>> import tenora
    >>> tenora.nn.HuberLoss(delta=2.0)(tenora.tensor([1.0, 3.0]), tenora.zeros(2)).item()
    2.25
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(WeightedLoss):
    """Binary cross entropy of probabilities; `weight` is a buffer.

    -(y log x + (1 - y) log(1 - x)); input and target have one size, to which `weight` broadcasts; the result is one
    number, or with reduction 'none' that size. ValueError for different sizes, RuntimeError for what lies outside
    [0, 1].

    >>> import tenora
    >>> round(tenora.nn.BCELoss()(tenora.tensor([0.5]), tenora.tensor([1.0])).item(), 4)
    0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Binary cross entropy of sigmoid(input), without overflow; `weight` and `pos_weight` are buffers.

    `input` and `target` have one size, `weight` and `pos_weight` broadcast to it; the result is one number, or with
    reduction 'none' that size. ValueError for different sizes.

    >>> import tenora
    >>> loss = tenora.nn.BCEWithLogitsLoss(pos_weight=tenora.tensor([2.0]))
    >>> round(loss(tenora.zeros(3, 1), tenora.ones(3, 1)).item(), 4)
    1.3863
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(Loss):
    """Kullback-Leibler divergence of log-probabilities; `reduction` may be 'batchmean' (Kullback and Leibler 1951).

    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape; 'mean' divides by all
    elements, 'batchmean' by the first size alone.

    >>> import tenora
    >>> p, q = tenora.tensor([[0.5, 0.5]]), tenora.tensor([[0.25, 0.75]])
    >>> round(tenora.nn.KLDivLoss(reduction="batchmean")(p.log(), q).item(), 4)
    0.1308
    """

    reductions = ("none", "mean", "sum", "batchmean")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(Loss):
    """Likelihood of counts under a Poisson distribution whose rate, or its logarithm, is the input.

    e^x - y x with `log_input`, else x - y log(x + `eps`); `full` adds Stirling's approximation of log y! where y > 1.
    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape.

    >>> import tenora
    >>> tenora.nn.PoissonNLLLoss()(tenora.zeros(2), tenora.tensor([1.0, 3.0])).item()
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss of `log_input` against `target`."""
        return tenora_ops.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(Loss):
    """Likelihood under normal distributions of given mean and variance (Nix and Weigend 1994).

    (log var + (x - y)^2 / var) / 2, plus log(2 pi) / 2 where `full`; shapes and errors as in
    `nn.functional.gaussian_nll_loss`.

    >>> import tenora
    >>> tenora.nn.GaussianNLLLoss()(tenora.tensor([1.0, 2.0]), tenora.tensor([1.0, 0.0]), tenora.ones(2)).item()
    1.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss of `input` with variance `var` against `target`."""
        return functional.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class SoftMarginLoss(Loss):
    """log(1 + e^(-y x)) for targets 1 and -1.

    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape.

    >>> import tenora
    >>> round(tenora.nn.SoftMarginLoss()(tenora.zeros(2), tenora.tensor([1.0, -1.0])).item(), 4)
    0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return tenora_ops.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(Loss):
    """x where the target is 1, max(0, `margin` - x) where it is -1.

    Shapes broadcast; the result is one number, or with reduction 'none' the broadcast shape.

    >>> import tenora
    >>> loss = tenora.nn.HingeEmbeddingLoss(reduction="none")
    >>> loss(tenora.tensor([0.5, 0.25]), tenora.tensor([1.0, -1.0])).tolist()
    [0.5, 0.75]
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return tenora_ops.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(Loss):
    """max(0, -y (a - b) + `margin`).

    a and b are to be ordered, y is 1 where a ought to be larger and -1 where b. Shapes broadcast; the result is one
    number, or with reduction 'none' the broadcast shape.

    >>> import tenora
    >>> loss = tenora.nn.MarginRankingLoss(margin=0.5, reduction="none")
    >>> loss(tenora.tensor([2.0, 1.0]), tenora.tensor([1.0, 2.0]), tenora.tensor([1.0, 1.0])).tolist()
    [0.0, 1.5]
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
        """The loss of the order of `input1` and `input2` against `target`, 1 or -1."""
        return tenora_ops.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)
