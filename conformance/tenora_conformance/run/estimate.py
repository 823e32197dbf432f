"""How long a run takes: by what the same cases took in an earlier run, or by a rate of their check."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Result

#: Seconds of a case on a CPU, by check; measured on one core. Others: `USUAL`.
RATES = {"values": 0.0005}
USUAL = 0.01
#: Seconds until a worker has loaded a backend.
START = 1.0


def case_seconds(check: str) -> float:
    """A guess for one case of a check."""
    return RATES.get(check, START if CHECKS[check].isolated else USUAL)


def rates_of(results: Iterable[Result]) -> dict[str, float]:
    """Mean seconds of a case by check, over the cases that were run."""
    took: dict[str, list[float]] = collections.defaultdict(list)
    for result in results:
        if result.seconds and result.check in CHECKS:
            took[result.check].append(result.seconds)
    return {name: sum(seconds) / len(seconds) for name, seconds in took.items()}


def estimate(cases: Sequence[Case], rates: Mapping[str, float], jobs: int) -> float:
    """Seconds that the cases will take."""
    counts = collections.Counter(case.check for case in cases)
    total = 0.0
    for check, count in counts.items():
        seconds = rates.get(check, case_seconds(check))
        total += count * (seconds + START * CHECKS[check].isolated)
    return START + total / max(1, min(jobs, len(cases)))


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(3.2), duration(95), duration(7300)
    ('4 s', '2 min', '2.0 h')
    """
    if seconds < 90:
        return f"{int(seconds) + 1} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
