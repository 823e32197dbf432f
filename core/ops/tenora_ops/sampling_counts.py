"""Counts and categories drawn from tensors of parameters: Poisson, binomial, multinomial.

- poisson and binomial invert the distribution from its mode outwards in float64 (Kemp, "A modal method for generating
  binomial variables", 1986): u is reduced by the mass of the mode, one above, one below, two above, ... until it is
  negative; the steps are about eight standard deviations.
- multinomial: with replacement the first category whose cumulative share exceeds u (float64); without, the categories
  of the smallest exponential(1) / weight (Efraimidis and Spirakis, 2006).
"""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.random import RANDOM, SHAPES, _check_floating, _uniform, uniforms
from tenora_ops.record import op
from tenora_ops.samples import REALS, Domain, Draw, Seed, sample
from tenora_ops.search import _search

#: The steps from the mode grow with its square root.
LARGEST_MEAN = 1e9


# ---- from the mode outwards ----
def _outwards(u: Any, mode: Any, mass: Any, up: Any, down: Any) -> Any:
    """Inverts distributions: `mass` is that of the mode, `up(k)` mass(k + 1) / mass(k), `down(k)` the one
    before."""
    rest, found = u - mass, mode
    open_ = ops.ge(rest, 0)
    high, low, high_mass, low_mass = mode, mode, mass, mass
    while bool(ops.any(open_)):
        for _ in range(8):
            high_mass = high_mass * up(high)
            high = high + 1
            found, rest, open_ = _take(found, rest, open_, high, high_mass)
            low_mass = low_mass * down(low)
            low = low - 1
            found, rest, open_ = _take(found, rest, open_, low, low_mass)
        tails = ops.gt(high_mass + low_mass, 1e-18)
        open_ = ops.logical_and(open_, tails)
    return found


def _take(found: Any, rest: Any, open_: Any, place: Any, mass: Any) -> tuple[Any, Any, Any]:
    rest = rest - mass
    hit = ops.logical_and(open_, ops.lt(rest, 0))
    return ops.where(hit, place, found), rest, ops.logical_and(open_, ops.logical_not(hit))


def _poisson(input: Any, generator: Any) -> Any:
    if not input.dtype.is_floating_point:
        raise errors.OperationError(
            f"[poisson] dtype not supported: got {input.dtype}, expected a floating type. Cast it."
        )
    if bool(ops.any(ops.logical_not(ops.ge(input, 0)))):
        raise errors.OperationError(
            "[poisson] invalid rates: got a negative number or NaN, expected 0 or more. Clamp them."
        )
    if input.numel() and float(ops.amax(input)) > LARGEST_MEAN:
        raise errors.OperationError(
            f"[poisson] rates: got {float(ops.amax(input))}, expected at most {LARGEST_MEAN}. "
            "Use a normal approximation."
        )
    rate = ops.to(input, _engine.float64)
    mode = ops.floor(rate)
    safe = ops.where(ops.eq(rate, 0), 1.0, rate)
    mass = ops.exp(mode * ops.log(safe) - rate - ops.lgamma(mode + 1))
    u = _uniform(tuple(input.shape), _engine.float64, generator, input.device)
    found = _outwards(u, mode, mass, lambda k: rate / (k + 1), lambda k: ops.clamp(k, 0, None) / safe)
    return ops.to(found, input.dtype)


def _kemp(u: float, mode: int, mass: float, up: Any, down: Any) -> int:
    u -= mass
    high = low = mode
    above = below = mass
    while u >= 0 and above + below > 1e-18:
        above, high = above * up(high), high + 1
        u -= above
        if u < 0:
            return high
        below, low = below * down(low), low - 1
        u -= below
        if u < 0:
            return low
    return mode


def _poisson_number(u: float, rate: float) -> float:
    mode = math.floor(rate)
    mass = math.exp(mode * math.log(rate) - rate - math.lgamma(mode + 1)) if rate else 1.0
    return _kemp(u, mode, mass, lambda k: rate / (k + 1), lambda k: max(k, 0) / (rate or 1.0))


