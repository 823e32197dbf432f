"""What is done to parameters and gradients: clipping, reparametrisation, pruning, fusing, flattening.

Loaded when it is first asked for; its larger rooms (`parametrize`, `parametrizations`, `prune`, ...) one by one (PEP
562).

>>> import tenora
>>> weight = tenora.zeros(2, requires_grad=True)
>>> weight.grad = tenora.tensor([3.0, 4.0])
>>> tenora.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
tensor(5.)
>>> weight.grad
tensor([0.6000, 0.8000])
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ...lazy_names import lazy_names as _lazy_names
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters

# These two after each other's files: the functions take the place of the modules of the same names.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if _TYPE_CHECKING:
    from . import parametrizations, parametrize, prune, stateless
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init

_MODULES = ("fusion", "init", "parametrizations", "parametrize", "prune", "stateless")
# Functions and the modules that hold them.
_FUNCTIONS = {
    **dict.fromkeys(
        ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
        "fusion",
    ),
    "skip_init": "init",
}

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

__getattr__, __dir__ = _lazy_names(globals(), _MODULES, _FUNCTIONS)
