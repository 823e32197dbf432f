"""L2: a tensor of the host beside tensors of the device: numbers go along, everything else is refused by name.

- Op by op the check `errors` asks for refusals (`add/float32/device/0:error`). Here is what ops do not tell of: numbers
  without dims, writes, `out=`, indices, and what moves between devices. Gradients: `device_gradients`.
- The host's memory is always there to be the other one; for a backend that serves the host there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Case, Failed, Level, Outcome
from tenora_conformance.subject import HOST, Subject


def refused(what: str, call: Callable[[], Any], subject: Subject, *codes: str) -> None:
    """Raises: Failed where a call is not a RuntimeError that names both devices."""
    try:
        got = call()
    except RuntimeError as error:
        code = getattr(error, "code", None)
        if code not in codes or subject.device not in str(error) or HOST not in str(error):
            raise Failed(
                f"{what}: got code {code} and {str(error)!r}, expected code {' or '.join(codes)} and both"
                f" {subject.device} and {HOST} in the text"
            ) from error
    except Exception as error:
        raise Failed(f"{what}: got {type(error).__name__}: {error}, expected RuntimeError") from error
    else:
        raise Failed(f"{what}: got {type(got).__name__}, expected a refusal")


def expect_on(what: str, got: Any, device: str, expected: Any) -> None:
    found = fetched(got)
    if str(got.device) != device or not np.array_equal(found, expected):
        raise Failed(
            f"{what}: got {found.tolist()} on {got.device}, expected {np.asarray(expected).tolist()} on {device}"
        )


def _pair(subject: Subject) -> tuple[Any, Any]:
    """The same numbers on the device and on the host."""
    return tenora.tensor([1.0, 2.0, 3.0], device=subject.device), tenora.tensor([1.0, 2.0, 3.0])


def _numbers(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A host tensor without dims is a number beside the device's tensors; the device's is none beside the host's."""
    there, here = _pair(subject)
    two, device = tenora.tensor(2.0), subject.device
    for what, got, expected in (
        ("tensor + number", there + two, [3, 4, 5]),
        ("number - tensor", two - there, [1, 0, -1]),
        ("where(tensor, tensor, number)", tenora.where(there > 2, there, two), [2, 2, 3]),
        ("clamp(tensor, number)", there.clamp(min=two), [2, 2, 3]),
        ("tensor.mul_(number)", there.clone().mul_(two), [2, 4, 6]),
    ):
        expect_on(what, got, device, expected)
    of_device = tenora.tensor(2.0, device=device)
    expect_on("number of the device + number of the host", of_device + two, device, 4)
    refused("host tensor + number of the device", lambda: here + of_device, subject, "device")
    refused("matmul with a number's place taken by a tensor", lambda: there @ here, subject, "device")


def _mixed(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Operands, targets and results on two devices are refused, and nothing is written."""
    there, here = _pair(subject)
    calls: dict[str, Callable[[], Any]] = {
        "device + host": lambda: there + here,
        "host + device": lambda: here + there,
        "device == host": lambda: there == here,
        "add_ of the host's into the device's": lambda: there.add_(here),
        "add_ of the device's into the host's": lambda: here.add_(there),
        "cat": lambda: tenora.cat([there, here]),
        "stack": lambda: tenora.stack([here, there]),
        "where": lambda: tenora.where(there > 0, here, there),
        "gather": lambda: there.gather(0, tenora.tensor([0])),
        "linear": lambda: tenora.nn.functional.linear(there, here.reshape(1, 3)),
        "out= on the host": lambda: tenora.add(there, there, out=here),
        "out= on the device": lambda: tenora.add(here, here, out=there),
    }
    for what, call in calls.items():
        refused(what, call, subject, "device")
    expect_on("the device's after refusals", there, subject.device, [1, 2, 3])
    expect_on("the host's after refusals", here, HOST, [1, 2, 3])


def _moves(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """`to`, `copy_`, assignment and a host's indices cross devices; a module goes as a whole."""
    there, here = _pair(subject)
    device = subject.device
    expect_on("to the host", there.to(HOST), HOST, [1, 2, 3])
    expect_on("to the device with another dtype", here.to(device, tenora.int64), device, [1, 2, 3])
    expect_on("copy_ from the host", tenora.zeros(3, device=device).copy_(here), device, [1, 2, 3])
    expect_on("copy_ from the device", tenora.zeros(3).copy_(there), HOST, [1, 2, 3])
    there[1:] = here[:2]
    expect_on("assignment from the host", there, device, [1, 1, 2])
    expect_on("an index of the host", there[tenora.tensor([2, 0])], device, [2, 1])
    module = tenora.nn.Linear(3, 2)
    refused("a module of the host", lambda: module(there), subject, "device")
    places = {str(p.device) for p in module.to(device).parameters()}
    if places != {device}:
        raise Failed(f"module.to({device!r}): got parameters on {sorted(places)}, expected {device}")


def needs(case: Case, subject: Subject) -> str:
    """Two devices are needed to mix them."""
    return "operands on two devices need a second memory space" if subject.device_type == HOST else ""


SCRIPTS: dict[str, Script] = {
    "numbers": _numbers,
    "mixed": _mixed,
    "moves": _moves,
}
CHECK = script_check("devices", Level.L2, SCRIPTS, needs=needs, watches=True)
