"""Scripts of the higher levels: what another backend computes in them is no pass, whatever the numbers are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import planted_cases as planted
import pytest

import tenora
import tenora_dispatch
import tenora_ops
from tenora_conformance.checks import capabilities, scripts, streams, threads, training, values
from tenora_conformance.model import Failed, Status
from tenora_conformance.run.one import run_case


def by_the_reference(subject: Any) -> Any:
    return tenora.use_backend("reference")


def test_a_right_answer_that_no_kernel_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    (id, *_) = (case.id for case in values.cases_of("neg") if case.dtype == "float32" and case.number == "1")
    planted.passes("values", id)
    elsewhere = {"neg": lambda x: tenora.from_numpy(np.negative(x.numpy()))}
    monkeypatch.setattr(tenora_ops, "REGISTERED", dict(tenora_ops.REGISTERED) | elsewhere)
    planted.fails("values", id, "kernels in the event log: got none, expected one of reference")


@pytest.mark.parametrize(
    ("check", "script"),
    [
        ("allocator", "recovery"),
        ("faults", "in_backward"),
        ("interop", "numpy"),
        ("streams", "order"),
        ("streams", "threads"),
        ("threads", "forward"),
        ("threads", "backward"),
    ],
)
def test_what_another_backend_computes(check: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (scripts, streams, threads):
        monkeypatch.setattr(module, "judged_by", by_the_reference)
    case = planted.case_of(check, f"@{check}/float32/-/{script}")
    assert run_case(case, planted.reference()).status is Status.PASS
    result = run_case(case, dataclasses.replace(planted.reference(), name="another"))
    assert result.status is Status.FAIL, result.message
    assert "another backend's kernel ran: got reference:" in result.message, result.message


def test_a_loss_that_is_no_number() -> None:
    assert training.judge_curve([2.0, 1.0], [2.0, 1.0]) == 0
    for ours, theirs in ((float("nan"), 1.0), (1.0, float("nan"))):
        with pytest.raises(Failed, match="loss at step 1"):
            training.judge_curve([2.0, ours], [2.0, theirs])


@pytest.mark.parametrize(("text", "found"), [("a backend without event_elapsed_ms", False), ("lost", None)])
def test_only_a_device_that_cannot_tell_the_time_has_no_events(
    text: str, found: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Event:
        def __init__(self, **options: Any) -> None:
            pass

        def record(self) -> None:
            pass

        def elapsed_time(self, end: Any) -> float:
            raise tenora_dispatch.errors.OperationError(f"[elapsed_time] {text}")

    monkeypatch.setattr(tenora.cpu, "Event", Event)
    with_streams = dataclasses.replace(planted.reference(), host_order=False)
    if found is None:
        with pytest.raises(tenora_dispatch.errors.OperationError, match="lost"):
            capabilities._tells_time(with_streams)
    else:
        assert capabilities._tells_time(with_streams) is found
