"""`SyncBatchNorm`: batch normalisation over the batches of all processes, of which there is one so far."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

from .module import Module
from .normalisation import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (N, C, ...); in one process it is `BatchNorm` for inputs of any rank from 2 on.

    >>> import tenora
    >>> net = tenora.nn.Sequential(tenora.nn.BatchNorm2d(3))
    >>> tenora.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_rank(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise errors.ArgumentValueError(
                f"[SyncBatchNorm] input: got {input.ndim} dimensions, expected 2 or more, (N, C, ...). Reshape it."
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with every batch normalisation below it replaced by this layer; it shares what they hold.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.BatchNorm2d(3))
        >>> weight = net[0].weight
        >>> converted = tenora.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        >>> type(converted[0]).__name__, converted[0].weight is weight
        ('SyncBatchNorm', True)
        """
        found = module
        if isinstance(module, _BatchNorm):
            new = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            for name, parameter in module._parameters.items():
                setattr(new, name, parameter)
            for name, buffer in module._buffers.items():
                setattr(new, name, buffer)
            new.training = module.training
            found = new
        for name, child in module.named_children():
            found.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return found


__all__ = ["SyncBatchNorm"]
