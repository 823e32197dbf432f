"""Connectionist temporal classification (Graves et al. 2006): the likelihood of label sequences under frame scores.

- The labels are written with blanks between them, 2 S + 1 states. log alpha[t, s] sums the log-likelihood of all
  paths that are in state s at frame t; a step stays, advances by one, or skips a blank between unequal labels.
- A Python function over ring 0: a loop over frames, all samples and states at once, differentiated through the tape.
  States beyond a sample's own are kept at a large negative number, not at -inf, so that no gradient is NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.loss import REDUCTIONS, reduced_loss
from tenora_ops.record import Family, op
from tenora_ops.samples import Draw, Sample, sample

#: The logarithm of an impossible path.
NEVER = -1e30


def _lengths(value: Any, name: str, count: int, most: int) -> list[int]:
    whole = not (value.dtype.is_floating_point or value.dtype.is_complex or value.dtype == _engine.bool)
    found = [int(v) for v in value.tolist()] if whole and value.ndim == 1 else []
    if len(found) != count:
        raise errors.OperationError(
            f"[ctc_loss] {name}: got {value.dtype} of shape {list(value.shape)}, expected {count} integers, one for "
            "each sample."
            " Pass one length per sample."
        )
    if any(not 0 <= length <= most for length in found):
        raise errors.OperationError(
            f"[ctc_loss] {name}: got {found}, expected lengths from 0 to {most}. Clamp the lengths."
        )
    return found


def _labels(targets: Any, lengths: list[int], classes: int, blank: int) -> list[list[int]]:
    """The label sequence of each sample, from a padded table or one long row."""
    if targets.dtype.is_complex:
        raise errors.OperationError(
            f"[ctc_loss] wrong dtype of targets: got {targets.dtype}, expected whole numbers. "
            "Cast with .to(tenora.int64)."
        )
    if targets.dtype.is_floating_point:
        targets = ops.to(targets, _engine.int64)
    if targets.ndim == 2 and targets.shape[0] != len(lengths):
        raise errors.OperationError(
            f"[ctc_loss] targets: got {list(targets.shape)}, expected {len(lengths)} rows, one for each sample."
            " Pass (N, S) for the N samples of log_probs."
        )
    if targets.ndim == 2:
        rows = [row[:length] for row, length in zip(targets.tolist(), lengths, strict=True)]
    elif targets.ndim == 1:
        flat = targets.tolist()
        if sum(lengths) > len(flat):
            raise errors.OperationError(
                f"[ctc_loss] targets: got {len(flat)} labels, expected {sum(lengths)}, the sum of target_lengths."
                " Concatenate the labels of all samples."
            )
        ends = list(itertools.accumulate(lengths, initial=0))
        rows = [flat[a:b] for a, b in itertools.pairwise(ends)]
    else:
        raise errors.OperationError(
            f"[ctc_loss] targets: got {targets.ndim} dimensions, expected 1 or 2, (N, S). Reshape targets."
        )
    for row in rows:
        if any(not 0 <= label < classes for label in row):
            raise errors.OperationError(
                f"[ctc_loss] targets: got {row}, expected labels from 0 to {classes - 1}."
                " Choose classes of log_probs."
            )
    return rows


def _tables(rows: list[list[int]], blank: int, like: Any) -> tuple[Any, Any, Any, int]:
    """States' labels (N, W), where a skip is allowed and where a state exists, as numbers 0 or NEVER."""
    width = 2 * max((len(row) for row in rows), default=0) + 1
    labels, skips, exists = [], [], []
    for row in rows:
        states = [blank, *itertools.chain.from_iterable((label, blank) for label in row)]
        skip = [s >= 2 and states[s] != blank and states[s] != states[s - 2] for s in range(len(states))]
        spare = width - len(states)
        labels.append(states + [blank] * spare)
        skips.append([0.0 if allowed else NEVER for allowed in skip] + [NEVER] * spare)
        exists.append([0.0] * len(states) + [NEVER] * spare)
    numbers = [
        _engine.as_tensor_data(table, dtype=dtype, device=like.device)
        for table, dtype in ((labels, _engine.int64), (skips, like.dtype), (exists, like.dtype))
    ]
    return numbers[0], numbers[1], numbers[2], width


def _log_sum(*values: Any) -> Any:
    """log of the sum of exponentials of tensors of one shape."""
    together = ops.stack(list(values))
    return ops.logsumexp(together, 0)


def _shifted(alpha: Any, by: int) -> Any:
    """The states moved up by some places."""
    width = alpha.shape[1]
    return ops.narrow(ops.pad(alpha, (by, 0), "constant", NEVER), 1, 0, width)


def _infinite(impossible: Any, used: Any) -> Any:
    """inf where a sample is impossible, of gradient NaN by the scores it used, as PyTorch's; 0 where it is possible."""
    nothing = ops.sum(ops.maximum(used, NEVER)) * 0.0
    return -ops.log(ops.where(impossible, nothing, 1.0))


