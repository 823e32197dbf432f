"""The runner: workers that crash, hang and refuse, cases that stand on others, shards, and what an interrupt leaves."""

import dataclasses
import functools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import fake_cases
import pytest
from conftest import Install, Run, heed_interrupts

from tenora_conformance import must_run
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.report.read import read_run
from tenora_conformance.run import estimate, selection
from tenora_conformance.run.attribution import attribute
from tenora_conformance.run.pool import Pool
from tenora_conformance.run.process import CannotLoad, Worker
from tenora_conformance.run.schedule import Schedule
from tenora_conformance.run.selection import Shard


@pytest.fixture
def visible(distributions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of this process see what was installed."""
    monkeypatch.setenv("PYTHONPATH", str(distributions))


@functools.cache
def all_cases() -> list[Case]:
    return list(must_run.all_cases())


@functools.cache
def cases_of(*ops: str) -> list[Case]:
    return [case for case in must_run.all_cases(ops=ops) if case.check == "values"]


def run_here(name: str, cases: Sequence[Case], jobs: int = 2) -> dict[str, Result]:
    with Pool(Worker(name, ""), jobs) as pool:
        return {result.case: result for result in pool.results(cases, {})}


def test_a_crash_costs_one_case_and_then_the_op(install: Install, conformance: Run, tmp_path: Path) -> None:
    install("crashes", fake_cases.CRASHES)
    done = conformance("run", "crashes", "--op", "sinh", "--op", "floor", "--jobs", "1", "--out", "out")
    assert done.returncode == 1, done.stdout + done.stderr
    run = read_run(tmp_path / "here" / "out")
    by_status = {s: [r for r in run.results if r.status is s] for s in Status}
    crashed = by_status[Status.CRASH]
    assert len(crashed) == 3 and all(r.case.startswith("sinh/float64") for r in crashed)
    assert all("SIGSEGV" in r.message for r in crashed)
    assert crashed[0].detail is not None and "Fatal Python error" in crashed[0].detail.traceback
    assert {r.root for r in by_status[Status.BLOCKED]} == {crashed[-1].case}
    assert all(r.passed for r in run.results if r.case.startswith("floor/"))
    ended = {r.case for r in run.results}
    assert len(ended) == len(run.results) == sum(run.header.planned.values())
    assert ended > {case.id for case in cases_of("sinh", "floor")}
    assert "CRASH sinh/float64" in done.stdout


def test_a_hang_is_ended_and_named(install: Install, visible: None, monkeypatch: pytest.MonkeyPatch) -> None:
    install("hangs", fake_cases.HANGS)
    monkeypatch.setitem(CHECKS, "values", dataclasses.replace(CHECKS["values"], seconds=1.0))
    found = run_here("hangs", cases_of("sinh", "floor"))
    silent = [r for r in found.values() if r.status is Status.TIMEOUT]
    assert len(silent) >= 2 and all(r.case.startswith("sinh/float64") and r.seconds >= 1 for r in silent)
    assert "no answer after 1 s" in silent[0].message
    assert all(r.passed for r in found.values() if r.case.startswith("floor/"))
    assert {r.root for r in found.values() if r.status is Status.BLOCKED} <= {r.case for r in silent}


def test_isolated_cases_have_a_process_each(
    install: Install, visible: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("once", fake_cases.ONCE)
    cases = [case for case in cases_of("sinh") if case.dtype == "float32"][:3]
    together = run_here("once", cases, jobs=1)
    assert [r.status for r in together.values()].count(Status.CRASH) > 0
    assert any("exit code 7" in r.message for r in together.values())
    monkeypatch.setitem(CHECKS, "values", dataclasses.replace(CHECKS["values"], isolated=True))
    alone = run_here("once", cases, jobs=1)
    assert [r.status for r in alone.values()] == [Status.PASS] * 3


def test_a_broken_kernel_is_one_root(install: Install, visible: None) -> None:
    install("wrong", fake_cases.WRONG)
    cases = cases_of("mul", "square", "addcmul", "hypot")
    found = run_here("wrong", cases)
    failing = {
        op
        for op in ("square", "addcmul")
        if any(not r.passed for r in found.values() if r.case.startswith(f"{op}/float32"))
    }
    assert "addcmul" in failing
    attribute(cases, found)
    left = [found[case.id] for case in cases if found[case.id].status is Status.FAIL]
    assert left and all(r.case.startswith("mul/") for r in left)
    blocked = [r for r in found.values() if r.status is Status.BLOCKED]
    assert {r.root for r in blocked} <= {left[0].case} and len(blocked) > 3
    assert all("float32" in r.case or "float16" in r.case for r in blocked)


@pytest.mark.parametrize(
    ("package", "said", "cause"),
    [
        (fake_cases.RAISES, "licence has expired", ""),
        (fake_cases.UNAVAILABLE, "plug one in", ""),
        (fake_cases.ENDS_LOADING, "exit code 9", "about to end"),
    ],
)
def test_what_cannot_be_loaded_says_why(
    install: Install, visible: None, package: str, said: str, cause: str
) -> None:
    install("refuses", package)
    with pytest.raises(CannotLoad) as refusal:
        Worker("refuses", "")
    assert said in f"{refusal.value}\n{refusal.value.causes}" and cause in refusal.value.causes


def _case(op: str, *roots: str) -> Case:
    return Case(op, "float32", "contiguous", "0", Level.L1, "values", roots)


def _drive(cases: Sequence[Case], failing: Sequence[str]) -> Iterator[Result]:
    """Runs a schedule with what fails given by op."""
    blocked: list[Result] = []
    schedule = Schedule(cases, {}, blocked.append)
    while portion := schedule.take():
        for case in portion:
            status = Status.FAIL if case.op in failing else Status.PASS
            result = Result(case.id, 1, "values", status)
            schedule.done(result)
            yield result
    yield from blocked


def test_cases_stand_on_their_roots() -> None:
    root = _case("root")
    cases = [_case("leaf", "branch/float32/contiguous/0"), _case("branch", root.id), root, _case("free")]
    passed = {r.case: r.status for r in _drive(cases, [])}
    assert len(passed) == 4 and set(passed.values()) == {Status.PASS}
    failed = {r.case.partition("/")[0]: r for r in _drive(cases, ["root"])}
    assert failed["root"].status is Status.FAIL and failed["free"].status is Status.PASS
    assert failed["branch"].status is Status.BLOCKED and failed["branch"].root == root.id
    assert failed["leaf"].status is Status.BLOCKED
    found = {r.case: r for r in failed.values()}
    attribute([root, *cases], found)
    assert found["leaf/float32/contiguous/0"].root == root.id


def test_roots_in_a_circle_and_outside_of_the_run_do_not_stop_it() -> None:
    circle = [
        _case("a", "b/float32/contiguous/0"),
        _case("b", "a/float32/contiguous/0"),
        _case("c", "gone/x/y/0"),
    ]
    assert {r.status for r in _drive(circle, [])} == {Status.PASS}
    assert len(list(_drive(circle, []))) == 3


def test_what_is_returned_is_handed_out_again() -> None:
    cases = [_case(f"op{i}") for i in range(5)]
    schedule = Schedule(cases, {}, lambda result: None)
    first = schedule.take()
    assert first == cases
    schedule.done(Result(first[0].id, 1, "values", Status.CRASH))
    schedule.give_back(first[1:])
    assert schedule.take() == cases[1:]


def _fail(case: Case, *kernels: str) -> Result:
    return Result(case.id, 1, "values", Status.FAIL, kernels={f"mine:{name}": 1 for name in kernels})


def test_a_circle_of_broken_kernels_has_one_root() -> None:
    cases = [_case("copy"), _case("fill"), _case("zeros")]
    results = {
        r.case: r
        for r in (_fail(cases[0], "copy", "fill"), _fail(cases[1], "fill", "copy"), _fail(cases[2], "fill"))
    }
    attribute(cases, results)
    statuses = [results[case.id].status for case in cases]
    assert statuses == [Status.FAIL, Status.BLOCKED, Status.BLOCKED]
    assert {results[case.id].root for case in cases[1:]} == {cases[0].id}


def test_another_dtype_is_no_root() -> None:
    whole = Case("mul", "int8", "contiguous", "0", Level.L1)
    cases = [whole, _case("square")]
    results = {r.case: r for r in (_fail(whole, "mul"), _fail(cases[1], "mul"))}
    attribute(cases, results)
    assert [results[case.id].status for case in cases] == [Status.FAIL, Status.FAIL]


def test_shards_hold_every_case_once() -> None:
    cases = all_cases()
    parts = [selection.in_shard(cases, Shard(i, 7)) for i in range(1, 8)]
    assert sorted(case.id for part in parts for case in part) == sorted(case.id for case in cases)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_quick_is_fixed_and_asks_every_op() -> None:
    cases = all_cases()
    few = selection.quick(cases)
    assert few == selection.quick(cases)
    assert {c.op for c in few if c.check == "values"} == {c.op for c in cases if c.check == "values"}
    assert {c.check for c in few} == set(CHECKS)
    assert len(few) < len(cases) / 15


def test_shards_merge_into_the_whole(install: Install, conformance: Run, tmp_path: Path) -> None:
    install("sound", fake_cases.SOUND)
    for i in (1, 2):
        done = conformance("run", "sound", "--level", "L0", "--shard", f"{i}/2", "--out", f"part{i}")
        assert done.returncode == 0 and "merge all shards" in done.stdout, done.stdout + done.stderr
    done = conformance("merge", "part1", "part2", "--out", "whole")
    assert done.returncode == 0 and "L0: MET" in done.stdout, done.stdout + done.stderr
    run = read_run(tmp_path / "here" / "whole")
    assert [r.case for r in run.results] == [c.id for c in must_run.all_cases(Level.L0)]
    assert conformance("merge", "part1", "part1", "--out", "twice").returncode == 2
    assert conformance("merge", "part1", "--out", "half").returncode == 2


def test_a_shard_with_a_result_less_is_not_met(install: Install, conformance: Run, tmp_path: Path) -> None:
    install("sound", fake_cases.SOUND)
    for i in (1, 2):
        conformance("run", "sound", "--level", "L0", "--shard", f"{i}/2", "--out", f"part{i}")
    path = tmp_path / "here" / "part2" / "results.jsonl"
    lines = path.read_text().splitlines()
    lost = json.loads(lines.pop(1))["case"]
    path.write_text("\n".join(lines) + "\n")
    done = conformance("merge", "part1", "part2", "--out", "whole")
    assert done.returncode == 1, done.stdout
    assert re.search(rf"1 of \d+ cases have no result, {lost} first", done.stdout), done.stdout


def test_a_folder_that_cannot_be_written_is_told_first(
    install: Install, conformance: Run, tmp_path: Path
) -> None:
    install("sound", fake_cases.SOUND)
    taken = tmp_path / "here" / "taken"
    taken.parent.mkdir(exist_ok=True)
    taken.write_text("a file")
    for folder in ("taken", "taken/below"):
        done = conformance("run", "sound", "--level", "L0", "--out", folder)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert f"[conformance] --out: got {folder} (" in done.stderr, done.stderr


def test_last_failed_takes_what_failed(install: Install, conformance: Run, tmp_path: Path) -> None:
    home = install("wrong", fake_cases.WRONG)
    first = conformance("run", "wrong", "--op", "mul", "--op", "add")
    assert first.returncode == 1
    bad = {r.case for r in read_run(tmp_path / "here" / "conformance-wrong").results if not r.passed}
    (home / "__init__.py").write_text(fake_cases.SOUND)
    again = conformance("run", "wrong", "--last-failed")
    assert again.returncode == 4 and "NOTHING PROVEN" in again.stdout, again.stdout + again.stderr
    assert {r.case for r in read_run(tmp_path / "here" / "conformance-wrong").results} == bad
    assert conformance("run", "wrong", "--last-failed").returncode == 2  # nothing failed any more


def test_an_interrupt_leaves_what_there_is(install: Install, distributions: Path, tmp_path: Path) -> None:
    install("slow", fake_cases.SLOW)
    command = [
        sys.executable,
        "-m",
        "tenora_conformance",
        "run",
        "slow",
        "--op",
        "sinh",
        "--jobs",
        "1",
        "--out",
        "out",
    ]
    environment = {"PYTHONPATH": str(distributions), "PATH": "/usr/bin:/bin"}
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_interrupts,
    )
    path = tmp_path / "out" / "results.jsonl"
    for _ in range(600):
        if path.exists() and path.read_text().count("\n") > 3:
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and "interrupted" in said, said
    run = read_run(tmp_path / "out")
    assert run.end is None and 2 < len(run.results) < run.header.planned["L2"]


def test_an_estimate_follows_what_was_measured() -> None:
    cases = [_case(f"op{i}") for i in range(100)]
    assert estimate.estimate(cases, {"values": 2.0}, 2) == estimate.START + 100
    assert estimate.estimate(cases, {}, 2) < 5
    rates = estimate.rates_of([Result("a", 1, "values", Status.PASS, seconds=s) for s in (1.0, 3.0)])
    assert rates == {"values": 2.0}
