"""Runs the jobs of ci/jobs.toml and ci/heavy.toml and ends with one line that sums every pytest and ctest run.

    python ci/run_jobs.py test              what `make test` runs
    python ci/run_jobs.py ci                the jobs whose folders were touched, then the heavy job of the day
    python ci/run_jobs.py check-all         every job; writes the last green dates into docs/figures.md
    python ci/run_jobs.py job NAME...       single jobs; writes their green dates likewise
    python ci/run_jobs.py list

- Every step counts: a crash, a time-out or a group in which no test ran is a failure.
- A job is not started when the budget left is less than its minutes; it then counts as skipped, with the reason.
- A job may take three times its minutes before it is ended.
"""

import argparse
import datetime
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import job_figures
from job_results import Counts, judge_command, judge_tests, read_junit
from job_selection import ROOT, Budget, Job, Step, job_of_the_day, load_jobs, recent_files, touched_jobs

REPORTS = ROOT / "build" / "reports"
TEST_REPORT = REPORTS / "make-test.json"
NOT_RUN = REPORTS / "not-run.jsonl"
COUNTED = REPORTS / "counted.txt"
CI_MINUTES = 45.0
TIMED_OUT = 124


def say(text: str) -> None:
    """Prints a heading that stands out between the outputs of tools."""
    print(f"\n=== {text}", flush=True)


def run_process(command: Sequence[str], env: dict[str, str], seconds: float) -> int:
    """Runs a command in a process group of its own without input; ends the whole group when the time is over."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        say(f"ended after {seconds / 60:.1f} minutes: {shlex.join(command)}")
        return TIMED_OUT


def step_environment(step: Step) -> dict[str, str]:
    """The caller's environment with .venv first, and the step's own settings."""
    env = dict(os.environ)
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    env["TENORA_NOT_RUN"] = str(NOT_RUN)
    env["TENORA_COUNTED"] = str(COUNTED)
    # As in the Makefile: ccache serves every clone and build folder.
    env.setdefault("CCACHE_BASEDIR", str(ROOT))
    env.setdefault("CCACHE_NOHASHDIR", "1")
    env.update({key: os.path.expandvars(value) for key, value in step.env.items()})
    return env


def run_ctest(step: Step, env: dict[str, str], seconds: float, report: Path) -> Counts:
    """Configures, builds and runs one CTest folder; whatever fails on the way is a failure."""
    folder = ROOT / step.text
    options = ["-DTENORA_BUILD_BINDINGS=OFF", "-DTENORA_BUILD_TESTS=ON", *shlex.split(step.cmake)]
    for command in (
        ["cmake", "-S", step.source, "-B", str(folder), "-G", "Ninja", *options],
        ["cmake", "--build", str(folder)],
    ):
        code = run_process(command, env, seconds)
        if code != 0:
            return judge_command(code)
    tests = ["ctest", "--test-dir", str(folder), "--output-on-failure", "--output-junit", str(report)]
    code = run_process([*shlex.split(step.wrap), *tests, "--no-tests=error"], env, seconds)
    return judge_tests(read_junit(report), code)


def run_step(step: Step, seconds: float, report: Path) -> Counts:
    """Runs one step and says how many cases it had."""
    env = step_environment(step)
    report.unlink(missing_ok=True)
    if step.kind == "ctest":
        return run_ctest(step, env, seconds, report)
    if step.kind == "pytest":
        arguments = shlex.split(os.path.expandvars(step.text))
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
        code = run_process(command, env, seconds)
        return judge_tests(read_junit(report), code)
    return judge_command(run_process(["bash", "-c", f"set -euo pipefail\n{step.text}"], env, seconds))


def run_job(job: Job) -> tuple[Counts, float]:
    """Runs a job's steps in order, all of them; returns the counts and the seconds taken."""
    start = time.monotonic()
    total = Counts()
    for number, step in enumerate(job.steps):
        say(f"{job.name}: {step.kind} {step.text.strip().splitlines()[0]}")
        left = job.minutes * 3 * 60 - (time.monotonic() - start)
        counts = run_step(step, left, REPORTS / f"{job.name}-{number}.xml")
        if counts.failed:
            say(f"{job.name}: FAILED, {counts.line()}")
        total += counts
    return total, time.monotonic() - start


