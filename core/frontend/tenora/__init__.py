"""tenora: imperative deep learning on pluggable backends.

>>> import tenora
>>> x = tenora.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

import tenora_dispatch as _dispatch
import tenora_engine as _engine
import tenora_ops as _ops
from tenora_autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tenora_dispatch import (
    current_backend,
    errors,
    fallback,
    fallbacks,
    set_backend_option,
    set_default_backend,
    use_backend,
)
from tenora_dispatch.errors import HiddenCopyError, NotSupportedError, OutOfMemoryError, TenoraError
from tenora_engine import (
    Event,
    Generator,
    Size,
    Stream,
    Tensor,
    device,
    dtype,
)

from . import accelerator as _accelerator
from . import autograd, formatting, layouts, nn, optim, profiler, tensor_memory, tensor_methods
from ._version import __version__
from .creation import (
    as_tensor,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    promote_types,
    tensor,
    zeros,
    zeros_like,
)
from .creation_random import (
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from .creation_ranges import arange, eye, linspace, logspace, tril_indices, triu_indices
from .defaults import get_default_device, get_default_dtype, set_default_device, set_default_dtype
from .dtypes import (
    can_cast,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
    numel,
    result_type,
)
from .formatting import set_printoptions
from .layouts import broadcast_shapes, empty_permuted, empty_strided, index_put, scalar_tensor
from .lazy_names import install_finder as _install_finder
from .lazy_names import refused as _refused
from .method_functions import (
    detach,
    get_device,
    is_conj,
    is_inference,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    put,
)
from .nn.functional import avg_pool1d, max_pool1d, max_pool2d, max_pool3d
from .profiler import no_hidden_copies
from .random import fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .sharing import asarray, from_dlpack, from_numpy, frombuffer, to_dlpack
from .tensor_memory import live

# Free functions are derived from the op records; the creation functions above wrap theirs with defaults.
globals().update({name: value for name, value in _ops.loaded_functions().items() if name not in globals()})

# Before `float` becomes a dtype.
inf, nan, pi, e = float("inf"), float("nan"), 3.141592653589793, 2.718281828459045

_DTYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
globals().update({name: getattr(_engine, name) for name in _DTYPES.split()})
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
globals().update({alias: getattr(_engine, name) for alias, name in _ALIASES.items()})

_engine.set_formatter(formatting.format_tensor)
tensor_methods.install()
tensor_memory.install()
layouts.install()
_install_finder()

_LAZY = ("debug", "fft", "func", "linalg", "return_types", "serialization", "signal", "special", "utils")
_WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
_SAVING = ("load", "save")
_SEEING = ("summary",)
# PyTorch programs ask `cuda.is_available()` where there is no such device; other types come from installed manifests.
_DEVICE_MODULES = ("cuda",)


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f".{name}", __name__)
    if name in _WINDOWS:
        return getattr(_import_module(".signal.windows", __name__), name)
    if name in _SAVING:
        return getattr(_import_module(".serialization", __name__), name)
    if name in _SEEING:
        return getattr(_import_module(".utils", __name__), name)
    if (function := _ops.public_function(name)) is not None:  # of a family that is loaded later
        return globals().setdefault(name, function)
    if name in _DEVICE_MODULES or (not name.startswith("_") and name in _dispatch.device_types()):
        return _accelerator.accelerator(name)
    raise _refused(__name__, name, __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_WINDOWS, *_SAVING, *_SEEING, *_ops.later.function_names("")})


def is_tensor(obj: object) -> _Any:
    """Whether `obj` is a Tensor.

    >>> import tenora
    >>> tenora.is_tensor(tenora.ones(2)), tenora.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


# For `from tenora import *`.
__all__ = [name for name in __dir__() if not name.startswith("_")]
