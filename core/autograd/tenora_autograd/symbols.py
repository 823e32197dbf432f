"""The two kinds of symbol a formula is traced with.

- `Sym` stands for a tensor slot of a Program, `SymAttr` for a number, span or dtype known only at replay.
- Using them records instructions: ops through `__tenora_op__`, arithmetic on numbers as attribute instructions.
- Branching on either is an error that names the op and the formula, because a Program is traced once and replayed
  for other values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tenora_dispatch import errors
from tenora_engine._engine import OpFunction
from tenora_ops.formula import REGISTERED, ops

if TYPE_CHECKING:
    from tenora_autograd.trace import Trace

#: Attribute instructions of two numbers.
Number = Any


class TraceError(errors.OperationError):
    """A formula that cannot be traced; the text names the op, the formula's file and line."""


class SymAttr:
    """A value known at replay: `type` is int, float, scalar, span, dtype or device."""

    __slots__ = ("origin", "slot", "trace", "type")
    __tenora_attribute__ = True

    def __init__(self, trace: Trace, slot: int, type: str, origin: Sym | None = None) -> None:
        self.trace = trace
        self.slot = slot
        self.type = type
        self.origin = origin  # the tensor whose shape or dtype this is

    @staticmethod
    def __tenora_op__(function: OpFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_symbolic(function, args, kwargs)

    def __add__(self, other: Number) -> SymAttr:
        if self.type == "span":
            return self.trace.concatenate(self, other)
        return self.trace.arithmetic("add", self, other)

    def __radd__(self, other: Number) -> SymAttr:
        if self.type == "span":
            return self.trace.concatenate(other, self)
        return self.trace.arithmetic("add", other, self)

    def __sub__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("sub", self, other)

    def __rsub__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return ops.mul(self, other) if isinstance(other, Sym) else self.trace.arithmetic("mul", self, other)

    def __rmul__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("mul", other, self)

    def __truediv__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("true_div", self, other)

    def __rtruediv__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("true_div", other, self)

    def __floordiv__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("floor_div", self, other)

    def __rfloordiv__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("floor_div", other, self)

    def __mod__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("mod", self, other)

    def __rmod__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("mod", other, self)

    def __pow__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("pow", self, other)

    def __rpow__(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("pow", other, self)

    def __neg__(self) -> SymAttr:
        return self.trace.attribute("neg", [], [self], self.type)

    def conjugate(self) -> SymAttr:
        """A number that is traced is real: complex ones travel as 0-d tensors."""
        return self

    def minimum(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("min", self, other)

    def maximum(self, other: Number) -> SymAttr:
        return self.trace.arithmetic("max", self, other)

    def __getitem__(self, index: int | SymAttr) -> SymAttr:
        """One item of a span."""
        if self.type != "span":
            self.trace.fail(f"indexes a value of type {self.type}; only spans have items")
        if self.origin is not None:
            return self.trace.attribute("size", [self.origin], [index], "int")
        return self.trace.attribute("item", [], [self, index], "int")

    def length(self) -> SymAttr:
        """How many items a span has."""
        return self.trace.attribute("length", [], [self], "int")

    def part(self, start: int | SymAttr | None, stop: int | SymAttr | None) -> SymAttr:
        """The items from start to before stop, as in a Python slice."""
        return self.trace.attribute("slice", [], [self, start, stop], "span")

    def product(self) -> SymAttr:
        """The product of all items, 1 for none."""
        return self.trace.attribute("product", [], [self], "int")

    def inverse(self) -> SymAttr:
        """The inverse of a permutation."""
        return self.trace.attribute("inverse_permutation", [], [self], "span")

    def __bool__(self) -> NoReturn:
        self.trace.fail("branches on a number that is known only when the Program runs")

    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()
    __index__ = __int__ = __float__ = __len__ = __bool__

    def __iter__(self) -> NoReturn:
        self.trace.fail("unpacks a span whose length is known only when the Program runs")

    def __eq__(self, other: object) -> Any:
        if other is None:
            return False
        self.__bool__()

    __hash__ = None  # type: ignore[assignment] # equality means something else here: no keys


class Sym:
    """A tensor known at replay. `kind`: same (shape and dtype of the first result), tensor, or derived."""

    __slots__ = ("complex", "kind", "slot", "trace")

    def __init__(self, trace: Trace, slot: int, kind: str, complex: bool) -> None:
        self.trace = trace
        self.slot = slot
        self.kind = kind
        self.complex = complex

    @staticmethod
    def __tenora_op__(function: OpFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_symbolic(function, args, kwargs)

    @property
    def shape(self) -> SymAttr:
        return self.trace.attribute("shape", [self], [], "span", origin=self)

    @property
    def numel(self) -> SymAttr:
        return self.trace.attribute("numel", [self], [], "int")

    @property
    def ndim(self) -> SymAttr:
        return self.trace.attribute("ndim", [self], [], "int")

    @property
    def dtype(self) -> SymAttr:
        return self.trace.attribute("dtype_of", [self], [], "dtype", origin=self)

    @property
    def device(self) -> SymAttr:
        return self.trace.attribute("device_of", [self], [], "device")

    def trailing_dims(self, shape: SymAttr) -> SymAttr:
        """The numbers of the last dims, as many as `shape` has items."""
        every = self.trace.attribute("range", [], [self.ndim], "span")
        return self.trace.attribute("slice", [], [every, self.ndim - shape.length(), self.ndim], "span")

    def is_complex(self) -> bool:
        """Whether it may be complex; a call with no complex operand has no complex value."""
        return self.complex

    def __add__(self, other: Any) -> Any:
        return ops.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return ops.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return ops.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return ops.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return ops.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return ops.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return ops.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ops.div(other, self)

    def __pow__(self, other: Any) -> Any:
        return ops.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return ops.pow(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return ops.floor_divide(self, other)

    def __mod__(self, other: Any) -> Any:
        return ops.remainder(self, other)

    def __matmul__(self, other: Any) -> Any:
        return ops.matmul(self, other)

    def __neg__(self) -> Any:
        return ops.neg(self)

    def __eq__(self, other: object) -> Any:
        return ops.eq(self, other)

    def __ne__(self, other: object) -> Any:
        return ops.ne(self, other)

    def __lt__(self, other: Any) -> Any:
        return ops.lt(self, other)

    def __le__(self, other: Any) -> Any:
        return ops.le(self, other)

    def __gt__(self, other: Any) -> Any:
        return ops.gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return ops.ge(self, other)

    def __and__(self, other: Any) -> Any:
        return ops.bitwise_and(self, other)

    def __or__(self, other: Any) -> Any:
        return ops.bitwise_or(self, other)

    def __xor__(self, other: Any) -> Any:
        return ops.bitwise_xor(self, other)

    def __invert__(self) -> Any:
        return ops.bitwise_not(self)

    __hash__ = None  # type: ignore[assignment] # equality means something else here: no keys

    def __bool__(self) -> NoReturn:
        self.trace.fail("branches on the data of a tensor; a formula that must do so says dynamic_vjp=True")

    def __iter__(self) -> NoReturn:
        self.trace.fail("iterates over a tensor whose size is known only when the Program runs")

    def __getattr__(self, name: str) -> Any:
        try:
            function = REGISTERED[name]
        except KeyError:
            raise errors.MissingAttributeError(
                f"[{self.trace.op}] a symbol has no such attribute: got {name!r}, expected an op's name. Use an op."
            ) from None
        return lambda *args, **kwargs: function(self, *args, **kwargs)


def call_symbolic(function: OpFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op met a symbol: record the call in the symbol's trace."""
    trace = _find_trace((*args, *kwargs.values()))
    if trace is None:
        raise TraceError(
            f"[{function.__name__}] called with a symbol of no trace: got none among the arguments, expected one. "
            "Pass a "
            "traced tensor."
        )
    name, operands, attributes = function.bind(args, kwargs)
    return trace.call(name, operands, attributes)


def _find_trace(values: tuple[Any, ...] | list[Any]) -> Trace | None:
    for value in values:
        if isinstance(value, Sym | SymAttr):
            return value.trace
        if isinstance(value, tuple | list):
            found = _find_trace(value)
            if found is not None:
                return found
    return None
