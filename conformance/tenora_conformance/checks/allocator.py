"""L4: the allocator. What it says of itself is true and consistent, memory is used again, and is not torn to pieces.

- `live`: bytes of tensors; `reserved`: bytes held of the device; `cached`: what is held and free. All are compared with
  what they were before the script.
- On a device with streams the host waits before it looks: what another stream used is given back when that is done.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import tenora
from tenora_conformance.checks.ordering import Streams, expect
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.model import Case, Failed, Level, Outcome
from tenora_conformance.subject import Subject

MIB = 1 << 20
#: Steps of the random walk, bytes that live at most in it, and its largest block.
STEPS, MOST, LARGEST = 1500, 48 * MIB, 3 * MIB
#: Bytes held for each byte that lives, and beside that: a segment of each kind that an allocator may keep open.
SHARE, OPEN = 2, 64 * MIB
IMPOSSIBLE = 1 << 60
#: What an error tells of free memory.
FREE = re.compile(r"at most ([\d.]+) (\w+) \(what the device reports free\)")
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
#: Bytes of what three tensors are made of beside their elements, which lie on the host.
PARTS = 4096


class _Books:
    """The allocator's statistics."""

    def __init__(self, subject: Subject) -> None:
        self.streams = Streams(subject)
        self.module, self.device = self.streams.module, subject.device

    def empty(self, nbytes: int) -> Any:
        """A tensor of so many bytes."""
        return tenora.empty(nbytes, dtype=tenora.uint8, device=self.device)

    def now(self) -> Mapping[str, int]:
        """The statistics, once the device is done. Raises: Failed where they contradict themselves."""
        self.streams.synchronize()
        stats: Mapping[str, int] = self.module.memory_stats(self.device)
        live, held = stats["live_bytes"], stats["reserved_bytes"]
        for what, is_so in (
            ("reserved_bytes >= live_bytes", held >= live),
            ("cached_bytes == reserved_bytes - live_bytes", stats["cached_bytes"] == held - live),
            ("live_bytes_peak >= live_bytes", stats["live_bytes_peak"] >= live),
            ("reserved_bytes_peak >= reserved_bytes", stats["reserved_bytes_peak"] >= held),
            ("raw_allocations >= raw_releases", stats["raw_allocations"] >= stats["raw_releases"]),
            ("allocations >= live_blocks", stats["allocations"] >= stats["live_blocks"]),
            ("no count below 0", min(stats.values()) >= 0),
        ):
            if not is_so:
                raise Failed(f"memory_stats: got {dict(stats)}, expected {what}")
        return stats

    def clean(self) -> Mapping[str, int]:
        """The statistics when nothing is cached that can be given back."""
        self.streams.synchronize()
        self.module.empty_cache(self.device)
        return self.now()


