"""What scripts about streams speak in: streams that are None on a device in host order, work that lasts, waiting.

- A device that works in the order of the host has the trivial stream only, `None`: the same scripts run on it, and
  waiting is nothing.
- What must be waited for is queued behind work that lasts (`busy`), so that a wait which is missing shows in a value.
  Numbers differ from round to round, so that memory which holds an earlier round's is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Detail, Failed
from tenora_conformance.subject import Subject

#: Rounds of a script, elements of its tensors; size and number of the products of `busy`.
ROUNDS = 24
COUNT = 65_537
SIDE, PRODUCTS = 128, 6


class Streams:
    """The streams of a backend's device."""

    def __init__(self, subject: Subject) -> None:
        self.device = subject.device
        self.module = getattr(tenora, subject.device_type)
        self.trivial = subject.host_order

    def new(self) -> Any:
        """A new stream; None in host order."""
        return None if self.trivial else self.module.Stream(self.device)

    def here(self) -> Any:
        """This thread's current stream."""
        return self.module.current_stream(self.device)

    def on(self, stream: Any) -> Any:
        """Submits to a stream for a block."""
        return self.module.stream(stream)

    def mark(self, stream: Any) -> Any:
        """An event behind what a stream was given so far."""
        return None if stream is None else stream.record_event()

    def follow(self, later: Any, earlier: Any) -> None:
        """`later` waits for what `earlier` was given so far."""
        if later is not None:
            later.wait_stream(earlier)

    def wait_for(self, stream: Any, event: Any) -> None:
        """A stream waits for an event."""
        if stream is not None:
            stream.wait_event(event)

    def synchronize(self) -> None:
        """The host waits for the device."""
        self.module.synchronize(self.device)

    def full(self, value: float, count: int = COUNT) -> Any:
        """A tensor of one number."""
        return tenora.full((count,), float(value), device=self.device)

    def busy(self) -> None:
        """Work on the current stream that lasts."""
        product = tenora.full((SIDE, SIDE), 1.0 / SIDE, device=self.device)
        for _ in range(PRODUCTS):
            product = product @ product


def expect(tensor: Any, value: float, what: str) -> None:
    """Raises: Failed where an element of a tensor, fetched on the current stream, is another number."""
    found = fetched(tensor)
    wrong = np.flatnonzero(found != value)
    if wrong.size:
        first = int(wrong[0])
        raise Failed(
            f"{what}: {wrong.size} of {found.size} elements are wrong, the first at {first}: got"
            f" {found.flat[first]}, expected {value}",
            Detail(first_wrong=str(first)),
        )
