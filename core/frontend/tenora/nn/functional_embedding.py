"""Embeddings under PyTorch's names: `max_norm` writes into the weight before the look-up, as in PyTorch."""

from __future__ import annotations

import warnings

import tenora_ops
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor, int64

from ..creation_steps import need_tensor


def _bound(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that input names down to `max_norm`, in place and without history."""
    with no_grad():
        places = input.reshape(-1)
        rows = tenora_ops.index_select(weight, 0, places)
        lengths = tenora_ops.norm(rows, norm_type, 1, True)
        scale = tenora_ops.where(lengths > max_norm, max_norm / (lengths + 1e-7), 1.0)
        weight[places] = rows * scale


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (rows, features) that `input` (integers of any shape) names.

    The row `padding_idx` gets no gradient; `scale_grad_by_freq` divides gradients by how often a row is named;
    gradients are dense, whatever `sparse` says. IndexError for a row that is not there.

    >>> import tenora
    >>> embedding(tenora.tensor([0, 1]), tenora.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if max_norm is not None:
        need_tensor("embedding", input)
        _bound(weight, input, max_norm, norm_type)
    if isinstance(weight, Tensor) and weight.ndim != 2:
        raise errors.OperationError(
            f"[embedding] weight: got {tuple(weight.shape)}, expected (rows, features). Pass a matrix."
        )
    if padding_idx is None and not scale_grad_by_freq:
        return tenora_ops.embedding(input, weight)
    return tenora_ops.embedding_rows(
        input, weight, _row(padding_idx, weight, "embedding"), scale_grad_by_freq
    )


def _row(padding_idx: int | None, weight: Tensor, op: str) -> int:
    if padding_idx is None:
        return -1
    if not isinstance(weight, Tensor) or weight.ndim != 2:
        got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise errors.OperationError(
            f"[{op}] weight: got {got}, expected a tensor (rows, features). Pass a matrix."
        )
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise errors.ConditionError(
            f"[{op}] padding_idx: got {padding_idx}, expected {-rows} to {rows - 1}."
            " Pass a row that the table has."
        )
    return padding_idx % rows


def _in_order(input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Indices first, also where an older program passes them last."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        return input, weight
    if weight.dtype != int64 or not input.dtype.is_floating_point:
        return input, weight
    warnings.warn(
        "[embedding_bag] order of arguments: got a floating input and an int64 weight, expected indices, then the "
        "table. They were exchanged; write embedding_bag(input, weight, ...).",
        UserWarning,
        stacklevel=3,
    )
    return weight, input


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows that each bag of indices names; 0 for an empty bag.

    `input` (B, N): every row is a bag; (N): bags start at `offsets` (B), with the end of the last one too where
    `include_last_offset`. `weight` (rows, features); the result (B, features). `per_sample_weights`, of the size of
    `input`, multiply the rows of a sum; `padding_idx` is left out of every bag; rows longer than `max_norm` are
    scaled in `weight` itself. Gradients are dense, whatever `sparse` says.

    A floating `input` and an int64 `weight` are taken for each other, with a warning: the order was another once.

    IndexError for a row that is not there, ValueError for one row of indices without offsets.

    >>> import tenora
    >>> table = tenora.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> embedding_bag(tenora.tensor([0, 2, 1]), table, tenora.tensor([0, 2]), mode="sum").tolist()
    [[6.0, 8.0], [3.0, 4.0]]
    """
    input, weight = _in_order(input, weight)
    if max_norm is not None:
        _bound(weight, input, max_norm, norm_type)
    return tenora_ops.embedding_bag(
        input,
        weight,
        offsets,
        per_sample_weights=per_sample_weights,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=mode,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )


__all__ = ["embedding", "embedding_bag"]
