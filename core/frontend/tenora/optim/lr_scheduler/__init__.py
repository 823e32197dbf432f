"""Learning-rate schedulers: each says its mathematics once, `LRScheduler` counts, sets and remembers.

>>> import tenora
>>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=1.0)
>>> scheduler = tenora.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
>>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
(None, None, [0.5])
"""

from typing import Any

from ...lazy_names import refused
from .base import LRScheduler
from .compound import ChainedScheduler, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycles import CyclicLR, OneCycleLR
from .factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .plateau import ReduceLROnPlateau


class _LRScheduler(LRScheduler):
    """PyTorch's older name of the base class; the schedulers here are no instances of it, as there."""


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def __getattr__(name: str) -> Any:
    raise refused(__name__, name, __all__)
