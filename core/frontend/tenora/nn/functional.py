"""Functions behind the layers, under PyTorch's names.

- Where the op's own signature is PyTorch's, the function is the op itself: all records that are public in
  `nn.functional` are here.
- Where PyTorch takes more (`inplace`, buffers that are written, choices by a target's dtype), a `functional_*` file has
  a Python function over the ops, which goes before the op of its name.
"""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_ops import gelu, layer_norm, sigmoid, softplus, tanh

from .functional_activation import (
    celu,
    celu_,
    elu,
    elu_,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    mish,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    silu,
    softmax,
    softmin,
    softshrink,
    threshold,
    threshold_,
)
from .functional_attention import multi_head_attention_forward
from .functional_dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from .functional_embedding import (
    embedding,
    embedding_bag,
)
from .functional_linear import linear_cross_entropy
from .functional_loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    multi_margin_loss,
    nll_loss,
    smooth_l1_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .functional_loss_older import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
)
from .functional_padding import pad
from .functional_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)

globals().update(
    {name: f for name, f in tenora_ops.loaded_functions("nn.functional").items() if name not in globals()}
)


def _plus(product: Tensor, bias: Tensor) -> Tensor:
    """The sum, of the product's shape; one row beside a vector is that vector, as in PyTorch."""
    if product.ndim == 1 and bias.ndim == 2 and bias.shape[0] == 1:
        bias = bias[0]
    sizes = [1] * (product.ndim - bias.ndim) + list(bias.shape)
    if len(sizes) > product.ndim or any(s not in (1, p) for s, p in zip(sizes, product.shape, strict=True)):
        raise errors.OperationError(
            f"[linear] bias does not fit: got {list(bias.shape)}, expected [out_features] or what broadcasts to "
            f"{list(product.shape)}. Check out_features."
        )
    if bias.dtype != product.dtype:
        raise errors.OperationError(
            f"[linear] operands have different dtypes: got {product.dtype} and {bias.dtype}, expected one dtype. "
            "Cast one of them with .to(...)."
        )
    return tenora_ops.add(product, bias)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight^T + bias`.

    `input` (..., in); `weight` (out, in), or (in) for one output without a dimension of its own; `bias` (out) or one
    number, or more dimensions that broadcast to the result.

    The result is (..., out). RuntimeError for another last size or bias, and for operands of different dtypes.

    >>> import tenora
    >>> linear(tenora.ones(2, 3), tenora.ones(4, 3)).shape
    tenora.Size([2, 4])
    """
    if isinstance(weight, Tensor) and weight.ndim == 1:
        return tenora_ops.linear(input, weight.unsqueeze(0), bias).squeeze(-1)
    if isinstance(bias, Tensor) and bias.ndim > 1:
        return _plus(tenora_ops.linear(input, weight), bias)
    return tenora_ops.linear(input, weight, bias)


def __getattr__(name: str) -> Any:
    """A function of a family that is loaded later."""
    if (function := tenora_ops.public_function(f"nn.functional.{name}")) is not None:
        return globals().setdefault(name, function)
    raise errors.MissingAttributeError(
        f"[nn.functional] attribute: got {name!r}, expected a function that tenora has. Check the spelling."
        + errors.did_you_mean(name, __dir__()),
        name=name,
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *tenora_ops.later.function_names("nn.functional.")})


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "gaussian_nll_loss",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "log_softmax",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pad",
    "poisson_nll_loss",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "tanh",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
# Above is what this file imports, in the one form that type checkers read; the ops are named by their records.
__all__ += sorted(
    {
        *tenora_ops.loaded_functions("nn.functional"),
        *tenora_ops.later.function_names("nn.functional."),
    }.difference(__all__)
)
