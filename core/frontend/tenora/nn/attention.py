"""Multi-head attention as a layer."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import functional, init
from .linear import Linear
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes


class NonDynamicallyQuantizableLinear(Linear):
    """The projection of the heads' results; PyTorch gives it a name of its own."""


class MultiheadAttention(Module):
    """Attention of several heads (Vaswani et al. 2017): (L, N, E), or (N, L, E) with `batch_first`, or (L, E).

    Parameters, their names, order and start are PyTorch's. A query whose keys are all masked attends to nothing: its
    output is that of zeros and its weights are zeros, with `need_weights` and without (PyTorch's are NaN with it).

    >>> import tenora
    >>> attention = tenora.nn.MultiheadAttention(8, 2)
    >>> x = tenora.rand(5, 3, 8)
    >>> attention(x, x, x)[0].shape
    tenora.Size([5, 3, 8])
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        need_sizes(self, None, embed_dim=embed_dim, num_heads=num_heads)
        need_sizes(self, kdim=embed_dim if kdim is None else kdim, vdim=embed_dim if vdim is None else vdim)
        if embed_dim <= 0 or num_heads <= 0:
            raise errors.ArgumentValueError(
                f"[MultiheadAttention] sizes: got embed_dim {embed_dim}, num_heads {num_heads}, expected more than 0."
                " Choose positive sizes."
            )
        if embed_dim % num_heads:
            raise errors.ConditionError(
                f"[MultiheadAttention] embed_dim: got {embed_dim}, expected a multiple of num_heads {num_heads}."
                " Change the number of heads."
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        self._separate = (self.kdim, self.vdim) != (embed_dim, embed_dim)

        def learnt(name: str, *shape: int, wanted: bool = True) -> None:
            value = Parameter(creation.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)

        if self._separate:
            learnt("q_proj_weight", embed_dim, embed_dim)
            learnt("k_proj_weight", embed_dim, self.kdim)
            learnt("v_proj_weight", embed_dim, self.vdim)
            learnt("in_proj_weight", wanted=False)
        else:
            learnt("in_proj_weight", 3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                learnt(name, wanted=False)
        learnt("in_proj_bias", 3 * embed_dim, wanted=bias)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        learnt("bias_k", 1, 1, embed_dim, wanted=add_bias_kv)
        learnt("bias_v", 1, 1, embed_dim, wanted=add_bias_kv)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                init.xavier_normal_(row)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result and, with `need_weights`, the weights (None otherwise)."""
        turned = self.batch_first and query.ndim == 3
        if turned:
            same = query is key and key is value
            query = query.transpose(0, 1)
            key, value = (query, query) if same else (key.transpose(0, 1), value.transpose(0, 1))
        result, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=self._separate,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (result.transpose(0, 1) if turned else result), weights
