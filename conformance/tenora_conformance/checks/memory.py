"""L1: memory. Bytes arrive as they were sent, blocks are aligned, and everything taken is given back.

- Bit patterns are compared, not numbers: NaN payloads, -0.0 and denormals travel unchanged.
- What a backend says of itself (`memory_stats`) must be back where it was; an impossible request is an
  `OutOfMemoryError`, after which the device still works.
- What it does not say shows in the process: calls and blocks that are given back must not make it grow (`steady`).
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject, watch
from tenora_ops.samples import ALL, numpy_dtype

#: Elements of a tensor: none, one, around a vector, around a page, a large one.
COUNTS = (0, 1, 3, 15, 16, 17, 1023, 1025, 100_003)
ALIGNMENT = 64
STATM = Path("/proc/self/statm")
IMPOSSIBLE = 1 << 60
#: Calls on tensors of so many bytes, and blocks that are given back: 64 MiB of either, were they kept.
CALLS, CALL_BYTES = 1024, 1 << 16
BLOCKS, BLOCK_BYTES = 8, 1 << 23
#: Bytes by which a process may grow meanwhile: caches and fragments.
GROWTH = 24 << 20
#: What is kept of each call grows with every round; the heap of a threaded driver takes a larger piece once.
ROUNDS = 3


def _patterns(dtype: str, count: int) -> np.ndarray:
    """Elements of random bits; booleans stay 0 or 1."""
    kind = numpy_dtype(dtype)
    bits = np.random.default_rng(count + 1).integers(0, 256, count * kind.itemsize, np.uint8)
    return np.asarray((bits & 1 if dtype == "bool" else bits).view(kind))


def _there(array: np.ndarray, subject: Subject) -> Any:
    """A tensor of the backend's own memory with these elements."""
    return tenora.from_numpy(array).to(subject.device).clone()


def _same_bytes(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    if got.dtype != expected.dtype or got.shape != expected.shape or got.tobytes() != expected.tobytes():
        first = next(
            (i for i, (g, e) in enumerate(zip(got.tobytes(), expected.tobytes(), strict=False)) if g != e), 0
        )
        raise Failed(f"{what}: byte {first} of {expected.nbytes} differs, expected the bytes that were sent")


def _round_trip(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Host to device to host."""
    for count in COUNTS:
        array = _patterns(dtype, count)
        _same_bytes(fetched(_there(array, subject)), array, f"{count} elements to the device and back")


def _copies(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A clone is equal and is other memory: a write to one is not seen by the other."""
    for count in COUNTS[1:]:
        array = _patterns(dtype, count)
        first = _there(array, subject)
        with watch(subject, outcome):
            second = first.clone()
            first.fill_(0)
        _same_bytes(fetched(second), array, f"a clone of {count} elements")


def _windows(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A window copied onto another leaves what lies around both."""
    array = _patterns(dtype, 240).reshape(12, 20)
    other = _patterns(dtype, 241)[:240].reshape(12, 20)
    source, target = _there(array, subject), _there(other.copy(), subject)
    with watch(subject, outcome):
        target[1:11:3, 2:18:2].copy_(source[2:6, 4:12])
    expected = other.copy()
    expected[1:11:3, 2:18:2] = array[2:6, 4:12]
    _same_bytes(fetched(target), expected, "a window written to")


def _aligned(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Fresh memory lies at a multiple of 64 bytes, and no two live blocks overlap."""
    blocks = [tenora.empty(count, dtype=subject.dtype(dtype), device=subject.device) for count in COUNTS[1:]]
    again = [tenora.empty_like(block) for block in blocks]
    spans = []
    for block in blocks + again:
        address, size = block.data_ptr(), block.numel() * block.element_size()
        if address % ALIGNMENT:
            raise Failed(f"address of fresh memory: got {address:#x}, expected a multiple of {ALIGNMENT}")
        spans.append((address, address + size))
    spans.sort()
    for (_, end), (begin, _) in zip(spans, spans[1:], strict=False):
        if begin < end:
            raise Failed(f"two live blocks overlap: one ends at {end:#x}, the next begins at {begin:#x}")


def _returned(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Live bytes are back at the baseline when the last reference goes."""
    module = getattr(tenora, subject.device_type)
    before = module.memory_stats(subject.device)["live_bytes"]
    blocks = [_there(_patterns(dtype, count), subject) for count in COUNTS]
    held = module.memory_stats(subject.device)["live_bytes"]
    del blocks
    after = module.memory_stats(subject.device)["live_bytes"]
    if after != before:
        raise Failed(f"live bytes after everything was given back: got {after}, expected {before}")
    if held <= before:
        raise Failed(f"live bytes while tensors live: got {held}, expected more than {before}")


def _resident() -> int:
    """Bytes of this process in memory; what they were at most where the system tells nothing else."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _growth(work: Callable[[], None]) -> int:
    """Bytes that the process has more after a round of work: of one round, or the mean of several if it grew."""
    before = _resident()
    for rounds in range(1, ROUNDS + 1):
        work()
        grown = _resident() - before
        if grown <= rounds * GROWTH or grown > ROUNDS * GROWTH:
            break
    return grown // rounds


def _steady(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Neither calls nor blocks that are given back make the process grow."""
    module, size = getattr(tenora, subject.device_type), numpy_dtype(dtype).itemsize
    small = tenora.ones(CALL_BYTES // size, dtype=subject.dtype(dtype), device=subject.device)

    def compute() -> None:
        for _ in range(CALLS):
            small + small

    def take_blocks() -> None:
        for _ in range(BLOCKS):
            tenora.ones(BLOCK_BYTES // size, dtype=subject.dtype(dtype), device=subject.device)
            module.synchronize()
            module.empty_cache()

    for what, work in ((f"{CALLS} sums of {CALL_BYTES} bytes", compute), (f"{BLOCKS} blocks", take_blocks)):
        work()
        grown = _growth(work)
        if grown > GROWTH:
            raise Failed(
                f"memory of the process after {what} that were given back: got {grown >> 20} MiB more, expected at"
                f" most {GROWTH >> 20}. Look for what is kept of each call"
            )


def _exhausted(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """An impossible request is an OutOfMemoryError, and the next possible one succeeds."""
    try:
        tenora.empty(IMPOSSIBLE, dtype=subject.dtype(dtype), device=subject.device)
    except tenora.OutOfMemoryError:
        _round_trip(subject, dtype, outcome)
        return
    except Exception as error:
        raise Failed(
            f"2**60 elements: got {type(error).__name__}: {error}, expected OutOfMemoryError"
        ) from error
    raise Failed("2**60 elements: got a tensor, expected OutOfMemoryError")


SCRIPTS: dict[str, Script] = {
    "round_trip": _round_trip,
    "copies": _copies,
    "windows": _windows,
    "aligned": _aligned,
    "returned": _returned,
    "steady": _steady,
    "exhausted": _exhausted,
}
CHECK = script_check("memory", Level.L1, SCRIPTS, dtypes=ALL, root="round_trip", watches=True)
