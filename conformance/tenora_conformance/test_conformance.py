"""Every case that a backend has to pass as a test of pytest; see `plugin.py`.

Cases run in a worker process, so that a crash or a hang fails one test. BLOCKED, UNSUPPORTED and UNDERCLAIM fail with
their text, as only PASS is a pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenora_conformance import manifest, must_run
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.run.display import explain_lines
from tenora_conformance.run.process import CannotLoad, Worker
from tenora_conformance.run.reproduce import reproduction
from tenora_conformance.run.schedule import blocked
from tenora_conformance.subject import Subject


class Judge:
    """Runs one case after another in a worker, and a new one after each that ended it."""

    def __init__(self, backend: str, device: str) -> None:
        self._wanted = (backend, device)
        self._worker: Worker | None = Worker(backend, device)
        self.subject: Subject = self._worker.subject
        self._passed: dict[str, bool] = {}

    def result(self, case: Case) -> Result:
        """How the case ended."""
        result = self._blocked(case) or (
            self._alone(case) if CHECKS[case.check].isolated else self._run(case)
        )
        self._passed[case.id] = result.passed
        return result

    def _blocked(self, case: Case) -> Result | None:
        root = next((root for root in case.roots if self._passed.get(root) is False), "")
        return blocked(case, root, f"{root}, on which it stands, did not pass") if root else None

    def _run(self, case: Case) -> Result:
        if self._worker is None:
            self._worker = Worker(*self._wanted)
        (result,) = self._worker.run([case])
        if result.status in (Status.CRASH, Status.TIMEOUT):
            self._worker = None
        return result

    def _alone(self, case: Case) -> Result:
        worker = Worker(*self._wanted)
        try:
            (result,) = worker.run([case])
        finally:
            worker.close()
        return result

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.close()


_JUDGES = pytest.StashKey[Judge]()


def _judge(config: pytest.Config) -> Judge:
    """The judge of this pytest run, begun when first asked for."""
    if _JUDGES not in config.stash:
        backend = config.getoption("--backend")
        if not backend:
            raise pytest.UsageError(
                "tenora_conformance needs --backend NAME. `tenora backends` lists the names."
            )
        try:
            judge = config.stash[_JUDGES] = Judge(backend, config.getoption("--conformance-device"))
        except CannotLoad as refusal:
            raise pytest.UsageError(f"{refusal}\n{refusal.causes}".rstrip()) from None
        config.add_cleanup(judge.close)
    return config.stash[_JUDGES]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each case of the plan."""
    judge = _judge(metafunc.config)
    try:
        level = Level.parse(metafunc.config.getoption("--conformance-level"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    listed = list(must_run.all_cases(level))
    if lacking := manifest.lacking(level, listed):
        raise pytest.UsageError(
            f"[conformance] the suite that is installed is not whole: got {lacking[0]}, expected all of them."
            " Install tenora-conformance again."
        )
    cases = must_run.plan(level, judge.subject, listed).cases
    metafunc.parametrize("case", cases, ids=[case.id for case in cases])


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Iterator[Judge]:
    """The judge that planned the cases."""
    yield _judge(pytestconfig)


def test_case(case: Case, judge: Judge) -> None:
    """The case passes."""
    result = judge.result(case)
    if not result.passed:
        program = reproduction(case, judge.subject.name, judge.subject.device)
        text = "\n".join([*explain_lines(result), "", "reproduction:", "", program])
        pytest.fail(text, pytrace=False)
