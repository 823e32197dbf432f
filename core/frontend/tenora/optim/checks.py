"""What constructors ask of hyperparameters; errors name the optimizer, the option and the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor


def check_numbers(optimizer: object, **options: Any) -> None:
    """Real numbers, of Python or others, or tensors with one element; no NaN.

    Raises TypeError for what is no number, ValueError for NaN and other sizes.
    """
    for name, value in options.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise errors.ArgumentValueError(
                f"[{type(optimizer).__name__}] {name}: got a tensor of {value.numel()} elements, expected one element. "
                "Pass a number, or a tensor of one."
            )
        if not hasattr(value, "__float__"):
            raise errors.ArgumentTypeError(
                f"[{type(optimizer).__name__}] {name}: got {value!r:.60} of type {type(value).__name__}, expected a "
                "number. Pass a number."
            )
        if value != value:
            refuse(optimizer, name, value, "a number")


def check_options(optimizer: object, **options: Any) -> None:
    """Numbers that are not negative; a tensor must have one element. NaN is refused too."""
    check_numbers(optimizer, **options)
    for name, value in options.items():
        if not value >= 0:
            refuse(optimizer, name, value, "a number that is not negative")


def check_sequence(optimizer: object, name: str, values: Any, count: int) -> None:
    """That many values in a row: TypeError for a single one, ValueError for others' number."""
    if isinstance(values, str) or not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
        raise errors.ArgumentTypeError(
            f"[{type(optimizer).__name__}] {name}: got {values!r:.60} of type {type(values).__name__}, expected "
            f"{count} numbers. Pass a tuple of {count}."
        )
    if len(values) != count:
        refuse(optimizer, name, values, f"{count} numbers")


def check_group(optimizer: object, defaults: Mapping[str, Any], group: Mapping[str, Any]) -> None:
    """Numbers where the defaults are numbers, and as many of them: what a group says in their place."""
    for name, default in defaults.items():
        value = group[name]
        if value is default:
            continue
        if isinstance(default, tuple):
            check_sequence(optimizer, name, value, len(default))
            given = {f"{name}[{place}]": each for place, each in enumerate(value) if each is not None}
            check_numbers(optimizer, **given)
        elif isinstance(default, int | float | Tensor) and not isinstance(default, bool):
            check_numbers(optimizer, **{name: value})


def check_betas(optimizer: object, betas: Any) -> None:
    """Two decay rates from 0 to below 1."""
    check_sequence(optimizer, "betas", betas, 2)
    for place, beta in enumerate(betas):
        check_options(optimizer, **{f"betas[{place}]": beta})
        if not beta < 1:
            refuse(optimizer, f"betas[{place}]", beta, "0 <= beta < 1")


def check_pair(optimizer: object, name: str, values: Any) -> None:
    """Two numbers."""
    check_sequence(optimizer, name, values, 2)
    check_numbers(optimizer, **{f"{name}[{place}]": value for place, value in enumerate(values)})


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
