"""Which cases of the plan a run takes: all, a shard, an op, those that did not pass before, or a few of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level

#: What `--quick` takes of a check whose cases have processes of their own, or may take long.
QUICK_DEAR = 2
#: Seconds that a case of such a check may take.
DEAR = 61.0


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, from 1."""

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`"2/5"`. Raises: ValueError.

        >>> Shard.parse("2/5")
        Shard(index=2, count=5)
        """
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ValueError(
                f"[conformance] --shard: got {text!r}, expected i/n with 1 <= i <= n. Write 2/5."
            )
        return cls(int(index), int(count))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}" if self.count > 1 else ""


def in_shard(cases: Sequence[Case], shard: Shard) -> list[Case]:
    """Every n-th case: the shards of a plan are alike in length and kind."""
    return list(cases[shard.index - 1 :: shard.count])


def quick(cases: Iterable[Case]) -> list[Case]:
    """A fixed few: all of L0, and of each op and check one case, in float32 where there is one; two of a dear check."""
    first: dict[tuple[str, str], Case] = {}
    dear: dict[str, list[Case]] = {}
    for case in cases:
        check = CHECKS[case.check]
        if case.level is Level.L0:
            dear.setdefault(case.id, []).append(case)
        elif check.isolated or check.seconds >= DEAR:
            dear.setdefault(case.check, []).append(case)
        else:
            kept = first.setdefault((case.check, case.op), case)
            if case.dtype == "float32" != kept.dtype:
                first[case.check, case.op] = case
    return [*first.values(), *(case for group in dear.values() for case in group[:QUICK_DEAR])]
