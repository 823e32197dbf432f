"""`Parameter` and `Buffer`: tensors that a module owns by being assigned to it, and their lazy forms."""

from __future__ import annotations

import functools
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation


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
            raise errors.ArgumentTypeError(
                f"[Parameter] data: got {errors.type_name(data)}, expected a Tensor. Wrap it in tenora.tensor(...)."
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
        data = (type(self), self.detach().as_subclass(Tensor), self.requires_grad)
        return (
            (_rebuild_parameter, data, dict(self.__dict__)) if self.__dict__ else (_rebuild_parameter, data)
        )


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

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        known = memo.get(id(self))
        if known is not None:
            return known
        copy = type(self)(self.detach().clone(), persistent=self.persistent)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_buffer, (type(self), self.detach().as_subclass(Tensor), self.persistent)


def _rebuild_buffer(cls: type[Buffer], data: Tensor, persistent: bool) -> Buffer:
    return cls(data, persistent=persistent)


#: The methods that ask neither for the shape nor for elements; all others are refused.
_WITHOUT_SHAPE = frozenset(
    "to cpu cuda float double half bfloat16 is_floating_point is_complex get_device requires_grad_".split()
)
#: The methods that Python calls for an operator or a function: they are looked up on the class.
_OF_OPERATORS = (
    "len iter bool float int index array getitem setitem add sub mul truediv floordiv mod pow matmul radd rsub rmul "
    "rtruediv rpow rmatmul iadd isub imul itruediv neg abs lt le gt ge"
)


def _refuse(tensor: object, name: str, *_args: Any, **_kwargs: Any) -> Any:
    raise errors.ArgumentValueError(
        f"[{type(tensor).__name__}] {name}: got a tensor without a shape, expected one that is initialised. "
        "Call the lazy module once, or load a state into it."
    )


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is not known yet: `materialize(shape)` makes it what it stands for.

    Methods and operators that need a shape or elements raise ValueError.
    """

    cls_to_become: type[Any]

    def __getattribute__(self, name: str) -> Any:
        if name not in _WITHOUT_SHAPE and not name.startswith("_") and callable(vars(Tensor).get(name)):
            return functools.partial(_refuse, self, name)
        return super().__getattribute__(name)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor uninitialised memory of `shape`; the object stays, its class becomes the plain one.

        >>> import tenora
        >>> weight = tenora.nn.UninitializedParameter()
        >>> weight.materialize((2, 3), dtype=tenora.float64)
        >>> weight.shape, weight.dtype
        (tenora.Size([2, 3]), tenora.float64)
        """
        me: Any = self
        me.data = creation.empty(shape, device=device or me.device, dtype=dtype or me.dtype)
        me.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not there yet: RuntimeError.

        >>> import tenora
        >>> try:
        ...     tenora.nn.UninitializedParameter().shape
        ... except RuntimeError as error:
        ...     print(error.code)
        runtime
        """
        raise errors.OperationError(
            f"[{type(self).__name__}] shape: got a tensor without one, expected one that is initialised. "
            "Call the lazy module once, or load a state into it."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


for _name in _OF_OPERATORS.split():
    setattr(UninitializedTensorMixin, f"__{_name}__", functools.partialmethod(_refuse, _name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy module, whose shape the first input will tell.

    >>> import tenora
    >>> weight = tenora.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> tuple(weight.shape), type(weight).__name__
    ((2, 3), 'Parameter')
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        data = creation.empty((0,), device=device, dtype=dtype)
        return super().__new__(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer of a lazy module, whose shape the first input will tell.

    >>> import tenora
    >>> mean = tenora.nn.UninitializedBuffer()
    >>> mean.materialize((3,))
    >>> tuple(mean.shape), type(mean).__name__
    ((3,), 'Buffer')
    """

    cls_to_become = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        return super().__new__(cls, creation.empty((0,), device=device, dtype=dtype), persistent=persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.device, self.dtype, self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (False, self.device, self.dtype, self.persistent)


def is_lazy(tensor: Any) -> bool:
    """Whether `tensor` has no shape yet.

    >>> is_lazy(UninitializedParameter())
    True
    """
    return isinstance(tensor, UninitializedTensorMixin)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
