"""Multi-head attention as one function (Vaswani et al. 2017): projections, heads, masks, weights.

- Inside, heads are (N, H, L, D); every mask becomes an additive one that broadcasts to (N, H, L, S).
- A query that may look at nothing gets 0 (in PyTorch NaN where weights are asked for).
"""

from __future__ import annotations

import math

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_engine import bool as boolean

OP = "multi_head_attention_forward"


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The three inputs through their projections; one matrix product where all are the same tensor."""
    size = query.shape[-1]
    if separate is None and query is key and key is value:
        both = tenora_ops.linear(query, weight, bias)
        first, second, third = (tenora_ops.narrow(both, -1, i * size, size) for i in range(3))
        return first, second, third
    parts: list[Tensor] = []
    for i, x in enumerate((query, key, value)):
        part = tenora_ops.narrow(weight, 0, i * size, size) if separate is None else separate[i]
        shift = None if bias is None else tenora_ops.narrow(bias, 0, i * size, size)
        parts.append(tenora_ops.linear(x, part, shift))
    return parts[0], parts[1], parts[2]


def _additive(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A boolean mask says True where nothing may be looked at."""
    if mask is None:
        return None
    if mask.dtype == boolean:
        return tenora_ops.masked_fill(tenora_ops.zeros_like(mask, dtype=like.dtype), mask, -math.inf)
    if not mask.dtype.is_floating_point:
        raise errors.OperationError(
            f"[{OP}] {name}: got {mask.dtype}, expected bool or a floating dtype. Cast the mask."
        )
    return mask.to(like.dtype)


def _masks(
    attn_mask: Tensor | None,
    padding: Tensor | None,
    like: Tensor,
    sizes: tuple[int, int, int, int],
    more: int,
) -> Tensor | None:
    """Both masks as one (N or 1, H or 1, L or 1, S); `more` keys at the end are always seen."""
    n, heads, length, keys = sizes
    merged = None
    mask = _additive(attn_mask, "attn_mask", like)
    if mask is not None:
        if tuple(mask.shape) not in ((length, keys), (n * heads, length, keys)):
            raise errors.OperationError(
                f"[{OP}] attn_mask: got {list(mask.shape)}, expected {[length, keys]} or {[n * heads, length, keys]}."
                " Reshape or expand the mask."
            )
        merged = mask.reshape((1, 1, length, keys) if mask.ndim == 2 else (n, heads, length, keys))
    pad = _additive(padding, "key_padding_mask", like)
    if pad is not None:
        if tuple(pad.shape) != (n, keys):
            raise errors.OperationError(
                f"[{OP}] key_padding_mask: got {list(pad.shape)}, expected {[n, keys]}. Reshape the mask."
            )
        pad = pad.reshape((n, 1, 1, keys))
        merged = pad if merged is None else merged + pad
    return merged if merged is None or not more else tenora_ops.pad(merged, (0, more))


def _headed(x: Tensor, heads: int) -> Tensor:
    """(L, N, E) as (N, H, L, D)."""
    length, n, size = x.shape
    return x.reshape((length, n, heads, size // heads)).permute(1, 2, 0, 3)


def _given(static: Tensor | None, x: Tensor, heads: int, n: int) -> Tensor:
    """Keys or values by heads, computed or given as (N * H, S, D)."""
    if static is None:
        return _headed(x, heads)
    return static.reshape((n, heads, *static.shape[1:]))


def _with_batch(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The operands as (L, N, E) and (N, S); one tensor given three times stays one."""
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        ranks = (query.ndim, key.ndim, value.ndim)
        raise errors.ConditionError(
            f"[{OP}] dimensions: got {ranks}, expected three times 3, (L, N, E), or 2, (L, E)."
            " Reshape query, key and value alike."
        )
    if query.ndim == 3:
        return query, key, value, key_padding_mask
    mask = None if key_padding_mask is None else tenora_ops.unsqueeze(key_padding_mask, 0)
    first = tenora_ops.unsqueeze(query, 1)
    if query is key and key is value:
        return first, first, first, mask
    return first, tenora_ops.unsqueeze(key, 1), tenora_ops.unsqueeze(value, 1), mask


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads over (L, N, E) or (L, E); the result and, if asked for, the weights.

    `query` (L, N, E), `key` and `value` (S, N, ...), all three without N for one sample; `in_proj_weight` (3 E, E) and
    `in_proj_bias` (3 E), or three weights with `use_separate_proj_weight`; `out_proj_weight` (E, E). The result has the
    shape of `query`. `attn_mask` (L, S) or (N H, L, S), `key_padding_mask` (N, S): boolean masks are True where a query
    may not look, floating ones are added to the scores. Weights are (N, L, S), averaged over heads, or (N, H, L, S).
    Formula: Vaswani et al. 2017. RuntimeError for sizes that do not fit, AssertionError for other numbers of dimensions
    and for an E that is not `embed_dim_to_check` or no multiple of `num_heads`.

    >>> import tenora
    >>> x, eye = tenora.eye(2).unsqueeze(1), tenora.eye(2)  # (L, N, E) = (2, 1, 2)
    >>> first_only = tenora.tensor([[False, True], [False, True]])
    >>> out, weights = multi_head_attention_forward(
    ...     x, x, x, 2, 1, tenora.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None, attn_mask=first_only
    ... )
    >>> out.shape, weights.tolist()
    (tenora.Size([2, 1, 2]), [[[1.0, 0.0], [1.0, 0.0]]])
    """
    alone = query.ndim == 2
    query, key, value, key_padding_mask = _with_batch(query, key, value, key_padding_mask)
    length, n, size = query.shape
    if size != embed_dim_to_check or size % num_heads:
        raise errors.ConditionError(
            f"[{OP}] embedding: got {size} for {num_heads} heads, expected {embed_dim_to_check}, a multiple."
            " Change the number of heads."
        )
    if is_causal and attn_mask is None:
        raise errors.OperationError(
            f"[{OP}] is_causal is a hint about attn_mask: got no mask, expected one. Pass it too."
        )
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, separate, in_proj_bias)
    more = 0
    if bias_k is not None and bias_v is not None:
        k = tenora_ops.cat([k, bias_k.expand(1, n, size)])
        v = tenora_ops.cat([v, bias_v.expand(1, n, size)])
        more += 1
    q, k, v = _headed(q, num_heads), _given(static_k, k, num_heads, n), _given(static_v, v, num_heads, n)
    if add_zero_attn:
        k, v = tenora_ops.pad(k, (0, 0, 0, 1)), tenora_ops.pad(v, (0, 0, 0, 1))
        more += 1
    mask = _masks(attn_mask, key_padding_mask, q, (n, num_heads, length, k.shape[2] - more), more)
    weights = tenora_ops.attention_weights(q, k, mask, 1 / math.sqrt(size // num_heads))
    if training and dropout_p > 0:
        weights = tenora_ops.dropout(weights, dropout_p, True)
    out = (weights @ v).permute(2, 0, 1, 3).reshape((length, n, size))
    out = tenora_ops.linear(out, out_proj_weight, out_proj_bias)
    shown = (tenora_ops.mean(weights, 1) if average_attn_weights else weights) if need_weights else None
    if alone:
        out = tenora_ops.squeeze(out, 1)
        shown = None if shown is None else tenora_ops.squeeze(shown, 0)
    return out, shown


__all__ = ["multi_head_attention_forward"]
