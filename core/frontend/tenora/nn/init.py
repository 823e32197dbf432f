"""Starting values for parameters. Every function writes into its tensor, without history, and returns it."""

from __future__ import annotations

import math

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through `nonlinearity` (He et al. 2015, https://arxiv.org/abs/1502.01852).

    >>> round(calculate_gain("leaky_relu", 0.2), 4)
    1.3868
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise errors.ArgumentValueError(
            f"[calculate_gain] nonlinearity: got {nonlinearity!r}, expected one of {[*_GAINS, 'leaky_relu']}."
            " Choose one of them."
        )
    return _GAINS[nonlinearity]


def _fans(tensor: Tensor, who: str) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise errors.ArgumentValueError(
            f"[{who}] tensor: got {tensor.ndim} dimensions, expected at least 2 (fan in and fan out)."
            " Pass a weight matrix, or initialise it with another function."
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str, who: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise errors.ArgumentValueError(
            f"[{who}] mode: got {mode!r}, expected 'fan_in' or 'fan_out'. Choose one of them."
        )
    return _fans(tensor, who)[mode == "fan_out"]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Draws from the uniform distribution on [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draws from the normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with `val`."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with 1."""
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform with variance `2 gain^2 / (fan_in + fan_out)` (Glorot and Bengio 2010)."""
    fan_in, fan_out = _fans(tensor, "xavier_uniform_")
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with variance `2 gain^2 / (fan_in + fan_out)` (Glorot and Bengio 2010)."""
    fan_in, fan_out = _fans(tensor, "xavier_normal_")
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform with variance `gain^2 / fan` (He et al. 2015, https://arxiv.org/abs/1502.01852)."""
    if tensor.numel() == 0:
        return tensor
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan(tensor, mode, "kaiming_uniform_"))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal with variance `gain^2 / fan` (He et al. 2015, https://arxiv.org/abs/1502.01852)."""
    if tensor.numel() == 0:
        return tensor
    return normal_(
        tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode, "kaiming_normal_"))
    )
