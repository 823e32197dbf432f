"""Discrete Fourier transforms under PyTorch's names: the functions of the op records that are public as `fft.*`.

>>> import tenora
>>> tenora.fft.fft(tenora.tensor([1.0, 0.0, 0.0])).real.tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

import tenora_ops as _ops

globals().update(_ops.public_functions("fft"))

__all__ = [*_ops.public_functions("fft")]
