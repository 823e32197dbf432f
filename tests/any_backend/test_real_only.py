"""Complex operands of ops whose records name no complex dtype: refused, never read without their imaginary part.

- Every such record is called with its samples in complex128. It refuses with the op's words, or PyTorch answers as well
  (`test_dtype_grid.py` compares the two), or it stands in `COMPLEX_OPERANDS` with the reason.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import op_cases
import parity_cases as parity
import pytest
from differences import COMPLEX_OPERANDS

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Draw, Sample

pytestmark = pytest.mark.oracle


def drawn(record: Record) -> list[Sample]:
    """The samples with elements that are complex; none where the generator knows no complex numbers."""
    try:
        samples = list(record.samples(Draw("complex128", record.domain, record.name)))
    except TypeError:
        return []

    def complex_in(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return any(complex_in(v) for v in value)
        return isinstance(value, np.ndarray) and np.iscomplexobj(value) and value.size > 0

    return [s for s in samples if complex_in([*s.arguments, *s.options.values()])]


def answered(record: Record, sample: Sample) -> str:
    """What is wrong with the call's outcome: an answer that PyTorch has not, or a refusal in another's words."""
    try:
        op_cases.public(record)(*op_cases.arguments_of(record, sample), **op_cases.options_of(record, sample))
    except Exception as error:
        text = str(error)
        return "" if text.startswith("[") and "disagree" not in text else f"refused with: {text}"
    try:
        function, arguments, options = parity.torch_call(record, sample)
        function(*arguments, **options)
    except Exception as error:
        return f"answers, PyTorch does not: {str(error)[:80]}"
    return ""


NAMES = [r.name for r in tenora_ops.records() if not any(d.startswith("complex") for d in r.dtypes)]


@pytest.mark.parametrize("name", NAMES)
def test_complex_operands(name: str) -> None:
    record = tenora_ops.record(name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [text for s in drawn(record) if (text := answered(record, s))]
    if name in COMPLEX_OPERANDS:
        assert found, f"no longer answers ({COMPLEX_OPERANDS[name]}): take it off the list"
        assert all(text.startswith("answers") for text in found), found
    else:
        assert not found, found[:2]


def test_listed_ops_exist() -> None:
    assert set(COMPLEX_OPERANDS) <= set(NAMES)


def test_there_are_enough() -> None:
    """Most records without complex dtypes are judged."""
    assert sum(bool(drawn(tenora_ops.record(name))) for name in NAMES) > 200


@pytest.mark.parametrize(
    "name", ["digamma", "lgamma", "i0", "special.i1", "special.i0e", "erfc", "special.ndtr"]
)
def test_imaginary_parts_are_not_dropped(name: str) -> None:
    function: Any = tenora
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(RuntimeError, match=rf"^\[{name}\] dtype not supported: got complex64"):
        function(tenora.tensor([0.5 + 2j]))


def test_an_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    record = tenora_ops.record("lgamma")
    sample = drawn(record)[0]
    assert answered(record, sample) == ""
    monkeypatch.setattr(op_cases, "public", lambda record: lambda x: x)
    assert answered(record, sample).startswith("answers")
