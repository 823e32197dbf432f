"""L4: streams and events. Each stream is done in order, a wait orders two, and memory outlives who uses it last.

A device in host order runs the same scripts with its trivial stream (`ordering.Streams`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.ordering import COUNT, ROUNDS, Streams, expect
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.model import Case, Failed, Level, Outcome, Unsupported
from tenora_conformance.subject import Subject, judged_by

#: Streams that are made, used once and dropped: more than a process can keep.
MANY = 80
THREADS = 4
#: Seconds within which an event is reached that a loop asks for.
PATIENCE = 30.0


def _order(s: Streams) -> None:
    """A stream does what it is given in that order: writes in place, copies and transfers among it."""
    stream = s.new()
    s.follow(stream, s.here())
    with s.on(stream):
        x, expected, kept = s.full(0), 0.0, []
        for step in range(4 * ROUNDS):
            x.mul_(-1)
            x.add_(step)
            expected = step - expected
            if step % 4 == 0:
                kept.append((x.clone(), expected))
            if step % 8 == 0:
                s.busy()
                expect(x, expected, f"step {step} on one stream")
        for copied, value in kept:
            expect(copied, value, "a clone among writes to what it is a clone of")


def _wait_stream(s: Streams) -> None:
    """A stream that waits for another sees what that made, and overwrites what that has read."""
    for number in range(ROUNDS):
        main, side = s.here(), s.new()
        with s.on(side):
            s.busy()
            x = s.full(number)
        s.follow(main, side)
        expect(x + 1, number + 1, f"round {number}: read after `wait_stream`")
        s.busy()
        y = x * 3
        s.follow(side, main)
        with s.on(side):
            x.fill_(-1)
        expect(y, 3 * number, f"round {number}: read before a write that waits for it")


def _wait_event(s: Streams) -> None:
    """A stream that waits for an event sees what was submitted before the event was recorded."""
    for number in range(ROUNDS):
        main, side = s.here(), s.new()
        with s.on(side):
            s.busy()
            x = s.full(number)
            event = s.mark(side)
            s.busy()
        s.wait_for(main, event)
        expect(x + 1, number + 1, f"round {number}: read after `wait_event`")


def _record_again(s: Streams) -> None:
    """An event that is recorded again is its later point."""
    for number in range(ROUNDS):
        main, side = s.here(), s.new()
        event = s.mark(side)
        with s.on(side):
            s.busy()
            x = s.full(number)
            if event is not None:
                event.record(side)
        s.wait_for(main, event)
        expect(x + 1, number + 1, f"round {number}: read after an event that was recorded again")


def _synchronize(s: Streams) -> None:
    """When the host has waited for an event, a stream or the device, no stream need wait for what was made before."""
    for number in range(ROUNDS):
        for what in ("event", "stream", "device"):
            side, other = s.new(), s.new()
            with s.on(side):
                s.busy()
                x = s.full(number)
                event = s.mark(side)
            if what == "device" or side is None:
                s.synchronize()
            else:
                (event if what == "event" else side).synchronize()
            with s.on(other):
                expect(x, number, f"round {number}: read on another stream after synchronizing the {what}")
            if side is not None and not (event.query() and side.query()):
                raise Failed(f"query() after synchronizing the {what}: got False, expected True")


def _query(s: Streams) -> None:
    """`query()` becomes true, and when it is, what was asked for is there."""
    for number in range(ROUNDS):
        for what in ("event", "stream"):
            side, other = s.new(), s.new()
            with s.on(side):
                s.busy()
                x = s.full(number)
                event = s.mark(side)
            asked, begin = event if what == "event" else side, time.monotonic()
            while asked is not None and not asked.query():
                if time.monotonic() - begin > PATIENCE:
                    raise Failed(f"query() of a {what}: got False for {PATIENCE:.0f} s, expected True")
            with s.on(other):
                expect(x, number, f"round {number}: read on another stream when the {what} was reached")


def _unrecorded(s: Streams) -> None:
    """An event that was never recorded is no reason to wait; a device in host order refuses streams and events."""
    for what, make in (("stream", s.module.Stream), ("event", lambda device: s.module.Event(device=device))):
        try:
            made = make(s.device)
        except RuntimeError as error:
            if not s.trivial or "host order" not in str(error):
                raise
        else:
            if s.trivial:
                raise Failed(
                    f"a {what} of {s.device}, which works in host order: got one, expected RuntimeError"
                )
            if not made.query():
                raise Failed(f"query() of a {what} without work: got False, expected True")
            made.synchronize()
            if what == "event":
                made.wait(s.new())
    if s.trivial and s.here() is not None:
        raise Failed(
            f"the current stream of {s.device}, which works in host order: got {s.here()}, expected None"
        )


def _transfers(s: Streams) -> None:
    """Bytes go in and out in their stream; the host's memory is the caller's again when the call returns."""
    for number in range(ROUNDS):
        side = s.new()
        with s.on(side):
            s.busy()
            x = s.full(number)
            expect(x, number, f"round {number}: fetched in the stream that computes it")
            host = np.full(COUNT, number, np.float32)
            sent = tenora.from_numpy(host)
            s.busy()
            there = [sent.to(s.device, copy=True, non_blocking=later) for later in (False, True)]
            x.copy_(sent)
            host[:] = -1
            for copied in (*there, x):
                expect(copied, number, f"round {number}: sent to the device, then overwritten on the host")


def _freed(s: Streams) -> None:
    """Memory that is given back while another stream uses it is not handed out before that stream is done."""
    for number in range(ROUNDS):
        main, side = s.here(), s.new()
        x = s.full(number)
        s.follow(side, main)
        with s.on(side):
            s.busy()
            y = x * 2
        del x
        again = [s.full(-1 - i) for i in range(4)]
        s.follow(main, side)
        expect(y, 2 * number, f"round {number}: read on another stream from memory that was given back")
        for i, block in enumerate(again):
            expect(block, -1 - i, f"round {number}: memory that was handed out again")


def _freed_elsewhere(s: Streams) -> None:
    """The same for memory of another stream that this one uses: it is handed out there."""
    for number in range(ROUNDS):
        main, side = s.here(), s.new()
        with s.on(side):
            x = s.full(number)
        s.wait_for(main, s.mark(side))
        s.busy()
        y = x * 2
        del x
        with s.on(side):
            again = [s.full(-1 - i) for i in range(4)]
        expect(y, 2 * number, f"round {number}: read here from another stream's memory that was given back")
        s.follow(main, side)
        for i, block in enumerate(again):
            expect(block, -1 - i, f"round {number}: memory that was handed out again")


def _reused(s: Streams) -> None:
    """On one stream memory is handed out again at once, and holds what its last owner writes."""
    side = s.new()
    s.follow(side, s.here())
    with s.on(side):
        for number in range(ROUNDS):
            s.busy()
            x = s.full(number)
            y = x * 2
            del x
            again = s.full(-1)
            expect(y, 2 * number, f"round {number}: read before its operand's memory was handed out again")
            expect(again, -1, f"round {number}: memory that was handed out again")


def _backward(s: Streams) -> None:
    """Gradients run where the forward pass ran, and are the caller's to use."""
    for number in range(1, ROUNDS + 1):
        main, side = s.here(), s.new()
        x = s.full(number).requires_grad_(True)
        s.follow(side, main)
        with s.on(side):
            s.busy()
            y = x * x
        s.follow(main, side)
        (y * 2 + x).sum().backward()
        assert x.grad is not None, "backward leaves a gradient"
        expect(x.grad + 1, 4 * number + 2, f"round {number}: a gradient over two streams")


