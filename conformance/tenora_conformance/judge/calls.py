"""From a record's sample to a call on the backend's device, and to what its oracle answers on the host.

- A dtype is spelled as a string in samples, a generator as its seed; arrays become tensors in the layout asked for.
- Oracles are told floating arrays in double precision, with the drawn dtype as metadata, everything else as it is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import tenora
import tenora_ops
from tenora_conformance.judge.layouts import LAYOUT_BOUND, Layout, Placed
from tenora_conformance.subject import Subject
from tenora_ops.record import Record
from tenora_ops.samples import Draw, Sample, Seed


@dataclass
class Call:
    """A call that is ready: `placed` are its tensors, with what lies around them."""

    function: Any
    arguments: list[Any]
    options: dict[str, Any]
    placed: list[Placed] = field(default_factory=list)

    def __call__(self) -> Any:
        return self.function(*self.arguments, **self.options)

    def check_inputs(self) -> None:
        """Raises: Failed where an input, or what lies around it, was written to."""
        for number, item in enumerate(self.placed):
            item.check(f"input {number}")


def has_arrays(sample: Sample) -> bool:
    """Whether a sample has any tensor."""
    values = [*sample.arguments, *sample.options.values()]
    return any(isinstance(v, np.ndarray) or (isinstance(v, list) and v) for v in values)


def prepare(record: Record, sample: Sample, layout: Layout, subject: Subject, *, alias: bool = False) -> Call:
    """Places a sample's arrays on the backend's device. `alias`: arrays that are one object become one tensor."""
    call = Call(tenora_ops.REGISTERED[record.name], [], {})
    placing = _Placing(layout, subject, alias, record.name in LAYOUT_BOUND, call.placed)
    kinds = [p.type for p in record.schema.parameters if not p.keyword_only]
    for i, value in enumerate(sample.arguments):
        is_dtype = i < len(kinds) and kinds[i].startswith("dtype") and isinstance(value, str)
        call.arguments.append(subject.dtype(value) if is_dtype else placing.place(value))
    for name, value in sample.options.items():
        call.options[name] = subject.dtype(value) if name == "dtype" and value else placing.place(value)
    if not has_arrays(sample) and any(p.type == "device?" for p in record.schema.parameters):
        call.options["device"] = subject.device
    return call


@dataclass
class _Placing:
    """Turns the values of one sample into what the op takes."""

    layout: Layout
    subject: Subject
    alias: bool
    first: bool
    placed: list[Placed]
    known: dict[int, Any] = field(default_factory=dict)

    def place(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if self.alias and id(value) in self.known:
                return self.known[id(value)]
            self.placed.append(Placed(value, self.layout, self.subject, first=self.first))
            return (
                self.known.setdefault(id(value), self.placed[-1].tensor)
                if self.alias
                else self.placed[-1].tensor
            )
        if isinstance(value, list):
            return [self.place(v) for v in value]
        if isinstance(value, Seed):
            return tenora.Generator().manual_seed(value.seed)
        return value


def widened(value: Any) -> Any:
    """What an oracle is told of a value."""
    if isinstance(value, list):
        return [widened(v) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == ml_dtypes.bfloat16 or value.dtype.kind == "f":
        return value.astype(np.dtype(np.float64, metadata={"drawn": value.dtype.name}))
    if value.dtype.kind == "c":
        return value.astype(np.dtype(np.complex128, metadata={"drawn": value.dtype.name}))
    return value


@functools.lru_cache(maxsize=8192)  # all of them: every check lists its cases by them, and they are small
def samples_of(name: str, dtype: str) -> tuple[Sample, ...]:
    """A record's samples of a dtype, the same in every process."""
    record = tenora_ops.record(name)
    with np.errstate(all="ignore"):
        return tuple(record.samples(Draw(dtype, record.domain, name)))


def answer(record: Record, sample: Sample) -> Any:
    """What the oracle says; numbers beyond a dtype's range are infinities, silently."""
    with np.errstate(all="ignore"):
        told = [widened(v) for v in sample.arguments]
        return record.oracle(*told, **{k: widened(v) for k, v in sample.options.items()})
