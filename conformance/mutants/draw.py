"""Draws mutants: by a seed, the same ones everywhere, spread over sources and operators.

- A source gets its share (`shares` of operators.toml); what it has too few of goes to the others.
- Within a source the operators take turns, so that rare faults are there; which of an operator's places, the seed says.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Mapping, Sequence

from mutants.sites import Mutant

COUNT = 300
SEED = 20261130


def drawn(
    mutants: Sequence[Mutant], shares: Mapping[str, int], count: int = COUNT, seed: int = SEED
) -> list[Mutant]:
    """At most `count` mutants, source by source."""
    by_source: dict[str, list[Mutant]] = collections.defaultdict(list)
    for mutant in mutants:
        by_source[mutant.source.name].append(mutant)
    sizes = _sizes({name: len(of) for name, of in by_source.items()}, shares, count)
    return [m for name, of in by_source.items() for m in _turns(of, sizes[name], f"{seed}:{name}")]


def _sizes(there: Mapping[str, int], shares: Mapping[str, int], count: int) -> dict[str, int]:
    sizes = dict.fromkeys(there, 0)
    left = min(count, sum(there.values()))
    while left:
        # One at a time, to the source that is furthest behind its share.
        open_ = [name for name in there if sizes[name] < there[name]]
        name = min(open_, key=lambda name: (sizes[name] + 1) / shares[name])
        sizes[name] += 1
        left -= 1
    return sizes


def _turns(mutants: Sequence[Mutant], size: int, seed: str) -> list[Mutant]:
    by_operator: dict[str, list[Mutant]] = collections.defaultdict(list)
    for mutant in mutants:
        by_operator[mutant.operator].append(mutant)
    for name, of in by_operator.items():
        random.Random(f"{seed}:{name}").shuffle(of)
    taken: list[Mutant] = []
    while len(taken) < size:
        for of in by_operator.values():
            if of and len(taken) < size:
                taken.append(of.pop())
    return taken


def of_a_day(mutants: Sequence[Mutant], day: str, count: int) -> list[Mutant]:
    """A few of the drawn ones, others each day."""
    return random.Random(f"day {day}").sample(list(mutants), min(count, len(mutants)))
