"""Methods of Tensor as functions, which PyTorch has beside them: `tenora.detach(x)` is `x.detach()`."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor

__all__ = [
    "detach",
    "get_device",
    "is_conj",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "put",
]


def _tensor(op: str, input: Any) -> Tensor:
    if not isinstance(input, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] input is wrong: got {errors.type_name(input)}, expected Tensor. Convert it first."
        )
    return input


def detach(input: Tensor) -> Tensor:
    """A tensor of the same memory, shape and dtype without a history; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.detach(tenora.ones(2, requires_grad=True)).requires_grad
    False
    """
    return _tensor("detach", input).detach()


def get_device(input: Tensor) -> int:
    """The number of the device that `input` lies on, -1 for the host; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.get_device(tenora.ones(2))
    -1
    """
    return _tensor("get_device", input).get_device()


def is_conj(input: Tensor) -> bool:
    """Whether a conjugate of `input` waits to be computed: never; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_conj(tenora.tensor([1j]).conj())
    False
    """
    return _tensor("is_conj", input).is_conj()


def is_neg(input: Tensor) -> bool:
    """Whether a negation of `input` waits to be computed: never; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_neg(tenora.tensor([1j]).imag)
    False
    """
    return _tensor("is_neg", input).is_neg()


def is_inference(input: Tensor) -> bool:
    """Whether `input` was made in inference mode; TypeError for what is no tensor.

    >>> import tenora
    >>> with tenora.inference_mode():
    ...     tenora.is_inference(tenora.ones(2))
    True
    """
    return _tensor("is_inference", input).is_inference()


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of `input` is not zero; RuntimeError unless it has one, TypeError for no tensor.

    >>> import tenora
    >>> tenora.is_nonzero(tenora.tensor([0.5]))
    True
    """
    return _tensor("is_nonzero", input).is_nonzero()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_same_size(tenora.ones(2, 3), tenora.ones(3, 2))
    False
    """
    return _tensor("is_same_size", input).is_same_size(_tensor("is_same_size", other))


def is_signed(input: Tensor) -> bool:
    """Whether the dtype of `input` has numbers below zero; TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.is_signed(tenora.ones(2, dtype=tenora.uint8))
    False
    """
    return _tensor("is_signed", input).is_signed()


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with elements of `source` at flat positions, which `accumulate` adds up.

    `index` holds whole numbers, `source` as many elements of the dtype of `input`. RuntimeError for other numbers of
    elements, IndexError for a position outside, TypeError for what is no tensor.

    >>> import tenora
    >>> tenora.put(tenora.zeros(2, 2), tenora.tensor([1, 2]), tenora.ones(2)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return _tensor("put", input).put(index, source, accumulate)
