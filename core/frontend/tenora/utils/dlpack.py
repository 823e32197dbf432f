"""DLPack under the names of `torch.utils.dlpack`.

>>> import tenora
>>> tenora.utils.dlpack.from_dlpack(tenora.utils.dlpack.to_dlpack(tenora.ones(2)))
tensor([1., 1.])
"""

from __future__ import annotations

from ..sharing import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
