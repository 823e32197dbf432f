"""Losses under PyTorch's names, where they take more than the ops: weights, other reductions, a target's dtype."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, int64, uint8
from tenora_engine import bool as bool_

from ..creation import tensor
from ..creation_steps import need_tensor


def _counted(given: Tensor) -> Tensor:
    """Truth values as the numbers 0 and 1, which have differences."""
    return tenora_ops.cast(given, uint8) if given.dtype == bool_ else given


def _reduced(op: str, losses: Tensor, reduction: str, weight: Tensor | None = None) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise errors.ArgumentValueError(
            f"[{op}] reduction: got {reduction!r}, expected 'none', 'mean' or 'sum'. Choose one of them."
        )
    if reduction == "none":
        return losses
    if reduction == "mean" and weight is None:
        return tenora_ops.mean(losses)
    total = tenora_ops.sum(losses)
    return total if weight is None or reduction == "sum" else total / tenora_ops.sum(weight)


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that PyTorch's two older arguments stand for, where either is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    return "sum" if size_average is not None and not size_average else "mean"


def need_tensors(op: str, **given: object) -> None:
    """TypeError that names the argument which is no tensor."""
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise errors.ArgumentTypeError(
                f"[{op}] {name} is wrong: got {errors.type_name(value)}, expected Tensor. "
                "Convert it with tenora.tensor(...)."
            )


def need_equal_ranks(op: str, **tensors: object) -> None:
    """Refuses what is no tensor, and tensors of different numbers of dimensions."""
    need_tensors(op, **tensors)
    ranks = tuple(tensor.ndim for tensor in tensors.values() if isinstance(tensor, Tensor))
    if len(set(ranks)) > 1:
        raise errors.OperationError(
            f"[{op}] dimensions: got {ranks}, expected three equal numbers. Reshape the operands alike."
        )


def _other_size(op: str, input: Tensor, target: Tensor) -> bool:
    try:
        return bool(target.shape != input.shape)
    except AttributeError:
        need_tensors(op, input=input, target=target)
        raise


def warn_of_broadcasting(op: str, input: Tensor, target: Tensor) -> None:
    if _other_size(op, input, target):
        warnings.warn(
            f"[{op}] target has another size than input: got {list(target.shape)} and {list(input.shape)}, "
            "expected equal sizes. They are broadcast, which is rarely meant.",
            stacklevel=3,
        )


def _as_rows(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both as they broadcast where one is 0-d, so that its dtype counts as the other's does, as in PyTorch."""
    if bool(input.ndim) == bool(target.ndim) or input.dtype == target.dtype:
        return input, target
    broadcast: list[Tensor] = tenora_ops.broadcast_tensors(input, target)
    return broadcast[0], broadcast[1]


