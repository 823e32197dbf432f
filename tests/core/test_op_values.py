"""Values at the edges of ops that no sample shows: NaN, infinities, ties, zeros, far tails, wide integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import tenora

NAN, INF = math.nan, math.inf


def shown(value: Any) -> Any:
    """Nested lists of the results, NaN as text."""
    if isinstance(value, tuple):
        return [shown(v) for v in value]
    value = value.tolist() if isinstance(value, tenora.Tensor) else value
    if isinstance(value, list):
        return [shown(v) for v in value]
    return "nan" if value != value else value


def double(*values: float) -> Any:
    return tenora.tensor(values, dtype=tenora.float64)


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "median of NaN is the first NaN": (
        lambda: tenora.median(double(1, NAN, 0, NAN), 0),
        ["nan", 1],
    ),
    "nanmedian passes NaN over": (lambda: tenora.nanmedian(double(1, NAN, 0, NAN), 0), [0.0, 2]),
    "quantile of NaN": (lambda: tenora.quantile(double(1, NAN, 0), 0.5), "nan"),
    "nanquantile": (lambda: tenora.nanquantile(double(1, NAN, 0), 0.5), 0.5),
    "mode: the smallest, where it is last": (lambda: tenora.mode(tenora.tensor([3, 1, 3, 1])), [1, 3]),
    "cummax: last of equal ones, NaN wins": (
        lambda: tenora.cummax(double(1, 3, 3, NAN, 5), 0),
        [[1.0, 3.0, 3.0, "nan", "nan"], [0, 1, 2, 3, 3]],
    ),
    "NaN belongs behind all": (lambda: tenora.searchsorted(double(1, 2), double(NAN, INF)), [2, 2]),
    "every NaN is distinct": (lambda: tenora.unique(double(NAN, 1, NAN)), [1.0, "nan", "nan"]),
    "shifts beyond the width": (
        lambda: (tenora.tensor([-5, 5]) >> 64, tenora.tensor([-5, 5]) << 64, tenora.tensor([1]) << 63),
        [[-1, 0], [0, 0], [-(2**63)]],
    ),
    "lcm wraps": (
        lambda: tenora.lcm(tenora.tensor([100], dtype=tenora.int8), tenora.tensor([33], dtype=tenora.int8)),
        [28],
    ),
    "fmod keeps the dividend's sign": (lambda: tenora.fmod(tenora.tensor([-7, 7]), 3), [-1, 1]),
    "hypot of the very large": (lambda: tenora.hypot(double(3e300), double(4e300)), [5e300]),
    "logaddexp of nothing": (lambda: tenora.logaddexp(double(-INF, INF), double(-INF, 1)), [-INF, INF]),
    "asinh keeps the sign of the large": (lambda: round(tenora.asinh(double(-1e200)).item(), 6), -461.210166),
    "xlogy at zero": (lambda: tenora.xlogy(double(0, 0), double(0, NAN)), [0.0, "nan"]),
    "gamma's poles": (lambda: tenora.lgamma(double(0, -1, INF)), [INF, INF, INF]),
    "digamma's poles": (lambda: tenora.digamma(double(0, -1)), [-INF, "nan"]),
    "erfinv's ends": (lambda: tenora.erfinv(double(1, -1, 2)), [INF, -INF, "nan"]),
    "far tails of erfc": (lambda: tenora.erfc(double(30, -30)), [0.0, 2.0]),
    "incomplete gamma at its ends": (
        lambda: tenora.igamma(double(2, 2, 0, 0, -1), double(0, INF, 1, 0, 1)),
        [0.0, 1.0, 1.0, "nan", "nan"],
    ),
    "frexp": (lambda: tenora.frexp(double(0, -8, 5e-324, INF)), [[0.0, -0.5, 0.5, INF], [0, 4, -1073, 0]]),
    "nextafter past the largest": (
        lambda: tenora.nextafter(double(1.7976931348623157e308), double(INF)),
        [INF],
    ),
    "nextafter from zero": (lambda: tenora.nextafter(double(0, 1), double(-1, 0)), [-5e-324, 1 - 2.0**-53]),
    "nan_to_num": (lambda: tenora.nan_to_num(double(NAN, INF), posinf=1.0), [0.0, 1.0]),
    "norms of nothing": (
        lambda: (tenora.norm(tenora.zeros(0)), tenora.norm(double(3, -4), INF), tenora.norm(double(3, 0), 0)),
        [0.0, 4.0, 1.0],
    ),
    "bincount of nothing": (
        lambda: tenora.bincount(tenora.tensor([], dtype=tenora.int64), minlength=2),
        [0, 0],
    ),
    "acosh far below 1": (lambda: tenora.acosh(double(0.99, -1, -2, -1e4, -1e8, -1e300)), ["nan"] * 6),
    "acosh far below 1 in float32": (lambda: tenora.acosh(tenora.tensor([-1e4, -1e30])), ["nan"] * 2),
    "nextafter from infinity": (
        lambda: tenora.nextafter(double(INF, -INF, INF), double(0, 0, INF)),
        [1.7976931348623157e308, -1.7976931348623157e308, INF],
    ),
    "zeta without a sum": (
        lambda: tenora.special.zeta(double(0.5, -1, 1, 2), double(0, 0, 0, 0)),
        ["nan", "nan", INF, INF],
    ),
    "signs of NaN": (lambda: tenora.signbit(double(-NAN, NAN)), [True, False]),
    "signs of zero": (lambda: tenora.signbit(double(-0.0, 0.0)), [True, False]),
}


@pytest.mark.parametrize("name", CASES)
def test_value(name: str) -> None:
    call, expected = CASES[name]
    assert shown(call()) == expected


def test_norm_has_a_gradient_of_zero_at_zero() -> None:
    for p in (1.0, 1.5, 2.0, 3.0):
        x = tenora.zeros(3, requires_grad=True)
        tenora.norm(x, p).backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0], p


@pytest.mark.parametrize(("function", "sign"), [("igamma", 1.0), ("igammac", -1.0)])
def test_incomplete_gamma_differentiates_in_x(function: str, sign: float) -> None:
    a, x = double(0.7, 3.0, 12.0), double(0.5, 4.0, 9.0).requires_grad_()
    getattr(tenora, function)(a, x).sum().backward()
    step = 1e-6
    rise = getattr(tenora, function)(a, x.detach() + step) - getattr(tenora, function)(a, x.detach() - step)
    assert tenora.allclose(x.grad, rise / (2 * step), 1e-7)
    assert (x.grad * sign > 0).all()


def test_cumprod_differentiates_through_zeros() -> None:
    """d/dx of x0 + x0 x1 + x0 x1 x2 + x0 x1 x2 x3, with none, one and two zeros."""
    for row in ([1.0, 2.0, 3.0, 4.0], [2.0, 0.0, 3.0, 4.0], [2.0, 0.0, 0.0, 4.0], [0.0, 5.0, 3.0, 0.0]):
        x = tenora.tensor(row, requires_grad=True)
        tenora.cumprod(x, 0).sum().backward()
        expected = [
            sum(math.prod(row[j] for j in range(i + 1) if j != k) for i in range(k, 4)) for k in range(4)
        ]
        assert x.grad.tolist() == expected, row


def test_logcumsumexp_starts_from_nothing() -> None:
    x = tenora.tensor([-INF, -INF, 0.0], requires_grad=True)
    y = tenora.logcumsumexp(x, 0)
    assert y.tolist() == [-INF, -INF, 0.0]
    y[2].backward()
    assert shown(x.grad) == [0.0, 0.0, 1.0]


def test_comparisons_of_whole_tensors_are_python_bools() -> None:
    a = tenora.tensor([1.0, NAN])
    assert tenora.equal(a, a) is False and a.allclose(a, equal_nan=True) is True
    assert tenora.equal(tenora.ones(2), tenora.ones(2, 1)) is False


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tenora.gcd(tenora.ones(2), tenora.ones(2)), NotImplementedError),
        (lambda: tenora.bincount(tenora.tensor([-1])), RuntimeError),
        (lambda: tenora.multinomial(tenora.zeros(3), 1), RuntimeError),
        (lambda: tenora.multinomial(tenora.ones(3), 4), RuntimeError),
        (lambda: tenora.quantile(tenora.ones(3), 1.5), RuntimeError),
        (lambda: tenora.kthvalue(tenora.ones(3), 4), RuntimeError),
        (lambda: tenora.zeros(2).exponential_(0.0), RuntimeError),
        (lambda: tenora.zeros(2).geometric_(1.5), RuntimeError),
        (lambda: tenora.poisson(tenora.tensor([-1.0])), RuntimeError),
        (lambda: tenora.searchsorted(tenora.tensor(1.0), tenora.ones(2)), RuntimeError),
        (lambda: tenora.cumprod(tenora.ones(2), 1), IndexError),
        (lambda: tenora.norm(tenora.ones(2), "max"), RuntimeError),
    ],
)
def test_mistakes_are_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^\[\w+\] "):
        call()


def test_sampled_counts_have_their_moments() -> None:
    generator = tenora.Generator().manual_seed(5)
    many = tenora.poisson(tenora.full((4000,), 300.0, dtype=tenora.float64), generator)
    assert abs(many.mean().item() - 300) < 1.5 and abs(many.var().item() / 300 - 1) < 0.15
    trials = tenora.full((4000,), 40.0, dtype=tenora.float64)
    hits = tenora.binomial(trials, tenora.full((4000,), 0.3, dtype=tenora.float64), generator)
    assert abs(hits.mean().item() - 12) < 0.25 and abs(hits.var().item() / 8.4 - 1) < 0.15
