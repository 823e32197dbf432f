"""Runs cases in worker processes: a thread beside each worker, results in a queue that the caller empties.

- A worker that ended, or was ended, is replaced; the cases that it had not begun go back to the schedule.
- Cases of an isolated check get a worker each.
- `Pool` is a context manager: on the way out every worker is ended, whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Result, Status
from tenora_conformance.run.process import CannotLoad, Worker
from tenora_conformance.run.schedule import Schedule
from tenora_conformance.subject import Subject


class Pool:
    """Workers for the backend that `worker` has loaded; it is the first of them."""

    def __init__(self, worker: Worker, jobs: int = 1) -> None:
        self.subject: Subject = worker.subject
        self.jobs = max(1, jobs)
        self.fallbacks: list[list[object]] = []
        """Stand-ins that workers told of when they ended; complete once `results` is."""
        self._spare = [worker]
        self._alive: set[Worker] = set()
        self._lock = threading.Lock()
        """Guards `_spare`, `_alive` and `fallbacks`."""
        self._schedule: Schedule | None = None

    def results(self, cases: Sequence[Case], rates: Mapping[str, float]) -> Iterator[Result]:
        """One result for each case, in the order in which they end."""
        found: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
        schedule = self._schedule = Schedule(cases, rates, found.put)
        lanes = [
            threading.Thread(target=self._lane, args=(schedule, found), daemon=True)
            for _ in range(min(self.jobs, len(cases)))
        ]
        for lane in lanes:
            lane.start()
        working = len(lanes)
        while working:
            item = found.get()
            if item is None:
                working -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item

    def _lane(self, schedule: Schedule, found: queue.SimpleQueue[Result | BaseException | None]) -> None:
        """Works until the schedule has nothing more."""
        worker: Worker | None = None
        try:
            while cases := schedule.take():
                isolated = CHECKS[cases[0].check].isolated
                with contextlib.ExitStack() as stack:
                    used = None if isolated else worker
                    try:
                        used = used or self._worker(spare=not isolated)
                    except CannotLoad as refusal:
                        self._deliver(schedule, found, _refused(cases[0], refusal), cases[1:])
                        continue
                    if isolated:
                        stack.callback(self._retire, used)
                    alive = self._run(used, cases, schedule, found)
                    worker = worker if isolated else alive
            if worker:
                self._retire(worker)
        except BaseException as error:  # the caller's thread must hear of it
            found.put(error)
        finally:
            found.put(None)

    def _run(
        self,
        worker: Worker,
        cases: Sequence[Case],
        schedule: Schedule,
        found: queue.SimpleQueue[Result | BaseException | None],
    ) -> Worker | None:
        """Runs a portion; the worker, unless it is of no more use."""
        answered = 0
        for result in worker.run(cases):
            answered += 1
            lost = result.status in (Status.CRASH, Status.TIMEOUT)
            self._deliver(schedule, found, result, cases[answered:] if lost else ())
            if lost:
                with self._lock:
                    self._alive.discard(worker)
                return None
        return worker

    def _deliver(
        self,
        schedule: Schedule,
        found: queue.SimpleQueue[Result | BaseException | None],
        result: Result,
        rest: Sequence[Case],
    ) -> None:
        schedule.done(result)
        found.put(result)
        schedule.give_back(rest)

    def _worker(self, *, spare: bool) -> Worker:
        with self._lock:
            if spare and self._spare:
                worker = self._spare.pop()
                self._alive.add(worker)
                return worker
        worker = Worker(self.subject.name, self.subject.device, threads_of(self.jobs))
        with self._lock:
            self._alive.add(worker)
        return worker

    def _retire(self, worker: Worker) -> None:
        """Takes leave of a worker that has done its work."""
        told = worker.fallbacks()
        worker.close()
        with self._lock:
            self._alive.discard(worker)
            self.fallbacks += told

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._schedule is not None:
            self._schedule.stop()
        with self._lock:
            left = [*self._alive, *self._spare]
            self._alive.clear()
            self._spare.clear()
        for worker in left:
            worker.kill()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(jobs: int) -> int:
    """The threads that each of several workers should use for one op."""
    return max(1, cores() // jobs)


def _refused(case: Case, refusal: CannotLoad) -> Result:
    """The result of the case for which a backend could not be loaded once more."""
    said = f"the backend, which had been loaded before, could not be loaded again: {refusal}"
    return Result(case.id, int(case.level), case.check, Status.CRASH, said)
