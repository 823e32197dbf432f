"""Counts of test runs: read from JUnit files, summed, and printed as one line in pytest's form."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counts:
    """How many cases passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    @property
    def green(self) -> bool:
        """Nothing failed and something passed: a run that tested nothing is not green."""
        return self.failed == 0 and self.passed > 0

    def line(self) -> str:
        """The closing line, such as `12 passed, 0 failed, 1 skipped`."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_junit(path: Path) -> Counts:
    """Counts the cases of a JUnit file as pytest and ctest write it; a missing or broken file counts nothing."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return Counts()
    total = Counts()
    for case in cases:
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            total += Counts(failed=1)
        elif "skipped" in kinds:
            total += Counts(skipped=1)
        else:
            total += Counts(passed=1)
    return total


def judge_tests(counts: Counts, exit_code: int) -> Counts:
    """Adds one failure when the exit code tells of trouble that no case shows: a crash, an empty group."""
    empty = counts.passed + counts.skipped + counts.failed == 0
    if counts.failed == 0 and (exit_code != 0 or empty):
        return counts + Counts(failed=1)
    return counts


def judge_command(exit_code: int) -> Counts:
    """A plain command is one case."""
    return Counts(passed=1) if exit_code == 0 else Counts(failed=1)
