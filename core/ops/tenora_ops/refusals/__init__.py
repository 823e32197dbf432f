"""Calls that ops have to refuse: what the conformance suite asks beside the samples of a record.

- A module holds `REFUSED`: op name -> name of what is wrong -> `Refusal`. The names are parts of case ids, so they
  stay.
- A refusal is a sound call but for one thing, as near to the border as can be; `taken` is the nearest call that is not
  refused. The two together fix the border: a check that is left out fails the one, one that is too strict the other.
- Nothing here is imported with the records: it is for those who judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.record import RecordError
from tenora_ops.samples import Sample, numpy_dtype, sample

#: What can be wrong, as the `code` of the error says it.
CODES = frozenset(
    (
        *("argument", "dim", "dtype", "index", "linalg", "not_implemented", "overflow", "runtime", "shape"),
        *("stride", "type", "value"),
    )
)


@dataclass(frozen=True)
class Refusal:
    """A call that raises an error of one code, and the nearest one that does not (None: there is none).

    `says`: what the text of the error has to say, where it names the border.
    """

    code: str
    call: Sample
    taken: Sample | None
    says: str = ""


class Call:
    """Arguments of a call, for `refusal`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.sample = sample(*arguments, **options)


def refusal(code: str, call: Call, taken: Call | None) -> Refusal:
    """A refused call and the nearest taken one.

    >>> refusal("shape", Call(reals(3), 4), Call(reals(3), 3)).code
    'shape'
    """
    if code not in CODES:
        raise RecordError(f"[refusal] code: got {code!r}, expected one of {sorted(CODES)}. Use the error's.")
    return Refusal(code, call.sample, None if taken is None else taken.sample)


def reals(*shape: int, dtype: str = "float32") -> Any:
    """Numbers between 0 and 1, no two equal, of a shape and a floating or complex dtype."""
    count = int(np.prod(shape))
    return ((np.arange(count) + 1) / (count + 1)).reshape(shape).astype(numpy_dtype(dtype))


def wholes(*shape: int, dtype: str = "int64") -> Any:
    """0, 1, 0, 1, ... in a whole dtype or bool: indices that every dimension with two elements has."""
    return (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(numpy_dtype(dtype))
