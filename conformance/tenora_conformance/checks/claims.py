"""Under-claim: a dtype that a backend does not declare, and for which it has kernels all the same.

- What is undeclared is not judged, so nobody may rely on it: it is declared, or refused.
- `tenora_dispatch.explain` says what would run; nothing is computed.
"""

from __future__ import annotations

from collections.abc import Iterator

import tenora_dispatch
import tenora_ops
from tenora_conformance.model import Case, Check, Level, Outcome, Underclaimed
from tenora_conformance.subject import MINIMUM, Subject, judged_by
from tenora_ops.samples import ALL

NAME = "@claims"
#: What the words of which random numbers are made meet on every backend, whatever it declares.
OF_WORDS = {"uint32": frozenset(("copy", "floor_divide", "random_bits"))}


def scripts() -> Iterator[Case]:
    """One for each dtype that a manifest may leave out."""
    for dtype in ALL:
        if dtype not in MINIMUM:
            yield Case(NAME, "-", dtype, "0:claims", Level.L2, "claims")


def needs(case: Case, subject: Subject) -> str:
    """What is declared is judged by everything else."""
    return f"dtype {case.layout} is declared" if case.layout in subject.dtypes else ""


def run(case: Case, subject: Subject) -> Outcome:
    """Raises: Underclaimed naming the ops that would run."""
    with judged_by(subject):
        free = OF_WORDS.get(case.layout, frozenset())
        found = [name for name in sorted(subject.kernels) if would_run(name, case.layout, subject)]
        found = [name for name in found if name not in free]
    if found:
        raise Underclaimed(
            f"{case.layout} is not declared, and kernels of {subject.name} take it: {', '.join(found[:12])}"
            f"{' and others' if len(found) > 12 else ''}. Add {case.layout!r} to the manifest's capabilities, or leave"
            " it out of the kernels' dtypes"
        )
    return Outcome()


def would_run(name: str, dtype: str, subject: Subject) -> bool:
    """Whether the backend's own kernel takes a dtype that is one of the op's."""
    if dtype not in tenora_ops.record(name).dtypes:
        return False
    told = tenora_dispatch.explain(name, device=subject.device, dtype=dtype)
    sure = told.implementation.endswith("kernel") and "if it supports" not in told.reason
    return sure and told.backend == subject.name


CHECK = Check("claims", run, scripts=scripts, needs=needs, lowest=Level.L2)
