"""What datasets, samplers and loaders ask of their arguments; errors name the class, the argument and what came."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import Generator


def check_generator(op: str, generator: object) -> None:
    """A generator of tenora's, or None."""
    if generator is not None and not isinstance(generator, Generator):
        raise errors.ArgumentTypeError(
            f"[{op}] generator: got {type(generator).__name__}, expected a tenora.Generator or None. "
            "Pass tenora.Generator().manual_seed(0), with the seed of your choice."
        )


def check_iterable(op: str, name: str, value: object, expected: str) -> None:
    """What `iter` takes."""
    if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
        raise errors.ArgumentTypeError(
            f"[{op}] {name}: got {type(value).__name__}, expected {expected}. Pass a sampler or a list of them."
        )


def check_indexable(op: str, name: str, value: object) -> None:
    """What can be asked for one of its elements."""
    if not hasattr(type(value), "__getitem__") and not hasattr(value, "__getitems__"):
        raise errors.ArgumentTypeError(
            f"[{op}] {name}: got {type(value).__name__}, expected something with __getitem__. Pass a list, or a "
            "Dataset; streams are classes derived from IterableDataset."
        )


def check_function(op: str, name: str, value: object) -> None:
    """A function, or None."""
    if value is not None and not callable(value):
        raise errors.ArgumentTypeError(
            f"[{op}] {name}: got {type(value).__name__}, expected a function or None. Pass a function."
        )


def length(op: str, name: str, value: Any) -> int:
    """`len(value)`; what has none is named."""
    if not hasattr(type(value), "__len__"):
        raise errors.ArgumentTypeError(
            f"[{op}] {name}: got {type(value).__name__} without a length, expected something with __len__. "
            "Define __len__, or make it a list."
        )
    return len(value)
