"""The comparison of single ops with PyTorch runs and compares what it times; times are not judged."""

from __future__ import annotations

import pytest
from bench import ops
from bench.op_rows import ROWS

pytestmark = pytest.mark.oracle


def test_rows_are_timed_on_both_sides() -> None:
    found, failed = ops.measure(
        ["conv2d digits backward", "embedding", "topk"], "cpu_mkl", rounds=1, seconds=1e-3
    )
    assert not failed
    assert sorted(line.name for line in found) == ["conv2d digits backward", "embedding", "topk"]
    assert all(line.ratio > 0 and line.ours > 0 and line.theirs > 0 for line in found)
    assert [line.ratio for line in found] == sorted((line.ratio for line in found), reverse=True)


def test_a_failing_row_is_told() -> None:
    found, failed = ops.measure(["no such row", "topk"], "cpu_mkl", rounds=1, seconds=1e-3)
    assert [line.name for line in found] == ["topk"] and failed == ["no such row: a worker ended"]


def test_rows_without_kernel_are_chosen() -> None:
    chosen = ops.chosen([], "cpu_mkl", everything=False)
    assert "relu" not in chosen and "linalg_qr" in chosen
    assert ops.chosen(["max_pool2d"], "cpu_mkl", everything=False) == [
        r for r in ROWS if r.startswith("max_pool2d")
    ]
    assert "silu" not in ops.unmeasured("cpu_mkl") and "add" not in ops.unmeasured("cpu_mkl")
