"""What constructors ask of hyperparameters; errors name the optimizer, the option and the value."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor


def check_options(optimizer: object, **options: Any) -> None:
    """Numbers that are not negative; a tensor must have one element. NaN is refused too."""
    for name, value in options.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise errors.ArgumentValueError(
                f"[{type(optimizer).__name__}] {name}: got a tensor of {value.numel()} elements, expected one element. "
                "Pass a number, or a tensor of one."
            )
        if not value >= 0:
            refuse(optimizer, name, value, "a number that is not negative")


def check_betas(optimizer: object, betas: Any) -> None:
    """Two decay rates from 0 to below 1."""
    if len(betas) != 2:
        refuse(optimizer, "betas", betas, "two numbers")
    for place, beta in enumerate(betas):
        check_options(optimizer, **{f"betas[{place}]": beta})
        if not beta < 1:
            refuse(optimizer, f"betas[{place}]", beta, "0 <= beta < 1")


def refuse(optimizer: object, name: str, value: Any, expected: str) -> None:
    """Raises ValueError for an option."""
    raise errors.ArgumentValueError(
        f"[{type(optimizer).__name__}] {name}: got {value}, expected {expected}. Choose another value."
    )


def check_real(optimizer: object, parameters: list[Tensor], gradients: list[Tensor]) -> None:
    """What methods without an op ask before each step: real numbers, gradients of their parameter's dtype."""
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if parameter.is_complex() or gradient.dtype != parameter.dtype:
            raise errors.OperationError(
                f"[{type(optimizer).__name__}] dtypes: got {parameter.dtype} with a gradient of {gradient.dtype}, "
                "expected one real dtype. Optimize complex parameters with another method."
            )
