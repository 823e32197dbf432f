"""What the checks share: a refusal of something declared, and a failure that shows the call."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import tenora
from tenora_conformance.judge.compare import shown
from tenora_conformance.model import Failed, Level, Unsupported
from tenora_ops.record import Record
from tenora_ops.samples import Sample


def level_of(record: Record) -> Level:
    """L1 for what every backend must supply, L2 for everything else."""
    return Level.L1 if record.kind == "kernel" else Level.L2


@contextlib.contextmanager
def asking(record: Record, sample: Sample) -> Iterator[None]:
    """Around one question: a refusal becomes `Unsupported`, a failure is told the call and its inputs."""
    try:
        yield
    except tenora.NotSupportedError as error:
        raise Unsupported(str(error)) from error
    except Failed as failure:
        failure.detail.call = failure.detail.call or f"{record.shown}({sample})"
        at = _index(failure.detail.first_wrong)
        failure.detail.inputs = failure.detail.inputs or [_told(v, at) for v in sample.arguments]
        raise


def _index(text: str) -> tuple[int, ...]:
    """The index that a check has noted as text; () where it has noted none."""
    return tuple(map(int, re.findall(r"\d+", text)))


def _told(value: Any, at: tuple[int, ...]) -> str:
    """An input as text: arrays by what lies at the first wrong index of the result, where they have it."""
    if isinstance(value, list):
        return f"[{', '.join(_told(item, at) for item in value)}]"
    if not isinstance(value, np.ndarray):
        return str(value)
    has_it = len(at) == value.ndim and all(i < n for i, n in zip(at, value.shape, strict=True))
    return shown(value, at if has_it else None)
