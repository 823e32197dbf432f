"""Calls that the ops are said to refuse: PyTorch does too, where it has the op, and takes the call beside.

That each backend does is asked by the conformance suite, case by case.
"""

from __future__ import annotations

import parity_cases as parity
import pytest
import torch

import tenora_ops
from tenora_ops.refusals.tables import refusals_of, refusing_ops
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

CASES = [(name, wrong) for name in refusing_ops() for wrong in refusals_of(name)]
#: What PyTorch takes where tenora does not, and the other way round, with the reason.
STRICTER: dict[tuple[str, str], str] = {}
LAXER: dict[tuple[str, str], str] = {}


def raised(name: str, sample: Sample) -> Exception | None:
    """What PyTorch raises for a call. Raises: Uncompared where it has no such op."""
    function, arguments, options = parity.torch_call(tenora_ops.record(name), sample)
    try:
        with torch.no_grad():
            function(*arguments, **options)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_pytorch_refuses_and_takes_the_same(name: str, wrong: str) -> None:
    refusal = refusals_of(name)[wrong]
    try:
        error = raised(name, refusal.call)
        beside = None if refusal.taken is None else raised(name, refusal.taken)
    except parity.Uncompared:
        assert not hasattr(torch, tenora_ops.record(name).public)
        return
    if isinstance(
        beside, NotImplementedError | TypeError
    ):  # another spelling, or a dtype that it has no kernel for
        return
    assert beside is None or (name, wrong) in LAXER, f"PyTorch refuses the call beside: {beside}"
    assert (error is None) == ((name, wrong) in STRICTER), f"PyTorch's answer to the wrong call: {error}"


def test_every_refusing_op_is_one() -> None:
    names = {record.name for record in tenora_ops.records()}
    assert set(refusing_ops()) <= names
    assert {*STRICTER, *LAXER} <= set(CASES)
