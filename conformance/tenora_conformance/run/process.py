"""A worker as its parent sees it: asked for results, and told apart by how it ends.

- A worker that ends while it owes a result gives CRASH, one that owes it for too long is ended and gives TIMEOUT; the
  caller then starts another.
- It is in a session of its own, so that an interrupt from the keyboard reaches the parent only.
- `close` waits for a worker a little, then ends it: a backend may hang while it is taken down.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Detail, Result, Status
from tenora_conformance.run.messages import CHUNK, Message, send
from tenora_conformance.subject import Subject

#: Seconds in which a backend is loaded, and in which a worker that is told to end has ended.
LOADING = 120.0
ENDING = 5.0
#: Bytes of a worker's output that a crash shows.
SHOWN = 4000


class CannotLoad(Exception):
    """The backend cannot be loaded here, in tenora's own words; `kind` is the name of the error's class."""

    def __init__(self, text: str, kind: str = "", causes: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.causes = causes


class _Ended(Exception):
    """The worker closed its end."""


class Worker:
    """A process that has loaded a backend. Raises: `CannotLoad`."""

    def __init__(self, name: str, device: str, threads: int = 0) -> None:
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        self._output = tempfile.TemporaryFile()
        environment = dict(os.environ)
        if threads:
            environment.setdefault("OMP_NUM_THREADS", str(threads))
        # -P: a file of the current folder must not stand in for a module.
        command = [sys.executable, "-P", "-m", "tenora_conformance.run.worker", str(read), str(write)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=(read, write),
            start_new_session=True,
        )
        os.close(read)
        os.close(write)
        self._waiting = b""
        self._over = False
        self.subject = self._load(name, device)

    def _load(self, name: str, device: str) -> Subject:
        try:
            self._send({"load": [name, device]})
            answer = self._receive(LOADING)
        except TimeoutError:
            self.kill()
            text = f"[conformance] loading {name}: got no end, expected one within {LOADING:.0f} seconds."
            raise CannotLoad(text + " See whether its probe or its load() waits for something.") from None
        except (_Ended, ValueError):
            how, shown = self._how_it_ended(), self._shown()
            self.kill()
            text = f"[conformance] loading {name}: got a process that {how}, expected a loaded backend."
            raise CannotLoad(text + " Load it under a debugger: `tenora doctor`.", causes=shown) from None
        if "refused" in answer:
            self.kill()
            refused = answer["refused"]
            raise CannotLoad(refused["text"], refused["kind"], refused["causes"])
        return Subject.from_json(answer["subject"])

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Results in order. After a CRASH or TIMEOUT the worker is of no more use, and the rest has no results."""
        begin = time.monotonic()
        try:
            self._send({"run": [case.as_json() for case in cases]})
        except _Ended:
            yield self._crashed(cases[0], begin)
            return
        for case in cases:
            begin, limit = time.monotonic(), CHECKS[case.check].seconds
            try:
                result = Result.from_json(self._receive(limit))
                if result.case != case.id:
                    raise ValueError(f"an answer for {result.case}")
            except TimeoutError:
                said, shown = f"no answer after {limit:.0f} s, the process was ended", self._shown()
                self.kill()
                yield _ended(case, Status.TIMEOUT, said, begin, shown)
                return
            except (_Ended, ValueError, KeyError, TypeError):
                yield self._crashed(case, begin)
                return
            yield result

    def fallbacks(self) -> list[list[object]]:
        """Op, backend and calls of every stand-in so far; none where the worker has ended."""
        try:
            self._send({"fallbacks": True})
            return list(self._receive(ENDING)["fallbacks"])
        except (_Ended, TimeoutError, ValueError, KeyError):
            return []

    def close(self) -> None:
        """Lets the worker end by itself, or ends it."""
        self._close_pipes()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING)
        self.kill()

    def kill(self) -> None:
        """Ends the worker and what it started, at once. Harmless when it has ended."""
        self._close_pipes()
        if self._over:
            return
        self._over = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._output.close()

    def _close_pipes(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            os.close(self._read)
        self._write = self._read = -1

    def _send(self, message: Message) -> None:
        try:
            send(self._write, message)
        except OSError as error:
            raise _Ended from error

    def _receive(self, seconds: float) -> Message:
        """The next message. Raises: TimeoutError, `_Ended`, ValueError for what is no message."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            while b"\n" not in self._waiting:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self._read, CHUNK)
                if not chunk:
                    raise _Ended
                self._waiting += chunk
        line, _, self._waiting = self._waiting.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def _crashed(self, case: Case, begin: float) -> Result:
        how, shown = self._how_it_ended(), self._shown()
        self.kill()
        return _ended(case, Status.CRASH, f"the process {how} in this case", begin, shown)

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "closed its pipe without ending"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def _shown(self) -> str:
        """The end of what the worker printed."""
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - SHOWN))
        return self._output.read().decode(errors="replace")


def _ended(case: Case, status: Status, message: str, begin: float, output: str) -> Result:
    seconds = time.monotonic() - begin
    detail = Detail(traceback=output)
    return Result(case.id, int(case.level), case.check, status, message, seconds=seconds, detail=detail)
