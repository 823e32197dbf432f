"""After a run: which failures stand on others, so that one broken kernel is one failure and not thousands.

- A case one of whose `roots` did not pass is BLOCKED by it, also where another shard ran it.
- A failed case whose event log holds the kernel of another op, of which a `values` case failed in the same dtype or in
  one of `INNER`, is BLOCKED by the first failing case there.
- Chains are followed to their end; a circle ends at the op that the plan names first.
- What hides behind a root is found by the next run: BLOCKED is no pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenora_conformance.model import Case, Result, Status

#: What a broken kernel below may look like in a composite above it.
_MOVABLE = frozenset({Status.FAIL, Status.UNSUPPORTED})
#: Dtypes in which kernels may run in a case of any other: half types and complex numbers, means, indices.
INNER = ("float32", "float64", "int64")
Key = tuple[str, str]
"""An op and a dtype."""


def attribute(cases: Sequence[Case], results: Mapping[str, Result]) -> None:
    """Turns failures that stand on others into BLOCKED, in place. `results` by case id; some may be missing."""
    broken = _broken(cases, results)
    for case in cases:
        result = results.get(case.id)
        if result is None:
            continue
        missed = next((r for r in case.roots if r in results and not results[r].passed), "")
        if missed:
            _block(result, results[missed].root or missed, "on which it stands, did not pass")
        elif result.status in _MOVABLE:
            root = _root((case.op, case.dtype), _kernels(result), case.dtype, broken)
            if root and root != case.id and not _is_root(case, broken):
                _block(result, root, "whose kernel it uses, did not pass")
    for result in results.values():  # a root of one shard may stand on another shard's
        while result.root in results and results[result.root].root not in ("", result.root):
            result.root = results[result.root].root


class _Broken:
    """The first failing `values` case of an op in a dtype, the kernels of such cases, and the plan's order."""

    def __init__(self, case: Case, order: int) -> None:
        self.first = case.id
        self.order = order
        self.kernels: set[str] = set()


def _broken(cases: Sequence[Case], results: Mapping[str, Result]) -> dict[Key, _Broken]:
    found: dict[Key, _Broken] = {}
    for order, case in enumerate(cases):
        result = results.get(case.id)
        if case.check == "values" and result is not None and result.status in _MOVABLE:
            entry = found.setdefault((case.op, case.dtype), _Broken(case, order))
            entry.kernels |= _kernels(result)
    return found


def _kernels(result: Result) -> set[str]:
    """The ops whose kernels ran in a case."""
    return {name.partition(":")[2] for name in result.kernels}


def _below(op: str, kernels: set[str], dtype: str, broken: Mapping[Key, _Broken]) -> list[Key]:
    """The broken kernels of other ops among those that ran, in the plan's order."""
    dtypes = dict.fromkeys((dtype, *INNER))
    keys = [(kernel, d) for kernel in kernels if kernel != op for d in dtypes if (kernel, d) in broken]
    return sorted(keys, key=lambda key: broken[key].order)


def _root(key: Key, kernels: set[str], dtype: str, broken: Mapping[Key, _Broken]) -> str:
    """The case at the end of the chain; "" where nothing below is broken."""
    chain = [key]
    while below := _below(chain[-1][0], kernels, dtype, broken):
        following = below[0]
        if following in chain:  # a circle: its first in the plan stands for all
            circle = chain[chain.index(following) :]
            return min((broken[k] for k in circle if k in broken), key=lambda entry: entry.order).first
        chain.append(following)
        kernels, dtype = broken[following].kernels, following[1]
    return broken[chain[-1]].first if len(chain) > 1 else ""


def _is_root(case: Case, broken: Mapping[Key, _Broken]) -> bool:
    """Whether others are BLOCKED by this very case: the first of an op at which a chain ends."""
    entry = broken.get((case.op, case.dtype))
    if entry is None or entry.first != case.id:
        return False
    return _root((case.op, case.dtype), entry.kernels, case.dtype, broken) in ("", case.id)


def _block(result: Result, root: str, why: str) -> None:
    said = f"{root}, {why}" + (f" (here: {result.message})" if result.message else "")
    result.status, result.root, result.message = Status.BLOCKED, root, said