def run_jobs(jobs: Sequence[Job], budget: Budget | None = None) -> tuple[Counts, dict[str, str]]:
    """Runs the jobs the budget allows; returns the sum and the figures' row of each green job."""
    total, green = Counts(), {}
    for job in jobs:
        refusal = budget.refusal(job) if budget else None
        if refusal:
            say(refusal)
            total += Counts(skipped=1)
            continue
        COUNTED.unlink(missing_ok=True)
        counts, seconds = run_job(job)
        counted = COUNTED.read_text().splitlines() if COUNTED.exists() else []
        say(f"{job.name}: {counts.line()} in {seconds:.0f} s")
        total += counts
        if counts.green:
            green[job.name] = job_figures.green_row(job.name, today(), seconds, counts.passed, counted)
    return total, green


def today() -> datetime.date:
    """The day that draws shards and heavy jobs, in UTC so that every machine agrees."""
    return datetime.datetime.now(datetime.UTC).date()


def say_not_run() -> None:
    """Says which cases were left out by choice: the oracle's under ORACLE=0, other days' shards."""
    lines = NOT_RUN.read_text().splitlines() if NOT_RUN.exists() else []
    left_out: dict[str, int] = {}
    for line in lines:
        for reason, cases in json.loads(line).items():
            left_out[reason] = left_out.get(reason, 0) + cases
    for reason, cases in sorted(left_out.items()):
        print(f"did not run: {cases} cases, {reason}")


def finish(total: Counts) -> int:
    """Prints what did not run and the closing line; returns the exit code."""
    say_not_run()
    print(total.line(), flush=True)
    return 0 if total.green else 1


def command_test(tests: Sequence[Job]) -> int:
    """`make test`; leaves its counts for `.ci/run`."""
    TEST_REPORT.unlink(missing_ok=True)
    total, _ = run_jobs(tests)
    TEST_REPORT.write_text(json.dumps([total.passed, total.failed, total.skipped]))
    return finish(total)


def command_ci(jobs: Sequence[Job], heavy: Sequence[Job], budget: Budget, test_exit: int) -> int:
    """The rest of `.ci/run` after `make test`, whose counts and exit code it takes over."""
    total = Counts(*json.loads(TEST_REPORT.read_text())) if TEST_REPORT.exists() else Counts()
    if test_exit != 0 and total.failed == 0:
        total += Counts(failed=1)
    touched = touched_jobs([*jobs, *heavy], recent_files())
    chosen = job_of_the_day(heavy, today())
    say(
        f"touched: {', '.join(job.name for job in touched) or 'nothing'}; heavy job of the day: {chosen.name}"
    )
    more, _ = run_jobs(touched if chosen in touched else [*touched, chosen], budget)
    return finish(total + more)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["test", "ci", "check-all", "job", "list"])
    parser.add_argument("names", nargs="*", help="jobs, for `job`")
    parser.add_argument("--started", type=float, help="time.time() at which .ci/run began")
    parser.add_argument("--test-exit", type=int, default=0, help="the exit code of `make test`")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for; the exit code is 0 only when everything was green."""
    options = parse_arguments(arguments)
    light, heavy = load_jobs(ROOT / "ci" / "jobs.toml"), load_jobs(ROOT / "ci" / "heavy.toml")
    everything = light | heavy
    tests = [light[name] for name in tomllib.loads((ROOT / "ci" / "jobs.toml").read_text())["test"]]
    others = [job for job in light.values() if job not in tests]
    REPORTS.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TENORA_DAY", today().strftime("%Y%m%d"))  # the seed of steps that draw
    if options.what != "ci":
        NOT_RUN.unlink(missing_ok=True)
    match options.what:
        case "test":
            return command_test(tests)
        case "ci":
            return command_ci(
                others, list(heavy.values()), Budget(CI_MINUTES, options.started), options.test_exit
            )
        case "job" | "check-all":
            names = options.names if options.what == "job" else list(everything)
            total, green = run_jobs([everything[name] for name in names])
            job_figures.write(ROOT / "docs" / "figures.md", list(everything), green)
            return finish(total)
    for job in everything.values():
        print(f"{job.name:24} {job.minutes:4g} min  {job.about}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