def _same(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise Failed(f"{what}: got {got}, expected {expected}")


def _back(when: str, after: Mapping[str, int], before: Mapping[str, int]) -> None:
    """What lived after `when` is what lived before."""
    for name in ("live_bytes", "live_blocks"):
        _same(f"{name} after {when}", after[name], before[name])


def _between(what: str, got: int, least: int, most: int) -> None:
    if not least <= got <= most:
        raise Failed(f"{what}: got {got}, expected {least} to {most}")


def _current(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """`live_bytes` and `live_blocks` are those of the tensors that live; views and empty tensors add nothing."""
    books = _Books(subject)
    before = books.now()
    for nbytes in (1, 100, 4096, MIB + 1, 5 * MIB):
        x = books.empty(nbytes)
        held = books.now()
        grown = held["live_bytes"] - before["live_bytes"]
        _between(f"live bytes of a tensor of {nbytes}", grown, nbytes, nbytes + max(nbytes, MIB))
        # On the host the tensor's own parts are blocks as well.
        _between("live blocks of a tensor", held["live_blocks"] - before["live_blocks"], 1, 4)
        _same("memory_allocated()", books.module.memory_allocated(books.device), held["live_bytes"])
        _same("memory_reserved()", books.module.memory_reserved(books.device), held["reserved_bytes"])
        views = (x[: nbytes // 2], x.reshape(1, nbytes), books.empty(0))
        beside = books.now()["live_bytes"] - held["live_bytes"]
        _between("live bytes of views beside their tensor", beside, 0, PARTS)
        del x, views
        after = books.now()
        _back(f"a tensor of {nbytes} bytes went", after, before)


def _peak(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """The peak is the most that lived since it was reset, also after it went."""
    books = _Books(subject)
    books.module.reset_peak_memory_stats(books.device)
    before = books.now()
    _same("live_bytes_peak after a reset", before["live_bytes_peak"], before["live_bytes"])
    x = books.empty(8 * MIB)
    most = books.now()["live_bytes"]
    del x
    y = books.empty(2 * MIB)
    after = books.now()
    _same("live_bytes_peak after its largest tensor went", after["live_bytes_peak"], most)
    _same("max_memory_allocated()", books.module.max_memory_allocated(books.device), most)
    del y
    books.module.reset_peak_memory_stats(books.device)
    last = books.now()
    _same("live_bytes_peak after another reset", last["live_bytes_peak"], before["live_bytes"])


def _reserved(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """What is held grows with what lives, is kept when that goes, and is given back when the cache is emptied."""
    books = _Books(subject)
    before = books.clean()
    blocks = [books.empty(4 * MIB) for _ in range(6)]
    held = books.now()
    _between("reserved bytes beside 24 MiB of tensors", held["reserved_bytes"], 24 * MIB, 1 << 62)
    del blocks
    empty = books.clean()
    _same("live bytes after all tensors went", empty["live_bytes"], before["live_bytes"])
    _between(
        "reserved bytes after the cache was emptied", empty["reserved_bytes"], 0, before["reserved_bytes"]
    )
    _between("raw allocations of 24 MiB", held["raw_allocations"] - before["raw_allocations"], 1, 6)
    _between("raw releases of them", empty["raw_releases"] - before["raw_releases"], 1, 1 << 62)


def _reused(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Memory that was given back is handed out again before the device is asked for more."""
    books = _Books(subject)
    sizes = (1000, 70_000, MIB, 3 * MIB)

    def turn() -> Mapping[str, int]:
        for nbytes in sizes:
            for _ in range(8):
                books.empty(nbytes)
        return books.now()

    first, second = turn(), turn()
    _same("raw allocations of a loop's second turn", second["raw_allocations"], first["raw_allocations"])
    _same("reserved bytes after it", second["reserved_bytes"], first["reserved_bytes"])
    _between("allocations of it", second["allocations"] - first["allocations"], 8 * len(sizes), 1 << 62)


def _fragments(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A long random walk of tensors that come and go: each keeps its number, and not much more is held than lives."""
    books, draw = _Books(subject), random.Random(0)
    before = books.clean()
    books.module.reset_peak_memory_stats(books.device)
    live: list[tuple[Any, int]] = []
    total = 0
    for step in range(STEPS):
        nbytes = int(2 ** draw.uniform(4, 21.5))
        while live and (total + nbytes > MOST or draw.random() < 0.3):
            x, number = live.pop(draw.randrange(len(live)))
            total -= x.numel() * 4
            if step % 16 == 0:
                expect(x, number, f"step {step}: a tensor among {len(live)} others")
        live.append((books.streams.full(step, max(1, nbytes // 4)), step))
        total += nbytes
    for x, number in live:
        expect(x, number, f"after {STEPS} steps: a tensor among {len(live)} others")
    walked = books.now()
    lived = walked["live_bytes_peak"] - before["live_bytes"]
    held = walked["reserved_bytes_peak"] - before["reserved_bytes"]
    _between(f"bytes held at most while {lived} lived at most", held, lived, SHARE * lived + OPEN)
    del x
    live.clear()
    after = books.clean()
    _back("all tensors went", after, before)
    _between(
        "reserved bytes after all tensors went and the cache was emptied",
        after["reserved_bytes"],
        0,
        before["reserved_bytes"] + (OPEN >> 3),
    )


def _across_streams(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Memory that several streams used is given back once, when all are done."""
    books = _Books(subject)
    s = books.streams
    s.busy()
    before = books.now()
    for number in range(8):
        sides = [s.new() for _ in range(3)]
        x = s.full(number)
        results = []
        for side in sides:
            s.follow(side, s.here())
            with s.on(side):
                s.busy()
                results.append(x + number)
        del x
        for side, y in zip(sides, results, strict=True):
            s.follow(s.here(), side)
            expect(y, 2 * number, f"round {number}: read from memory that three streams use")
        del y, results
    after = books.now()
    _back("tensors of several streams went", after, before)


def _recovery(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A request that cannot be met is tried again without the cache and counted; live tensors stay as they are."""
    books = _Books(subject)
    kept = [books.streams.full(number, MIB // 4) for number in range(8)]
    for _ in range(8):
        books.empty(3 * MIB)
    before = books.now()
    for attempt in range(1, 4):
        try:
            books.empty(IMPOSSIBLE)
        except tenora.OutOfMemoryError as error:
            if str(IMPOSSIBLE) not in str(error) or books.device.partition(":")[0] not in str(error):
                raise Failed(
                    f"a request of {IMPOSSIBLE} bytes: got {str(error)!r}, expected number and device in it"
                ) from error
            _tells_of_free(str(error), 3 * MIB)
        else:
            raise Failed(f"a request of {IMPOSSIBLE} bytes: got a tensor, expected OutOfMemoryError")
        after = books.now()
        _same("counted out_of_memory", after["out_of_memory"] - before["out_of_memory"], attempt)
        _same("live bytes after it", after["live_bytes"], before["live_bytes"])
        books.empty(3 * MIB)
    for number, x in enumerate(kept):
        expect(x, number, "a tensor that lived while memory ran out")


def _tells_of_free(text: str, least: int) -> None:
    """A device that reports what is free counts in what was given back to it just before it was asked."""
    told = FREE.search(text)
    if told and float(told[1]) * 1024 ** UNITS.index(told[2]) < least:
        raise Failed(
            f"free memory that the device reports: got {told[0]!r}, expected {least} bytes that it was given back"
        )


def needs(case: Case, subject: Subject) -> str:
    """A backend with a pool of its own decides itself what it asks the device for."""
    if case.sample in ("reserved", "reused", "fragments") and "own_pool" in subject.capabilities:
        return "the backend brings a pool of its own"
    return ""


SCRIPTS: dict[str, Script] = {
    "current": _current,
    "peak": _peak,
    "reserved": _reserved,
    "reused": _reused,
    "fragments": _fragments,
    "across_streams": _across_streams,
    "recovery": _recovery,
}
CHECK = script_check("allocator", Level.L4, SCRIPTS, needs=needs)
