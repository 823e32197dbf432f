"""L4: faults. After an error everything is as before: the next call is right, and no memory is lost."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.scripts import Script, run_python, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject

REPEATS = 50
INTERRUPTED = """
import signal, time, tenora
tenora.set_default_backend(NAME)
x = tenora.ones(256, 256, device=DEVICE)
def ring(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
caught = 0
for _ in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        while True:
            y = (x @ x).sum()
    except KeyboardInterrupt:
        caught += 1
assert (x @ x).sum().item() == 256.0 ** 3
print(caught)
"""


def _works(subject: Subject) -> None:
    x = tenora.arange(6.0, device=subject.device)
    got = fetched((x * x).sum())
    if got != 55.0:
        raise Failed(f"the call after an error: got {got}, expected 55.0")


def _live(subject: Subject) -> int:
    module = getattr(tenora, subject.device_type)
    return int(module.memory_stats(subject.device)["live_bytes"])


def _index(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """An index out of range that only a kernel can see."""
    table = tenora.zeros(5, 3, device=subject.device)
    wrong = tenora.tensor([0, 7], device=subject.device)
    before = _live(subject)
    for _ in range(REPEATS):
        try:
            fetched(table[wrong])
        except IndexError as error:
            if "7" not in str(error) or "5" not in str(error):
                raise Failed(f"index 7 of 5 rows: got {str(error)!r}, expected both numbers in it") from error
        else:
            raise Failed("index 7 of 5 rows: got a result, expected IndexError")
        _works(subject)
    if _live(subject) != before:
        raise Failed(f"live bytes after {REPEATS} errors: got {_live(subject)}, expected {before}")


def _division(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Integers divided by zero."""
    a, b = (tenora.tensor(v, device=subject.device) for v in ([3, 4], [1, 0]))
    for function in (tenora.floor_divide, tenora.remainder):
        try:
            fetched(function(a, b))
        except tenora.NotSupportedError:
            raise
        except (RuntimeError, ZeroDivisionError):
            _works(subject)
        else:
            raise Failed(f"{function.__name__} of integers by zero: got a result, expected an error")


def _out_of_memory(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A request that cannot be met, in the middle of a chain with a tape."""
    before = _live(subject)
    for _ in range(REPEATS):
        x = tenora.ones(16, device=subject.device, requires_grad=True)
        y = (x * 2).sum()
        try:
            tenora.empty(1 << 58, dtype=tenora.float64, device=subject.device)
        except tenora.OutOfMemoryError:
            y.backward()
            if not np.array_equal(fetched(x.grad), np.full(16, 2.0, np.float32)):
                raise Failed(
                    f"a gradient after running out of memory: got {fetched(x.grad)}, expected 2"
                ) from None
        else:
            raise Failed("2**58 float64 elements: got a tensor, expected OutOfMemoryError")
        x.grad = None
        del x, y
    if _live(subject) != before:
        raise Failed(
            f"live bytes after {REPEATS} times out of memory: got {_live(subject)}, expected {before}"
        )


def _in_backward(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A hook that raises ends the backward pass; the graph can be used again where it was kept."""
    x = tenora.ones(4, device=subject.device, requires_grad=True)

    def refuse(gradient: Any) -> None:
        raise LookupError("from the hook")

    y = (x * 3).sum()
    handle = x.register_hook(refuse)
    try:
        y.backward(retain_graph=True)
    except LookupError:
        handle.remove()
    else:
        raise Failed("a hook that raises: got no error, expected its LookupError")
    x.grad = None
    y.backward()
    if not np.array_equal(fetched(x.grad), np.full(4, 3.0, np.float32)):
        raise Failed(f"backward after a hook raised: got {fetched(x.grad)}, expected 3")


def _interrupted(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Ctrl-C in a loop of products, twenty times."""
    if run_python(INTERRUPTED, subject).strip() != "20":
        raise Failed("Ctrl-C in a loop of products was swallowed")


SCRIPTS: dict[str, Script] = {
    "index": _index,
    "division": _division,
    "out_of_memory": _out_of_memory,
    "in_backward": _in_backward,
    "interrupted": _interrupted,
}
CHECK = script_check("faults", Level.L4, SCRIPTS, seconds=180.0)
