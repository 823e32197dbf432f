"""The first and the last line of `results.jsonl`: what a run was of, and that it came to its end.

- The file is JSON, a line each: `{"header": ...}`, then `Result.as_json()` of every case, then `{"end": ...}`.
- The header is written before the first case, so that a run which is killed still says what it was. The last line is
  written when every case that was to run has a result; without it the report says that the run did not end.
- Both are plain data and travel with shards; joining shards needs nothing else (`joined`).
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tenora
from tenora_conformance.must_run import Plan
from tenora_conformance.report.environment import distributions, environment
from tenora_conformance.subject import Subject

SCHEMA = 1


@dataclass
class Header:
    """What a run was of. `planned` counts the must-run cases of the level by level name, whatever was selected."""

    backend: str
    device: str
    level: str
    planned: dict[str, int]
    left_out: dict[str, int]
    """Number of cases that what is undeclared took out of the plan, by reason."""
    declared: dict[str, Any]
    """`dtypes`, `capabilities`, `host_memory`, `host_order`, `kernels` of the subject."""
    environment: dict[str, str]
    distributions: list[dict[str, str]]
    seeds: dict[str, int] = field(default_factory=dict)
    waivers: list[dict[str, Any]] = field(default_factory=list)
    selection: str = ""
    """What narrowed the plan, as a person writes it (`--quick`, `--op add`); "" for the whole plan."""
    shard: str = ""
    """`2/5` of a run in parts; "" for all of it."""
    started: str = ""
    schema: int = SCHEMA

    @classmethod
    def of(
        cls,
        plan: Plan,
        subject: Subject,
        *,
        seeds: Mapping[str, int] | None = None,
        waivers: Sequence[Mapping[str, Any]] = (),
        selection: str = "",
        shard: str = "",
    ) -> Header:
        """The header of a run that is about to begin; hashes the distributions that take part."""
        planned = collections.Counter(case.level.name for case in plan.cases)
        return cls(
            backend=subject.name,
            device=subject.device,
            level=plan.level.name,
            planned=dict(sorted(planned.items())),
            left_out=dict(sorted(plan.left_out.items())),
            declared={
                "dtypes": sorted(subject.dtypes),
                "capabilities": sorted(subject.capabilities),
                "host_memory": subject.host_memory,
                "host_order": subject.host_order,
                "kernels": dict(subject.kernels),
            },
            environment=environment(),
            distributions=[dataclasses.asdict(each) for each in distributions(subject.name)],
            seeds=dict(seeds or {}),
            waivers=[dict(waiver) for waiver in waivers],
            selection=selection,
            shard=shard,
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def as_json(self) -> dict[str, Any]:
        return {"header": dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Header:
        """Raises: ValueError where the line is no header of this schema."""
        found = data.get("header")
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise ValueError(
                f"[report] the first line is wrong: got {str(data)[:60]}, expected a header of schema {SCHEMA}. "
                "Run again with this version of tenora-conformance."
            )
        try:
            return cls(**found)
        except TypeError as error:
            raise ValueError(
                f"[report] the header is wrong: got {error}, expected the fields of schema {SCHEMA}. Run again."
            ) from error

    @property
    def sources(self) -> dict[str, str]:
        """Digest of the backend's package, by its name."""
        return {each["package"]: each["sources"] for each in self.distributions if each["package"]}

    @property
    def versions(self) -> dict[str, str]:
        """What of the environment has to be the same for all shards: their machines need not be."""
        return {name: self.environment.get(name, "") for name in ("opset", "protocol", "abi")}

    @property
    def whole(self) -> bool:
        """Whether the run is of the whole plan, not of a selection or a shard."""
        return not self.selection and not self.shard


@dataclass
class End:
    """What is known once the last case has a result.

    `fallbacks`: op, backend and calls of every stand-in. `complaints`: sentences for which the run is not met although
    its cases may be, such as a waiver that has expired or matches nothing.
    """

    seconds: float = 0.0
    fallbacks: list[list[Any]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def now(cls, seconds: float, complaints: Sequence[str] = ()) -> End:
        """The end of a run in this process."""
        stood_in = [[row.op, row.backend, row.calls] for row in tenora.fallbacks()]
        return cls(seconds, stood_in, list(complaints))

    def as_json(self) -> dict[str, Any]:
        return {"end": dataclasses.asdict(self)}


def joined(headers: Sequence[Header]) -> Header:
    """The header of the whole run of which these are the shards.

    Raises: ValueError where they are not shards of one run: another backend, level, plan, source, seed or version of
    the protocol, or a shard missing.
    """
    first = headers[0]
    shards = [header.shard for header in headers]
    count = len(headers)
    if sorted(shards) != sorted(f"{i}/{count}" for i in range(1, count + 1)):
        got = ", ".join(shard or "a whole run" for shard in shards)
        planned = first.shard.partition("/")[2] or count
        raise ValueError(
            f"[merge] the shards do not make up a run: got {got}, expected 1/{planned} to {planned}/{planned}. "
            "Name each shard's folder once."
        )
    for name in (
        "backend",
        "device",
        "level",
        "planned",
        "left_out",
        "declared",
        "selection",
        "distributions",
        "seeds",
        "versions",
    ):
        for header in headers[1:]:
            if getattr(header, name) != getattr(first, name):
                raise ValueError(
                    f"[merge] the shards are of different runs: got {name} {getattr(header, name)!r} beside "
                    f"{getattr(first, name)!r}, expected one. Run them again with the same sources and options."
                )
    waivers = {str(sorted(waiver.items())): waiver for header in headers for waiver in header.waivers}
    return dataclasses.replace(
        first,
        shard="",
        waivers=list(waivers.values()),
        started=min(header.started for header in headers),
    )
