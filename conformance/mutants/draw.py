"""Draws mutants: by a seed, the same ones everywhere, spread over sources and operators.

- A source gets its share (`shares` of operators.toml); what it has too few of goes to the others.
- Within a source the operators take turns, so that rare faults are there; which of an operator's places, the seed says.
- A mutant's lot hangs on the seed and its id alone: a change of the sources that adds a place or takes one away leaves
  the others drawn as they were, and their verdicts are of use.
"""

from __future__ import annotations

import collections
import hashlib
import random
from collections.abc import Mapping, Sequence

from mutants.sites import Mutant

COUNT = 300
SEED = 20261130


def drawn(
    mutants: Sequence[Mutant], shares: Mapping[str, int], count: int = COUNT, seed: int = SEED
) -> list[Mutant]:
    """At most `count` mutants; sources take turns by their sizes, so that each is met early."""
    by_source: dict[str, list[Mutant]] = collections.defaultdict(list)
    for mutant in mutants:
        by_source[mutant.source.name].append(mutant)
    sizes = _sizes({name: len(of) for name, of in by_source.items()}, shares, count)
    placed = [
        ((number + 0.5) / sizes[name], mutant)
        for name, of in by_source.items()
        for number, mutant in enumerate(_turns(of, sizes[name], seed))
    ]
    return [mutant for _, mutant in sorted(placed, key=lambda pair: pair[0])]


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


def _turns(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    by_operator: dict[str, list[Mutant]] = collections.defaultdict(list)
    for mutant in mutants:
        by_operator[mutant.operator].append(mutant)
    for of in by_operator.values():
        of.sort(key=lambda mutant: hashlib.sha256(f"{seed}:{mutant.id}".encode()).digest())
    taken: list[Mutant] = []
    while len(taken) < size:
        for of in by_operator.values():
            if of and len(taken) < size:
                taken.append(of.pop())
    return taken


def of_a_day(mutants: Sequence[Mutant], day: str, count: int) -> list[Mutant]:
    """A few of the drawn ones, others each day."""
    return random.Random(f"day {day}").sample(list(mutants), min(count, len(mutants)))
