"""Who runs what next: cases in the plan's order, in portions, and none that stands on what is broken.

- A portion is about `PORTION` seconds of work by what its check's cases took so far, so that no worker waits for long.
- A case with `roots` waits for those of them that this run holds; where one did not pass, it is BLOCKED by it.
- An op that ended `CRASHES` processes or ran out of time `SILENCES` times is not asked further, and nothing is after
  `ALL_CRASHES` or `ALL_SILENCES`: what is left is BLOCKED by the last of them. So every run ends.
- All fields are guarded by `_changed`'s lock.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Result, Status
from tenora_conformance.run.estimate import case_seconds

PORTION = 0.25
LARGEST = 64
CRASHES, SILENCES = 3, 2
ALL_CRASHES, ALL_SILENCES = 100, 10
_LIMITS = {Status.CRASH: (CRASHES, ALL_CRASHES), Status.TIMEOUT: (SILENCES, ALL_SILENCES)}


def blocked(case: Case, root: str, why: str) -> Result:
    """The result of a case that is not run."""
    return Result(case.id, int(case.level), case.check, Status.BLOCKED, why, root=root)


class Schedule:
    """Hands out the cases of a run. `emit` is called with the results of cases that are not run."""

    def __init__(
        self, cases: Sequence[Case], rates: Mapping[str, float], emit: Callable[[Result], None]
    ) -> None:
        self._pending = collections.deque(cases)
        self._parked: dict[str, list[Case]] = {}
        """Cases that wait for a root, by its id."""
        self._mine = {case.id for case in cases}
        self._passed: dict[str, bool] = {}
        self._running = 0
        self._counts: collections.Counter[tuple[Status, str]] = collections.Counter()
        self._last: dict[str, str] = {}
        """The last case that ended a process or ran out of time, by op; "" stands for the whole run."""
        self._seconds = {name: [rates.get(name, case_seconds(name)), 1.0] for name in CHECKS}
        self._emit = emit
        self._stopped = False
        self._changed = threading.Condition()

    def take(self) -> list[Case]:
        """The next portion; empty when there is nothing more to do."""
        with self._changed:
            while not self._stopped:
                portion = self._portion()
                if portion:
                    self._running += len(portion)
                    return portion
                if not self._running and not self._parked:
                    break
                if not self._running:  # roots that wait for each other: somebody has to begin
                    self._mine -= set(self._parked)
                    for root in list(self._parked):
                        self._unpark(root)
                    continue
                self._changed.wait()
            self._changed.notify_all()
            return []

    def done(self, result: Result) -> None:
        """Takes in the result of a case that was handed out."""
        with self._changed:
            self._running -= 1
            self._note(result)

    def give_back(self, cases: Iterable[Case]) -> None:
        """Takes back cases whose worker ended before their turn."""
        with self._changed:
            returned = list(cases)
            self._running -= len(returned)
            self._pending.extendleft(reversed(returned))
            self._changed.notify_all()

    def stop(self) -> None:
        """Hands out nothing more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _portion(self) -> list[Case]:
        portion: list[Case] = []
        seconds = 0.0
        while self._pending and len(portion) < LARGEST and (not portion or seconds < PORTION):
            case = self._pending[0]
            alone = CHECKS[case.check].isolated
            if portion and alone:
                break
            self._pending.popleft()
            if self._holds_back(case):
                continue
            portion.append(case)
            total, count = self._seconds[case.check]
            seconds += total / count
            if alone:
                break
        return portion

    def _holds_back(self, case: Case) -> bool:
        """Whether a case cannot be handed out now; one that never can gets its result."""
        last = self._last.get("") or self._last.get(case.op)
        if last:
            self._block(case, last, f"{last} ended the process or ran out of time, as others before it did")
            return True
        for root in case.roots:
            if self._passed.get(root) is False:
                self._block(case, root, f"{root}, on which it stands, did not pass")
                return True
        awaited = next((r for r in case.roots if r in self._mine and r not in self._passed), "")
        if awaited:
            self._parked.setdefault(awaited, []).append(case)
        return bool(awaited)

    def _block(self, case: Case, root: str, why: str) -> None:
        result = blocked(case, root, why)
        self._note(result)
        self._emit(result)

    def _note(self, result: Result) -> None:
        self._passed[result.case] = result.passed
        op = result.case.partition("/")[0]
        if result.status in _LIMITS:
            for name, limit in zip((op, ""), _LIMITS[result.status], strict=True):
                self._counts[result.status, name] += 1
                if self._counts[result.status, name] >= limit:
                    self._last[name] = result.case
        elif result.status is not Status.BLOCKED:
            took = self._seconds[result.check]
            took[0] += result.seconds
            took[1] += 1
        self._unpark(result.case)
        self._changed.notify_all()

    def _unpark(self, root: str) -> None:
        self._pending.extendleft(reversed(self._parked.pop(root, [])))
