"""What the suite speaks of: levels, cases, statuses and results.

- A case is named `op/dtype/layout/sample` for ever; what is no op has a subject that begins with `@`, as in
  `@memory/float32/dense/round_trip`. A sample of a check other than `values` names it: `3:gradient`.
- Only PASS is a pass. A check raises `Failed` with what it found, `Unsupported` when something declared was refused.
- A result is plain data: it crosses processes and report files as JSON.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import tenora_ops

if TYPE_CHECKING:
    from tenora_conformance.subject import Subject


#: The seeds from which cases are drawn, which a run's header repeats. A sample's is the crc32 of `op:dtype` besides.
SEEDS: dict[str, int] = {"samples": 0}


class Level(enum.IntEnum):
    """What a backend may call itself; each level holds those below it."""

    L0 = 0
    """Loads, reports, and does what its manifest says."""
    L1 = 1
    """Memory and ring 0."""
    L2 = 2
    """The full op set, with error cases."""
    L3 = 3
    """Autograd, nn, optimizers, training as the reference trains."""
    L4 = 4
    """Streams, allocator, interop, threads, processes, faults."""

    @classmethod
    def parse(cls, text: str) -> Level:
        """`"L2"` or `"2"`. Raises: ValueError naming the levels.

        >>> Level.parse("l2")
        <Level.L2: 2>
        """
        wanted = text.strip().upper()
        for level in cls:
            if wanted in (level.name, str(int(level))):
                return level
        raise ValueError(
            f"[conformance] unknown level: got {text!r}, expected one of {', '.join(level.name for level in cls)}."
            " Name one."
        )


class Status(enum.StrEnum):
    """How a case ended."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNSUPPORTED = "UNSUPPORTED"
    """Something declared was refused."""
    WAIVED = "WAIVED"
    """Failed, and a waiver says so."""
    BLOCKED = "BLOCKED"
    """Not judged, because what it stands on is broken; `root` names the case that failed."""
    CRASH = "CRASH"
    """The process of the case ended."""
    TIMEOUT = "TIMEOUT"
    UNDERCLAIM = "UNDERCLAIM"
    """Something undeclared works."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to find out. `check` is the name of the check that runs it; `roots` are ids it stands on."""

    op: str
    dtype: str
    layout: str
    sample: str
    level: Level
    check: str = "values"
    roots: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`add/float32/strided/3`."""
        return f"{self.op}/{self.dtype}/{self.layout}/{self.sample}"

    @property
    def number(self) -> str:
        """The sample without the name of the check: `3` of `3:gradient`."""
        return self.sample.partition(":")[0]

    def as_json(self) -> dict[str, Any]:
        """Plain data, for a process that runs it."""
        return asdict(self) | {"level": int(self.level)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        """The case that `as_json` wrote."""
        return cls(**{**data, "level": Level(data["level"]), "roots": tuple(data["roots"])})


@dataclass(slots=True)
class Detail:
    """What a person needs to see of a failure; everything as text."""

    call: str = ""
    inputs: list[str] = field(default_factory=list)
    expected: str = ""
    got: str = ""
    first_wrong: str = ""
    """Index of the first wrong element."""
    traceback: str = ""


@dataclass(slots=True)
class Outcome:
    """What a check measured on the way to a pass, or up to its failure."""

    worst: float = 0.0
    """Worst error as a share of its tolerance; 0 where everything is exact."""
    kernels: dict[str, int] = field(default_factory=dict)
    """`backend:op` of every kernel that ran inside the case, with its number of calls."""

    def merge(self, other: Outcome) -> None:
        """Takes in what another part of the same case measured."""
        self.worst = max(self.worst, other.worst)
        for name, count in other.kernels.items():
            self.kernels[name] = self.kernels.get(name, 0) + count


@dataclass(slots=True)
class Result:
    """How one case ended."""

    case: str
    level: int
    check: str
    status: Status
    message: str = ""
    worst: float = 0.0
    seconds: float = 0.0
    root: str = ""
    waiver: str = ""
    kernels: dict[str, int] = field(default_factory=dict)
    detail: Detail | None = None

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    def as_json(self) -> dict[str, Any]:
        """Plain data, without what is empty; a share of the tolerance that is no number becomes text."""
        data = {k: v for k, v in asdict(self).items() if v or k in ("level", "status")}
        if "worst" in data and data["worst"] == float("inf"):
            data["worst"] = "inf"
        return data | {"status": self.status.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """The result that `as_json` wrote."""
        given = dict(data)
        given["status"] = Status(given["status"])
        given["worst"] = float(given.get("worst", 0.0))
        if given.get("detail"):
            given["detail"] = Detail(**given["detail"])
        return cls(**given)


class Failed(Exception):
    """What a check found wrong. `detail` is filled in as far as it is known."""

    def __init__(self, message: str, detail: Detail | None = None, *, worst: float = float("inf")) -> None:
        super().__init__(message)
        self.detail = detail or Detail()
        self.worst = worst


class Unsupported(Exception):
    """Something that the backend declares was refused."""


class Underclaimed(Exception):
    """Something that the backend does not declare works."""


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of question. `cases` lists its cases for every backend (`tenora_conformance.must_run` then takes those
    that a backend's declarations call for); `run` answers one: it returns normally for a pass."""

    name: str
    run: Callable[[Case, Subject], Outcome]
    cases_of: Callable[[str], Iterable[Case]] | None = None
    """The cases of one op, in a stable order."""
    scripts: Callable[[], Iterable[Case]] | None = None
    """The cases that are of no op: their names begin with `@`."""
    needs: Callable[[Case, Subject], str] | None = None
    """Why a case does not apply to a backend by what it declares ("" if it does): dtype is looked at already."""
    isolated: bool = False
    """Each case in a process of its own: it ends, forks or blocks."""
    seconds: float = 60.0
    """After which a case counts as TIMEOUT."""
    lowest: Level = Level.L0
    """The lowest level of its cases: a run below it does not list them."""

    def cases(self, ops: Collection[str] = ()) -> Iterator[Case]:
        """All of its cases, scripts first; or those of the named ops and scripts (`@memory`) only."""
        if self.scripts and (not ops or any(name.startswith("@") for name in ops)):
            yield from (case for case in self.scripts() if not ops or case.op in ops)
        if self.cases_of:
            for name in ops or (record.name for record in tenora_ops.records()):
                if not name.startswith("@"):
                    yield from self.cases_of(name)
