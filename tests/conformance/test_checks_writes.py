"""In-place forms, out=, views and errors: each check fails for a defect that is planted, and passes without it."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import planted_cases as planted
import pytest

import tenora
import tenora_ops
from tenora_conformance.checks import errors, inplace, out, views
from tenora_conformance.judge.calls import samples_of
from tenora_conformance.judge.results import answers, castable, coarser, judge_written, refused
from tenora_conformance.model import Failed
from tenora_ops.samples import Sample
from tenora_reference import index, movement, pointwise


def beside(a: Any, b: Any, out: Any) -> None:
    """The element behind the last one is written too."""
    np.add(a, b, out=out)
    if out.ndim == 1 and out.size:
        np.lib.stride_tricks.as_strided(out, (out.size + 1,), out.strides)[-1] = 0


def nothing(a: Any, b: Any, out: Any) -> None:
    del a, b, out


def talkative(a: Any, b: Any, out: Any) -> None:
    """Says that an output is resized, whether it is or not."""
    warnings.warn("an output is resized", UserWarning, stacklevel=2)
    np.add(a, b, out=out)


def forgiving(divisor: Any) -> None:
    del divisor


def unchecked(input: Any, index: Any, *, dim: Any, out: Any) -> None:
    out[...] = 0


def dense_fill(*inputs: Any, value: Any, out: Any) -> None:
    """Ignores strides: the first elements of the memory are written."""
    np.lib.stride_tricks.as_strided(out, (out.size,), (out.itemsize,))[...] = value


def case_of_vectors(op: str) -> str:
    """The id of an in-place case in float32 whose operands are vectors of five elements."""
    for case in inplace.cases_of(op):
        if case.dtype == "float32" and case.sample.endswith(":inplace"):
            arrays = samples_of(op, "float32")[int(case.number)].arguments
            if all(np.shape(a) == (5,) for a in arrays):
                return str(case.id)
    raise AssertionError(f"no such case of {op}")


@pytest.mark.parametrize(
    ("module", "layout", "defect", "words"),
    [
        (inplace, "contiguous", beside, "what lies beside"),
        (inplace, "contiguous", nothing, "elements are wrong"),
        (out, "strided", nothing, "elements are wrong"),
        (out, "overlap", nothing, "elements are wrong"),
        (out, "empty", talkative, "got a warning that it is resized, expected no warning"),
    ],
)
def test_a_kernel_that_writes_wrongly(
    module: Any, layout: str, defect: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = module.CHECK.name
    id = out_case(layout) if module is out else case_of_vectors("add")
    planted.passes(check, id)
    planted.plant_ufunc(monkeypatch, pointwise.add, defect)
    planted.fails(check, id, words)


def out_case(layout: str) -> str:
    return next(c.id for c in out.cases_of("add") if (c.dtype, c.layout) == ("float32", layout))


@pytest.mark.parametrize("name", ["add", "sum", "eq", "complex", "sort"])
def test_ids_of_targets_stay_when_samples_and_dtypes_come(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {case.id for case in out.cases_of(name)}
    drawn = samples_of
    monkeypatch.setattr(out, "samples_of", lambda op, dtype: drawn(op, dtype) + drawn(op, dtype)[:1])
    assert before <= {case.id for case in out.cases_of(name)}
    monkeypatch.undo()
    record = tenora_ops.record(name)
    fewer = dataclasses.replace(record, dtypes=tuple(d for d in record.dtypes if d != "float64"))
    monkeypatch.setattr(tenora_ops, "record", lambda op: fewer)
    assert {case.id for case in out.cases_of(name)} <= before


def test_a_target_is_tried_with_what_its_kind_fits() -> None:
    tried = {case.layout for case in out.cases_of("add") if case.dtype == "float32"}
    assert tried == set(out.KINDS)
    assert "narrower" not in {case.layout for case in out.cases_of("eq")}  # a bool has no category to lose
    assert "overlap" not in {case.layout for case in out.cases_of("linspace")}  # it has no operand
    for case in out.cases_of("complex"):
        record = tenora_ops.record("complex")
        assert answers(record, case.dtype, samples_of("complex", case.dtype)[int(case.number)])


def test_a_target_that_loses_the_category_and_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("out", out_case("narrower"))
    monkeypatch.setitem(tenora_ops.REGISTERED, "add", lambda a, b, out: out)
    planted.fails("out", out_case("narrower"), "float32 into out= of int64: got a result, expected an error")


def test_a_target_that_is_resized_in_silence() -> None:
    planted.passes("out", out_case("resized"))
    with pytest.raises(Failed, match="got no warning"):
        out.told_of_resizing(lambda: None, True)


def test_a_result_that_is_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("views", "neg/float32/contiguous/0:own")
    planted.plant_ufunc(monkeypatch, pointwise.neg, np.positive)
    planted.passes("views", "neg/float32/contiguous/0:own")  # wrong values are another check's
    monkeypatch.setattr(
        tenora_ops, "REGISTERED", dict(tenora_ops.REGISTERED) | {"neg": lambda x: (x * 2, x)[1]}
    )
    planted.fails("views", "neg/float32/contiguous/0:own", "lies in the memory of an input")


def test_a_division_by_zero_that_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("errors", "floor_divide/int64/zero/0:error")
    planted.plant(monkeypatch, pointwise._refuse_zero, forgiving)
    planted.fails("errors", "floor_divide/int64/zero/0:error", "expected a refusal")


def test_an_index_that_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("errors", "gather/float32/index/0:error")
    planted.plant(monkeypatch, index.gather, unchecked)
    planted.fails("errors", "gather/float32/index/0:error", "wrong index")


def test_an_index_from_the_end_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("errors", "gather/float32/negative/0:error")
    monkeypatch.setattr(index, "_check", lambda *given: None)
    planted.fails("errors", "gather/float32/negative/0:error", "expected a refusal")


@pytest.mark.parametrize(
    ("name", "case", "words"),
    [
        ("pad", "pad/float32/choice/0:error", "wrong choice"),
        ("addcmul", "addcmul/int32/number/0:error", "wrong number"),
        ("local_response_norm", "local_response_norm/float32/dtype/0:error", "wrong dtype"),
    ],
)
def test_a_word_a_number_or_a_dtype_that_means_nothing_and_is_taken(
    name: str, case: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.passes("errors", case)
    monkeypatch.setitem(tenora_ops.REGISTERED, name, lambda *given, **options: given[0])
    planted.fails("errors", case, words)


def test_every_kind_of_wrong_is_tried() -> None:
    kinds = {case.layout for case in errors.CHECK.cases()}
    assert kinds == set(errors.SPOIL)


def test_only_a_refusal_with_code_and_op_will_do() -> None:
    record = tenora_ops.record("add")

    def bare() -> None:
        raise IndexError("list index out of range")

    for call, words in ((bare, "code None"), (lambda: 3, "expected a refusal")):
        with pytest.raises(Failed, match=words):
            errors.expect(record, call, "dim")


def test_what_a_backend_cannot_do_is_no_refusal_of_what_is_wrong() -> None:
    record = tenora_ops.record("floor_divide")

    def unable() -> None:
        raise tenora.NotSupportedError(
            "[floor_divide] no kernel for complex64", code="not_supported", op="floor_divide"
        )

    for kind in ("zero", "index", "shapes", "device"):
        with pytest.raises(tenora.NotSupportedError):
            errors.expect(record, unable, kind)
    errors.expect(record, unable, "dtype")
    with pytest.raises(tenora.NotSupportedError):
        refused(unable, "a write")


def test_views_show_the_elements_that_the_oracle_names() -> None:
    record = tenora_ops.record("transpose")
    sample = Sample((np.zeros((2, 3), np.float32), 0, 1))
    assert views.places_of(record, sample).tolist() == [[0, 3], [1, 4], [2, 5]]
    planted.passes("views", next(c.id for c in views.cases_of("select") if c.sample.endswith(":write")))


def test_a_view_whose_write_lands_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [c for c in views.cases_of("transpose") if c.sample.endswith(":write") and c.dtype == "float32"]
    case = next(c for c in written if c.layout == "strided")
    planted.passes("views", case.id)
    planted.plant(monkeypatch, movement.fill, dense_fill)
    planted.fails("views", case.id, "base after a write")


def no_fill(*inputs: Any, value: Any, out: Any) -> None:
    del inputs, value, out


@pytest.mark.parametrize("op", ["expand", "transpose"])
def test_a_write_into_a_base_that_its_view_does_not_show(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    id = next(c.id for c in views.cases_of(op) if c.sample.endswith(":write") and c.dtype == "float32")
    planted.passes("views", id)
    planted.plant(monkeypatch, movement.fill, no_fill)
    planted.fails(
        "views", id, "got the old values" if op == "expand" else "base after a write through its view"
    )


@pytest.mark.parametrize(("op", "how"), [("expand", "read"), ("transpose", "written")])
def test_a_gradient_through_a_view_that_is_twice_too_large(
    op: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = next(c.id for c in views.cases_of(op) if c.sample.endswith(":slope"))
    planted.passes("views", id)
    grad = tenora.autograd.grad
    monkeypatch.setattr(tenora.autograd, "grad", lambda *a: [g * 2 for g in grad(*a)])
    planted.fails("views", id, f"gradient through a {how} view")


def test_what_is_computed_in_one_dtype_and_written_into_another() -> None:
    assert castable("int64", "float16") and not castable("complex64", "float64")
    assert coarser("float32", "float16") == "float16" and coarser("float16", "complex128") == "float16"
    record = tenora_ops.record("exp")
    ((right, name),) = answers(record, "float16", Sample((np.array([1.0], np.float16),)))
    assert (
        judge_written(record, right.astype(np.float16).astype(np.complex128), right, name, "complex128") <= 1
    )
    with pytest.raises(Failed):
        judge_written(record, np.array([2.5 + 0j]), right, name, "complex128")
