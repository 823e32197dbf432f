"""A case as a program of its own, which runs as it is where the backend is installed.

A call of `values` on the host is written out with its arrays; whatever cannot be (scripts, other devices, long arrays)
calls the suite for the one case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from tenora_conformance.checks import values
from tenora_conformance.judge.calls import answer, has_arrays
from tenora_conformance.judge.compare import shown
from tenora_conformance.model import Case, Level, Result
from tenora_conformance.subject import HOST
from tenora_ops.record import Record
from tenora_ops.samples import Sample, Seed

#: Elements of an array that is written out.
LONGEST = 256
_LAYOUTS = {
    "contiguous": "",
    "transposed": "def placed(array):\n    return tenora.from_numpy(np.array(array, order='F'))\n",
    "strided": (
        "def placed(array):\n"
        "    room = np.zeros([2 * n for n in array.shape], array.dtype)\n"
        "    window = room[(..., *[slice(None, None, 2)] * array.ndim)]\n"
        "    window[...] = array\n"
        "    return tenora.from_numpy(window)\n"
    ),
    "negative": (
        "def placed(array):\n"
        "    backwards = (..., *[slice(None, None, -1)] * array.ndim)\n"
        "    return tenora.from_numpy(array[backwards].copy()[backwards])\n"
    ),
    "offset": (
        "def placed(array):\n"
        "    room = np.concatenate([np.zeros(16, array.dtype), array.ravel()])\n"
        "    return tenora.from_numpy(room)[16:].view(array.shape)\n"
    ),
    "unaligned": (
        "def placed(array):\n"
        "    room = np.concatenate([np.zeros(1, array.dtype), array.ravel()])\n"
        "    return tenora.from_numpy(room[1:].reshape(array.shape))\n"
    ),
}


class _NoLiteral(Exception):
    """A value that cannot be written out."""


def case_of(result: Result) -> Case:
    """The case of a result."""
    op, dtype, layout, sample = result.case.split("/", 3)
    return Case(op, dtype, layout, sample, Level(result.level), result.check)


def reproduction(case: Case, backend: str, device: str = HOST) -> str:
    """The program. It prints what the backend answers, and what was expected or how the case ended."""
    if case.check == values.CHECK.name and device == HOST and case.layout in _LAYOUTS:
        try:
            return _written_out(case, backend)
        except _NoLiteral:
            pass
    place = f", {device!r}" if device != HOST else ""
    return (
        f"from tenora_conformance.run.alone import run_alone\n\nrun_alone({backend!r}, {case.id!r}{place})\n"
    )


def _written_out(case: Case, backend: str) -> str:
    record, sample = values.sample_of(case)
    writer = _Writer(record, case.layout)
    call = writer.call(sample)
    expected = _commented(answer(record, sample)) if record.oracle is not None else []
    lines = ["from math import inf, nan", ""]
    lines += ["import ml_dtypes"] * any("ml_dtypes" in line for line in writer.lines)
    lines += ["import numpy as np", "", "import tenora", "import tenora_ops", ""]
    lines += [f"# {case.id}"]
    lines += [_LAYOUTS[case.layout]] if writer.lines and _LAYOUTS[case.layout] else []
    lines += [f"op = tenora_ops.REGISTERED[{record.name!r}]", *writer.lines]
    lines += [
        f"with tenora.use_backend({backend!r}), tenora.fallback('error'):",
        f"    print({call})",
        *expected,
    ]
    return "\n".join(lines) + "\n"


def _commented(answered: Any) -> list[str]:
    parts = answered if isinstance(answered, tuple) else (answered,)
    text = "\n".join(shown(np.asarray(part)) for part in parts)
    return [
        f"# expected: {line}" if i == 0 else f"#           {line}" for i, line in enumerate(text.split("\n"))
    ]


class _Writer:
    """Writes the values of a sample; `lines` make its arrays."""

    def __init__(self, record: Record, layout: str) -> None:
        self.record = record
        self.place = "tenora.from_numpy" if layout == "contiguous" else "placed"
        self.lines: list[str] = []

    def call(self, sample: Sample) -> str:
        kinds = [p.type for p in self.record.schema.parameters if not p.keyword_only]
        parts = []
        for i, value in enumerate(sample.arguments):
            is_dtype = i < len(kinds) and kinds[i].startswith("dtype") and isinstance(value, str)
            parts.append(f"tenora.{value}" if is_dtype else self.text(value))
        for name, value in sample.options.items():
            parts.append(f"{name}={f'tenora.{value}' if name == 'dtype' and value else self.text(value)}")
        if not has_arrays(sample) and any(p.type == "device?" for p in self.record.schema.parameters):
            parts.append(f"device={HOST!r}")
        return f"op({', '.join(parts)})"

    def text(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            name = f"x{len(self.lines)}"
            self.lines.append(f"{name} = {self.place}({_array(value)})")
            return name
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, Seed):
            return f"tenora.Generator().manual_seed({value.seed})"
        return _literal(value)


def _array(value: np.ndarray) -> str:
    if value.size > LONGEST:
        raise _NoLiteral
    if value.dtype == ml_dtypes.bfloat16:
        return f"{_array(value.astype(np.float32))}.astype(ml_dtypes.bfloat16)"
    shape = f".reshape({value.shape})" if not value.size else ""
    return f"np.array({_literal(value.tolist())}, {value.dtype.name!r}){shape}"


def _literal(value: Any) -> str:
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | str):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, list):
        return f"[{_listed(value)}]"
    if isinstance(value, tuple):
        return f"({_listed(value)}{',' * (len(value) == 1)})"
    if isinstance(value, slice):
        return f"slice({_listed((value.start, value.stop, value.step))})"
    raise _NoLiteral


def _listed(values_: Iterable[Any]) -> str:
    return ", ".join(map(_literal, values_))
