"""Scaled dot-product attention (Vaswani et al. 2017).

- `attend` is the mathematics on prepared operands, an op with rules: a backend may bring a fused kernel.
- `scaled_dot_product_attention` prepares: boolean and causal masks become additive ones, grouped heads are repeated,
  dropout falls on the weights.
- A row whose scores are all -inf attends to nothing: its result is 0, and so is its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_rank
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.losses_margin import spread
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Domain, Draw, Sample, sample


def _attended(operands: Any, attributes: Any) -> tuple[int, ...]:
    """The shape rule: (..., L, E), (..., S, E), (..., S, V) -> (..., L, V)."""
    query, key, value = (tuple(o[0]) for o in operands[:3])
    if min(len(query), len(key), len(value)) < 2:
        raise errors.OperationError(
            f"[scaled_dot_product_attention] too few dimensions: got {list(query)}, {list(key)} and {list(value)}, "
            "expected at least 2 each, (..., L, E). Unsqueeze them."
        )
    if query[-1] != key[-1] or key[-2] != value[-2]:
        raise errors.OperationError(
            f"[scaled_dot_product_attention] shapes do not fit: got query {list(query)}, key {list(key)} and value "
            f"{list(value)}, expected (..., L, E), (..., S, E) and (..., S, V). Check the heads' sizes."
        )
    batch = spread("scaled_dot_product_attention", [query[:-2], key[:-2], value[:-2]])
    if operands[3] is not None:
        mask = tuple(operands[3][0])
        whole = spread("scaled_dot_product_attention", [(*batch, query[-2], key[-2]), mask])
        if whole != (*batch, query[-2], key[-2]):
            raise errors.OperationError(
                f"[scaled_dot_product_attention] attn_mask does not fit: got {list(mask)}, expected something that "
                f"broadcasts to {[*batch, query[-2], key[-2]]}. Check its dimensions."
            )
    return (*batch, query[-2], value[-1])


def _weights(query: Any, key: Any, mask: Any, scale: Any) -> Any:
    scores = ops.matmul(query * scale, ops.transpose(key, -2, -1))
    if mask is None:
        return ops.softmax(scores, -1)
    scores = scores + mask
    nothing = ops.eq(ops.amax(scores, -1, True), -math.inf)
    return ops.where(nothing, 0, ops.softmax(ops.where(nothing, 0, scores), -1))


def _attention_oracle(query: Any, key: Any, value: Any, mask: Any = None, scale: float | None = None) -> Any:
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.einsum("...le,...se->...ls", query, key) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        weights = np.nan_to_num(powers / powers.sum(axis=-1, keepdims=True))
    return np.einsum("...ls,...sv->...lv", weights, value)


def _prepared(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, s in enumerate(attentions(draw)):
        query, key, value, *_ = s.arguments
        mask = draw.array(query.shape[-2], key.shape[-2]) if i % 2 else None
        found.append(sample(query, key, value, mask, 0.3 + 0.1 * i))
    return found


def attentions(draw: Draw) -> Iterable[Sample]:
    """Query, key and value of 2 to 5 dimensions, some of which broadcast."""
    rows = (
        ((3, 4), (5, 4), (5, 2)),
        ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
        ((1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3)),
        ((2, 1, 2, 2), (2, 1, 3, 2), (2, 1, 3, 2)),
        ((1, 1, 2, 1, 2), (1, 1, 2, 2, 2), (1, 1, 2, 2, 1)),
        ((1, 1, 3), (1, 2, 3), (1, 2, 3)),
    )
    return [sample(*[draw.array(*shape) for shape in three]) for three in rows]


ATTENTION = Family(
    "attention", "float_same", "", "plain", _prepared, REALS, Domain(-2.0, 2.0), tolerance="statistics"
)

attend = op(
    "attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor?, scale: float) -> Tensor",
    family=ATTENTION,
    shape=_attended,
    composite=lambda query, key, value, mask, scale: ops.matmul(_weights(query, key, mask, scale), value),
    oracle=_attention_oracle,
    doc="softmax(scale query key^T + mask) value.",
    example="tenora.nn.functional.scaled_dot_product_attention(*[tenora.ones(2, 3)] * 3)",
    public="",
)


def _causal(query: Any, key: Any) -> Any:
    """True where a query may look: at its own place and before."""
    rows = ops.arange(0, query.shape[-2], 1, dtype=_engine.int64, device=query.device)
    columns = ops.arange(0, key.shape[-2], 1, dtype=_engine.int64, device=query.device)
    return ops.ge(ops.unsqueeze(rows, -1), columns)


def _additive(mask: Any, query: Any) -> Any:
    if mask is None:
        return None
    if mask.dtype == _engine.bool:
        nothing = ops.full((), -math.inf, dtype=query.dtype, device=query.device)
        return ops.where(mask, ops.zeros_like(nothing), nothing)
    if mask.dtype != query.dtype:
        raise errors.OperationError(
            f"[scaled_dot_product_attention] dtype of attn_mask: got {mask.dtype}, expected bool or {query.dtype} "
            "like query. Cast it with .to(...)."
        )
    return mask


def _repeated(x: Any, times: int) -> Any:
    """Every head (dim -3) `times` times in a row."""
    shape = tuple(x.shape)
    wide = ops.expand(ops.unsqueeze(x, -3), (*shape[:-2], times, *shape[-2:]))
    return ops.reshape(wide, (*shape[:-3], shape[-3] * times, *shape[-2:]))


def _grouped(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise errors.OperationError(
            f"[scaled_dot_product_attention] enable_gqa needs heads: got {query.ndim}-d, expected (..., H, L, E). "
            "Unsqueeze the operands."
        )
    heads = query.shape[-3]
    for name, x in (("key", key), ("value", value)):
        if not x.shape[-3] or heads % x.shape[-3]:
            raise errors.OperationError(
                f"[scaled_dot_product_attention] {name} heads do not fit: got {x.shape[-3]} for {heads} of query, "
                "expected a divisor. Check the numbers of heads."
            )
    return _repeated(key, heads // key.shape[-3]), _repeated(value, heads // value.shape[-3])


def _lying_as(query: Any, found: Any) -> Any:
    """As in PyTorch: heads beside positions where the query's are, so that `transpose(1, 2).view(...)` joins them."""
    if query.ndim != 4 or query.stride(1) >= query.stride(2) or found.ndim != 4:
        return found
    return ops.transpose(ops.contiguous(ops.transpose(found, 1, 2)), 1, 2)


