"""What the checks share: a refusal of something declared, and a failure that shows the call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tenora
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
        failure.detail.inputs = failure.detail.inputs or [str(v) for v in sample.arguments]
        raise
