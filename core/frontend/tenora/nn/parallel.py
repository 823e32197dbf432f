"""Wrappers that spread a module over devices."""

from __future__ import annotations

from typing import Any

from ..lazy_names import lazy_names as _lazy_names
from .module import Module


class DataParallel(Module):
    """Calls `module` as it is: what PyTorch's wrapper does where it finds no devices to spread a batch over.

    Keys of the state begin with `module.`, as in PyTorch. `device_ids`, `output_device` and `dim` are accepted.

    >>> import tenora
    >>> net = tenora.nn.DataParallel(tenora.nn.Linear(2, 3))
    >>> net(tenora.zeros(4, 2)).shape, list(net.state_dict())
    (tenora.Size([4, 3]), ['module.weight', 'module.bias'])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)


__all__ = ["DataParallel"]

__getattr__, __dir__ = _lazy_names(globals(), (), {})
