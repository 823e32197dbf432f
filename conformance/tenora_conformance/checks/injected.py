"""L4: faults that a backend makes when it is told to: no memory, a kernel that fails, a device that is lost.

The capability `faults` says that the backend can be told: by the options in `OPTIONS`, whole numbers, each the n-th
from now on that fails, 0 for none. Real devices do not fail when they are asked to; for tests a simulated one does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

import tenora
import tenora_dispatch
from tenora_conformance.checks.ordering import Streams
from tenora_conformance.checks.scripts import Script, run_python, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Case, Failed, Level, Outcome
from tenora_conformance.subject import Subject

WORD = "faults"
#: By script: the option that makes its fault.
OPTIONS = {"allocation": "fail_allocation", "kernel": "fail_kernel", "lost": "lose_device"}
COUNT = 1 << 20
KERNELS = 4
#: Run in a process of its own, which keeps the lost device. `STREAMS` events are recorded behind work; then no question
#: may be left open, nothing more is computed there, and all else goes on.
STREAMS = 24
LOST = """
import time, tenora, tenora_dispatch
tenora.set_default_backend(NAME)
kind = DEVICE.partition(":")[0]
module = getattr(tenora, kind)
others = [f"{kind}:{i}" for i in range(tenora_dispatch.device_count(kind)) if f"{kind}:{i}" != DEVICE]
x = tenora.ones(4096, device=DEVICE)
module.synchronize(DEVICE)
events = []
for turn in range(0 if HOST_ORDER else STREAMS):
    side = module.Stream(DEVICE)
    side.wait_stream(module.current_stream(DEVICE))
    with module.stream(side):
        y = x
        for _ in range(turn):
            y = y * 2
        events.append(side.record_event())
tenora.set_backend_option(NAME, lose_device=1)
for what, attempt in {
    "a kernel": lambda: x + 1,
    "another": lambda: x * x,
    "a copy to the host": lambda: x.tolist(),
    "a new tensor": lambda: tenora.ones(3, device=DEVICE),
    "synchronize()": lambda: module.synchronize(DEVICE),
}.items():
    try:
        attempt()
    except tenora_dispatch.DeviceLostError:
        continue
    except Exception as error:
        print(f"{what} on a lost device: got {type(error).__name__}: {error}, expected DeviceLostError")
    else:
        print(f"{what} on a lost device: got a result, expected DeviceLostError")
for number, event in enumerate(events):
    end = time.monotonic() + 10
    try:
        while not event.query():
            if time.monotonic() > end:
                print(f"query() of event {number} of a lost device: got False for 10 s, expected an answer")
                break
    except tenora_dispatch.DeviceLostError:
        pass
    for other in others:
        module.current_stream(other).wait_event(event)
for other in others:
    got = (tenora.ones(3, device=other) + 1).tolist()
    if got != [2.0] * 3:
        print(f"{other}, which waits for events of a lost device: got {got}, expected twos")
if (got := (tenora.ones(3) + 1).tolist()) != [2.0] * 3:
    print(f"the host after a device was lost: got {got}, expected twos")
"""


@contextlib.contextmanager
def _told(subject: Subject, option: str, count: int) -> Iterator[None]:
    """The n-th from now on fails; after the block nothing does."""
    tenora.set_backend_option(subject.name, **{option: count})
    try:
        yield
    finally:
        tenora.set_backend_option(subject.name, **{option: 0})


def _works(subject: Subject, when: str) -> None:
    x = tenora.arange(6.0, device=subject.device)
    got = fetched((x * x).sum())
    if got != 55.0:
        raise Failed(f"a call after {when}: got {got}, expected 55.0")


def _allocation(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """An allocation that fails is tried again or told, and counted either way."""
    s = Streams(subject)
    s.synchronize()
    s.module.empty_cache(subject.device)
    before = s.module.memory_stats(subject.device)
    with _told(subject, OPTIONS["allocation"], 1):
        try:
            got = fetched(tenora.ones(COUNT, device=subject.device).sum())
        except tenora.OutOfMemoryError:
            got = np.asarray(COUNT)
    if got != COUNT:
        raise Failed(f"the sum of {COUNT} ones, of which an allocation failed: got {got}, expected {COUNT}")
    after = s.module.memory_stats(subject.device)
    if all(after[name] == before[name] for name in ("retries", "out_of_memory")):
        raise Failed("an allocation that fails: got neither a retry nor out_of_memory in the statistics")
    if after["live_bytes"] != before["live_bytes"]:
        raise Failed(
            f"live bytes after an allocation failed: got {after['live_bytes']}, expected {before['live_bytes']}"
        )
    _works(subject, "an allocation that failed")


def _kernel(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A kernel that fails is an error which names the op, whichever of a chain it is; the next call is right."""
    s = Streams(subject)
    for number in range(1, KERNELS + 1):
        x = s.full(1.0, 4)
        s.synchronize()
        before = s.module.memory_stats(subject.device)["live_bytes"]
        with _told(subject, OPTIONS["kernel"], number):
            try:
                y = x
                for _ in range(KERNELS):
                    y = y * 2
                fetched(y)
            except RuntimeError as error:
                if "mul" not in str(error):
                    raise Failed(
                        f"kernel {number} of a chain fails: got {str(error)!r}, expected 'mul' in it"
                    ) from error
            else:
                raise Failed(
                    f"kernel {number} of {KERNELS} of a chain fails: got a result, expected RuntimeError"
                )
        del y
        s.synchronize()
        after = s.module.memory_stats(subject.device)["live_bytes"]
        if after != before:
            raise Failed(f"live bytes after a kernel failed: got {after}, expected {before}")
        _works(subject, "a kernel that failed")


def _lost(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A lost device says so for ever, and leaves nobody waiting: not the host, not another device."""
    told = run_python(f"HOST_ORDER, STREAMS = {subject.host_order}, {STREAMS}\n{LOST}", subject)
    if told.strip():
        raise Failed(told.strip().splitlines()[0])


def _refused(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Fewer than no faults are refused, and the option stays what it was."""
    for name in OPTIONS.values():
        before = tenora_dispatch.backend_options(subject.name)[name]
        try:
            tenora.set_backend_option(subject.name, **{name: -1})
        except tenora.TenoraError:
            after = tenora_dispatch.backend_options(subject.name)[name]
            if after != before:
                raise Failed(f"option {name!r} after it refused -1: got {after}, expected {before}") from None
        else:
            raise Failed(f"option {name!r}: got -1 taken, expected an error. Refuse what means nothing")
        _works(subject, f"option {name!r} refused -1")


def needs(case: Case, subject: Subject) -> str:
    """Those that say they can be told to fail are."""
    return (
        "" if WORD in subject.capabilities else f"capability {WORD} (options that make them) is not declared"
    )


SCRIPTS: dict[str, Script] = {
    "allocation": _allocation,
    "kernel": _kernel,
    "lost": _lost,
    "refused": _refused,
}
CHECK = script_check("injected", Level.L4, SCRIPTS, needs=needs, seconds=180.0)
