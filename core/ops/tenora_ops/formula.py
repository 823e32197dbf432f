"""What gradient formulas and composites are written with, beside the ops themselves.

- A formula runs once, on symbols; the helpers here decide at trace time what a formula may leave out.
- `ops.name` is the op of that name, looked up when the formula runs: files of records need not import each other.
"""

from __future__ import annotations

from typing import Any

from tenora_ops import later


class _Registered(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        if later.load_op(name) and name in self:
            return self[name]
        raise KeyError(name)


#: Op name -> its function, filled by `record.op`; asking for one of a family that is loaded later loads it.
REGISTERED: dict[str, Any] = _Registered()


class Ops:
    """Namespace of all registered ops."""

    def __getattr__(self, name: str) -> Any:
        try:
            return REGISTERED[name]
        except KeyError:
            raise AttributeError(
                f"[formula] unknown op: got {name!r}, expected one of `records()`. Check the name."
            ) from None


ops = Ops()


def is_number(value: object) -> bool:
    """True for a Python number and for the symbol of one (a scalar operand, an attribute)."""
    return isinstance(value, bool | int | float | complex) or bool(
        getattr(type(value), "__tenora_attribute__", False)
    )


def sum_to(gradient: Any, like: Any) -> Any:
    """The adjoint of broadcasting: sums `gradient` to the shape and dtype of `like`; None where `like` is a number."""
    return None if like is None or is_number(like) else ops.sum_to(gradient, like)


def conj(value: Any) -> Any:
    """Complex conjugate; nothing at all where the call has no complex operand."""
    return value.conjugate() if is_number(value) else ops.conj(value)


def is_complex(value: Any) -> bool:
    """Whether a value is complex: known while a formula is traced."""
    return bool(value.is_complex())


def below_zero(x: Any) -> Any:
    """min(x, 0), of derivative 0 at 0 as PyTorch's second derivatives of activations have it; `minimum` halves it."""
    return ops.where(ops.lt(x, 0.0), x, 0.0)


def count(whole: Any, part: Any) -> Any:
    """How many elements of `whole` each element of `part` stands for."""
    return whole.numel // max_number(part.numel, 1)


def max_number(a: Any, b: Any) -> Any:
    """The larger of two numbers, either of which may be a symbol."""
    return a.maximum(b) if hasattr(a, "maximum") else max(a, b)


def min_number(a: Any, b: Any) -> Any:
    """The smaller of a symbol and a number or another one."""
    return a.minimum(b)
