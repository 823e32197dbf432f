"""Softmax over very many classes: frequent ones in a head, rare ones in clusters behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module
from .sizes import need_sizes


class ASMoutput(NamedTuple):
    """The log-probability of each target, and the mean of their negatives."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Adaptive softmax (Grave et al. 2017, https://arxiv.org/abs/1609.04309): classes sorted by falling frequency.

    Classes below `cutoffs[0]` are in the head; each following range is a cluster, whose projection is `div_value`
    times narrower than the one before.

    Input (N, in_features) with targets (N), or (in_features) with one; the result is the pair of their
    log-probabilities (N) and the loss. ValueError for cutoffs that do not rise or leave 1 to n_classes - 1.

    >>> import tenora
    >>> loss = tenora.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    >>> x = tenora.zeros(3, 8)
    >>> round(loss(x, tenora.tensor([0, 7, 19])).loss.item(), 4), tuple(loss.log_prob(x).shape)
    (3.2499, (3, 20))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        need_sizes(self, in_features=in_features, n_classes=n_classes)
        try:
            cutoffs = list(cutoffs)
            fitting = all(int(cutoff) == cutoff and 0 < cutoff < n_classes for cutoff in cutoffs)
        except (TypeError, ValueError):  # not numbers
            fitting = False
        if not cutoffs or not fitting or cutoffs != sorted(set(cutoffs)):
            raise errors.ArgumentValueError(
                f"[AdaptiveLogSoftmaxWithLoss] cutoffs: got {cutoffs}, expected rising whole numbers from 1 to "
                f"{n_classes - 1}. Name the first class of each cluster."
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(self._ranges()):
            width = int(in_features // div_value ** (number + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, False, device, dtype),
                    Linear(width, high - low, False, device, dtype),
                )
            )

    def _ranges(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draws all weights anew.

        >>> import tenora
        >>> loss = tenora.nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5, 10])
        >>> before = loss.head.weight.detach().clone()
        >>> loss.reset_parameters()
        >>> bool((loss.head.weight == before).all())
        False
        """
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """The log-probabilities of targets (N), or of one, under inputs (N, in_features), and the loss."""
        if (input_.ndim, target_.ndim) not in ((2, 1), (1, 0)) or input_.shape[:-1] != target_.shape:
            raise errors.OperationError(
                f"[AdaptiveLogSoftmaxWithLoss] input and target: got shapes {tuple(input_.shape)} and "
                f"{tuple(target_.shape)}, expected (N, in_features) and (N). Pass one class per row."
            )
        single = target_.ndim == 0
        input = input_.unsqueeze(0) if single else input_
        target = target_.unsqueeze(0) if single else target_
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise errors.OperationError(
                f"[AdaptiveLogSoftmaxWithLoss] target: got classes from {int(target.min())} to {int(target.max())}, "
                f"expected 0 to {self.n_classes - 1}. Check the targets."
            )
        head = tenora_ops.log_softmax(self.head(input), 1)  # (N, head_size)
        places = target
        parts = []
        for number, (low, high) in enumerate(self._ranges()):
            inside = (target >= low) & (target < high)
            places = tenora_ops.where(inside, self.shortlist_size + number, places)
            rows = inside.nonzero().squeeze(1)
            if rows.numel():
                scores = tenora_ops.log_softmax(self.tail[number](input.index_select(0, rows)), 1)
                parts.append((rows, scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)))
        output = head.gather(1, places.unsqueeze(1)).squeeze(1)  # (N,)
        for rows, scores in parts:
            output = output.index_add(0, rows, scores)
        return ASMoutput(output.squeeze(0) if single else output, (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities (N, n_classes) of all classes.

        >>> import tenora
        >>> loss = tenora.nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5, 10])
        >>> found = loss.log_prob(tenora.ones(3, 4))
        >>> found.shape, tenora.allclose(found.exp().sum(1), tenora.ones(3))
        (tenora.Size([3, 20]), True)
        """
        head = tenora_ops.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for number, layer in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + number].unsqueeze(1)
            parts.append(tenora_ops.log_softmax(layer(input), 1) + of_cluster)
        return tenora_ops.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row (N).

        >>> import tenora
        >>> loss = tenora.nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5, 10])
        >>> x = tenora.ones(3, 4)
        >>> bool((loss.predict(x) == loss.log_prob(x).argmax(1)).all())
        True
        """
        return self.log_prob(input).argmax(1)


__all__ = ["ASMoutput", "AdaptiveLogSoftmaxWithLoss"]
