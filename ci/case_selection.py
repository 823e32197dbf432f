"""Which collected cases a run takes: leaving out the oracle's, and drawing one shard of a large set by date.

- A case belongs to the oracle when it is marked `oracle`, asks for the fixture `torch`, or when its module, or a
  test helper that the module imports from, imported torch. Under ORACLE=0 torch is replaced during collection by
  a stand-in of which nothing is true but that it can be imported: such cases are counted and left out, never run.
- Shards are drawn by a checksum of the case's id, so a case's shard does not depend on the other cases.
- What is left out is counted and reported, never silent.
"""

import datetime
import types
import zlib
from collections.abc import Iterable, Sequence


class StandIn(types.ModuleType):
    """Passes for torch while tests are collected: capitalised attributes are classes, others are stand-ins."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        if name == "__version__":
            return "0"
        made: object = type(name, (), {}) if name[:1].isupper() else StandIn(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *arguments: object, **options: object) -> "StandIn":
        return StandIn(f"{self.__name__}()")


def uses_stand_in(module: types.ModuleType, helper_root: str) -> bool:
    """True when the module holds a stand-in itself or imported something from a helper under helper_root that does."""

    def holds(namespace: dict[str, object]) -> bool:
        return any(isinstance(value, StandIn) for value in namespace.values())

    def helper(value: object) -> dict[str, object] | None:
        if isinstance(value, types.ModuleType):
            space = vars(value)
        else:
            space = getattr(value, "__globals__", {})
        return space if str(space.get("__file__", "")).startswith(helper_root) else None

    own = dict(vars(module))
    return holds(own) or any(space is not None and holds(space) for space in map(helper, own.values()))


def shard_of(case: str, shards: int) -> int:
    """The shard of a case id, from 0 to shards - 1."""
    return zlib.crc32(case.encode()) % shards


def draw_shard(cases: int, limit: int, day: datetime.date) -> tuple[int, int]:
    """(index, shards) for a set of this size when at most about `limit` cases are wanted; each day the next one."""
    shards = max(1, -(-cases // limit))
    return day.toordinal() % shards, shards


def split_shard(ids: Sequence[str], index: int, shards: int) -> tuple[list[int], list[int]]:
    """Positions of the cases in the shard, and of the others."""
    taken = [position for position, case in enumerate(ids) if shard_of(case, shards) == index]
    chosen = set(taken)
    return taken, [position for position in range(len(ids)) if position not in chosen]


def merge(reports: Iterable[dict[str, int]]) -> dict[str, int]:
    """One of several equal reports of parallel workers: each worker collects the whole set."""
    merged: dict[str, int] = {}
    for report in reports:
        merged.update(report)
    return merged
