"""Fully connected layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes


class Identity(Module):
    """Returns its input; takes and ignores any arguments.

    Any shape and dtype.

    >>> import tenora
    >>> tenora.nn.Identity(54)(tenora.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """`input` itself."""
        return input


class Linear(Module):
    """`y = x A^T + b`.

    Shapes: input `(*, in_features)`, weight `(out_features, in_features)`, bias `(out_features,)`, output
    `(*, out_features)`. Both start uniform in `[-1/sqrt(in_features), 1/sqrt(in_features)]`, as in PyTorch.

    RuntimeError for another last size than `in_features`.

    >>> import tenora
    >>> tenora.nn.Linear(20, 30)(tenora.zeros(128, 20)).shape
    tenora.Size([128, 30])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        need_sizes(self, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(creation.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias: Parameter | None = Parameter(
                creation.empty((out_features,), device=device, dtype=dtype)
            )
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew.

        >>> import tenora
        >>> layer = tenora.nn.Linear(4, 3)
        >>> layer.reset_parameters()
        >>> bool(layer.weight.abs().max() <= 0.5)
        True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Applies the layer to the last dimension of `input`."""
        return tenora_ops.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Flattens dimensions `start_dim` to `end_dim` into one.

    (N, d1, d2, ...) to (N, d1 d2 ...) by default. IndexError for a dim that is not there.

    >>> import tenora
    >>> tenora.nn.Flatten()(tenora.zeros(5, 2, 3)).shape
    tenora.Size([5, 6])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`input.flatten(start_dim, end_dim)`."""
        return tenora_ops.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into several, of sizes `unflattened_size`; one of them may be -1.

    (N, a b) to (N, a, b) for `Unflatten(1, (a, b))`. RuntimeError for sizes that do not multiply to that of `dim`,
    TypeError for what is no whole number.

    >>> import tenora
    >>> tenora.nn.Unflatten(1, (2, 3))(tenora.zeros(5, 6)).shape
    tenora.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        sizes = unflattened_size if isinstance(unflattened_size, Sequence) else (None,)
        if not isinstance(dim, int) or not all(isinstance(size, int) for size in sizes):
            raise errors.ArgumentTypeError(
                f"[Unflatten] dim and unflattened_size: got {dim!r} and {unflattened_size!r}, expected a whole number "
                "and a sequence of them: tensors have no names of dims. Pass the number of the dim."
            )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """`input.unflatten(dim, unflattened_size)`."""
        return tenora_ops.unflatten(input, self.dim, tuple(self.unflattened_size))

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