def _scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    for operand in (query, key, value):
        need_rank("scaled_dot_product_attention", operand, 2)
    if is_causal and attn_mask is not None:
        raise errors.OperationError(
            "[scaled_dot_product_attention] two masks: got attn_mask and is_causal=True, expected one of them. "
            "Put the causal part into attn_mask."
        )
    if not 0.0 <= dropout_p <= 1.0:
        raise errors.ArgumentValueError(
            f"[scaled_dot_product_attention] dropout_p: got {dropout_p}, expected 0 to 1."
            " Choose how often to drop."
        )
    if enable_gqa:
        key, value = _grouped(query, key, value)
    mask = _additive(_causal(query, key) if is_causal else attn_mask, query)
    factor = 1.0 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    if not dropout_p:
        return _lying_as(query, ops.attend(query, key, value, mask, factor))
    kept = ops.attention_weights(query, key, mask, factor)
    return ops.matmul(ops.dropout(kept, dropout_p, True), value)


def _weights_shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    query, key = operands[0], operands[1]
    whole = _attended((query, key, key, operands[2]), attributes)
    return (*whole[:-1], key[0][-2])


def _weights_oracle(query: Any, key: Any, mask: Any, scale: float) -> Any:
    return _attention_oracle(query, key, np.eye(key.shape[-2]), mask, scale)


attention_weights = op(
    "attention_weights(query: Tensor, key: Tensor, mask: Tensor?, scale: float) -> Tensor",
    family=ATTENTION,
    shape=_weights_shape,
    samples=lambda draw: [sample(*s.arguments[:2], *s.arguments[3:]) for s in _prepared(draw)],
    composite=_weights,
    oracle=_weights_oracle,
    doc="softmax(scale query key^T + mask), 0 in rows where nothing may be looked at.",
    example="tenora.nn.functional.scaled_dot_product_attention(*[tenora.ones(2, 3)] * 3, dropout_p=0.5)",
    public="",
)


def _public(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, s in enumerate(attentions(draw)):
        query, key, _ = s.arguments
        size = (query.shape[-2], key.shape[-2])
        mask = None if i % 3 == 0 else draw.array(*size) if i % 3 == 1 else draw.mask(*size)
        options = {"scale": 0.7} if i % 2 else {}
        found.append(sample(*s.arguments, mask, **options))
    square = [draw.array(2, 3, 4, 2) for _ in range(3)]
    few = [draw.array(1, 4, 2, 3), draw.array(1, 2, 3, 3), draw.array(1, 2, 3, 2)]
    return [*found, sample(*square, is_causal=True), sample(*few, enable_gqa=True)]


def _public_oracle(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if is_causal:
        attn_mask = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    if enable_gqa:
        key, value = (np.repeat(x, query.shape[-3] // x.shape[-3], axis=-3) for x in (key, value))
    return _attention_oracle(query, key, value, attn_mask, scale)


scaled_dot_product_attention = op(
    "scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor? = None, "
    "dropout_p: float = 0.0, is_causal: bool = False, *, scale: float? = None, enable_gqa: bool = False) -> Tensor",
    family=Family("attention", "", "", "", _public, REALS, Domain(-2.0, 2.0), tolerance="statistics"),
    function=_scaled_dot_product_attention,
    oracle=_public_oracle,
    doc="softmax(scale query key^T + mask) value, scale 1 / sqrt(E) unless given; masks, causal, grouped heads.",
    example="tenora.nn.functional.scaled_dot_product_attention(*[tenora.ones(2, 3)] * 3, is_causal=True)",
    public="nn.functional.scaled_dot_product_attention",
)
