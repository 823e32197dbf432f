"""Linear algebra under PyTorch's names: the functions of the op records that are public as `linalg.*`.

>>> import tenora
>>> round(tenora.linalg.det(tenora.tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 4)
-2.0
"""

from __future__ import annotations

import tenora_ops as _ops
from tenora_dispatch.errors import LinAlgError
from tenora_ops import matmul

globals().update(_ops.public_functions("linalg"))

__all__ = ["LinAlgError", "matmul", *_ops.public_functions("linalg")]
