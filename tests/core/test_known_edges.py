"""Which records' oracles do not know the numbers at the edges of a dtype, and why: nobody else may join them."""

from __future__ import annotations

import tenora_ops
from tenora_ops.samples import EDGES

#: By record, why its `edges` are "none", "positive", "finite" or "numbers".
LEFT = {
    "renorm": "pointwise by accident: it takes matrices",
    "diff": "pointwise by accident: it takes vectors",
    "fill_tensor": "pointwise by accident: its value is one number",
    "feature_dropout": "pointwise by accident: it takes channels",
    "feature_alpha_dropout": "pointwise by accident: it takes channels",
    "adadelta_update": "averages of squares are never below zero",
    "mvlgamma": "a sum of logarithms of gamma that cancel near its poles, of which no oracle says how much",
    "poisson_nll_loss": "eps is nothing beside 1 in a lower precision, and times infinity it is not",
    "gelu_backward": "an infinite cotangent meets a slope that is subnormal, and 0 in a lower precision",
    "polygamma_any": "below zero SciPy's and tenora's differ from the 12th digit on, both of a difference",
    "zeta": "SciPy's limit at an infinite exponent is that of PyTorch, which tests list as a difference",
    "mode": "which of several NaN is the commonest is nobody's rule",
}
POLYNOMIALS = "its second operand is a degree: whole, and not beyond 10000"


def test_records_whose_oracles_do_not_know_the_edges_are_listed() -> None:
    found = {r.name for r in tenora_ops.records() if r.edges in ("none", "positive", "finite", "numbers")}
    named = {r.name for r in tenora_ops.records() if r.edges == "none" and "_polynomial_" in r.name}
    assert len(named) == 12, POLYNOMIALS
    assert found - named == set(LEFT)


def test_every_word_for_edges_is_used() -> None:
    assert {record.edges for record in tenora_ops.records()} == set(EDGES)
