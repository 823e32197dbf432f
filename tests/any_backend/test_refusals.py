"""Calls that the ops are said to refuse: PyTorch does too, where it has the op, and takes the call beside.

That each backend does is asked by the conformance suite, case by case.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import parity_cases as parity
import pytest
import torch
from refusal_differences import LAXER, STRICTER

import tenora_ops
from tenora_ops.refusals.makers import unwindowed, windowed
from tenora_ops.refusals.tables import refusals_of, refusing_ops
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

#: Wrong calls at which PyTorch divides by zero, or reads beside the lengths, which ends the process.
ENDING = {("scaled_dot_product_attention", "no_key_heads"), ("segment_reduce", "lengths_of_fewer_rows")}
CASES = [
    (name, wrong) for name in refusing_ops() for wrong in refusals_of(name) if (name, wrong) not in ENDING
]


def raised(name: str, sample: Sample) -> Exception | None:
    """What PyTorch raises for a call. Raises: Uncompared where it has no such op."""
    function, arguments, options = parity.torch_call(tenora_ops.record(name), unwindowed(sample))
    arguments = windowed(sample, arguments)
    try:
        with torch.no_grad():
            function(*arguments, **options)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_pytorch_refuses_and_takes_the_same(
    name: str, wrong: str, record_property: Callable[[str, object], None]
) -> None:
    refusal = refusals_of(name)[wrong]
    try:
        error = raised(name, refusal.call)
        beside = None if refusal.taken is None else raised(name, refusal.taken)
    except parity.Uncompared as reason:
        record_property("not_compared", json.dumps({str(reason): 1}))
        with pytest.raises(parity.Uncompared):
            parity.counterpart(tenora_ops.record(name))
        return
    record_property("compared", 1)
    assert (beside is None) == ((name, wrong) not in LAXER), f"PyTorch's answer to the call beside: {beside}"
    assert (error is None) == ((name, wrong) in STRICTER), f"PyTorch's answer to the wrong call: {error}"


def test_every_refusing_op_is_one() -> None:
    names = {record.name for record in tenora_ops.records()}
    assert set(refusing_ops()) <= names
    assert {*STRICTER, *LAXER} <= set(CASES)
