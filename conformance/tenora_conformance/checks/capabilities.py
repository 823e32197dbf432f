"""L4: what a manifest says beside dtypes is what the device does: no more, and no less.

`streams`: work is queued and events order it. `events`: two events tell the time between them.
"""

from __future__ import annotations

from collections.abc import Callable

import tenora
from tenora_conformance.checks.ordering import Streams
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.model import Failed, Level, Outcome, Underclaimed
from tenora_conformance.subject import Subject

#: What an error names where a backend has no function that tells the time.
MISSING = "event_elapsed_ms"


def _has_streams(subject: Subject) -> bool:
    return not subject.host_order


def _tells_time(subject: Subject) -> bool:
    """Whether two events that were made for it tell the time between them."""
    if subject.host_order:
        return False
    module = Streams(subject).module
    begin, end = (module.Event(enable_timing=True, device=subject.device) for _ in range(2))
    begin.record()
    end.record()
    try:
        begin.elapsed_time(end)
    except tenora.TenoraError as error:
        if MISSING not in str(error):  # it is there, and fails
            raise
        return False
    return True


def judged(word: str, works: Callable[[Subject], bool]) -> Script:
    """A script that compares the manifest with what the device does."""

    def run(subject: Subject, dtype: str, outcome: Outcome) -> None:
        declared, found = word in subject.capabilities, works(subject)
        if declared and not found:
            raise Failed(
                f"capability {word!r} is declared, and {subject.device} has it not. Remove it from the manifest's"
                " capabilities, or fill in the functions of tnr_space that it needs"
            )
        if found and not declared:
            raise Underclaimed(
                f"capability {word!r} is not declared, and {subject.device} has it: what is undeclared, nobody may rely"
                f" on. Add {word!r} to the manifest's capabilities"
            )

    return run


SCRIPTS: dict[str, Script] = {
    "streams": judged("streams", _has_streams),
    "events": judged("events", _tells_time),
}
CHECK = script_check("capabilities", Level.L4, SCRIPTS, dtypes=("-",))
