"""Derivatives: backward, grad, grad modes, Function, checks against finite differences, functional forms.

Importing the package hands the tracer of gradient formulas to the engine.
"""

from tenora_autograd import functional, graph
from tenora_autograd.backward import backward, grad
from tenora_autograd.function import Function, FunctionCtx, once_differentiable
from tenora_autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tenora_autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from tenora_autograd.symbols import TraceError
from tenora_autograd.trace import install

install()

__all__ = [
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "TraceError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
