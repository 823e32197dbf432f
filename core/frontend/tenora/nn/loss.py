"""Loss functions as modules."""

from __future__ import annotations

import warnings

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from . import functional
from .functional_loss import legacy_reduction, warn_of_broadcasting
from .module import Module
from .module_members import called_to_build


class Loss(Module):
    """What losses share: the name of the reduction, which the constructor checks.

    `size_average` and `reduce` are PyTorch's old way to say it; a warning names the new one.
    """

    reductions: tuple[str, ...] = ("none", "mean", "sum")

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if isinstance(size_average, Tensor) or isinstance(reduce, Tensor):
            raise called_to_build(type(self).__name__, "size_average" if reduce is None else "reduce")
        reduction = legacy_reduction(size_average, reduce, reduction)
        if reduction not in self.reductions:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] reduction: got {reduction!r}, expected one of {', '.join(self.reductions)}."
                " Choose one of them."
            )
        self.reduction = reduction


class MSELoss(Loss):
    """Mean of squared differences; shapes broadcast, with a warning.

    The result is one number, or with reduction 'none' the broadcast shape. ValueError for another reduction,
    RuntimeError for shapes that do not broadcast.

    >>> import tenora
    >>> tenora.nn.MSELoss()(tenora.tensor([1.0, 3.0]), tenora.tensor([1.0, 1.0])).item()
    2.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        warn_of_broadcasting("mse_loss", input, target)
        return tenora_ops.mse_loss(input, target, reduction=self.reduction)


class WeightedLoss(Loss):
    """What losses with weights share: the buffer `weight`, or None."""

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


class NLLLoss(WeightedLoss):
    """Negative log-likelihood of class numbers under log-probabilities.

    `input` (N, C, ...), `target` (N, ...) int64; `weight` (C) is a buffer; entries of `ignore_index` do not count.

    The result is one number, or with reduction 'none' the shape of `target`; the mean is weighted. ValueError for
    another reduction.

    >>> import tenora
    >>> scores = tenora.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    >>> tenora.nn.NLLLoss()(scores, tenora.tensor([1, 0])).item()
    2.5
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class CrossEntropyLoss(WeightedLoss):
    """`nn.functional.cross_entropy`: logits (N, C, ...) against class numbers (N, ...) or probabilities (N, C, ...).

    The result is one number, or with reduction 'none' (N, ...). Arguments and errors as there.

    >>> import tenora
    >>> round(tenora.nn.CrossEntropyLoss()(tenora.zeros(2, 4), tenora.tensor([1, 3])).item(), 4)
    1.3863
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss2d(NLLLoss):
    """An old name of `NLLLoss`; a FutureWarning says so.

    >>> import tenora, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     loss = tenora.nn.NLLLoss2d()
    >>> loss(tenora.full((1, 2, 2, 2), -0.5), tenora.zeros(1, 2, 2, dtype=tenora.int64)).item()
    0.5
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn("[NLLLoss2d] is PyTorch's old name: use NLLLoss.", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
