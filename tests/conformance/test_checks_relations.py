"""Relations, generated calls and claims: each check fails for a defect that is planted, and passes without it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import planted_cases as planted
import pytest

import tenora_dispatch
from tenora_conformance.checks import claims, property, relations
from tenora_conformance.judge import vectors
from tenora_conformance.judge.vectors import Vector
from tenora_conformance.model import Case, Failed, Level, Status
from tenora_conformance.run.one import run_case
from tenora_ops.samples import ALL, numpy_dtype
from tenora_reference import linalg, pointwise


def wrong_tail(a: Any, b: Any, out: Any) -> None:
    """Elements behind the last whole vector are left as they are multiplied by two."""
    np.add(a, b, out=out)
    if out.ndim == 1 and out.size > 16 and out.size % 16:
        out[-(out.size % 16) :] *= 2


def by_place(a: Any, b: Any, out: Any) -> None:
    np.add(a, b, out=out)
    if out.ndim == 1 and out.size > 3:
        out[3] += 1


def first_batch(input: Any, other: Any, *, out: Any) -> None:
    np.matmul(input, other, out=out)
    if out.ndim > 2:
        out[1:] = out[:1]


@pytest.mark.parametrize(
    ("id", "defect", "words"),
    [
        ("add/float32/contiguous/0:split", wrong_tail, "a part and the whole"),
        ("add/float32/contiguous/0:permuted", by_place, "elements in another order"),
        ("@relation/float32/-/sum_of_parts:relation", None, "sum_of_parts"),
        ("@relation/float32/-/product_in_batches:relation", first_batch, "product_in_batches"),
    ],
)
def test_a_broken_relation(id: str, defect: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("relations", id)
    if defect is first_batch:
        planted.plant(monkeypatch, linalg.matmul, defect)
    elif defect is None:
        whole = relations.RELATIONS["sum_of_parts"]
        broken = (*whole[:2], (whole[2][0], lambda x: (x[:100].sum(0), x.sum(0))))
        monkeypatch.setitem(relations.RELATIONS, "sum_of_parts", broken)
    else:
        planted.plant_ufunc(monkeypatch, pointwise.add, defect)
    planted.fails("relations", id, words)


def test_a_kernel_is_compared_with_the_formula_of_its_op() -> None:
    """Only where the backend has one, and the reference has none."""
    subject = planted.reference()
    case = next(c for c in relations.cases_of("gelu") if c.sample.endswith(":fused"))
    assert "no kernel of its own" in relations.needs(case, subject)
    assert relations.needs(case, dataclasses.replace(subject, kernels={"gelu": "native"})) == ""
    own = next(c for c in relations.cases_of("cumprod") if c.sample.endswith(":fused"))
    assert "does not run its formula" in relations.needs(own, subject)


def test_a_generated_call_that_fails_is_saved_and_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(vectors.FOLDER, str(tmp_path))
    monkeypatch.setattr(property, "names", lambda dtype: ("minimum", "add"))
    case = Case(property.NAME, "float32", "-", "1:property", Level.L2, "property")
    assert run_case(case, planted.reference()).passed
    planted.plant_ufunc(monkeypatch, pointwise.minimum, np.fmin)
    result = run_case(case, planted.reference())
    assert result.status is Status.FAIL and "seed 1, saved as" in result.message
    (path,) = tmp_path.iterdir()
    assert vectors.load(path).op == "minimum"
    assert sum(a.size for a in vectors.load(path).arrays) <= 4  # as small as can be
    with pytest.raises(Failed):
        property.replay(path, planted.reference())
    monkeypatch.undo()
    property.replay(path, planted.reference())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_a_vector_is_read_as_it_was_written(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(vectors.FOLDER, str(tmp_path / "made"))
    array = np.array([[0, 1], [1, 0]]).astype(numpy_dtype(dtype))
    found = vectors.load(vectors.save(Vector("add", dtype, 2, (array,)), "some"))
    assert (found.op, found.dtype, found.form) == ("add", dtype, 2)
    assert found.arrays[0].dtype == array.dtype and np.array_equal(found.arrays[0], array)
    np.savez(tmp_path / "other.npz", op="add")
    with pytest.raises(ValueError, match="not a vector"):
        vectors.load(tmp_path / "other.npz")


def test_a_dtype_that_is_not_declared_and_works() -> None:
    case = Case(claims.NAME, "-", "float64", "0:claims", Level.L2, "claims")
    subject = planted.reference()
    assert claims.needs(case, subject) == "dtype float64 is declared"
    few = dataclasses.replace(subject, dtypes=frozenset(ALL) - {"float64"})
    assert claims.needs(case, few) == ""
    result = run_case(case, few)
    assert result.status is Status.UNDERCLAIM and "float64 is not declared" in result.message
    none = dataclasses.replace(few, kernels={})
    assert run_case(case, none).passed


def test_words_of_random_numbers_are_no_claim() -> None:
    """Every backend takes them, also one that declares no uint32."""
    case = Case(claims.NAME, "-", "uint32", "0:claims", Level.L2, "claims")
    few = dataclasses.replace(planted.reference(), dtypes=frozenset(ALL) - {"uint32"})
    needed = dataclasses.replace(few, kernels={"random_bits": "python", "floor_divide": "python"})
    assert run_case(case, needed).passed
    more = run_case(case, dataclasses.replace(few, kernels={"random_bits": "python", "add": "python"}))
    assert more.status is Status.UNDERCLAIM and "take it: add. Add 'uint32'" in more.message


def test_what_only_a_formula_computes_is_no_claim() -> None:
    subject = planted.reference()
    with_formula = dataclasses.replace(subject, kernels={"gelu": "python"})
    case = Case(claims.NAME, "-", "float64", "0:claims", Level.L2, "claims")
    assert run_case(case, dataclasses.replace(with_formula, dtypes=frozenset({"float32"}))).passed
    assert tenora_dispatch.explain("gelu").backend
