"""What a failure shows of long arrays: little, and of it what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.compare import judge, shown
from tenora_conformance.model import Failed
from tenora_ops.samples import Sample


def test_the_first_wrong_element_is_in_view() -> None:
    right = np.arange(4 * 300, dtype=np.float64).reshape(4, 300)
    wrong = right.copy()
    wrong[2, 150] = -1
    wrong[3, 0] = -2
    with pytest.raises(Failed) as failure:
        judge(wrong, right, "float64", "exact")
    detail = failure.value.detail
    assert detail.first_wrong == "(2, 150)"
    assert detail.got == (
        "float64[4, 300], of it [2, 146:155]: [746. 747. 748. 749.  -1. 751. 752. 753. 754.]"
    )
    assert "750." in detail.expected and len(detail.expected) < 120


def test_inputs_are_cut_where_the_result_is_wrong() -> None:
    x, y = np.arange(200.0).reshape(2, 100), np.arange(100.0)
    right, wrong = x + y, x + y
    wrong[1, 99] = 0
    record = tenora_ops.record("add")
    with pytest.raises(Failed) as failure, asking(record, Sample((x, y, [x, 2], 3))):
        judge(wrong, right, "float64", "exact")
    first, second, several, number = failure.value.detail.inputs
    assert first == "float64[2, 100], of it [1, 95:100]: [195. 196. 197. 198. 199.]"
    assert second == "float64[100], of it [0:5]: [0. 1. 2. 3. 4.]"
    assert several == f"[{first}, 2]" and number == "3"


def test_what_is_short_is_shown_whole() -> None:
    assert shown(np.arange(3)) == "[0 1 2]" and shown(np.array(2.5)) == "2.5" and shown(np.zeros(0)) == "[]"
    deep = np.zeros((2,) * 8)
    assert (
        shown(deep, (1,) * 8) == "float64[2, 2, 2, 2, 2, 2, 2, 2], of it [1, 1, 1, 1, 1, 1, 1, 0:2]: [0. 0.]"
    )