poisson = op(
    "poisson(input: Tensor, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_poisson,
    differentiable=False,
    dtypes=REALS,
    domain=Domain(0.0, 40.0),
    tolerance="exact",
    samples=lambda draw: [sample(draw.array(*s), generator=Seed(i)) for i, s in enumerate(SHAPES)],
    oracle=lambda x, generator: np.array(
        [
            _poisson_number(u, rate)
            for u, rate in zip(uniforms(generator.seed, x.size, "float64"), np.ravel(x).tolist(), strict=True)
        ],
        dtype=float,
    ).reshape(x.shape),
    doc="Poisson numbers of the rates in input.",
    example="tenora.poisson(tenora.tensor([1.0, 100.0]))",
)


def _range(x: Any) -> str:
    return f"{float(ops.amin(x))} to {float(ops.amax(x))}"


def _binomial(count: Any, prob: Any, generator: Any) -> Any:
    for dtype in (count.dtype, prob.dtype):
        _check_floating("binomial", dtype)
    n, p = ops.to(count, _engine.float64), ops.to(prob, _engine.float64)
    n, p = n + ops.zeros_like(p), p + ops.zeros_like(n)
    fine = ops.logical_and(ops.ge(n, 0), ops.logical_and(ops.ge(p, 0), ops.le(p, 1)))
    if not bool(ops.all(fine)):
        raise errors.OperationError(
            f"[binomial] invalid parameters: got counts of {_range(n)} and probabilities of {_range(p)}, expected "
            "counts from 0 on and probabilities from 0 to 1. Clamp them."
        )
    if n.numel() and float(ops.amax(n)) > LARGEST_MEAN:
        raise errors.OperationError(
            f"[binomial] counts: got {float(ops.amax(n))}, expected at most {LARGEST_MEAN}. "
            "Use a normal approximation."
        )
    sure = ops.logical_or(ops.eq(p, 0), ops.eq(p, 1))
    q = ops.where(sure, 0.5, p)
    mode = ops.floor((n + 1) * q)
    mass = ops.exp(
        ops.lgamma(n + 1)
        - ops.lgamma(mode + 1)
        - ops.lgamma(n - mode + 1)
        + mode * ops.log(q)
        + (n - mode) * ops.log1p(-q)
    )
    odds = q / (1 - q)
    u = _uniform(tuple(n.shape), _engine.float64, generator, n.device)
    found = _outwards(
        u,
        mode,
        mass,
        lambda k: ops.clamp(n - k, 0, None) / (k + 1) * odds,
        lambda k: ops.clamp(k, 0, None) / (n - k + 1) / odds,
    )
    return ops.to(ops.where(sure, ops.where(ops.eq(p, 0), 0.0, n), found), count.dtype)


def _binomial_number(u: float, n: float, p: float) -> float:
    if p in (0.0, 1.0):
        return n * p
    mode = math.floor((n + 1) * p)
    log_mass = math.lgamma(n + 1) - math.lgamma(mode + 1) - math.lgamma(n - mode + 1)
    mass = math.exp(log_mass + mode * math.log(p) + (n - mode) * math.log1p(-p))
    odds = p / (1 - p)
    return _kemp(
        u, mode, mass, lambda k: max(n - k, 0) / (k + 1) * odds, lambda k: max(k, 0) / (n - k + 1) / odds
    )


def _binomials(count: Any, prob: Any, generator: Any) -> Any:
    n, p = np.broadcast_arrays(count, prob)
    drawn = uniforms(generator.seed, n.size, "float64")
    found = [
        _binomial_number(*row) for row in zip(drawn, n.ravel().tolist(), p.ravel().tolist(), strict=True)
    ]
    return np.array(found, dtype=float).reshape(n.shape)


def trials(draw: Draw) -> Any:
    chances = Domain(0.05, 0.95)
    pairs = (((5,), (5,)), ((3, 4), (4,)), ((), ()), ((0,), (1,)), ((2, 3, 2), (2,)), ((1, 2, 1, 2, 3), (1,)))
    found = [
        sample(np.floor(draw.array(*a)), draw.array(*b, domain=chances), generator=Seed(i))
        for i, (a, b) in enumerate(pairs)
    ]
    ends = np.array([0.0, 1.0]).astype(draw.array().dtype)
    return [*found, sample(np.floor(draw.array(2)), ends, generator=Seed(8))]


binomial = op(
    "binomial(count: Tensor, prob: Tensor, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_binomial,
    differentiable=False,
    dtypes=REALS,
    domain=Domain(0.0, 40.0),
    tolerance="exact",
    samples=trials,
    oracle=_binomials,
    doc="How many of count trials of probability prob succeed.",
    example="tenora.binomial(tenora.tensor([10.0]), tenora.tensor([0.3]))",
)