def _dropped(s: Streams) -> None:
    """Streams and events may be dropped while they have work, and there may be many."""
    kept: list[Any] = []
    for number in range(MANY):
        main, side = s.here(), s.new()
        s.follow(side, main)
        with s.on(side):
            y = s.full(number, 1025) + 1
        s.wait_for(main, s.mark(side))
        kept.append(y)
        del side
    for number, y in enumerate(kept):
        expect(y * 2, 2 * number + 2, f"stream {number} of {MANY}")


def _current(s: Streams) -> None:
    """The current stream is a thread's own, and is back after a block that raises."""
    usual, side = s.here(), s.new()
    seen: list[Any] = []
    try:
        with s.on(side), ThreadPoolExecutor(1) as pool:
            seen = [s.here(), pool.submit(s.here).result()]
            raise LookupError
    except LookupError:
        wanted = [usual if side is None else side, usual]
        if any(got is not expected for got, expected in zip(seen, wanted, strict=True)):
            raise Failed(
                f"the current stream in a block and in another thread: got {seen}, expected {wanted}"
            ) from None
    if s.here() is not usual:
        raise Failed(f"the current stream after a block that raised: got {s.here()}, expected {usual}")


def _timing(s: Streams) -> None:
    """Two events tell the time between them in milliseconds, less than none where the later one is asked."""
    begin, end = (s.module.Event(enable_timing=True, device=s.device) for _ in range(2))
    begin.record()
    for _ in range(ROUNDS):
        s.busy()
    end.record()
    try:
        told = begin.elapsed_time(end)
    except RuntimeError as error:
        raise Unsupported(str(error)) from error
    if not told > 0:
        raise Failed(f"milliseconds between two events around work: got {told}, expected more than 0")
    again = end.elapsed_time(begin)
    if again != -told:
        raise Failed(f"milliseconds from a later event to an earlier one: got {again}, expected {-told}")


def _threads(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Threads that compute at once, each on a stream of its own."""
    s = Streams(subject)
    shared = s.full(1)
    s.synchronize()

    def work(thread: int) -> None:
        with judged_by(subject), s.on(s.new()):
            for number in range(ROUNDS):
                s.busy()
                x = shared + (thread * ROUNDS + number)
                expect(x * 2, 2 * (thread * ROUNDS + number) + 2, f"thread {thread}, round {number}")

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, thread) for thread in range(THREADS)]:
            done.result(timeout=60)


def _over_streams(script: Callable[[Streams], None]) -> Script:
    """A script over the device's streams."""

    def run(subject: Subject, dtype: str, outcome: Outcome) -> None:
        script(Streams(subject))

    return run


def needs(case: Case, subject: Subject) -> str:
    """The time between events is an optional capability, and of devices that have events."""
    if case.sample != "timing" or "events" in subject.capabilities:
        return ""
    return "capability events (the time between two) is not declared"


SCRIPTS: dict[str, Script] = {
    "order": _over_streams(_order),
    "wait_stream": _over_streams(_wait_stream),
    "wait_event": _over_streams(_wait_event),
    "record_again": _over_streams(_record_again),
    "synchronize": _over_streams(_synchronize),
    "query": _over_streams(_query),
    "unrecorded": _over_streams(_unrecorded),
    "transfers": _over_streams(_transfers),
    "freed": _over_streams(_freed),
    "freed_elsewhere": _over_streams(_freed_elsewhere),
    "reused": _over_streams(_reused),
    "backward": _over_streams(_backward),
    "dropped": _over_streams(_dropped),
    "current": _over_streams(_current),
    "timing": _over_streams(_timing),
    "threads": _threads,
}
CHECK = script_check("streams", Level.L4, SCRIPTS, needs=needs)
