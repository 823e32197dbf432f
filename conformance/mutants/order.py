"""Which cases a mutant meets, and in which order: those first that are likeliest to find it.

1. Cases of the ops that it is a part of. 2. Cases in which a kernel of such an op ran. 3. All others; of a kernel's
mutant only those whose event log is empty, for in the others the kernel did not run.

Within each, ops and checks take turns, so that whatever is broken widely is found soon. What does not pass on the
backend as it is, is left out: it says nothing of a mutant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from mutants.sites import Mutant
from tenora_conformance.model import Case, Result


def in_turns(cases: Iterable[Case]) -> list[Case]:
    """One of each op and check, then the next of each."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.op, case.check), []).append(case)
    rounds = itertools.zip_longest(*groups.values())
    return [case for row in rounds for case in row if case is not None]


def stages(mutant: Mutant, cases: Sequence[Case], baseline: Mapping[str, Result]) -> list[list[Case]]:
    """The three, each in turns."""
    ops = set(mutant.ops)
    found: tuple[list[Case], ...] = ([], [], [])
    for case in cases:
        result = baseline.get(case.id)
        if result is None or not result.passed:
            continue
        ran = {name.partition(":")[2] for name in result.kernels}
        if case.op in ops or ran & ops:
            found[0 if case.op in ops else 1].append(case)
        elif not (ops and ran and mutant.role == "kernel"):
            found[2].append(case)
    return [in_turns(stage) for stage in found]
