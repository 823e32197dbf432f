"""Automatic differentiation: `backward`, `grad`, `Function`, checks and functional forms."""

from tenora_autograd import (
    Function,
    backward,
    detect_anomaly,
    enable_grad,
    functional,
    grad,
    gradcheck,
    gradgradcheck,
    graph,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

from .lazy_names import lazy_names as _lazy_names

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

__getattr__, __dir__ = _lazy_names(globals(), (), {})