def _negative_likelihoods(
    scores: Any, rows: list[list[int]], frames: list[int], blank: int, zero_infinity: bool
) -> Any:
    labels, skips, exists, width = _tables(rows, blank, scores)
    count = len(rows)
    first = [[0.0 if s < 2 else NEVER for s in range(width)]] * count
    alpha = _engine.as_tensor_data(first, dtype=scores.dtype, device=scores.device) + exists
    kept: list[Any] = []
    for t in range(max(frames, default=0)):
        if t:
            alpha = _log_sum(alpha, _shifted(alpha, 1), _shifted(alpha, 2) + skips)
        alpha = ops.maximum(alpha + ops.gather(ops.select(scores, 0, t), 1, labels), NEVER) + exists
        kept.append(alpha)
    found = []
    nothing = ops.sum(ops.narrow(scores, 0, 0, 0))  # 0, which is made from scores all the same
    for n, (row, length) in enumerate(zip(rows, frames, strict=True)):
        if not length:
            found.append(nothing + (0.0 if not row else math.inf))
            continue
        last = ops.select(kept[length - 1], 0, n)
        ends = ops.narrow(last, 0, max(2 * len(row) - 1, 0), 2 if row else 1)
        total = -ops.logsumexp(ends, 0)
        impossible = ops.gt(total, -NEVER / 2)
        instead = (
            0.0
            if zero_infinity
            else _infinite(impossible, ops.narrow(ops.select(scores, 1, n), 0, 0, length))
        )
        found.append(ops.where(impossible, instead, total))
    return ops.stack(found)


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> Any:
    if reduction not in REDUCTIONS:
        raise errors.ArgumentValueError(
            f"[ctc_loss] reduction: got {reduction!r}, expected one of {', '.join(REDUCTIONS)}."
            " Choose one of them."
        )
    if log_probs.ndim not in (2, 3):
        raise errors.OperationError(
            f"[ctc_loss] log_probs: got {log_probs.ndim} dimensions, expected 3, (T, N, C), or 2."
            " Reshape log_probs."
        )
    alone = log_probs.ndim == 2
    if alone:
        log_probs, input_lengths = ops.unsqueeze(log_probs, 1), ops.reshape(input_lengths, (1,))
        targets, target_lengths = ops.reshape(targets, (1, -1)), ops.reshape(target_lengths, (1,))
    frames, count, classes = log_probs.shape
    if not log_probs.numel():
        raise errors.OperationError(
            f"[ctc_loss] log_probs has no elements: got {tuple(log_probs.shape)}, expected (T, N, C). Give it frames."
        )
    if not 0 <= blank < classes:
        raise errors.OperationError(
            f"[ctc_loss] blank: got {blank}, expected a class from 0 to {classes - 1}."
            " Choose a class of log_probs."
        )
    inputs = _lengths(input_lengths, "input_lengths", count, frames)
    most = targets.shape[1] if targets.ndim == 2 else max(int(targets.numel()), 0)
    lengths = _lengths(target_lengths, "target_lengths", count, most)
    rows = _labels(targets, lengths, classes, blank)
    losses = _negative_likelihoods(log_probs, rows, inputs, blank, zero_infinity)
    if zero_infinity:
        losses = ops.where(ops.isinf(losses), 0.0, losses)
    if reduction == "none":
        return ops.reshape(losses, ()) if alone else losses
    if reduction == "sum":
        return ops.sum(losses)
    sizes = [float(max(length, 1)) for length in lengths]
    return ops.mean(losses / _engine.as_tensor_data(sizes, dtype=losses.dtype, device=losses.device))


def _collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def _ctc_oracle(
    scores: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """By the definition: the sum over all paths that collapse to the labels."""
    found, start = [], 0
    for n, (frames, length) in enumerate(zip(input_lengths.tolist(), target_lengths.tolist(), strict=True)):
        row = targets[n][:length] if targets.ndim == 2 else targets[start : start + length]
        start += length
        wanted = tuple(row.tolist())
        paths = itertools.product(range(scores.shape[2]), repeat=frames)
        likelihood = math.fsum(
            math.exp(math.fsum(scores[t, n, label] for t, label in enumerate(path)))
            for path in paths
            if _collapsed(path, blank) == wanted
        )
        found.append(-math.log(likelihood) if likelihood else 0.0 if zero_infinity else math.inf)
    losses = np.array(found)
    return reduced_loss(losses / np.maximum(target_lengths, 1) if reduction == "mean" else losses, reduction)


def _sequences(draw: Draw) -> Iterable[Sample]:
    rows: list[tuple[int, list[list[int]], list[int], dict[str, Any]]] = [
        (4, [[1, 2], [2, 2]], [4, 4], {}),
        (5, [[1], [2]], [5, 3], {"reduction": "sum"}),
        (4, [[1, 1], [2, 1]], [4, 2], {"reduction": "none"}),
        (3, [[0, 1]], [3], {"blank": 2}),
        (3, [[1, 2, 1], [1, 1, 1]], [3, 3], {"reduction": "none", "zero_infinity": True}),
        (4, [[1, 2], [2, 1]], [3, 4], {"flat": True}),
        (3, [[1, 2], [], [2, 2]], [2, 0, 3], {"flat": True, "reduction": "sum"}),
    ]
    found = []
    for frames, labels, lengths, options in rows:
        raw = draw.array(frames, len(labels), 3).astype(np.float64)
        scores = (raw - np.log(np.exp(raw).sum(-1, keepdims=True))).astype(draw.array(1).dtype)
        flat = options.pop("flat", False)
        targets = np.array([v for row in labels for v in row] if flat else labels, dtype=np.int64)
        sizes = np.array([len(row) for row in labels], dtype=np.int64)
        found.append(sample(scores, targets, np.array(lengths, dtype=np.int64), sizes, **options))
    return found


ctc_loss = op(
    "ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, "
    "reduction: str = 'mean', zero_infinity: bool = False) -> Tensor",
    family=Family("sequence", "", "", "", _sequences, ("float32", "float64"), tolerance="statistics"),
    function=_ctc_loss,
    oracle=_ctc_oracle,
    doc="-log of the likelihood of a label sequence, over all its alignments with the frames (Graves et al. 2006).",
    example="tenora.nn.functional.ctc_loss(tenora.log_softmax(tenora.ones(3, 1, 2), 2), tenora.tensor([[1]]), "
    "tenora.tensor([3]), tenora.tensor([1]))",
    public="nn.functional.ctc_loss",
)
