"""A call that should be refused and is not, one that is refused for something else, and a border that is too strict."""

from __future__ import annotations

import pytest

import tenora
import tenora_ops
from tenora_conformance.checks.refusals import (
    CHECK,
    cases_of,
    expect_refusal,
    expect_result,
    names_of,
    needs,
    stated,
)
from tenora_conformance.model import Failed
from tenora_conformance.subject import load
from tenora_ops.refusals import Call, reals, refusal


def test_what_is_stated_is_asked() -> None:
    cases = {case.id: case for case in cases_of("topk")}
    case = cases["topk/float32/refused/k_above_size:refusal"]
    assert stated(case).code == "shape"
    CHECK.run(case, load("reference"))
    assert needs(case, load("reference")) == ""


def test_a_wrong_call_that_is_let_through() -> None:
    with pytest.raises(Failed, match="got Tensor, expected a refusal with code shape"):
        expect_refusal(lambda: tenora.ones(1), "shape", ["ones"])


def test_another_refusal_will_not_do() -> None:
    with pytest.raises(Failed, match="got code shape of op matmul .* expected code dim"):
        expect_refusal(_product, "dim", ["matmul"])
    with pytest.raises(Failed, match=r"of op matmul .* begins with one of \['mm'\]"):
        expect_refusal(_product, "shape", ["mm"])
    with pytest.raises(Failed, match="got the text .* expected 'expected 4' in it"):
        expect_refusal(_product, "shape", ["matmul"], "expected 4")
    expect_refusal(_product, "shape", ["matmul"], "inner sizes differ")
    with pytest.raises(tenora.NotSupportedError):
        expect_refusal(_unsupported, "shape", ["add"])


def test_the_names_of_an_op() -> None:
    assert names_of(tenora_ops.record("upsample")) == {"upsample", "interpolate"}
    assert names_of(tenora_ops.record("cauchy")) == {"cauchy", "cauchy_"}


def _product() -> None:
    tenora.ones(2, 3) @ tenora.ones(2, 3)


def _unsupported() -> None:
    raise tenora.NotSupportedError("[add] not supported")


def test_a_border_that_is_too_strict() -> None:
    with pytest.raises(Failed, match="a sound call beside a wrong one"):
        expect_result(lambda: tenora.topk(tenora.ones(3), 4))
    expect_result(lambda: tenora.topk(tenora.ones(3), 3))


def test_a_code_that_no_error_has() -> None:
    with pytest.raises(ValueError, match=r"\[refusal\] code: got 'wrong'"):
        refusal("wrong", Call(reals(2)), None)
