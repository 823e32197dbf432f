"""Waivers: failures that somebody knows of, with a reason, an issue and a day on which they end.

    [[waiver]]
    case = "erfinv/float16/*/*"         # a glob over case ids, or a list of them
    reason = "the device has no erfinv in half precision"
    issue = "https://example.org/mine/issues/7"
    expires = 2027-03-31

- A waived case is WAIVED, not PASS; L0 and L1 take none, a level above takes as many as `CAP` of its cases.
- A waiver that has expired, matches no case of the run, or matches one that passes, fails the run with a sentence; and
  so does a result that is WAIVED although no waiver says so.
"""

from __future__ import annotations

import collections
import datetime
import fnmatch
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenora_conformance.model import Case, Level, Result, Status
from tenora_dispatch.errors import did_you_mean

#: The share of a level's cases that waivers may cover.
CAP = 0.02
#: The lowest level that takes waivers.
LOWEST = Level.L2
_KEYS: dict[str, type | tuple[type, ...]] = {
    "case": (str, list),
    "reason": str,
    "issue": str,
    "expires": datetime.date,
}


class WaiverError(ValueError):
    """A file of waivers that cannot be understood; the text names file and key."""


@dataclass(frozen=True)
class Waiver:
    """Globs over case ids, why, where that is discussed, and the last day on which it counts."""

    case: tuple[str, ...]
    reason: str
    issue: str
    expires: datetime.date

    @property
    def name(self) -> str:
        """As complaints name it."""
        return ", ".join(self.case)

    def matches(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that it is about."""
        rule = re.compile("|".join(fnmatch.translate(glob) for glob in self.case))
        return [case for case in cases if rule.match(case.id)]

    def as_json(self) -> dict[str, Any]:
        """Plain data, for a run's header."""
        return {
            "case": list(self.case),
            "reason": self.reason,
            "issue": self.issue,
            "expires": self.expires.isoformat(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Waiver:
        """The waiver that `as_json` wrote."""
        expires = datetime.date.fromisoformat(data["expires"])
        return cls(tuple(data["case"]), data["reason"], data["issue"], expires)


def read(path: Path) -> list[Waiver]:
    """The waivers of a file. Raises: WaiverError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WaiverError(
            f"[waivers] {path} cannot be read: got {error}, expected TOML. Correct the file."
        ) from error
    rows = data.get("waiver", [])
    if set(data) - {"waiver"} or not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
        raise WaiverError(
            f"[waivers] {path} is wrong: got the keys {', '.join(data) or 'none'}, expected tables [[waiver]] only."
            " Write each waiver as such a table."
        )
    return [_waiver(path, number, row) for number, row in enumerate(rows, 1)]


def _waiver(path: Path, number: int, row: Mapping[str, Any]) -> Waiver:
    for key in row:
        if key not in _KEYS:
            raise WaiverError(
                f"[waivers] {path}, waiver {number}: got the key {key!r}, expected {', '.join(_KEYS)}."
                f"{did_you_mean(key, list(_KEYS))} Correct the file."
            )
    for key in _KEYS:
        value = row.get(key)
        if not isinstance(value, _KEYS[key]) or not value:
            got = repr(value) if key in row else "nothing"
            raise WaiverError(
                f"[waivers] {path}, waiver {number}: key {key!r} is wrong: got {got}, expected the keys"
                f" {', '.join(_KEYS)} (a text or list of texts, two texts and a date). Correct the file."
            )
    globs = [row["case"]] if isinstance(row["case"], str) else row["case"]
    if not all(isinstance(glob, str) and glob for glob in globs):
        raise WaiverError(
            f"[waivers] {path}, waiver {number}: key 'case' is wrong: got {globs!r}, expected texts. Correct the file."
        )
    expires = row["expires"]
    day = expires.date() if isinstance(expires, datetime.datetime) else expires
    return Waiver(tuple(globs), row["reason"], row["issue"], day)


def apply(
    waivers: Sequence[Waiver],
    cases: Sequence[Case],
    results: Mapping[str, Result],
    *,
    whole: bool,
    today: datetime.date,
) -> list[str]:
    """Turns failures that are waived into WAIVED, in place; returns what keeps the run from being met.

    `cases` are those of the run; whether a waiver matches anything is judged when they are the `whole` plan.
    Again on its own results it comes to the same.
    """
    complaints: list[str] = []
    covered: set[str] = set()
    for waiver in waivers:
        if waiver.expires < today:
            complaints.append(
                f"waiver {waiver.name}: expired on {waiver.expires}; fix {waiver.issue} or renew it"
            )
            continue
        found = waiver.matches(cases)
        if whole and not found:
            complaints.append(f"waiver {waiver.name}: matches no case of the run; remove it")
        low = [case for case in found if case.level < LOWEST]
        if low:
            complaints.append(
                f"waiver {waiver.name}: covers {low[0].id} of {low[0].level.name}, where nothing can be waived"
            )
        passing = [case for case in found if case.id in results and results[case.id].passed]
        if passing:
            complaints.append(
                f"waiver {waiver.name}: {len(passing)} of its cases pass, {passing[0].id} first; narrow or remove it"
            )
        for case in found:
            result = results.get(case.id)
            if case.level >= LOWEST and result is not None and not result.passed:
                result.status, result.waiver = Status.WAIVED, f"{waiver.reason} ({waiver.issue})"
                covered.add(case.id)
    alone = [name for name, r in results.items() if r.status is Status.WAIVED and name not in covered]
    if alone:
        complaints.append(f"{len(alone)} results are WAIVED without a waiver, {min(alone)} first")
    return complaints + _beyond_cap(cases, results)


def _beyond_cap(cases: Sequence[Case], results: Mapping[str, Result]) -> list[str]:
    """A sentence for each level of which too much is waived."""
    planned = collections.Counter(case.level for case in cases)
    waived = collections.Counter(
        case.level for case in cases if case.id in results and results[case.id].status is Status.WAIVED
    )
    return [
        f"waivers cover {count} of {planned[level]} cases of {level.name}, more than {CAP:.0%}"
        for level, count in sorted(waived.items())
        if count > CAP * planned[level]
    ]
