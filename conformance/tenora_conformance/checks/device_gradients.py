"""L3: gradients between the host and the device, in the scripts of `devices`: where a tensor was is where its is."""

from __future__ import annotations

from typing import Any

import tenora
from tenora_conformance.checks.devices import expect_on, needs, refused
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.model import Level, Outcome
from tenora_conformance.subject import HOST, Subject


def _moved(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Over `to`, both ways, also with a cast, and the gradient of that."""
    device = subject.device
    leaf = tenora.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (leaf.to(device) * 2).sum().backward()
    expect_on("a gradient over to(device)", leaf.grad, HOST, [2, 2, 2])
    there = tenora.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    sent = there.to(HOST, tenora.float64)
    gradient: Any = tenora.autograd.grad((sent * sent).sum(), [there], create_graph=True)[0]
    expect_on("a gradient over to(host, float64)", gradient, device, [2, 4, 6])
    gradient.sum().backward()
    expect_on("the gradient of that gradient", there.grad, device, [2, 2, 2])


def _number(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """To a number of the host that went along with tensors of the device."""
    there = tenora.tensor([1.0, 2.0, 3.0], device=subject.device)
    number = tenora.tensor(2.0, requires_grad=True)
    gradient: Any = tenora.autograd.grad((there * number * number).sum(), [number], create_graph=True)[0]
    expect_on("the gradient of a number of the host", gradient, HOST, 24)
    gradient.backward()
    expect_on("the gradient of that gradient", number.grad, HOST, 12)


def _given(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A gradient of the host is refused for a tensor of the device."""
    there = tenora.ones(3, device=subject.device, requires_grad=True)
    wrong = tenora.ones(3)
    refused(
        "backward(gradient of the host)", lambda: (there * 2).backward(wrong), subject, "gradient", "device"
    )
    refused(
        "assigning a gradient of the host", lambda: setattr(there, "grad", wrong), subject, "grad", "device"
    )


SCRIPTS: dict[str, Script] = {"moved": _moved, "number": _number, "given": _given}
CHECK = script_check("device_gradients", Level.L3, SCRIPTS, needs=needs, watches=True)
