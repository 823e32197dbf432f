"""`Parameter` and `Buffer`: tensors that a module owns by being assigned to it."""

from __future__ import annotations

from typing import Any

from tenora_engine import Tensor


class Parameter(Tensor):
    """A tensor that a :class:`~tenora.nn.Module` lists among its parameters when it is assigned as an attribute.

    Shares the storage of `data`; it is a leaf and collects a gradient unless `requires_grad=False`.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.zeros(2, 3))
    >>> weight.requires_grad, weight.is_leaf
    (True, True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            from_data = Tensor()
        elif isinstance(data, Tensor):
            from_data = data
        else:
            raise TypeError(
                f"[Parameter] data: got {type(data).__name__}, expected a Tensor. Wrap it in tenora.tensor(...)."
            )
        parameter = from_data.detach().as_subclass(cls)
        parameter.requires_grad_(requires_grad)
        return parameter

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known = memo.get(id(self))
        if known is not None:
            return known
        copy = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_parameter, (type(self), self.detach().as_subclass(Tensor), self.requires_grad)


def _rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


class Buffer(Tensor):
    """A tensor that a module lists among its buffers when it is assigned: state without a gradient.

    `persistent=False` keeps it out of `state_dict`.

    >>> import tenora
    >>> tenora.nn.Buffer(tenora.zeros(3)).persistent
    True
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        buffer = (Tensor() if data is None else data).detach().as_subclass(cls)
        buffer.persistent = persistent
        return buffer
