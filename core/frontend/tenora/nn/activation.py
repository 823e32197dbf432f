"""Activation functions as modules."""

from __future__ import annotations

import tenora_ops
from tenora_engine import Tensor

from . import functional
from .module import Module


class ReLU(Module):
    """`max(x, 0)`, element by element; `inplace=True` writes into the input.

    Any shape and real dtype but bool, the result the same.

    >>> import tenora
    >>> tenora.nn.ReLU()(tenora.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return input.relu_() if self.inplace else tenora_ops.relu(input)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`, element by element.

    Any shape, the result the same; whole numbers give the default floating dtype.

    >>> import tenora
    >>> tenora.nn.Sigmoid()(tenora.tensor([-1.0, 0.0]))
    tensor([0.2689, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent, element by element.

    Any shape, the result the same; whole numbers give the default floating dtype.

    >>> import tenora
    >>> tenora.nn.Tanh()(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.tanh(input)


class GELU(Module):
    """`x * Phi(x)` with the normal distribution function, or its `tanh` approximation (Hendrycks and Gimpel 2016).

    Any shape and a floating dtype, the result the same. NotImplementedError for other dtypes.

    >>> import tenora
    >>> tenora.nn.GELU()(tenora.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """`exp(x) / sum(exp(x))` along `dim`; without one, `functional.softmax` chooses it and warns.

    Any shape and a floating dtype, the result the same. IndexError for a `dim` that is not there.

    >>> import tenora
    >>> tenora.nn.Softmax(dim=1)(tenora.zeros(1, 4)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        if self.dim is None:
            return functional.softmax(input, None, 4)
        return tenora_ops.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """`log(softmax(x))` along `dim`, computed without overflow; without one as `Softmax`.

    Any shape and a floating dtype, the result the same. IndexError for a `dim` that is not there.

    >>> import tenora
    >>> tenora.nn.LogSoftmax(dim=0)(tenora.tensor([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        if self.dim is None:
            return functional.log_softmax(input, None, 4)
        return tenora_ops.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"
