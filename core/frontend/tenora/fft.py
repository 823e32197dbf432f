"""Discrete Fourier transforms under PyTorch's names: the functions of the op records that are public as `fft.*`.

>>> import tenora
>>> tenora.fft.fft(tenora.tensor([1.0, 0.0, 0.0])).real.tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from typing import Any as _Any

import tenora_ops as _ops
from tenora_engine import Tensor as _Tensor
from tenora_engine import dtype as _DType

from .creation_steps import finish as _finish
from .creation_steps import into as _into
from .defaults import default_device as _default_device
from .pinning import check_pinning as _check_pinning

_functions = _ops.public_functions("fft")
globals().update(_functions)

__all__ = [*_functions]


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: _Tensor | None = None,
    dtype: _DType | None = None,
    device: _Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> _Tensor:
    """The frequencies of the results of `fft` of `n` points, in cycles per unit of the sample spacing `d`.

    The result is (n), [0, 1, ..., -2, -1] / (n d), of the default dtype unless another floating or complex one is
    given. RuntimeError for a negative `n` or a whole dtype.

    >>> import tenora
    >>> tenora.fft.fftfreq(4, 0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    if out is not None:
        return _into("fft.fftfreq", out, dtype, lambda **options: fftfreq(n, d, **options))
    if pin_memory is not False:
        _check_pinning("fft.fftfreq", pin_memory)
    return _finish(
        _functions["fftfreq"](n, d, dtype=dtype, device=_default_device(device)), requires_grad, pin_memory
    )


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: _Tensor | None = None,
    dtype: _DType | None = None,
    device: _Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> _Tensor:
    """The frequencies of the results of `rfft` of `n` points, in cycles per unit of the sample spacing `d`.

    The result is (n // 2 + 1), [0, 1, ...] / (n d), of the default dtype unless another floating or complex one is
    given. RuntimeError for a negative number of results or a whole dtype.

    >>> import tenora
    >>> tenora.fft.rfftfreq(4, 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    if out is not None:
        return _into("fft.rfftfreq", out, dtype, lambda **options: rfftfreq(n, d, **options))
    if pin_memory is not False:
        _check_pinning("fft.rfftfreq", pin_memory)
    return _finish(
        _functions["rfftfreq"](n, d, dtype=dtype, device=_default_device(device)), requires_grad, pin_memory
    )
