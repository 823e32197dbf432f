"""out= that shares memory with what is read: the result is that of the call without out=, or the call is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Sample

pytestmark = pytest.mark.any_device


def shifted(x: np.ndarray) -> tuple[Any, Any]:
    """The target begins one element behind the operand."""
    memory = tenora.zeros(x.size + 1, dtype=getattr(tenora, x.dtype.name), device=op_cases.Judged.device)
    operand, target = memory[: x.size].view(x.shape), memory[1:].view(x.shape)
    operand.copy_(tenora.from_numpy(x))
    return operand, target


def itself(x: np.ndarray) -> tuple[Any, Any]:
    operand = op_cases.to_tensor(x.copy())
    return operand, operand


def backwards(x: np.ndarray) -> tuple[Any, Any]:
    """The target's last element is the operand's first."""
    operand = op_cases.to_tensor(x.copy())
    return operand, operand[(slice(None, None, -1),) * x.ndim]


SHARED: dict[str, Callable[[np.ndarray], tuple[Any, Any]]] = {
    "shifted": shifted,
    "itself": itself,
    "backwards": backwards,
}


def fitting(record: Record) -> list[tuple[int, Sample]]:
    """Samples and the place of an operand that has the result's shape and dtype."""
    found = []
    for sample in op_cases.samples_of(record.name, "float32"):
        result = op_cases.call(record, sample)
        if isinstance(result, tuple):
            return []
        for place, value in enumerate(sample.arguments):
            if record.schema.parameters[place].name in record.apart:
                continue
            alike = (
                isinstance(value, np.ndarray) and value.dtype == np.float32 and result.dtype == tenora.float32
            )
            if alike and value.size > 1 and value.shape == tuple(result.shape):
                found.append((place, sample))
    return found[:4]


CHOSEN = [
    r.name
    for r in tenora_ops.records()
    if r.out and not r.random and r.schema.operands and "float32" in r.dtypes and r.tolerance != "unspecified"
]


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_read_is_read_before_it_is_written(name: str, backend: str) -> None:
    record = tenora_ops.record(name)
    function = tenora_ops.REGISTERED[name]
    for place, sample in fitting(record):
        plain = op_cases.call(record, sample)
        for kind, make in SHARED.items():
            arguments, options = op_cases.arguments_of(record, sample), op_cases.options_of(record, sample)
            arguments[place], target = make(sample.arguments[place])
            before = arguments[place].clone()
            try:
                function(*arguments, **options, out=target)
            except RuntimeError as error:
                assert "share" in str(error), f"{name}, {kind}: {error}"
                assert kind != "itself" and arguments[place].tolist() == before.tolist()
                continue
            op_cases.close(record, target, plain, f"{name}({sample}), {kind}")


def test_most_records_are_tried() -> None:
    assert sum(bool(fitting(tenora_ops.record(name))) for name in CHOSEN) > 100
