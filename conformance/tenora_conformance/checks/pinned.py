"""L4: pinned memory, from which copies run while the program goes on: none goes back before its copies are over.

`claimed` asks whether the manifest and the device agree about having it; the others are for those who declare it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.capabilities import judged
from tenora_conformance.checks.ordering import COUNT, ROUNDS, Streams, expect
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.model import Case, Failed, Level, Outcome
from tenora_conformance.subject import Subject, watch

WORD = "pinned_memory"
#: Pinning is a copy on the host, which a backend for another device does not serve.
ON_HOST = frozenset({"copy"})


def _pin(s: Streams, value: float) -> Any:
    host: Any = tenora.from_numpy(np.full(COUNT, value, np.float32))
    return host.pin_memory(s.device)


def _pins(subject: Subject) -> bool:
    """Whether there is any."""
    return not subject.host_memory and bool(_pin(Streams(subject), 1.0).is_pinned(subject.device))


def _outlives(s: Streams) -> None:
    """The program gives pinned memory back at once, while the stream has other work to do before the copy."""
    arrived = []
    for number in range(ROUNDS):
        s.busy()
        host, there = _pin(s, number), s.full(-1)
        if not host.is_pinned(s.device):
            raise Failed("`pin_memory()` left the tensor where it was: got no pinned memory, expected some")
        there.copy_(host, non_blocking=True)
        arrived += [(number, host.to(s.device, non_blocking=True)), (number, there)]
        del host
    for number, there in arrived:
        expect(there, number, f"round {number}: a copy from pinned memory that was given back at once")


def _blocking(s: Streams) -> None:
    """A copy that was not asked to run by itself is over when the call returns: the host may write at once."""
    for number in range(ROUNDS):
        s.busy()
        host = _pin(s, number)
        there = host.to(s.device)
        host.numpy()[:] = -1
        expect(there, number, f"round {number}: sent to the device, then overwritten on the host")


def _streams(s: Streams) -> None:
    """Several streams read the same pinned memory, in parts and whole, and the last of them keeps it alive."""
    for number in range(ROUNDS):
        main, host, parts = s.here(), _pin(s, number), []
        for begin in (0, 1, COUNT // 2):
            side = s.new()
            with s.on(side):
                s.busy()
                parts.append(host[begin:].to(s.device, non_blocking=True))
            s.follow(main, side)
        del host
        for part in parts:
            expect(part + 1, number + 1, f"round {number}: a part of pinned memory that several streams read")


def _watched(script: Callable[[Streams], None]) -> Script:
    def run(subject: Subject, dtype: str, outcome: Outcome) -> None:
        with watch(subject, outcome, on_host=ON_HOST):
            script(Streams(subject))

    return run


def needs(case: Case, subject: Subject) -> str:
    """What is declared is asked; whether it is declared is asked of all."""
    if case.sample == "claimed" or WORD in subject.capabilities:
        return ""
    return f"capability {WORD} (memory of the host for copies that nobody waits for) is not declared"


SCRIPTS: dict[str, Script] = {
    "claimed": judged(WORD, _pins),
    "outlives": _watched(_outlives),
    "blocking": _watched(_blocking),
    "streams": _watched(_streams),
}
CHECK = script_check(WORD, Level.L4, SCRIPTS, needs=needs, watches=True)
