"""What happens when neither a kernel nor a composite exists for an op on the chosen backend.

- `"error"` (the default): `NotSupportedError`. `"warn"` and `"allow"`: the reference computes it on the host, counted
  in `fallbacks()`; "warn" says so with a Python warning each time.
- The mode belongs to the thread, like the gradient mode.
"""

from types import TracebackType
from typing import NamedTuple

from tenora_dispatch.choice import Chooser
from tenora_dispatch.engine_port import Mode
from tenora_dispatch.errors import ArgumentValueError, BackendNotFoundError

MODES: tuple[Mode, ...] = ("error", "warn", "allow")


class Fallback(NamedTuple):
    """How often an op that `backend` lacks was computed by the reference."""

    op: str
    backend: str
    calls: int


def set_mode(chooser: Chooser, mode: Mode) -> Mode:
    """Sets the mode of this thread and returns the previous one. Loads the reference unless the mode is "error"."""
    if mode not in MODES:
        raise ArgumentValueError(
            f"[fallback] mode is wrong: got {mode!r}, expected one of {', '.join(MODES)}. Choose one of these."
        )
    if mode != "error":
        reference = chooser.reference()
        if reference is None:
            raise BackendNotFoundError(
                "[fallback] no reference backend: got none installed, expected one with reference = true. "
                'Install it, or keep fallback="error".'
            )
        chooser.table.ready(reference)
    return chooser.table.engine.set_fallback(mode)


def counts(chooser: Chooser) -> list[Fallback]:
    """All fallbacks of the process so far, most frequent first."""
    rows = [Fallback(*row) for row in chooser.table.engine.fallbacks()]
    return sorted(rows, key=lambda row: (-row.calls, row.op, row.backend))


class FallbackMode:
    """Context manager: a fallback mode for the enclosed block of this thread."""

    def __init__(self, chooser: Chooser, mode: Mode) -> None:
        self._chooser = chooser
        self._mode = mode
        self._previous: list[Mode] = []

    def __enter__(self) -> None:
        self._previous.append(set_mode(self._chooser, self._mode))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._chooser.table.engine.set_fallback(self._previous.pop())
