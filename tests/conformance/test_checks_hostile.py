"""Hostile samples find what an op's own samples do not; the tolerance of a sum grows with its terms."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import planted_cases as planted
import pytest

import tenora_ops
from tenora_conformance.checks import hostile
from tenora_conformance.judge.compare import Scale, judge
from tenora_conformance.judge.hostile import edges, hostile_samples
from tenora_conformance.judge.pointwise import pointwise_forms
from tenora_conformance.model import Failed
from tenora_ops.samples import numpy_dtype
from tenora_ops.tolerance import TOLERANCES
from tenora_reference import linalg, pointwise, reduce

KINDS = {"edges", "size1", "empty", "broadcast", "aliased", *(f"rank{n}" for n in range(9))}


def wrong_infinity(a: Any, b: Any, out: Any) -> None:
    np.copyto(out, np.where(np.isinf(a), np.inf, np.add(a, b)))


def unsigned_zero(a: Any, b: Any, out: Any) -> None:
    np.copyto(out, np.add(a, b) + 0.0)


def in_half(input: Any, *, dim: Any, keepdim: bool = False, dtype: Any = None, out: Any) -> None:
    total = np.add.accumulate(input.astype(out.dtype), axis=0, dtype=out.dtype)
    np.copyto(out, total[-1].reshape(out.shape))


def first_block(input: Any, other: Any, *, out: Any) -> None:
    np.matmul(input[..., :500], other[..., :500, :], out=out)


def test_every_kind_is_made_for_a_pointwise_op() -> None:
    made = {case.layout for case in hostile.cases_of("add")}
    assert made == KINDS
    assert {case.dtype for case in hostile.cases_of("add") if case.layout == "edges"} >= {
        "bool",
        "int8",
        "bfloat16",
    }


def test_pointwise_records_are_found_by_their_oracles() -> None:
    found = {
        r.name for r in tenora_ops.records() if "float32" in r.dtypes and pointwise_forms(r.name, "float32")
    }
    assert len(found) > 170
    assert found >= {"add", "exp", "where", "clamp", "mse_loss", "lerp"}
    assert not found & {"sum", "matmul", "flip", "softmax", "cumsum", "transpose"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_edges_are_edges(dtype: str) -> None:
    row = edges(dtype, 1).astype(np.float64)
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    for value in (0.0, float(limits.smallest_subnormal), float(limits.max), np.inf):
        assert value in row and -value in row
    assert np.isnan(row).any() and np.signbit(row[row == 0]).any() and not np.signbit(row[row == 0]).all()
    assert edges("int8", 1).min() == -128 and edges("uint64", 3).max() == 2**64 - 1


def test_a_minimum_that_drops_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("hostile", "minimum/float32/edges/0:hostile")
    planted.plant_ufunc(monkeypatch, pointwise.minimum, np.fmin)
    planted.fails("hostile", "minimum/float32/edges/0:hostile", "expected nan")


@pytest.mark.parametrize(
    ("defect", "words"), [(wrong_infinity, "expected nan"), (unsigned_zero, "sign of zero")]
)
def test_an_edge_that_is_wrong(defect: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("hostile", "add/float32/edges/0:hostile")
    planted.plant_ufunc(monkeypatch, pointwise.add, defect)
    planted.fails("hostile", "add/float32/edges/0:hostile", words)


def test_a_product_that_loses_the_sign_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("hostile", "mul/float32/edges/0:hostile")
    planted.plant_ufunc(monkeypatch, pointwise.multiply, lambda x, y, out: np.add(x * y, 0, out=out))
    planted.fails("hostile", "mul/float32/edges/0:hostile", "sign of zero")


def test_a_sum_of_halves_that_is_made_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1):
        planted.passes("hostile", f"sum/float16/long/{number}:hostile")
    planted.plant(monkeypatch, reduce.sum, in_half)
    planted.fails("hostile", "sum/float16/long/1:hostile", "times the tolerance")


def test_a_product_that_leaves_out_its_last_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("hostile", "matmul/float32/long/0:hostile")
    planted.plant(monkeypatch, linalg.matmul, first_block)
    planted.fails("hostile", "matmul/float32/long/0:hostile", "times the tolerance")


def test_bounds_grow_with_the_terms() -> None:
    rules = TOLERANCES["reduction"]
    assert rules.bounds("float32", 1.0, 512) == rules.bounds("float32", 1.0)
    assert math.isclose(rules.bounds("float32", 1.0, 2048)[0], 2 * rules.bounds("float32", 1.0)[0])
    assert (
        rules.bounds("float16", 1.0, 2048)[0] < rules.bounds("float16", 1.0)[0]
    )  # they are summed in float32
    assert TOLERANCES["exact"].bounds("float32", 1.0, 10_000) == (0.0, 0.0)


def test_a_huge_element_excuses_nothing_beside_it() -> None:
    right, wrong = np.array([1e38, 1.0]), np.array([1e38, 1.5], np.float32)
    assert judge(wrong, right, "float32", "few_ulp") <= 1.0
    with pytest.raises(Failed, match="at \\(1,\\)"):
        judge(wrong, right, "float32", "few_ulp", Scale(each=True))


def test_samples_are_the_same_every_time() -> None:
    one = hostile_samples("sum", "float32")
    hostile_samples.cache_clear()
    other = hostile_samples("sum", "float32")
    assert list(one) == list(other)
    for key, made in one.items():
        assert repr(made.sample) == repr(other[key].sample)
