"""Random number state. Draws are counter-based (Philox 4x32-10), so a seed gives the same bits on every backend."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tenora_dispatch import errors
from tenora_engine import (
    Generator,
    Tensor,
    default_generator,
    device,
    device_count,
    space_names,
)
from tenora_engine import manual_seed as _seed_all_devices

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator of every device and returns the host's. `seed` is read by `int`, as PyTorch does.

    TypeError or ValueError for what is no number, ValueError for one below -2**63 or from 2**64 on.

    >>> import tenora
    >>> a = tenora.manual_seed(1) and tenora.rand(2)
    >>> b = tenora.manual_seed(1) and tenora.rand(2)
    >>> bool((a == b).all())
    True
    """
    try:
        value = int(seed)
    except (TypeError, ValueError) as error:
        kind = errors.ArgumentTypeError if isinstance(error, TypeError) else errors.ArgumentValueError
        raise kind(
            f"[manual_seed] seed is no number: got {seed!r}, expected an int. Pass an int.", op="manual_seed"
        ) from error
    host = default_generator().manual_seed(value)  # refuses what is no seed before anything has changed
    _seed_all_devices(value)
    return host


def seed() -> int:
    """Seeds the default generators from the operating system and returns the seed.

    >>> import tenora
    >>> with tenora.random.fork_rng():
    ...     tenora.random.seed() == tenora.random.initial_seed()
    True
    """
    value = secrets.randbits(63)
    manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed of the default generator.

    >>> import tenora
    >>> with tenora.random.fork_rng():
    ...     _ = tenora.manual_seed(7)
    ...     tenora.random.initial_seed()
    7
    """
    return default_generator().initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator (seed and counter), as 16 bytes.

    >>> import tenora
    >>> state = tenora.random.get_rng_state()
    >>> state.shape, state.dtype
    (tenora.Size([16]), tenora.uint8)
    """
    return default_generator().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Sets the state that `get_rng_state` returned; TypeError for what is no uint8 tensor of the host.

    RuntimeError for another number of bytes than 16.

    >>> import tenora
    >>> state = tenora.random.get_rng_state()
    >>> first = tenora.rand(3)
    >>> tenora.random.set_rng_state(state)
    >>> bool((tenora.rand(3) == first).all())
    True
    """
    default_generator().set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True) -> Iterator[None]:
    """Draws inside the block leave the default generators as they were: the host's and those of `devices`.

    `devices`: devices or their names, the host need not be among them; None = the devices whose backends are loaded.
    `enabled=False`: the block changes nothing.

    >>> import tenora
    >>> _ = tenora.manual_seed(1)
    >>> with tenora.random.fork_rng():
    ...     a = tenora.rand(1)
    >>> bool(a == tenora.rand(1))
    True
    """
    generators = _generators(devices) if enabled else []
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def _generators(devices: Iterable[Any] | None) -> list[Generator]:
    if devices is None:
        devices = [
            f"{space}:{index}"
            for space in space_names()
            for index in range(device_count(space))
            if space != "cpu"
        ]
    return [default_generator(), *(default_generator(device(d)) for d in devices)]
