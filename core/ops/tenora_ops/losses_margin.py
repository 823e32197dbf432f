"""Losses over rows: margins between classes, labels, triplets and pairs. The last dim is the class or the vector."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_ops.formula import count, max_number, ops
from tenora_ops.lazy import np
from tenora_ops.loss import REDUCTIONS, reduce_loss, reduced_loss
from tenora_ops.losses import signs, weighted
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, REALS, Domain, Draw, Sample, sample


def spread(op_name: str, shapes: list[Any]) -> tuple[int, ...]:
    """The shape that broadcasting gives."""
    out: list[int] = []
    for shape in shapes:
        out = [1] * (len(shape) - len(out)) + out
        for i, size in enumerate(reversed(shape), 1):
            if out[-i] != size and size != 1:
                if out[-i] != 1:
                    raise errors.OperationError(
                        f"[{op_name}] shapes do not broadcast: got {[list(s) for s in shapes]}, expected equal sizes "
                        "or 1. Check the operands."
                    )
                out[-i] = size
    return tuple(out)


def rows_left(op_name: str, at: int = -1, vectors: int = 1 << 8, numbers: bool = False) -> Any:
    """The shape rule of a loss with one value per row: `at` is the place of the reduction among the attributes.

    `vectors`: how many of the operands have the dim that is summed over; the others have one value per row. `numbers`:
    a 0-d operand is a vector of one element.
    """

    def rule(operands: Any, attributes: Any) -> tuple[int, ...]:
        shapes = [tuple(o[0]) for o in operands[:vectors] if o is not None]
        whole = spread(op_name, shapes)
        if not whole and not numbers:
            raise errors.OperationError(
                f"[{op_name}] too few dimensions: got 0-d, expected at least 1. Unsqueeze the operands."
            )
        _need_reduction(op_name, attributes[at])
        return whole[:-1] if attributes[at] == "none" else ()

    return rule


def _need_reduction(op_name: str, reduction: object) -> None:
    if reduction not in REDUCTIONS:
        raise errors.ArgumentValueError(
            f"[{op_name}] unknown reduction: got {reduction!r}, expected 'none', 'mean' or 'sum'. "
            "Pass one of these."
        )


def classes_left(op_name: str, per_class: bool) -> Any:
    """The shape rule of a loss of scores (N, C), (C) or of one class, with a target per row or `per_class`."""

    def rule(operands: Any, attributes: Any) -> tuple[int, ...]:
        shape, target = tuple(operands[0][0]), tuple(operands[1][0])
        rows, classes = shape if len(shape) == 2 else (1, math.prod(shape))
        if len(shape) > 2 or not classes:
            raise errors.OperationError(
                f"[{op_name}] input: got shape {list(shape)}, expected (N, C) or (C) with at least one class. "
                "Reshape it."
            )
        wanted = shape if per_class else (rows,)
        if target != wanted and (max(len(wanted), len(target)) > 1 or math.prod(target) != math.prod(wanted)):
            raise errors.OperationError(
                f"[{op_name}] target does not fit: got shape {list(target)} for input {list(shape)}, expected "
                f"{list(wanted)}. Check the batch."
            )
        _need_reduction(op_name, attributes[-1])
        return (rows,) if attributes[-1] == "none" and len(target) > per_class else ()

    return rule


ROWS = Family(
    "rows", "promote_float", "", "plain", lambda draw: weighted(draw), REALS, tolerance="normalised"
)
CLASSES = Family(
    "rows", "float_like_first", "", "plain", lambda draw: weighted(draw), REALS, tolerance="reduction"
)


def _soft_margins(x: Any, y: Any, weight: Any, reduction: str) -> Any:
    losses = -ops.logsigmoid(-x) - y * x
    losses = losses if weight is None else losses * weight
    return reduce_loss(ops.mean(losses, -1), reduction)


def _labels(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, shape in enumerate(((3, 4), (5,), (2, 3, 2), (6, 2), (2, 1, 3, 2), (1, 7))):
        y = draw.mask(*shape).astype(draw.array(1).dtype)
        weight = (np.abs(draw.array(*shape)),) if i % 2 else ()
        found.append(sample(draw.array(*shape), y, *weight, reduction=REDUCTIONS[i % 3]))
    return found


multilabel_soft_margin_loss = op(
    "multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor? = None, *, reduction: str = 'mean') "
    "-> Tensor",
    family=ROWS,
    shape=rows_left("multilabel_soft_margin_loss"),
    samples=_labels,
    composite=_soft_margins,
    oracle=lambda x, y, weight=None, reduction="mean": reduced_loss(
        np.asarray(
            np.mean(
                (y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)) * (1 if weight is None else weight),
                axis=-1,
            )
        ),
        reduction,
    ),
    doc="The mean over classes of -(y log sigmoid(x) + (1 - y) log sigmoid(-x)).",
    example="tenora.nn.functional.multilabel_soft_margin_loss(tenora.zeros(2, 3), tenora.ones(2, 3))",
    public="nn.functional.multilabel_soft_margin_loss",
)


def _places(x: Any) -> Any:
    """0, 1, ... along the last dim."""
    return ops.iota(0, 1, x.shape[x.ndim - 1], device=x.device)


def _multi_margin(x: Any, target: Any, weight: Any, p: Any, margin: Any, reduction: str) -> Any:
    x = ops.reshape(x, (target.numel, count(x, target)))  # (N, C), of one row or one class too
    index = ops.reshape(target, (target.numel, 1))
    over = ops.relu(x - ops.gather(x, -1, index) + margin)
    costs = ops.where(ops.eq(_places(x), index), 0, ops.pow(over, p))
    if weight is not None:
        costs = costs * ops.index(weight, [index])
    return reduce_loss(ops.reshape(ops.mean(costs, -1), target.shape), reduction)


def _multi_oracle(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    out = np.zeros(target.shape)
    for place in np.ndindex(*target.shape):
        y = int(target[place])
        row = [max(0.0, margin - x[place][y] + v) ** p for j, v in enumerate(x[place].tolist()) if j != y]
        out[place] = math.fsum(row) * (1.0 if weight is None else weight[y]) / x.shape[-1]
    return reduced_loss(out, reduction)


def _class_rows(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, (n, c) in enumerate(((4, 3), (2, 5), (6, 2), (1, 4), (3, 3), (5, 4))):
        weight = np.abs(draw.array(c)) if i % 2 else None
        x, y = (draw.array(n, c), draw.indices(c, n)) if i else (draw.array(c), draw.indices(c))
        found.append(sample(x, y, 1 + i % 2, 0.5 + 0.5 * i, weight, reduction=REDUCTIONS[i % 3]))
    return found


multi_margin_loss = op(
    "multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: real = 1.0, weight: Tensor? = None, *, "
    "reduction: str = 'mean') -> Tensor",
    family=CLASSES,
    shape=classes_left("multi_margin_loss", per_class=False),
    samples=_class_rows,
    composite=_multi_margin,
    oracle=_multi_oracle,
    doc="The mean over other classes of max(0, margin - x[target] + x)^p.",
    example="tenora.nn.functional.multi_margin_loss(tenora.zeros(2, 3), tenora.tensor([0, 2]))",
    public="nn.functional.multi_margin_loss",
)


def _multilabel(x: Any, target: Any, reduction: str) -> Any:
    left = target.shape.part(0, -1)  # (N), or () of one row
    rows = left.product()
    x, target = (ops.reshape(t, (rows, x.numel // max_number(rows, 1))) for t in (x, target))
    ended = ops.ne(ops.cumsum(ops.to(ops.lt(target, 0), target.dtype), -1), 0)
    safe = ops.where(ended, 0, target)
    named = ops.scatter_add(ops.zeros_like(target), -1, safe, ops.where(ended, 0, ops.ones_like(target)))
    over = ops.relu(ops.unsqueeze(x, -2) - ops.unsqueeze(ops.gather(x, -1, safe), -1) + 1)
    left_out = ops.bitwise_or(ops.unsqueeze(ended, -1), ops.unsqueeze(ops.ne(named, 0), -2))
    losses = ops.sum(ops.where(left_out, 0, over), (-2, -1)) / x.shape[x.ndim - 1]
    return reduce_loss(ops.reshape(losses, left), reduction)


def _multilabel_oracle(x: Any, target: Any, reduction: str = "mean") -> Any:
    out = np.zeros(x.shape[:-1])
    for place in np.ndindex(*out.shape):
        labels: list[int] = []
        for label in target[place].tolist():
            if label < 0:
                break
            labels.append(label)
        row = x[place].tolist()
        others = [v for i, v in enumerate(row) if i not in labels]
        out[place] = math.fsum(max(0.0, 1 - row[y] + v) for y in labels for v in others) / len(row)
    return reduced_loss(out, reduction)


def _label_lists(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, (n, c) in enumerate(((4, 3), (2, 5), (6, 2), (1, 4), (3, 3), (5, 4))):
        labels = np.array([draw.rng.permutation(c) for _ in range(n)], dtype=np.int64)
        labels[:, 1 + i % 2 :] = np.where(draw.mask(n, max(c - 1 - i % 2, 0)), -1, labels[:, 1 + i % 2 :])
        x, y = (draw.array(n, c), labels) if i else (draw.array(c), labels[0])
        found.append(sample(x, y, reduction=REDUCTIONS[i % 3]))
    return found


multilabel_margin_loss = op(
    "multilabel_margin_loss(input: Tensor, target: Tensor, *, reduction: str = 'mean') -> Tensor",
    family=CLASSES,
    shape=classes_left("multilabel_margin_loss", per_class=True),
    samples=_label_lists,
    composite=_multilabel,
    oracle=_multilabel_oracle,
    doc="The sum over labels (up to the first -1) and other classes of max(0, 1 - x[label] + x[class]), over classes.",
    example="tenora.nn.functional.multilabel_margin_loss(tenora.zeros(1, 3), tenora.tensor([[2, -1, 0]]))",
    public="nn.functional.multilabel_margin_loss",
)


def _cosine_embedding(a: Any, b: Any, y: Any, margin: Any, reduction: str) -> Any:
    squares = (ops.sum(a * a, -1) + 1e-12) * (ops.sum(b * b, -1) + 1e-12)
    cosine = ops.sum(a * b, -1) / ops.sqrt(squares)
    apart = ops.where(ops.eq(y, -1), ops.clamp(cosine - margin, 0, None), 0)
    return reduce_loss(ops.where(ops.eq(y, 1), 1 - cosine, 0) + apart, reduction)


def _cosine_oracle(a: Any, b: Any, y: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    cosine = (a * b).sum(-1) / np.sqrt(((a**2).sum(-1) + 1e-12) * ((b**2).sum(-1) + 1e-12))
    return reduced_loss(np.where(y == 1, 1 - cosine, np.maximum(0, cosine - margin)), reduction)


def _pairs(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, shape in enumerate(((3, 4), (5,), (2, 3), (4, 2), (1, 6), (3, 3))):
        margin = (0.3,) if i % 2 else ()
        found.append(
            sample(
                draw.array(*shape),
                draw.array(*shape),
                signs(draw, *shape[:-1]),
                *margin,
                reduction=REDUCTIONS[i % 3],
            )
        )
    return found


cosine_embedding_loss = op(
    "cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, "
    "reduction: str = 'mean') -> Tensor",
    family=ROWS,
    dtype="loss_cosine",
    shape=rows_left("cosine_embedding_loss", vectors=2),
    samples=_pairs,
    composite=_cosine_embedding,
    labels=("target",),
    oracle=_cosine_oracle,
    doc="1 - cos where the target is 1, max(0, cos - margin) where it is -1.",
    example="tenora.nn.functional.cosine_embedding_loss(tenora.ones(1, 2), tenora.ones(1, 2), tenora.ones(1))",
    public="nn.functional.cosine_embedding_loss",
)


def _triplets(a: Any, b: Any, c: Any, margin: Any, p: Any, eps: Any, swap: bool, reduction: str) -> Any:
    far = ops.norm(a - c + eps, p, -1)
    if swap:
        far = ops.minimum(far, ops.norm(b - c + eps, p, -1))
    return reduce_loss(ops.clamp(ops.norm(a - b + eps, p, -1) - far + margin, 0, None), reduction)


def _triplet_oracle(
    a: Any,
    b: Any,
    c: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    def distance(u: Any, v: Any) -> Any:
        return (np.abs(u - v + eps) ** p).sum(-1) ** (1 / p)

    far = np.minimum(distance(a, c), distance(b, c)) if swap else distance(a, c)
    return reduced_loss(np.maximum(0, margin + distance(a, b) - far), reduction)


def _triples(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, shape in enumerate(((3, 4), (5,), (2, 3, 2), (4, 2), (1, 2, 1, 3), (3, 3))):
        three = [draw.array(*shape) for _ in range(3)]
        options = {"swap": True, "p": 3.0} if i % 2 else {}
        found.append(sample(*three, 0.5 + i, **options, reduction=REDUCTIONS[i % 3]))
    return found


triplet_margin_loss = op(
    "triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, "
    "eps: float = 1e-06, swap: bool = False, *, reduction: str = 'mean') -> Tensor",
    family=ROWS,
    dtype="loss_triplet",
    dtypes=REALS + COMPLEX,
    domain=Domain(-2.0, 2.0),
    shape=rows_left("triplet_margin_loss", numbers=True),
    samples=_triples,
    composite=_triplets,
    oracle=_triplet_oracle,
    doc="max(0, |anchor - positive| - |anchor - negative| + margin) in the p-norm (Balntas et al. 2016).",
    example="tenora.nn.functional.triplet_margin_loss(tenora.ones(1, 2), tenora.ones(1, 2), tenora.zeros(1, 2))",
    public="nn.functional.triplet_margin_loss",
)
