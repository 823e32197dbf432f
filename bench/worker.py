"""One side of a comparison: a process that prepares cases for one framework and times them when told to.

    python -m bench.worker FRAMEWORK [BACKEND]

Reads JSON lines `{"case": name, "repeat": n}` and answers `{"seconds": s}`, or `{"case": name, "result": true}` and
answers `{"result": [...]}`; the case "op NAME" is a row of `bench/op_rows.py`. With `"python_thread": true` a second
thread runs Python code meanwhile and its speed is told too.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from typing import Any

from bench.cases import CASES, Case, Framework
from bench.op_cases import case_of
from bench.op_rows import ROWS


class Spinner:
    """A thread that does nothing but run Python code, and counts."""

    def __init__(self) -> None:
        self.count = 0
        self._stop = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stop:
            self.count += 1

    def __enter__(self) -> Spinner:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop = True
        self._thread.join()


def _timed(case: Case, repeat: int) -> float:
    begin = time.perf_counter()
    case.run(repeat)
    return time.perf_counter() - begin


def _answer(case: Case, request: dict[str, Any]) -> dict[str, Any]:
    if request.get("result"):
        return {"result": case.result()}
    if request.get("spin"):
        with Spinner() as spinner:
            begin = time.perf_counter()
            time.sleep(request["spin"])
            return {"per_second": spinner.count / (time.perf_counter() - begin)}
    if request.get("python_thread"):
        with Spinner() as spinner:
            seconds = _timed(case, request["repeat"])
            return {"seconds": seconds, "per_second": spinner.count / seconds}
    return {"seconds": _timed(case, request["repeat"])}


def _prepared(name: str, framework: Framework) -> Case:
    if name.startswith("op "):
        return case_of(ROWS[name.removeprefix("op ")])(framework)
    return CASES[name](framework)


def main() -> None:
    """Serves requests until the input ends."""
    framework = importlib.import_module(sys.argv[1])
    if hasattr(framework, "set_num_threads"):
        framework.set_num_threads(1)
    if len(sys.argv) > 2:
        framework.set_default_backend(sys.argv[2])
    cases: dict[str, Case] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["case"]
        if name not in cases:
            cases[name] = _prepared(name, framework)
        print(json.dumps(_answer(cases[name], request)), flush=True)


if __name__ == "__main__":
    main()
