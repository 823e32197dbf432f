"""Segments that only offsets can name, wrong ones, and many of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

import tenora


def whole(*values: int) -> Any:
    return tenora.tensor(values, dtype=tenora.int64)


def test_offsets_leave_out_what_lies_before_and_behind(backend: str) -> None:
    x = tenora.tensor([1.0, 2.0, 3.0, 4.0, 5.0], requires_grad=True)
    found = tenora.segment_reduce(x, "sum", offsets=whole(1, 3, 4))
    assert found.tolist() == [5.0, 4.0]
    found.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
    rows = tenora.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    ends = tenora.tensor([[1, 3], [0, 2]])
    assert tenora.segment_reduce(rows, "max", offsets=ends, axis=-1).tolist() == [[3.0], [5.0]]
    assert tenora.segment_reduce(x.detach(), "mean", lengths=whole(1, 2), unsafe=True).tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lengths": whole(3, -1, 2)}, "negative segment: got -1"),
        ({"offsets": whole(0, 3, 2), "unsafe": True}, "negative segment: got -1"),
        ({"lengths": whole(1, 2)}, r"do not add up: got sums \[3\]"),
        ({"lengths": whole(4, 5), "unsafe": True}, r"do not add up: got sums \[9\]"),
        ({"offsets": whole(-1, 4)}, "offsets outside: got -1 to 4"),
        ({"offsets": whole(2, 5), "unsafe": True}, "offsets outside: got 2 to 5"),
        ({"offsets": tenora.tensor(4)}, "too few offsets"),
        ({"offsets": whole()}, "too few offsets"),
        ({"lengths": tenora.tensor([1.0, 3.0])}, "wrong dtype: got tenora.float32"),
        ({"lengths": tenora.tensor([True, True])}, "wrong dtype: got tenora.bool"),
        ({"lengths": whole(4), "axis": 1}, "dimension out of range"),
    ],
)
def test_segments_that_are_none(options: dict[str, Any], words: str) -> None:
    with pytest.raises((RuntimeError, IndexError), match=words):
        tenora.segment_reduce(tenora.ones(4), "sum", **options)


@pytest.mark.serial
def test_many_segments_cost_no_table() -> None:
    """60,000 elements in 10,000 segments: seconds and gigabytes if each were compared with each."""
    x = tenora.ones(60_000)
    start = time.process_time()
    found = tenora.segment_reduce(x, "sum", lengths=tenora.full((10_000,), 6, dtype=tenora.int64))
    assert time.process_time() - start < 5
    assert found.tolist() == [6.0] * 10_000
