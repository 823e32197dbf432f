"""Questions about dtypes: their limits, kinds, and what they meet in."""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, as_tensor_data
from tenora_engine import bool as Bool
from tenora_engine import dtype as DType
from tenora_engine import promote_types as _promote
from tenora_ops.limits import finfo, iinfo

__all__ = [
    "can_cast",
    "finfo",
    "iinfo",
    "is_complex",
    "is_floating_point",
    "numel",
    "result_type",
]


def _tensor(op: str, input: Any) -> Tensor:
    if not isinstance(input, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] input is wrong: got {errors.type_name(input)}, expected Tensor. Convert it first."
        )
    return input


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype of `input` is floating; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_floating_point(tenora.ones(2)), tenora.is_floating_point(tenora.tensor([1j]))
    (True, False)
    """
    return bool(_tensor("is_floating_point", input).dtype.is_floating_point)


def is_complex(input: Tensor) -> bool:
    """Whether the dtype of `input` is complex; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_complex(tenora.tensor([1j]))
    True
    """
    return bool(_tensor("is_complex", input).dtype.is_complex)


def numel(input: Tensor) -> int:
    """How many elements `input` has; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.numel(tenora.zeros(2, 3))
    6
    """
    return int(_tensor("numel", input).numel())


def can_cast(from_: DType, to: DType) -> bool:
    """Whether results of a dtype may be written into another: no kind is lost, though digits may be.

    Kinds go from bool over whole, floating to complex numbers. TypeError for what is no dtype.

    >>> import tenora
    >>> tenora.can_cast(tenora.float64, tenora.float16), tenora.can_cast(tenora.float16, tenora.int64)
    (True, False)
    """
    for name, dtype in (("from_", from_), ("to", to)):
        if not isinstance(dtype, DType):
            raise errors.ArgumentTypeError(
                f"[can_cast] {name} is wrong: got {type(dtype).__name__}, expected a dtype. Pass one, such as "
                "tenora.float32."
            )
    if from_.is_complex:
        return bool(to.is_complex)
    if from_.is_floating_point:
        return bool(to.is_floating_point or to.is_complex)
    return from_ == Bool or to != Bool


def _stand_in(value: Any) -> Any:
    """What promotes as an operand does, and has no more than one element."""
    if not isinstance(value, Tensor):
        return value
    return tenora_ops.zeros((0,) if value.ndim else (), dtype=value.dtype, device="cpu")


def result_type(tensor1: Tensor | complex, tensor2: Tensor | complex) -> DType:
    """The dtype of the sum of two tensors or numbers.

    Tensors with dimensions decide; those without and then numbers matter where their kind is higher. TypeError for
    what is neither.

    >>> import tenora
    >>> tenora.result_type(tenora.ones(2, dtype=tenora.int8), 1.5)
    tenora.float32
    >>> tenora.result_type(tenora.ones(2, dtype=tenora.int8), tenora.tensor(3))
    tenora.int8
    """
    operands = []
    for name, value in (("tensor1", tensor1), ("tensor2", tensor2)):
        if not isinstance(value, Tensor | bool | int | float | complex):
            raise errors.ArgumentTypeError(
                f"[result_type] {name} is wrong: got {type(value).__name__}, expected Tensor or number. Convert it "
                "first."
            )
        operands.append(_stand_in(value))
    if not any(isinstance(o, Tensor) for o in operands):
        return _promote(*(as_tensor_data(o).dtype for o in operands))
    return tenora_ops.mul(*operands).dtype
