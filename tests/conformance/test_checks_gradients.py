"""Gradients are judged by differences of the oracle: what is wrong in them is noticed, in every precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import planted_cases as planted
import pytest

import tenora
import tenora_ops
from tenora_conformance.checks import gradients
from tenora_conformance.judge import differences
from tenora_conformance.judge.differences import question
from tenora_ops.samples import Sample


def case_of(op: str, dtype: str, kind: str) -> str:
    """The first case of several elements."""
    for case in gradients.cases_of(op):
        if case.dtype == dtype and case.sample.endswith(kind):
            if gradients.size(gradients.samples(tenora_ops.record(op), dtype)[int(case.number)]) > 3:
                return case.id
    raise AssertionError(f"no {kind} of {op} in {dtype}")


def true(x: Any) -> Any:
    """The slope of exp, conjugated as autograd has it."""
    return x.exp().conj() if x.is_complex() else x.exp()


def doubled(g: Any, x: Any) -> Any:
    return 2 * g * true(x)


def one_element(g: Any, x: Any) -> Any:
    kept = tenora.ones_like(x)
    kept.view(-1)[0] = 0
    return g * true(x) * kept


def constant(g: Any, x: Any) -> Any:
    return g * true(x).detach()


def right(g: Any, x: Any) -> Any:
    return g * true(x)


class Wrong(tenora.autograd.Function):
    """exp, whose gradient is told by `slope`."""

    slope = staticmethod(right)

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        (x,) = ctx.saved_tensors
        return Wrong.slope(given[0], x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
@pytest.mark.parametrize(
    ("slope", "kind", "words"),
    [
        (doubled, "gradient", "gradient of operand 0"),
        (one_element, "gradient", "1 of "),
        (constant, "second", "gradient of the gradient, along a direction"),
    ],
)
def test_a_wrong_gradient(
    slope: Callable[..., Any], kind: str, words: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "float16" and kind == "second":
        kind, slope, words = "gradient", doubled, "gradient of operand 0"
    id = case_of("exp", dtype, kind)
    planted.passes("gradients", id)
    monkeypatch.setitem(tenora_ops.REGISTERED, "exp", Wrong.apply)
    monkeypatch.setattr(Wrong, "slope", staticmethod(right))
    planted.passes("gradients", id)
    monkeypatch.setattr(Wrong, "slope", staticmethod(slope))
    planted.fails("gradients", id, words)


def test_a_tape_that_keeps_what_it_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    planted.passes("gradients", "@tape/float32/-/freed:gradient")
    grad = tenora.autograd.grad
    monkeypatch.setattr(tenora.autograd, "grad", lambda *a, **k: grad(*a, retain_graph=True, **k))
    planted.fails("gradients", "@tape/float32/-/freed:gradient", "storages after backward")


def test_differences_are_derivatives() -> None:
    record = tenora_ops.record("mul")
    a, b = np.array([1.5, -2.0]), np.array([0.5, 3.0])
    asked = question(record, Sample((a, b)), "seed")
    (u,) = asked.cotangents
    for found, wanted in zip(differences.gradient(asked), (u * b, u * a), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    one, other = [a, 0 * b], [0 * a, b]
    assert differences.second(asked, one, other) == pytest.approx(float((u * a * b).sum()), rel=1e-7)
    np.testing.assert_allclose(differences.along(asked, [a, b])[0], 2 * a * b, rtol=1e-10)


def test_what_has_no_gradient_stays_as_it_is() -> None:
    for op, frozen in (("hinge_embedding_loss", 1), ("igamma", 0)):
        record = tenora_ops.record(op)
        sample = next(s for s in gradients.samples(record, "float64") if len(s.arguments) > 1)
        assert frozen not in [place for place, _ in differences.slots_of(record, sample)]


def test_most_differentiable_records_are_asked() -> None:
    asked = {
        r.name
        for r in tenora_ops.records()
        if r.differentiable and not r.random and gradients.cases_of(r.name)
    }
    left = {r.name for r in tenora_ops.records() if r.differentiable and not r.no_differences} - asked
    assert len(asked) > 500 and left == set()


def test_every_case_asks_something() -> None:
    for record in tenora_ops.records():
        for case in gradients.cases_of(record.name):
            sample = gradients.samples(record, case.dtype)[int(case.number)]
            assert question(record, sample, case.id).outputs
    with pytest.raises(ValueError, match=r"\[argmax\] sample: got 1 tensors and 0 results"):
        question(tenora_ops.record("argmax"), Sample((np.ones(3),)), "seed")


def test_a_gradient_of_an_empty_result_of_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    record = tenora_ops.record("exp")
    id = next(
        case.id
        for case in gradients.cases_of("exp")
        if case.dtype == "float32"
        and case.sample.endswith("gradient")
        and not gradients.size(gradients.samples(record, "float32")[int(case.number)])
    )
    planted.passes("gradients", id)
    grad = tenora.autograd.grad
    monkeypatch.setattr(tenora.autograd, "grad", lambda *a, **k: [g.sum() for g in grad(*a, **k)])
    planted.fails("gradients", id, "gradient of operand 0: got tenora.float32(), expected tenora.float32(0,")


def test_what_only_large_samples_say_beside_their_arrays_is_differentiated_in_float64() -> None:
    record = tenora_ops.record("addmm")
    said = [s.options for _, s in gradients.chosen(record, "float64")]
    assert {"beta": 0.5, "alpha": 2} in said and {} in said
    assert {} in [s.options for _, s in gradients.chosen(record, "float32")]
    assert all(gradients.size(s) <= gradients.WIDEST for _, s in gradients.chosen(record, "float64"))
