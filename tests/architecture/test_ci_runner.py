"""The job runner tells the truth: sums are right, empty and crashed runs fail, selection follows date and budget."""

import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import job_figures
import run_jobs
from job_results import Counts, judge_command, judge_tests, read_junit
from job_selection import ROOT, Budget, Job, Step, job_of_the_day, load_jobs, recent_files, touched_jobs

JUNIT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><skipped/></testcase>
<testcase name="d"><error/></testcase><testcase name="e"><system-out/></testcase>
</testsuite></testsuites>"""


def make_job(
    name: str = "job", minutes: float = 1, paths: tuple[str, ...] = (), command: str = "true"
) -> Job:
    return Job(name, "a job", minutes, (Step("command", command),), paths)


def test_junit_is_counted_case_by_case(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text(JUNIT)
    assert read_junit(tmp_path / "x.xml") == Counts(2, 2, 1)


@pytest.mark.parametrize("content", [None, "", "<testsuites><testcase"])
def test_a_broken_report_counts_nothing(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "x.xml").write_text(content)
    assert read_junit(tmp_path / "x.xml") == Counts()


@pytest.mark.parametrize(
    ("counts", "code", "expected"),
    [
        (Counts(3), 0, Counts(3)),
        (Counts(3, 1), 1, Counts(3, 1)),
        (Counts(3), 1, Counts(3, 1)),
        (Counts(3), 139, Counts(3, 1)),
        (Counts(), 5, Counts(0, 1)),
        (Counts(), 0, Counts(0, 1)),
        (Counts(), 2, Counts(0, 1)),
        (Counts(0, 0, 4), 0, Counts(0, 0, 4)),
    ],
)
def test_exit_codes_are_judged(counts: Counts, code: int, expected: Counts) -> None:
    assert judge_tests(counts, code) == expected


def test_counts_sum_and_print() -> None:
    total = sum([Counts(1, 2, 3), judge_command(0), judge_command(7)], Counts())
    assert total.line() == "2 passed, 3 failed, 3 skipped"
    assert not total.green and not Counts(skipped=5).green and Counts(1).green


def test_touched_jobs_match_globs_across_folders() -> None:
    jobs = [
        make_job("engine", paths=("core/engine/*",)),
        make_job("docs", paths=("docs/*",)),
        make_job("pathless"),
    ]
    assert [job.name for job in touched_jobs(jobs, ["core/engine/src/tape.cpp", "README.md"])] == ["engine"]
    assert [job.name for job in touched_jobs(jobs, None)] == ["engine", "docs"]


def test_heavy_jobs_take_turns() -> None:
    jobs = [make_job(name) for name in "abc"]
    first = datetime.date(2026, 1, 1)
    names = [job_of_the_day(jobs, first + datetime.timedelta(days=day)).name for day in range(6)]
    assert sorted(names[:3]) == ["a", "b", "c"] and names[:3] == names[3:]
    with pytest.raises(ValueError, match="no heavy job"):
        job_of_the_day([], first)


def test_budget_refuses_what_may_take_longer() -> None:
    budget = Budget(10, started=time.time() - 6 * 60)
    assert budget.refusal(make_job(minutes=3)) is None
    assert "may take 5 min" in (budget.refusal(make_job(minutes=5)) or "")


def test_a_refused_job_is_skipped_and_said(capfd: pytest.CaptureFixture[str]) -> None:
    spent = Budget(1, started=time.time() - 120)
    assert run_jobs.run_jobs([make_job(command="exit 1")], spent) == (Counts(skipped=1), {})
    assert "was not started" in capfd.readouterr().out


def test_jobs_report_failures_and_green_rows() -> None:
    total, green = run_jobs.run_jobs([make_job("good"), make_job("bad", command="false; true")])
    assert total == Counts(1, 1) and list(green) == ["good"]


def test_a_step_over_time_is_ended() -> None:
    start = time.monotonic()
    counts, _ = run_jobs.run_job(make_job(minutes=1 / 180, command="sleep 60"))
    assert counts == Counts(failed=1) and time.monotonic() - start < 30


def test_a_pytest_step_without_tests_fails(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text("x = 1\n")
    (tmp_path / "test_two.py").write_text("def test_a():\n    pass\n\ndef test_b():\n    assert False\n")
    alone = f"-q -p no:cacheprovider --rootdir {tmp_path} -c /dev/null"
    report = tmp_path / "report.xml"
    assert run_jobs.run_step(Step("pytest", f"{alone} {tmp_path}/test_none.py"), 60, report) == Counts(0, 1)
    assert run_jobs.run_step(Step("pytest", f"{alone} {tmp_path}/test_two.py"), 60, report) == Counts(1, 1)


def test_the_repository_s_jobs_load() -> None:
    light, heavy = load_jobs(ROOT / "ci" / "jobs.toml"), load_jobs(ROOT / "ci" / "heavy.toml")
    assert {"smoke", "core", "any_backend"} <= set(light) and len(heavy) >= 5
    assert not set(light) & set(heavy)


@pytest.mark.parametrize("step", ["{}", '{ pytest = "a", ctest = "b" }', '{ command = "a", retries = "3" }'])
def test_a_malformed_step_is_refused(tmp_path: Path, step: str) -> None:
    (tmp_path / "jobs.toml").write_text(f'[job.x]\nabout = "x"\nminutes = 1\nsteps = [{step}]\n')
    with pytest.raises(ValueError, match="job x"):
        load_jobs(tmp_path / "jobs.toml")


def test_recent_files_are_those_of_the_last_hours(tmp_path: Path) -> None:
    assert recent_files(tmp_path) is None

    def git(*arguments: str, when: str = "2026-01-01T12:00:00Z") -> None:
        stamps = {
            "GIT_COMMITTER_DATE": when,
            "GIT_AUTHOR_DATE": when,
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        }
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, env=stamps, check=True, capture_output=True)

    git("init")
    for name, hour in [("old", 1), ("new", 11), ("last", 12)]:
        (tmp_path / name).write_text("x")
        git("add", name)
        git("commit", "-m", name, when=f"2026-01-01T{hour:02}:00:00Z")
    assert recent_files(tmp_path) == ["last", "new"]


def test_figures_keep_the_last_green_date() -> None:
    day = datetime.date(2026, 1, 2)
    before = f"# Figures\n\n{job_figures.BEGIN}\n{job_figures.END}\nrest\n"
    row = job_figures.green_row("a", day, 90, 12, ["9 calls", "7 compared"])
    once = job_figures.update(before, ["a", "b"], {"a": row})
    assert "| a | 2026-01-02 | 1.5 | 12 | 9 calls; 7 compared |\n" in once and "| b | never | | | |\n" in once
    later = job_figures.update(once, ["a", "b"], {"b": job_figures.green_row("b", day, 6, 3)})
    assert row in later and "| b | 2026-01-02 | 0.1 | 3 |  |" in later
    assert later.startswith("# Figures\n") and later.endswith("\nrest\n")
    with pytest.raises(ValueError, match="markers"):
        job_figures.update("none", [], {})


def test_a_row_tells_what_the_steps_of_its_job_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_jobs, "COUNTED", tmp_path / "counted.txt")
    _, green = run_jobs.run_jobs(
        [make_job("first", command="echo 5 calls >> $TENORA_COUNTED"), make_job("second", command="true")]
    )
    assert green["first"].endswith("| 1 | 5 calls |") and green["second"].endswith("| 1 |  |")


def test_ci_takes_over_the_counts_of_make_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_jobs, "TEST_REPORT", tmp_path / "report.json")
    monkeypatch.setattr(run_jobs, "NOT_RUN", tmp_path / "not-run.jsonl")
    (tmp_path / "not-run.jsonl").write_text(
        json.dumps({"reason": 3}) + "\n" + json.dumps({"reason": 4}) + "\n"
    )
    (tmp_path / "report.json").write_text("[5, 0, 1]")
    assert run_jobs.command_ci([], [make_job("heavy")], Budget(5), test_exit=0) == 0
    assert capsys.readouterr().out.endswith("did not run: 7 cases, reason\n6 passed, 0 failed, 1 skipped\n")
    (tmp_path / "report.json").unlink()
    assert run_jobs.command_ci([], [make_job("heavy")], Budget(5), test_exit=2) == 1
    assert capsys.readouterr().out.endswith("1 passed, 1 failed, 0 skipped\n")


def test_the_runner_lists_its_jobs() -> None:
    done = subprocess.run(
        [sys.executable, "ci/run_jobs.py", "list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "engine-tsan" in done.stdout


def test_the_exploring_job_draws_with_the_day_as_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other examples under another day, the same under the same, many more than by default."""
    job = load_jobs(ROOT / "ci" / "heavy.toml")["explore"]
    (step,) = job.steps
    assert "--hypothesis-profile=explore" in step.text
    (tmp_path / "conftest.py").write_text("import hypothesis_profiles\n")
    (tmp_path / "test_drawn.py").write_text(
        "import pathlib\nfrom hypothesis import given, strategies as st\n"
        "from hypothesis_profiles import examples\n"
        "@examples(3)\n@given(x=st.integers(0, 10**9))\ndef test_drawn(x):\n"
        f"    with open({str(tmp_path / 'drawn')!r}, 'a') as file:\n        file.write(f'{{x}} ')\n"
    )

    def drawn(day: str, options: str) -> list[str]:
        (tmp_path / "drawn").unlink(missing_ok=True)
        monkeypatch.setenv("TENORA_DAY", day)
        alone = f"-q -p no:cacheprovider --rootdir {tmp_path} -c /dev/null -o pythonpath={ROOT}/tests/helpers"
        text = f"{alone} {options} {tmp_path}/test_drawn.py"
        assert run_jobs.run_step(Step("pytest", text), 60, tmp_path / "report.xml") == Counts(1)
        return (tmp_path / "drawn").read_text().split()

    options = " ".join(word for word in step.text.split() if word.startswith("--hypothesis"))
    first = drawn("20260102", options)
    assert first == drawn("20260102", options) != drawn("20260103", options)
    assert len(first) > 3 >= len(drawn("20260102", "")) == len(drawn("20260103", ""))
