"""Random number state. Draws are counter-based (Philox 4x32-10), so a seed gives the same bits on every backend."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tenora_engine import Generator, Tensor, default_generator

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator of every device and returns the host's.

    >>> import tenora
    >>> a = tenora.manual_seed(1) and tenora.rand(2)
    >>> b = tenora.manual_seed(1) and tenora.rand(2)
    >>> bool((a == b).all())
    True
    """
    return default_generator().manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the operating system and returns the seed."""
    value = secrets.randbits(63)
    default_generator().manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed of the default generator."""
    return int(default_generator().initial_seed())


def get_rng_state() -> Tensor:
    """The state of the default generator, as a uint8 tensor."""
    return default_generator().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Sets the state that `get_rng_state` returned."""
    default_generator().set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] = (), enabled: bool = True) -> Iterator[None]:
    """Draws inside the block leave the default generator as it was."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)
