"""What ran: kernels, copies, transfers and waits, read from the engine's event ring."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from tenora_dispatch import errors
from tenora_engine import chrome_trace, ring_start, ring_stop, ring_take, set_no_hidden_copies


class profile:
    """Records every kernel and copy of the process inside a `with` block.

    `events` lists them afterwards, oldest first; `dropped` counts what did not fit into `capacity`. There is one ring
    of events: a profile inside another one is a RuntimeError.

    >>> import tenora
    >>> with tenora.profiler.profile() as recorded:
    ...     _ = tenora.ones(3) + 1
    >>> any(event["op"] == "add" for event in recorded.events)
    True
    """

    _running: ClassVar[bool] = False

    def __init__(self, capacity: int = 1 << 16) -> None:
        if capacity < 1:
            raise errors.ArgumentValueError(
                f"[profile] capacity: got {capacity}, expected at least 1. Give a larger one."
            )
        self.capacity = capacity
        self.events: list[dict[str, Any]] = []
        self.dropped = 0

    def __enter__(self) -> profile:
        if profile._running:
            raise errors.OperationError(
                "[profile] another profile is running: got a second one, expected one at a time. "
                "End the outer block first."
            )
        ring_start(self.capacity)
        profile._running = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        profile._running = False
        ring_stop()
        self.events, self.dropped = ring_take()

    def export_chrome_trace(self, path: str | Path) -> None:
        """Writes JSON for chrome://tracing and Perfetto; times are microseconds.

        >>> import json, tempfile, tenora
        >>> with tenora.profiler.profile() as recorded:
        ...     _ = tenora.ones(3) + 1
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     recorded.export_chrome_trace(f"{folder}/trace.json")
        ...     found = json.loads(Path(f"{folder}/trace.json").read_text())
        >>> any(event.get("name") == "add" for event in found["traceEvents"])
        True
        """
        Path(path).write_text(chrome_trace(self.events), encoding="utf-8")


class no_hidden_copies:
    """Inside the block, a copy, layout change, transfer or wait that was not asked for raises HiddenCopyError.

    >>> import tenora
    >>> with tenora.no_hidden_copies():
    ...     _ = tenora.ones(3) * 2
    """

    def __enter__(self) -> None:
        self._previous = set_no_hidden_copies(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_no_hidden_copies(self._previous)
