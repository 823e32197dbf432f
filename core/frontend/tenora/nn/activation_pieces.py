"""Activation functions as modules: those made of pieces, and softmin, softplus and gates."""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import functional, init
from .module import Module
from .parameter import Parameter


class _Inplace(Module):
    """An activation that may write into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return "inplace=True" if self.inplace else ""

    def _and_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


class LeakyReLU(_Inplace):
    """x where positive, `negative_slope` x elsewhere (Maas et al. 2013)."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"negative_slope={self.negative_slope}")


class _WithAlpha(_Inplace):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"alpha={self.alpha}")


class ELU(_WithAlpha):
    """x where positive, `alpha` (e^x - 1) elsewhere (Clevert et al. 2016)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.elu(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """max(x, 0) + min(0, `alpha` (e^(x / `alpha`) - 1)) (Barron 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.celu(input, self.alpha, self.inplace)


class SELU(_Inplace):
    """Scaled elu whose fixed point is mean 0 and variance 1 (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.selu(input, self.inplace)


class SiLU(_Inplace):
    """x sigmoid(x), also called swish."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.silu(input, self.inplace)


class Mish(_Inplace):
    """x tanh(log(1 + e^x)) (Misra 2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.mish(input, self.inplace)


class Hardtanh(_Inplace):
    """min(max(x, `min_val`), `max_val`)."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if not self.max_val > self.min_val:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] bounds: got {self.min_val} to {self.max_val}, expected min_val < max_val."
                " Exchange the bounds."
            )

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return "inplace=True" if self.inplace else ""


class _Silent(_Inplace):
    def extra_repr(self) -> str:
        """Arguments for the repr: none, as in PyTorch."""
        return ""


class Hardsigmoid(_Silent):
    """min(max(x + 3, 0), 6) / 6."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardsigmoid(input, self.inplace)


class Hardswish(_Silent):
    """x min(max(x + 3, 0), 6) / 6 (Howard et al. 2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.hardswish(input, self.inplace)


class Threshold(_Inplace):
    """x where x > `threshold`, `value` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"threshold={self.threshold}, value={self.value}")


class RReLU(_Inplace):
    """x where positive, elsewhere x times a slope drawn from [`lower`, `upper`) in training (Xu et al. 2015)."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return self._and_inplace(f"lower={self.lower}, upper={self.upper}")


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > `lambd`, 0 elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved by `lambd` towards zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softshrink(input, self.lambd)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.tanhshrink(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.logsigmoid(input)


class Softplus(Module):
    """log(1 + e^(`beta` x)) / `beta`, and x itself where `beta` x > `threshold`."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2017)."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"


class Softmin(Module):
    """softmax(-x) along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return functional.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        if input.ndim not in (3, 4):
            raise errors.ArgumentValueError(
                f"[Softmax2d] input: got {input.ndim} dimensions, expected 3 or 4, (N, C, H, W). Reshape it."
            )
        return tenora_ops.softmax(input, -3)


class PReLU(Module):
    """x where positive, elsewhere x times a learnt slope, one for all or one for each channel (He et al. 2015).

    >>> import tenora
    >>> tenora.nn.PReLU()(tenora.tensor([2.0, -2.0])).tolist()
    [2.0, -0.5]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(creation.empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all slopes to `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Applies the function."""
        return tenora_ops.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        return f"num_parameters={self.num_parameters}"