def _weighted(op: str, losses: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    if weight.shape != input.shape:
        raise errors.ArgumentValueError(
            f"[{op}] weight: got {list(weight.shape)}, expected {list(input.shape)} like input."
            " Expand the weight."
        )
    return losses * weight


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared differences: their mean (weighted where a weight is given), sum or list.

    `input` and `target` broadcast, with a warning where their shapes differ; `weight` has the shape of `input`. The
    result is one number, or with reduction 'none' the broadcast shape. ValueError for another reduction or size of
    `weight`.

    >>> import tenora
    >>> mse_loss(tenora.tensor([1.0, 3.0]), tenora.tensor([1.0, 1.0])).item()
    2.0
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    warn_of_broadcasting("mse_loss", input, target)
    if (target.dtype == bool_) != (input.dtype == bool_):
        input, target = _counted(input), _counted(target)
    x, y = _as_rows(input, target)
    if weight is None:
        return tenora_ops.mse_loss(x, y, reduction)
    losses = _weighted("mse_loss", tenora_ops.mse_loss(x, y, "none"), input, weight)
    return _reduced("mse_loss", losses, reduction, weight)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences: their mean (weighted where a weight is given), sum or list.

    `input` and `target` broadcast, with a warning where their shapes differ; `weight` has the shape of `input`. The
    result is one number, or with reduction 'none' the broadcast shape. ValueError for another reduction or size of
    `weight`.

    >>> import tenora
    >>> x, y = tenora.tensor([1.0, 3.0]), tenora.tensor([1.0, 1.0])
    >>> l1_loss(x, y).item(), l1_loss(x, y, reduction="none").tolist()
    (1.0, [0.0, 2.0])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    warn_of_broadcasting("l1_loss", input, target)
    x, y = _as_rows(input, target)
    if weight is None and (input.is_complex() or target.is_complex()):
        return _reduced("l1_loss", tenora_ops.abs(x - y), reduction)
    if weight is None:
        return tenora_ops.l1_loss(x, y, reduction)
    losses = _weighted("l1_loss", tenora_ops.l1_loss(x, y, "none"), input, weight)
    return _reduced("l1_loss", losses, reduction, weight)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half squares up to `delta`, delta (|x - y| - delta / 2) beyond (Huber 1964).

    `input` and `target` broadcast, with a warning where their shapes differ; `weight` has the shape of `input` and
    multiplies its losses before they are reduced. The result is one number, or with reduction 'none' the broadcast
    shape, in the dtype of `input` (promoted with that of `weight`). RuntimeError unless `delta` is positive.

    >>> import tenora
    >>> huber_loss(tenora.tensor([1.0, 3.0]), tenora.zeros(2), reduction="none").tolist()
    [0.5, 2.5]
    """
    if delta <= 0:
        raise errors.OperationError(
            f"[huber_loss] delta: got {delta}, expected more than 0. Choose a positive number."
        )
    warn_of_broadcasting("huber_loss", input, target)
    if weight is None:
        return tenora_ops.huber_loss(input, target, reduction, delta)
    losses = _weighted("huber_loss", tenora_ops.huber_loss(input, target, "none", delta), input, weight)
    return _reduced("huber_loss", losses, reduction)  # in PyTorch its mean alone is not over the weights


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares / (2 beta) up to `beta`, |x - y| - beta / 2 beyond (Girshick 2015); beta 0 is `l1_loss`.

    `input` and `target` broadcast, with a warning where their shapes differ. The result is one number, or with
    reduction 'none' the broadcast shape. RuntimeError for a negative `beta`.

    >>> import tenora
    >>> smooth_l1_loss(tenora.tensor([1.0, 3.0]), tenora.zeros(2), reduction="none", beta=2.0).tolist()
    [0.25, 2.0]
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise errors.OperationError(
            f"[smooth_l1_loss] beta: got {beta}, expected 0 or more. Choose another number."
        )
    warn_of_broadcasting("smooth_l1_loss", input, target)
    input, target = _as_rows(input, target)
    if beta == 0:
        return tenora_ops.l1_loss(input, target, reduction)
    return tenora_ops.smooth_l1_loss(input, target, reduction, beta)


def _check_sizes(op: str, input: Tensor, target: Tensor) -> None:
    if _other_size(op, input, target):
        raise errors.ArgumentValueError(
            f"[{op}] target does not fit: got {list(target.shape)} for input {list(input.shape)}, expected equal. "
            "Reshape or expand the target."
        )


def _check_unit(op: str, what: str, values: Tensor) -> None:
    if values.device.type != "cpu" or not values.numel():
        return
    low, high = (float(end.item()) for end in tenora_ops.aminmax(values.detach()))
    if not (low >= 0 and high <= 1):
        raise errors.OperationError(
            f"[{op}] {what} leaves [0, 1]: got elements from {low} to {high}, expected probabilities. Use "
            "binary_cross_entropy_with_logits for scores."
        )


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(y log x + (1 - y) log(1 - x)) for probabilities x; ValueError unless the sizes are equal.

    The result is one number, or with reduction 'none' the shape of `input`; `weight` broadcasts to it. Logarithms
    are kept at -100 or more. RuntimeError where the dtypes differ, or an element lies outside [0, 1]; on devices other
    than the host, where looking would wait for the device, such elements give NaN.

    >>> import tenora
    >>> round(binary_cross_entropy(tenora.tensor([0.5, 0.5]), tenora.tensor([1.0, 0.0])).item(), 4)
    0.6931
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_sizes("binary_cross_entropy", input, target)
    if target.dtype != input.dtype:
        raise errors.OperationError(
            f"[binary_cross_entropy] operands have different dtypes: got {input.dtype} and target {target.dtype}, "
            "expected one dtype. Cast target with .to(input.dtype)."
        )
    if not input.dtype.is_floating_point:
        raise errors.NotImplementedOperationError(
            f"[binary_cross_entropy] dtype not supported: got {input.dtype}, expected a floating type. Cast both with "
            ".to(tenora.float32)."
        )
    if weight is not None and weight.dtype != input.dtype and not weight.dtype.is_complex:
        weight = tenora_ops.cast(weight, input.dtype)
    _check_unit("binary_cross_entropy", "input", input)
    _check_unit("binary_cross_entropy", "target", target)
    return tenora_ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(x), without overflow; ValueError unless the sizes are equal.

    log(1 + e^x) - y x; `weight` broadcasts to the size, `pos_weight` multiplies what belongs to targets of 1. The
    result is one number, or with reduction 'none' that size, in the dtype of `target` where it is floating.

    >>> import tenora
    >>> round(binary_cross_entropy_with_logits(tenora.zeros(2), tenora.ones(2)).item(), 4)
    0.6931
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_sizes("binary_cross_entropy_with_logits", input, target)
    return tenora_ops.binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log target - input) for log-probabilities `input` (Kullback and Leibler 1951).

    `input` and `target` (logarithms too with `log_target`) broadcast. The result is one number, or with reduction
    'none' the broadcast shape; 'batchmean' divides the sum by the first size, which is the divergence of a batch,
    'mean' by all elements. ValueError for another reduction.

    >>> import tenora
    >>> p, q = tenora.tensor([[0.5, 0.5]]), tenora.tensor([[0.25, 0.75]])
    >>> round(kl_div(p.log(), q, reduction="batchmean").item(), 4)
    0.1308
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction != "batchmean":
        return tenora_ops.kl_div(input, target, reduction, log_target=log_target)
    total = tenora_ops.kl_div(input, target, "sum", log_target=log_target)
    return total / input.shape[0] if input.ndim else total


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log var + (x - y)^2 / var) / 2, plus log(2 pi) / 2 where `full` (Nix and Weigend 1994).

    `input` and `target` have one size; `var` has it too, or misses the last dim, or is 1 in one dim, or is one
    number, and is kept at `eps` or more. The result is one number, or with reduction 'none' the size of `input`.
    ValueError for a negative variance or one of another size.

    >>> import tenora
    >>> gaussian_nll_loss(tenora.tensor([1.0, 2.0]), tenora.tensor([1.0, 0.0]), tenora.ones(2)).item()
    1.0
    """
    variance = tenora_ops.full_like(input, var) if isinstance(var, int | float) else var
    need_tensor("gaussian_nll_loss", variance, "var")
    if variance.shape != input.shape:
        sizes = list(zip(input.shape, variance.shape, strict=False))
        if input.shape[:-1] == variance.shape:
            variance = tenora_ops.unsqueeze(variance, -1)
        elif input.ndim != variance.ndim or sum(b for a, b in sizes if a != b) != 1:
            raise errors.ArgumentValueError(
                f"[gaussian_nll_loss] var: got {list(variance.shape)} for input {list(input.shape)}, expected the same "
                "size, or one that misses the last dim or is 1 in one."
                " Reshape or expand var."
            )
    if variance.numel() and bool((variance < 0).any()):
        raise errors.ArgumentValueError(
            "[gaussian_nll_loss] var: got a negative entry, expected 0 or more. Clamp the variances."
        )
    return tenora_ops.gaussian_nll_loss(_counted(input), _counted(target), variance, full, eps, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin) in the p-norm (Balntas et al. 2016).

    Vectors (N, D) or (D), which broadcast; the norm is that of `pairwise_distance`, with its `eps`; with `swap` the
    nearer of anchor and positive stands against the negative. The result is one number, or with reduction 'none'
    (N). ValueError unless `margin` is positive, RuntimeError for tensors of different numbers of dimensions.

    >>> import tenora
    >>> anchor, near, far = tenora.zeros(1, 2), tenora.tensor([[3.0, 4.0]]), tenora.tensor([[0.0, 4.5]])
    >>> round(triplet_margin_loss(anchor, near, far).item(), 4)
    1.5
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise errors.ArgumentValueError(
            f"[triplet_margin_loss] margin: got {margin}, expected more than 0. Choose a positive number."
        )
    need_equal_ranks("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    return tenora_ops.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own, `pairwise_distance` unless given (Balntas et al. 2016).

    `distance_function` takes two of the tensors and returns (N); the result is one number, or with reduction 'none'
    (N). ValueError unless `margin` is positive, RuntimeError for tensors of different numbers of dimensions.

    >>> import tenora
    >>> anchor, near, far = tenora.zeros(1, 2), tenora.tensor([[3.0, 4.0]]), tenora.tensor([[0.0, 4.5]])
    >>> def largest(a, b):
    ...     return (a - b).abs().amax(-1)
    >>> triplet_margin_with_distance_loss(anchor, near, far, distance_function=largest).item()
    0.5
    """
    op = "triplet_margin_with_distance_loss"
    if margin <= 0:
        raise errors.ArgumentValueError(
            f"[{op}] margin: got {margin}, expected more than 0. Choose a positive number."
        )
    need_equal_ranks(op, anchor=anchor, positive=positive, negative=negative)
    distance = tenora_ops.pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = tenora_ops.minimum(far, distance(positive, negative))
    return _reduced(op, tenora_ops.relu(distance(anchor, positive) - far + margin), reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of max(0, margin - x[target] + x)^p, the target's own left out (Weston and Watkins 1999).

    `input` (N, C) or (C), `target` class numbers (N) or one; `weight` (C). The result is one number, or with reduction
    'none' the shape of `target`. ValueError unless `p` is 1 or 2, RuntimeError for shapes that do not fit.

    >>> import tenora
    >>> round(multi_margin_loss(tenora.tensor([[0.5, 0.25, 1.0]]), tenora.tensor([2])).item(), 4)
    0.25
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise errors.ArgumentValueError(f"[multi_margin_loss] p: got {p}, expected 1 or 2. Choose 1 or 2.")
    need_tensors("multi_margin_loss", input=input, target=target)
    if isinstance(weight, Tensor) and weight.ndim != 1:
        raise errors.ArgumentValueError(
            f"[multi_margin_loss] weight: got {weight.ndim} dimensions, expected 1. Give one number per class."
        )
    classes = input.shape[-1] if input.ndim else 1
    if isinstance(weight, Tensor) and len(weight) != classes:
        raise errors.OperationError(
            f"[multi_margin_loss] weight: got shape {list(weight.shape)}, expected {[classes]}. "
            "Give one number per class."
        )
    whole = 1 if p == 1 else 2  # PyTorch takes any number that is one of them, 2 + 0j too
    return tenora_ops.multi_margin_loss(input, target, whole, margin, weight, reduction=reduction)


def _lengths(name: str, given: object) -> Tensor:
    if isinstance(given, Tensor):
        return given
    if isinstance(given, Sequence) and all(isinstance(n, int) for n in given):
        return tensor(list(given), dtype=int64)
    kind = type(given).__name__ if not isinstance(given, list | tuple) else repr(given)[:50]
    raise errors.ArgumentTypeError(
        f"[ctc_loss] {name} is wrong: got {kind}, expected a tensor or a sequence of ints. Give one per sample."
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the likelihood of label sequences (Graves et al. 2006); `mean` divides by the lengths of the labels.

    `log_probs` (T, N, C) or (T, C); `targets` (N, S), or all labels in one row; lengths as tensors or sequences (N).
    The result is one number, or with reduction 'none' (N). `zero_infinity` makes losses of labels that do not fit 0.
    The gradient is that of `log_probs` themselves (PyTorch's counts on a log_softmax before it; the sum is the
    same). TypeError for lengths that are neither tensor nor whole numbers.

    >>> import tenora
    >>> scores = tenora.log_softmax(tenora.zeros(3, 1, 2), 2)  # three frames, in each label 1 or the blank 0
    >>> round(ctc_loss(scores, tenora.tensor([[1]]), [3], [1]).item(), 4)
    0.2877
    """
    frames, labels = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    need_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    return tenora_ops.ctc_loss(log_probs, targets, frames, labels, blank, reduction, zero_infinity)


def _class_numbers(input: Tensor, target: Tensor) -> Tensor:
    """uint8 as the int64 that kernels read, for rows of classes alone as in PyTorch; that of one row may be (1)."""
    if input.ndim == 1 and target.shape == (1,):
        target = tenora_ops.reshape(target, ())
    return tenora_ops.cast(target, int64) if target.dtype == uint8 and input.ndim <= 2 else target


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight[target] input[target] for log-probabilities `input`, its mean over the weights, its sum or the list.

    `input` (N, C, ...) or (C); `target` int64 (N, ...), uint8 too for (N, C) and (C); `weight` (C). ValueError where
    the sizes differ, RuntimeError for other dtypes of `target`, IndexError for a class that does not exist.

    >>> import tenora
    >>> nll_loss(tenora.tensor([[-1.0, -2.0], [-3.0, -4.0]]), tenora.tensor([1, 0])).item()
    2.5
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        need_tensors("nll_loss", input=input, target=target)
    return tenora_ops.nll_loss(input, _class_numbers(input, target), weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of log_softmax(input) and class numbers, or probabilities of all classes, along dim 1.

    `input` (N, C, ...) or (C); `target` whole numbers (N, ...), or the shape of input in a floating dtype.

    `weight` (C); targets of `ignore_index` do not count; `label_smoothing` spreads that share of a target over all
    classes (Szegedy et al. 2016). The result is one number, or with reduction 'none' (N, ...). RuntimeError for a
    smoothing outside [0, 1], ValueError for another number of targets.

    >>> import tenora
    >>> round(cross_entropy(tenora.zeros(2, 3), tenora.tensor([0, 2])).item(), 4)
    1.0986
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise errors.OperationError(
            f"[cross_entropy] label_smoothing: got {label_smoothing}, expected 0 to 1. Choose a share of 1."
        )
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        need_tensors("cross_entropy", input=input, target=target)
    if target.dtype.is_floating_point:
        if ignore_index >= 0:
            raise errors.OperationError(
                f"[cross_entropy] ignore_index: got {ignore_index} with probabilities as target, expected a negative "
                "one. Give probabilities a weight of 0 instead."
            )
        return tenora_ops.cross_entropy_probabilities(input, target, weight, reduction, label_smoothing)
    if target.ndim == input.ndim and target.shape == input.shape:
        raise errors.OperationError(
            f"[cross_entropy] wrong dtype of target: got {target.dtype} in the shape of input, {list(input.shape)}, "
            "expected probabilities, which are floating. Cast target, or give one class per row."
        )
    target = _class_numbers(input, target)
    if label_smoothing:
        return tenora_ops.cross_entropy_smooth(
            input, target, weight, ignore_index, reduction, label_smoothing
        )
    return tenora_ops.cross_entropy(input, target, weight, ignore_index, reduction)


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "multi_margin_loss",
    "nll_loss",
    "smooth_l1_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
