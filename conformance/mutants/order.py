"""Which cases a mutant meets, and in which order: those first that are likeliest to find it.

1. The case that found it before. 2. Cases of the ops that it is a part of. 3. Cases that reach it: that entered the
mutated function (`reach.py`, of Python), or in which a kernel of such an op ran. 4. Of the others a thin rest: the
first `ROUNDS` of each op and check, and every script.

Within each, ops and checks take turns, so that whatever is broken widely is found soon. A case that is left out can
only leave a mutant alive that it would have killed: thinning makes the published rate smaller, never larger, and
`--whole` lets a survivor meet every case. The recorded run is advice: what is not in it is met too, and a failure
counts only if the backend as it is passes now.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mutants.sites import Mutant
from tenora_conformance.model import Case, Result

#: Of each op and check, how many of the cases that nothing leads to: with a record of who enters what, and without.
RECORDED, UNRECORDED = 1, 3


@dataclass(frozen=True, slots=True)
class Leads:
    """What leads to cases: a run on the backend as it is, what found the mutant before, who enters its function."""

    baseline: Mapping[str, Result]
    killer: str = ""
    reached: Callable[[], Collection[str] | None] = lambda: None
    """Asked only when it is needed, as it has to be recorded first; None where that cannot be."""


def in_turns(cases: Iterable[Case], rounds: int | None = None) -> list[Case]:
    """One of each op and check, then the next of each."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.op, case.check), []).append(case)
    kept = (group[:rounds] for group in groups.values())
    return [case for row in itertools.zip_longest(*kept) for case in row if case is not None]


def stages(
    mutant: Mutant, cases: Sequence[Case], leads: Leads, *, whole: bool = False
) -> Iterator[list[Case]]:
    """The four, each when the one before has found nothing; of `whole` the last one has all of the others."""
    ops = set(mutant.ops)
    first: list[Case] = []
    own: list[Case] = []
    more: list[Case] = []
    for case in cases:
        result = leads.baseline.get(case.id)
        if result is None or result.passed:
            (first if case.id == leads.killer else own if case.op in ops else more).append(case)
    yield first
    yield in_turns(own)
    reached = leads.reached()
    reaching: list[Case] = []
    others: list[Case] = []
    for case in more:
        result = leads.baseline.get(case.id)
        ran = {name.partition(":")[2] for name in result.kernels} if result else set()
        (reaching if (ran & ops if reached is None else case.id in reached) else others).append(case)
    yield in_turns(reaching)
    yield in_turns(others) if whole else _thin(others, reached is not None)


def _thin(others: Sequence[Case], recorded: bool) -> list[Case]:
    if recorded:
        return in_turns(others, RECORDED)
    scripts = [case for case in others if case.op.startswith("@")]
    return scripts + in_turns((case for case in others if not case.op.startswith("@")), UNRECORDED)
