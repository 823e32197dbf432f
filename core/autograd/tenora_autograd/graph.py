"""What the tape saves for backward, in other hands: packed elsewhere after forward, unpacked when backward asks.

- Each saved tensor, of an op or of a `Function`, goes through the innermost pair of hooks of its thread.
- `pack` gets it without history and may return any object; it must not write into it.
- What `unpack` returns stands in for it, its history included. In-place writes after packing are not noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tenora_engine import _engine
from tenora_engine._engine import Tensor, device
from tenora_ops.formula import ops


class saved_tensors_hooks:
    """In its block, saved tensors go through `pack_hook`, and through `unpack_hook` when backward reads them.

    Raises:
        TypeError: a hook is not callable, or unpack returned something else than a tensor.
        RuntimeError: pack wrote into its input, or what an op saved comes back with another shape, dtype or device.

    Example:
        >>> import tenora
        >>> x = tenora.tensor([3.0], requires_grad=True)
        >>> with saved_tensors_hooks(lambda t: t.numpy().copy(), tenora.from_numpy):
        ...     y = x * x
        >>> y.sum().backward()
        >>> x.grad.item()
        6.0
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _engine.push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _engine.pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """In its block, saved tensors wait for backward in host memory; those that lie there already stay.

    `pin_memory` asks for memory that a device reaches faster. No memory space offers it, so it makes no difference,
    as in PyTorch without a GPU.

    Example:
        >>> import tenora
        >>> x = tenora.ones(2, requires_grad=True)
        >>> with save_on_cpu():
        ...     y = x * x
        >>> y.sum().backward()
    """

    def __init__(self, pin_memory: bool = False) -> None:
        super().__init__(self._pack, self._unpack)

    @staticmethod
    def _pack(tensor: Tensor) -> tuple[device, Tensor]:
        return tensor.device, _move(tensor, device("cpu"))

    @staticmethod
    def _unpack(packed: tuple[device, Tensor]) -> Tensor:
        where, tensor = packed
        return _move(tensor, where)


def _move(tensor: Tensor, where: device) -> Tensor:
    moved: Tensor = tensor if tensor.device == where else ops.to(tensor, device=where)
    return moved


__all__ = ["save_on_cpu", "saved_tensors_hooks"]
