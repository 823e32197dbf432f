"""Similarity and distance of vectors as modules, and the bilinear layer."""

from __future__ import annotations

import math
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes


class CosineSimilarity(Module):
    """x1 . x2 / (max(|x1|, `eps`) max(|x2|, `eps`)) along `dim`.

    The inputs broadcast; the result has their shape without `dim`. RuntimeError for shapes that do not broadcast.

    >>> import tenora
    >>> tenora.nn.CosineSimilarity()(tenora.tensor([[3.0, 4.0]]), tenora.tensor([[4.0, 3.0]])).shape
    tenora.Size([1])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The similarity of `x1` and `x2`, which broadcast."""
        return tenora_ops.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The `p`-norm of x1 - x2 + `eps` along the last dim.

    Inputs (N, D) or (D), which broadcast; the result (N) or (), with a last dim of 1 where `keepdim`.

    >>> import tenora
    >>> round(tenora.nn.PairwiseDistance()(tenora.tensor([[3.0, 4.0]]), tenora.zeros(1, 2)).item(), 4)
    5.0
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distance of `x1` and `x2`, which broadcast."""
        return tenora_ops.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Bilinear(Module):
    """x1^T A x2 + b, one matrix A for each output.

    Shapes: inputs (*, in1_features) and (*, in2_features), weight (out_features, in1_features, in2_features), output
    (*, out_features). All start uniform in [-1/sqrt(in1_features), 1/sqrt(in1_features)].

    ValueError unless `in1_features` is positive.

    >>> import tenora
    >>> tenora.nn.Bilinear(3, 4, 2)(tenora.zeros(5, 3), tenora.zeros(5, 4)).shape
    tenora.Size([5, 2])
    """

    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        need_sizes(self, in2_features=in2_features, out_features=out_features)
        need_sizes(self, None, in1_features=in1_features)
        if in1_features <= 0:
            raise errors.ArgumentValueError(
                f"[Bilinear] in1_features: got {in1_features}, expected more than 0. Choose a positive size."
            )
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(creation.empty(shape, device=device, dtype=dtype))
        value = Parameter(creation.empty((out_features,), device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew.

        >>> import tenora
        >>> layer = tenora.nn.Bilinear(4, 3, 2)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Applies the layer to the last dims of both inputs."""
        return tenora_ops.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
