"""Embeddings beyond plain look-up: rows without a gradient, gradients shared by frequency, sums over bags.

- `embedding` itself stands in index.py. A bag is a run of indices; its rows are summed, averaged, or compared.
- Half types are summed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.channel_norm import widened
from tenora_ops.formula import ops
from tenora_ops.index import rows_of
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import FLOATING, REALS, Draw, Sample, sample

ROWS = Family("embedding", "", "", "", lambda draw: lookups(draw), FLOATING, tolerance="exact")


def lookups(draw: Draw) -> Iterable[Sample]:
    shapes: tuple[tuple[int, ...], ...] = ((4,), (2, 3), (), (0,), (2, 1, 2), (1, 2, 1, 2))
    return [
        sample(draw.indices(5, *shape), draw.array(5, 3), 1 + i % 3, i % 2 == 1)
        for i, shape in enumerate(shapes)
    ]


def _row_gradient(g: Any, index: Any, weight: Any, padding_idx: Any, scale_grad_by_freq: bool) -> Any:
    g = ops.where(ops.unsqueeze(ops.ne(index, padding_idx), -1), g, 0)
    if scale_grad_by_freq:
        nothing = ops.zeros((weight.shape[0],), dtype=weight.dtype, device=weight.device)
        counts = ops.index_put(nothing, ops.ones_like(ops.to(index, weight.dtype)), [index], accumulate=True)
        g = g / ops.unsqueeze(ops.index(counts, [index]), -1)
    return ops.index_put(ops.zeros_like(weight), g, [index], accumulate=True)


embedding_rows = op(
    "embedding_rows(input: Tensor, weight: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor",
    family=ROWS,
    composite=lambda index, weight: rows_of(index, weight),
    vjp=lambda g, index, weight, r, padding_idx, scale_grad_by_freq: (
        None,
        _row_gradient(g, index, weight, padding_idx, scale_grad_by_freq),
    ),
    gradient_samples=lambda draw: [sample(*s.arguments[:2], -1, False) for s in lookups(draw)],
    oracle=lambda index, weight, padding_idx, scale_grad_by_freq: np.array(
        [weight[i] for i in index.reshape(-1)], dtype=weight.dtype
    ).reshape(*index.shape, weight.shape[1]),
    doc="embedding whose row padding_idx gets no gradient, and whose rows may share theirs by frequency.",
    example="tenora.nn.functional.embedding(tenora.tensor([0, 2]), tenora.ones(3, 4), padding_idx=0)",
    public="",
)


def _bag_numbers(input: Any, offsets: Any, bags: int) -> Any:
    """The bag of each index."""
    n = input.shape[0]
    starts = ops.zeros((n + 1,), dtype=_engine.int64, device=input.device)
    starts = ops.index_add(starts, 0, offsets, ops.ones_like(offsets))
    return ops.cumsum(starts, -1)[:n] - 1


def _check_bags(
    input: Any, weight: Any, offsets: Any, per_sample_weights: Any, mode: str, padding_idx: int | None
) -> None:
    if mode not in ("sum", "mean", "max"):
        raise errors.ArgumentValueError(
            f"[embedding_bag] mode: got {mode!r}, expected 'sum', 'mean' or 'max'. Choose one of them."
        )
    if per_sample_weights is not None and mode != "sum":
        raise errors.NotImplementedOperationError(
            f"[embedding_bag] per_sample_weights: got mode {mode!r}, expected 'sum'. Multiply the rows yourself."
        )
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise errors.ArgumentValueError(
            f"[embedding_bag] per_sample_weights: got {list(per_sample_weights.shape)}, expected {list(input.shape)} "
            "like input. One weight for each index."
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise errors.OperationError(
            f"[embedding_bag] per_sample_weights: got {per_sample_weights.dtype}, expected {weight.dtype} like weight. "
            "Cast them."
        )
    if weight.ndim != 2:
        raise errors.ArgumentValueError(
            f"[embedding_bag] weight: got {weight.ndim} dimensions, expected 2, (rows, features)."
            " Pass a matrix."
        )
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise errors.OperationError(
            f"[embedding_bag] padding_idx: got {padding_idx}, expected -{rows} to {rows - 1}. Name a row of weight."
        )
    if input.ndim == 2 and offsets is not None:
        raise errors.ArgumentValueError(
            "[embedding_bag] offsets: got offsets with a 2-d input, expected None. Rows are the bags."
        )
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise errors.ArgumentValueError(
            "[embedding_bag] offsets: got none for a 1-d input, expected 1-d offsets of the bags."
            " Pass where each bag begins."
        )
    if input.ndim not in (1, 2):
        raise errors.ArgumentValueError(
            f"[embedding_bag] input: got {input.ndim} dimensions, expected 1 or 2. Reshape it."
        )


def _bags(input: Any, offsets: Any, include_last_offset: bool) -> tuple[Any, Any, int]:
    """Flat indices, the start of every bag, how many bags."""
    if input.ndim == 2:
        count, length = input.shape
        starts = ops.arange(0, count, 1, dtype=_engine.int64, device=input.device) * length
        return ops.reshape(input, (-1,)) if input.numel() else ops.reshape(input, (0,)), starts, count
    offsets = ops.to(offsets, _engine.int64)
    count = offsets.shape[0] - bool(include_last_offset)
    first = int(ops.select(offsets, 0, 0).item()) if offsets.shape[0] else 0
    last = int(ops.select(offsets, 0, -1).item()) if offsets.shape[0] else 0
    if first != 0:
        raise errors.OperationError(
            f"[embedding_bag] offsets: got {first} first, expected 0. The first bag starts there."
        )
    if last > input.shape[0]:
        raise errors.OperationError(
            f"[embedding_bag] offsets: got {last} last, expected at most {input.shape[0]}, the number of indices."
            " Let offsets end inside the input."
        )
    if include_last_offset and offsets.shape[0]:  # what stands behind the last bag counts for nothing
        input = ops.narrow(input, 0, 0, max(last, 0))
    return input, ops.narrow(offsets, 0, 0, count), count


def _largest(rows: Any, bag: Any, kept: Any, count: int) -> Any:
    found = []
    for number in range(count):
        chosen = ops.reshape(ops.nonzero(ops.bitwise_and(ops.eq(bag, number), kept)), (-1,))
        some = ops.index_select(rows, 0, chosen)
        found.append(ops.max_dim(some, 0)[0] if chosen.shape[0] else ops.sum(some, 0))
    return ops.stack(found) if found else ops.narrow(rows, 0, 0, 0)


def _rows(index: Any, weight: Any, padding: int, scale_grad_by_freq: bool) -> Any:
    if padding < 0 and not scale_grad_by_freq:
        return ops.embedding(index, weight)
    return ops.embedding_rows(index, weight, padding, scale_grad_by_freq)


def _equal_bags(rows: Any, kept: Any, factors: Any, mode: str) -> Any:
    """Bags of one length, (count, length, features), without their numbers; kept is None where all are."""
    if mode == "max":
        return ops.max_dim(rows, 1)[0]  # its gradient goes to the first of equal rows
    if factors is not None:
        rows = rows * ops.unsqueeze(factors, -1)
    if kept is not None:
        rows = ops.where(ops.unsqueeze(kept, -1), rows, 0)
    total = ops.sum(rows, 1)
    if mode == "sum":
        return total
    if kept is None:
        return total / rows.shape[1]
    return total / ops.maximum(ops.sum(ops.to(kept, rows.dtype), 1, True), 1)


def _embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any,
    per_sample_weights: Any,
    scale_grad_by_freq: bool,
    mode: str,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    _check_bags(input, weight, offsets, per_sample_weights, mode, padding_idx)
    if mode == "max" and scale_grad_by_freq:
        raise errors.ArgumentValueError(
            "[embedding_bag] scale_grad_by_freq: got True with mode 'max', expected False. Use 'sum' or 'mean'."
        )
    flat, starts, count = _bags(ops.to(input, _engine.int64), offsets, include_last_offset)
    padding = -1 if padding_idx is None else padding_idx % max(weight.shape[0], 1)
    wide, factors = widened(weight, per_sample_weights)
    if input.ndim == 2 and input.numel() and (mode != "max" or padding_idx is None):
        index = ops.reshape(flat, input.shape)
        some = None if padding_idx is None else ops.ne(index, padding)
        bags = _equal_bags(_rows(index, wide, padding, scale_grad_by_freq), some, factors, mode)
        return ops.to(bags, weight.dtype)
    rows = _rows(flat, wide, padding, scale_grad_by_freq)
    bag, kept = _bag_numbers(flat, starts, count), ops.ne(flat, padding)
    if mode == "max":
        return ops.to(_largest(rows, bag, kept, count), weight.dtype)
    if factors is not None:
        rows = rows * ops.unsqueeze(ops.narrow(ops.reshape(factors, (-1,)), 0, 0, flat.shape[0]), -1)
    if padding_idx is not None:
        rows = ops.where(ops.unsqueeze(kept, -1), rows, 0)
    nothing = ops.zeros((count, weight.shape[1]), dtype=rows.dtype, device=rows.device)
    total = ops.index_put(nothing, rows, [bag], accumulate=True)
    if mode == "mean":
        ones = ops.to(kept, rows.dtype)
        sizes = ops.index_add(ops.zeros((count,), dtype=rows.dtype, device=rows.device), 0, bag, ones)
        total = total / ops.unsqueeze(ops.maximum(sizes, 1), -1)
    return ops.to(total, weight.dtype)


def _bag_samples(draw: Draw) -> Iterable[Sample]:
    starts = np.array([0, 2, 2, 5])
    weights = np.abs(draw.array(7))
    return [
        sample(draw.indices(5, 3, 4), draw.array(5, 2), mode="sum"),
        sample(draw.indices(5, 7), draw.array(5, 2), starts, mode="mean"),
        sample(draw.indices(5, 7), draw.array(5, 2), starts, mode="max"),
        sample(draw.indices(5, 7), draw.array(5, 2), starts, mode="sum", per_sample_weights=weights),
        sample(
            draw.indices(5, 7), draw.array(5, 3), np.array([0, 3, 7]), mode="mean", include_last_offset=True
        ),
        sample(draw.indices(5, 2, 3), draw.array(5, 2), mode="mean", padding_idx=1),
    ]


def _bag_oracle(
    index: Any,
    weight: Any,
    offsets: Any = None,
    mode: str = "mean",
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    if offsets is None:
        groups = [list(row) for row in index]
    else:
        ends = [*offsets[1:], *([] if include_last_offset else [len(index)])]
        groups = [list(index[a:b]) for a, b in zip(offsets, ends, strict=False)]
    found, place = [], 0
    for group in groups:
        rows = [
            weight[i] * (1 if per_sample_weights is None else per_sample_weights[place + k])
            for k, i in enumerate(group)
            if i != padding_idx
        ]
        place += len(group)
        together: Any = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
        found.append(together(rows, axis=0) if rows else np.zeros(weight.shape[1]))
    return np.array(found)


embedding_bag = op(
    "embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor? = None, *, per_sample_weights: Tensor? = None, "
    "scale_grad_by_freq: bool = False, mode: str = 'mean', include_last_offset: bool = False, "
    "padding_idx: int? = None) -> Tensor",
    family=Family("embedding", "", "", "", _bag_samples, REALS, tolerance="reduction"),
    function=_embedding_bag,
    oracle=_bag_oracle,
    doc="Sums, means or maxima of the rows of weight that a bag of indices names; 0 for an empty bag.",
    example="tenora.nn.functional.embedding_bag(tenora.tensor([[0, 2]]), tenora.ones(3, 4))",
    public="nn.functional.embedding_bag",
)
