"""Functions behind the layers: the ops themselves, under PyTorch's names."""

from __future__ import annotations

from tenora_ops import (
    cross_entropy,
    dropout,
    gelu,
    linear,
    log_softmax,
    mse_loss,
    nll_loss,
    pad,
    relu,
    sigmoid,
    softmax,
    tanh,
)

__all__ = [
    "cross_entropy",
    "dropout",
    "gelu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "pad",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]