# ---- categories ----
def _check_weights(input: Any, num_samples: int, replacement: bool) -> None:
    if input.ndim not in (1, 2) or not input.dtype.is_floating_point or not input.shape[-1]:
        raise errors.OperationError(
            f"[multinomial] weights: got {input.dtype} of shape {tuple(input.shape)}, expected floating numbers in one "
            "row or several, with at least one category. Reshape or cast them."
        )
    if num_samples <= 0:
        raise errors.OperationError(
            f"[multinomial] num_samples: got {num_samples}, expected 1 or more. Ask for one or more."
        )
    fine = ops.logical_and(ops.ge(input, 0), ops.lt(input, math.inf))
    if not bool(ops.all(fine)) or not bool(ops.all(ops.gt(ops.sum(input, -1), 0))):
        raise errors.OperationError(
            f"[multinomial] invalid weights: got {_range(input)}, expected finite numbers from 0 on, one of them "
            "positive in each row. Clamp them."
        )
    if replacement:
        return
    if num_samples > input.shape[-1]:
        raise errors.OperationError(
            f"[multinomial] num_samples: got {num_samples} of {input.shape[-1]} categories, expected no more without "
            "replacement. Pass replacement=True."
        )
    if input.numel() and int(ops.amin(ops.sum(ops.gt(input, 0), -1))) < num_samples:
        raise errors.OperationError(
            f"[multinomial] too few categories: got fewer than {num_samples} positive weights in a row, expected as "
            "many without replacement. Pass replacement=True."
        )


def _multinomial(input: Any, num_samples: int, replacement: bool, generator: Any) -> Any:
    _check_weights(input, num_samples, replacement)
    weights = ops.to(input, _engine.float64)
    rows = tuple(input.shape[:-1])
    if replacement:
        total = ops.cumsum(weights, -1)
        u = _uniform((*rows, num_samples), _engine.float64, generator, input.device)
        places = _search(total, u * ops.narrow(total, -1, input.shape[-1] - 1, 1), True)
        return ops.clamp(places, None, input.shape[-1] - 1)
    u = _uniform(tuple(input.shape), _engine.float64, generator, input.device)
    keys = -ops.log1p(-u) / weights
    keys = ops.where(ops.eq(weights, 0), math.inf, keys)
    order = ops.argsort(keys, -1, False, True)
    return ops.clone(ops.narrow(order, -1, 0, num_samples))


def _categories(x: Any, num_samples: int, replacement: bool = False, *, generator: Any) -> Any:
    rows = np.atleast_2d(x).tolist()
    width = num_samples if replacement else len(rows[0])
    drawn = uniforms(generator.seed, width * len(rows), "float64")
    found = []
    for i, row in enumerate(rows):
        u = drawn[i * width : (i + 1) * width]
        if replacement:
            total = np.cumsum(row).tolist()
            found.append([sum(1 for t in total if t <= v * total[-1]) for v in u])
        else:
            keys = [-math.log1p(-v) / w if w else math.inf for v, w in zip(u, row, strict=True)]
            found.append(sorted(range(width), key=keys.__getitem__)[:num_samples])
    return np.array(found, dtype=np.int64).reshape(*x.shape[:-1], num_samples)


multinomial = op(
    "multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator? = None) "
    "-> Tensor",
    family=RANDOM,
    function=_multinomial,
    differentiable=False,
    dtypes=REALS,
    domain=Domain(0.1, 2.0),
    tolerance="exact",
    samples=lambda draw: [
        sample(draw.array(5), 3, generator=Seed(1)),
        sample(draw.array(5), 9, True, generator=Seed(2)),
        sample(draw.array(3, 4), 4, generator=Seed(3)),
        sample(draw.array(3, 4), 7, True, generator=Seed(4)),
        sample(draw.array(1), 1, generator=Seed(5)),
        sample(draw.array(2, 40), 2, generator=Seed(6)),
    ],
    oracle=_categories,
    doc="Categories drawn by their weights, with or without replacement, for each row.",
    example="tenora.multinomial(tenora.tensor([0.0, 3.0, 1.0]), 2)",
    method=True,
    out=True,
)
