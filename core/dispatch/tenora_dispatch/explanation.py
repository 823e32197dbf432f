"""Answers to "which code runs, and why": for a device (the choice of a backend) and for an op (its implementation)."""

from dataclasses import dataclass

from tenora_dispatch import opset
from tenora_dispatch.choice import Choice, Chooser
from tenora_dispatch.errors import BackendNotFoundError, UnknownOpError, did_you_mean


@dataclass(frozen=True)
class OpExplanation:
    """How an op would be computed on a device for a dtype, and which backend was chosen for the device."""

    op: str
    device: str
    dtype: str
    implementation: str
    backend: str
    reason: str
    choice: Choice


def explain_op(chooser: Chooser, op: str, device: str, dtype: str, native_dtype: object) -> OpExplanation:
    """Loads the backend that is chosen for the device and asks the engine, which takes dtypes as objects.

    Raises: `UnknownOpError`, `BackendNotFoundError` for an unknown device, or what keeps the backend from loading.
    """
    if opset.find(op) is None:
        raise UnknownOpError(
            f"[explain] unknown op: got '{op}', expected one of the {len(opset.names())} that `tenora ops` lists. "
            f"Check the name." + did_you_mean(op, opset.names()),
            op=op,
        )
    kind = device.split(":")[0]
    known = sorted({name for row in chooser.table.rows() for name in row.device_types})
    if kind not in known:
        raise BackendNotFoundError(
            f"[explain] unknown device: got '{device}', expected one of {', '.join(known)}. Name "
            f"one.{did_you_mean(kind, known)}"
        )
    choice = chooser.explain(kind)
    chooser.choose(kind)
    found = chooser.table.engine.explain(op, device, native_dtype)
    return OpExplanation(
        op=op,
        device=device,
        dtype=dtype,
        implementation=str(found["implementation"]),
        backend=str(found["backend"]),
        reason=str(found["reason"]),
        choice=choice,
    )
