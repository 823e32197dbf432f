"""The incomplete gamma functions where sums need many steps, lose all digits or overflow.

Expected values: the series of P, or the integral, in arithmetic of 50 and 360 digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenora
from tenora_ops import incomplete_gamma
from tenora_ops.record import record
from tenora_ops.tolerance import EPSILON, TOLERANCES

#: a, x, P, Q.
VALUES = (
    (1e6, 1e6, 0.5001329807608725, 0.4998670192391274),
    (1e7, 1e7 - 1000, 0.37595081883144316, 0.6240491811685568),
    (1e7, 1e7, 0.5000420522087237, 0.4999579477912763),
    (1e9, 1e9 + 1e5, 0.9992170438380417, 0.0007829561619583269),
    (1e5, 1.2e5, 1.0, 2.5648004331385394e-39),
    (1e4, 9.7e3, 0.001234175584468492, 0.9987658244155315),
    (1e4, 7e3, 9.711672437705851e-249, 1.0),
    (300.0, 100.0, 1.818721816730848e-58, 1.0),
    (199.0, 200.0, 0.5376011456931572, 0.46239885430684285),
    (200.0, 199.0, 0.48115858808787204, 0.518841411912128),
    (201.0, 270.0, 0.9999951383987447, 4.861601255370193e-06),
    (150.0, 151.0, 0.5432697634436877, 0.4567302365563123),
    (30.0, 90.0, 0.999999999999936, 6.3926569911375e-14),
    (50.0, 0.5, 1.7887765104351365e-80, 1.0),
    (0.4, 0.9, 0.8625210009945016, 0.13747899900549845),
    (1e300, 1e300, 0.5, 0.5),
    (1e3, 1e300, 1.0, 0.0),
    (0.5, 1e300, 1.0, 0.0),
)
#: a, x, Q: 1 - P has none of its digits.
SMALL = (
    (1e-20, 1.0, 2.1938393439552025e-21),
    (1e-20, 1e-5, 1.0935719800043694e-19),
    (1e-8, 3.0, 1.3048381341654403e-10),
    (0.01, 0.3, 0.009072396421765093),
)
RTOL, ATOL = TOLERANCES[record("igamma").tolerance].bounds("float64", 1.0)


def columns(rows: tuple[tuple[float, ...], ...]) -> list[Any]:
    return [tenora.tensor(column, dtype=tenora.float64) for column in zip(*rows, strict=True)]


def test_large_and_far(backend: str) -> None:
    a, x, lower, upper = columns(VALUES)
    np.testing.assert_allclose(tenora.igamma(a, x).tolist(), lower.tolist(), rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(tenora.igammac(a, x).tolist(), upper.tolist(), rtol=RTOL, atol=ATOL)
    narrow = tenora.igamma(a[:4].to(tenora.float32), x[:4].to(tenora.float32))
    np.testing.assert_allclose(narrow.tolist()[0], lower.tolist()[0], rtol=1e-6)


def test_lower_tails_far_below_keep_their_digits(backend: str) -> None:
    """Up to the rounding of an exponent of 380, twice: (x - a) / a has no digits of x."""
    a, x = tenora.tensor([20.0, 20.0, 50.0], dtype=tenora.float64), [1e-5, 1e-3, 1e-2]
    lower = [4.110278477616877e-119, 4.106404902830125e-79, 3.2558721772148935e-165]
    found = tenora.igamma(a, tenora.tensor(x, dtype=tenora.float64))
    np.testing.assert_allclose(found.tolist(), lower, rtol=2 * 380 * EPSILON["float64"], atol=0.0)


def test_small_upper_tails_keep_their_digits(backend: str) -> None:
    a, x, expected = columns(SMALL)
    share = tenora.igammac(a, x) / expected
    np.testing.assert_allclose(share.tolist(), 1.0, rtol=RTOL, atol=ATOL)
    assert tenora.igammac(a[:1] * 0 + 1e-310, x[:1]).item() == pytest.approx(2.19383934e-311, rel=1e-8)


@pytest.mark.parametrize(("function", "sign"), [("igamma", 1.0), ("igammac", -1.0)])
def test_the_slope_at_large_numbers_is_a_normal_density(backend: str, function: str, sign: float) -> None:
    a = tenora.full((1,), 1e6)
    x = a.clone().requires_grad_()
    getattr(tenora, function)(a, x).backward()
    assert x.grad.item() == pytest.approx(sign / math.sqrt(2 * math.pi * 1e6), rel=1e-6)


@pytest.mark.parametrize("function", [tenora.igamma, tenora.igammac])
def test_a_gradient_that_nobody_knows_is_refused(backend: str, function: Callable[..., Any]) -> None:
    a, x = (tenora.tensor([v], requires_grad=True) for v in (2.0, 1.0))
    (slope,) = tenora.autograd.grad(function(a, x).sum(), x)
    assert abs(slope.item()) == pytest.approx(math.exp(-1), rel=1e-6)
    for other in (x, x.detach()):
        with pytest.raises(NotImplementedError, match="no gradient: got input that needs one"):
            function(a, other).sum().backward()
    assert a.grad is None and x.grad is None


def test_steps_that_run_out_give_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incomplete_gamma, "STEPS", 8)
    a, x = (tenora.tensor([v], dtype=tenora.float64) for v in (100.0, 101.0))
    assert math.isnan(incomplete_gamma.regularised(a, x, True).item())
    assert math.isnan(incomplete_gamma.regularised(x, a, False).item())


def test_the_kernel_has_the_same_tables() -> None:
    """Temme's coefficients stand in core's Python and in cpu_mkl's C++: the same numbers to the last bit."""
    text = (Path(__file__).parents[2] / "backends/cpu_mkl/src/rows_functions.cpp").read_text()
    tables = re.findall(r"static constexpr double k(\d)\[\] = \{([^}]*)\};", text)
    assert [int(place) for place, _ in tables] == list(range(len(incomplete_gamma.TEMME)))
    assert tuple(tuple(map(float, row.split(","))) for _, row in tables) == incomplete_gamma.TEMME
    limits = dict(re.findall(r"\b(kLarge|kNear) = ([\d.]+)", text))
    assert {name: float(value) for name, value in limits.items()} == {
        "kLarge": incomplete_gamma.LARGE,
        "kNear": incomplete_gamma.NEAR,
    }
