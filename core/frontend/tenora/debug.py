"""Finding out what a backend's kernels do wrong: `guard` runs them where every stray write shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tenora_dispatch
from tenora_engine import guard_backend


@contextmanager
def guard(backend: str) -> Iterator[None]:
    """Every kernel of a backend runs guarded in the block, in all threads of the process; it may stand in another.

    Operands lie in memory of their own between red zones. An input that changes, a write outside of an output's
    elements, and an element of a fresh output that no write reaches end in a RuntimeError, which names backend, op,
    operand and the first wrong byte, counted from the operand's first. Poison (bytes 0xFF: NaN of every floating
    dtype) lies in red zones, in fresh outputs and between the elements of strided operands, so what a kernel reads
    there shows in its results. A kernel may run twice, on two poisons, where a right value looks like the first one.

    Calls are many times slower inside; outside they are what they were: the table of kernels holds the plain ones.
    Works for any memory: what a device computes is fetched when its stream is done.

    Raises: `BackendNotFoundError` for an unknown name, or the error that keeps the backend from loading; ValueError
    for a backend with several device types of one DLPack type, whose memory cannot be told apart.

    Example:
        >>> import tenora
        >>> with tenora.use_backend("reference"), tenora.debug.guard("reference"):
        ...     tenora.ones(3) + 1
        tensor([2., 2., 2.])
    """
    tenora_dispatch.kernels(backend)  # loads it
    guard_backend(backend, True)
    try:
        yield
    finally:
        guard_backend(backend, False)
