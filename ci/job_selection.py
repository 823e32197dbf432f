"""Which jobs there are and which of them a run takes: by touched folders, by date, within a time budget."""

import datetime
import fnmatch
import subprocess
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
StepKind = Literal["pytest", "ctest", "command"]
STEP_KINDS: tuple[StepKind, ...] = ("pytest", "ctest", "command")
STEP_OPTIONS = {"env", "cmake", "source", "wrap"}


@dataclass(frozen=True)
class Step:
    """One process of a job: `pytest` arguments, a `ctest` build folder, or a shell `command`."""

    kind: StepKind
    text: str
    env: Mapping[str, str] = field(default_factory=dict)
    cmake: str = ""
    source: str = "."
    wrap: str = ""


@dataclass(frozen=True)
class Job:
    """A named list of steps, the minutes it is allowed and the paths whose change calls for it."""

    name: str
    about: str
    minutes: float
    steps: tuple[Step, ...]
    paths: tuple[str, ...] = ()


def _step(job: str, data: Mapping[str, Any]) -> Step:
    kinds = [kind for kind in STEP_KINDS if kind in data]
    unknown = set(data) - set(STEP_KINDS) - STEP_OPTIONS
    if len(kinds) != 1 or unknown:
        raise ValueError(
            f"job {job}: a step has one of {STEP_KINDS} and options {sorted(STEP_OPTIONS)}: got {data}"
        )
    options = {key: value for key, value in data.items() if key in STEP_OPTIONS}
    return Step(kind=kinds[0], text=data[kinds[0]], **options)


def load_jobs(path: Path) -> dict[str, Job]:
    """Reads the `[job.NAME]` tables of a TOML file in their order; a job without steps is a ValueError."""
    jobs = {}
    for name, data in tomllib.loads(path.read_text()).get("job", {}).items():
        steps = tuple(_step(name, step) for step in data["steps"])
        if not steps:
            raise ValueError(f"job {name} in {path.name} has no steps")
        jobs[name] = Job(name, data["about"], float(data["minutes"]), steps, tuple(data.get("paths", ())))
    return jobs


def touched_jobs(jobs: Iterable[Job], files: Sequence[str] | None) -> list[Job]:
    """The jobs one of whose globs matches one of the files (`*` matches across folders); None is all with globs."""
    if files is None:
        return [job for job in jobs if job.paths]
    return [
        job for job in jobs if any(fnmatch.fnmatchcase(file, glob) for glob in job.paths for file in files)
    ]


def job_of_the_day(jobs: Sequence[Job], day: datetime.date) -> Job:
    """Takes turns through the jobs, one a day; no jobs is a ValueError."""
    if not jobs:
        raise ValueError("there is no heavy job to choose from")
    return jobs[day.toordinal() % len(jobs)]


def recent_files(root: Path = ROOT, hours: int = 4) -> list[str] | None:
    """The files changed by HEAD and the commits of the hours before it; None where there is no history."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
        return done.stdout.split("\n") if done.returncode == 0 else []

    stamp = next(iter(git("log", "-1", "--format=%ct")), "")
    if not stamp:
        return None
    since = int(stamp) - hours * 3600
    changed = git("log", f"--since={since}", "--name-only", "--format=")
    return sorted({name for name in changed if name})


class Budget:
    """Wall-clock minutes shared by a run's jobs; `started` is a time.time() value."""

    def __init__(self, minutes: float, started: float | None = None) -> None:
        self.minutes = minutes
        self.started = time.time() if started is None else started

    def remaining(self) -> float:
        """Minutes left, possibly negative."""
        return self.minutes - (time.time() - self.started) / 60

    def refusal(self, job: Job) -> str | None:
        """Why the job cannot start, or None."""
        left = self.remaining()
        if left >= job.minutes:
            return None
        return (
            f"{job.name} was not started: it may take {job.minutes:g} minutes and {max(left, 0):.1f} are left"
        )
