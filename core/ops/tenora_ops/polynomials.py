"""Orthogonal polynomials of degree n at x, by their recurrences (Abramowitz and Stegun, table 22.7).

- Computed in float64, rounded once; all degrees up to the largest asked for are walked through, 0 below degree 0.
- Shifted Chebyshev polynomials are those at 2 x - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_real
from tenora_ops.formula import is_number, ops
from tenora_ops.lazy import special
from tenora_ops.oracles import each
from tenora_ops.record import Family, op
from tenora_ops.samples import FEW_PAIRS, Domain, Draw, Sample, sample

POLYNOMIAL = Family(
    "polynomial",
    "",
    "",
    "",
    lambda draw: degrees(draw),
    ("float32", "float64"),
    Domain(0.05, 0.95),
    tolerance="normalised",
)
#: Degrees are walked through one by one.
LARGEST_DEGREE = 10_000
#: (k, x, p_k, p_{k-1}) -> p_{k+1}
Step = Callable[[int, Any, Any, Any], Any]


def degrees(draw: Draw) -> Iterable[Sample]:
    """Equal and broadcast shapes; one degree for all."""

    def whole(*shape: int) -> Any:
        return draw.rng.integers(0, 6, shape).astype(draw.array().dtype)

    found = [sample(draw.array(*a), whole(*b)) for a, b in FEW_PAIRS]
    cut = (0 * whole(6) + [-2.5, -1.0, -0.5, 0.5, 1.75, 3.5]).astype(draw.array().dtype)  # towards 0
    return [*found, sample(draw.array(5), 3), sample(0.5, whole(5)), sample(draw.array(6), cut)]


def _walked(name: str, x: Any, n: Any, first: Callable[[Any], Any], step: Step) -> Any:
    if is_number(x) and is_number(n):
        raise errors.ArgumentTypeError(
            f"[{name}] input and n: got two numbers, expected a tensor among them. Make one a tensor."
        )
    need_real(name, *(t for t in (x, n) if not is_number(t)))
    dtype = ops.mul(*(t if is_number(t) else _stand_in(t) for t in (x, n))).dtype
    device = (n if is_number(x) else x).device
    nothing = ops.full((), 0.0, dtype=_engine.float64, device=device)
    x = nothing + (x if is_number(x) else ops.to(x.detach(), _engine.float64))
    n = ops.trunc(nothing + (n if is_number(n) else ops.to(n.detach(), _engine.float64)))
    shape = (x + n).shape
    x, n = ops.expand(x, shape), ops.expand(n, shape)
    before, now = ops.ones_like(x), first(x)
    found = ops.where(ops.eq(n, 0), 1.0, ops.where(ops.eq(n, 1), now, nothing))
    highest = float(ops.amax(n)) if x.numel() else 0.0
    if not -math.inf < highest <= LARGEST_DEGREE:
        raise errors.OperationError(
            f"[{name}] degree n: got {highest}, expected at most {LARGEST_DEGREE}. Lower it."
        )
    for k in range(1, int(highest)):
        before, now = now, step(k, x, now, before)
        found = ops.where(ops.eq(n, k + 1), now, found)
    return ops.to(found, dtype if dtype.is_floating_point else _engine.default_dtype())


def _stand_in(t: Any) -> Any:
    """What promotes as a tensor does, without its elements."""
    return ops.zeros((0,) if t.ndim else (), dtype=t.dtype, device=t.device)


def _polynomial(
    name: str, first: Callable[[Any], Any], step: Step, oracle: Callable[[float, float], float], doc: str
) -> None:
    op(
        f"{name}(input: Tensor | Scalar, n: Tensor | Scalar) -> Tensor",
        family=POLYNOMIAL,
        function=lambda input, n: _walked(name, input, n, first, step),
        differentiable=False,
        edges="none",
        oracle=each(lambda x, n: oracle(x, int(n)) if n > -1 else 0.0),
        doc=doc,
        example=f"tenora.special.{name}(tenora.tensor([0.25, 0.5]), 3)",
        public=f"special.{name}",
        out=True,
    )


def _chebyshev(kind: str, theta: float, n: float) -> float:
    if kind == "t":
        return math.cos(n * theta)
    if kind == "u":
        return math.sin((n + 1) * theta) / math.sin(theta)
    if kind == "v":
        return math.cos((n + 0.5) * theta) / math.cos(theta / 2)
    return math.sin((n + 0.5) * theta) / math.sin(theta / 2)


FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: x * 2,
    "v": lambda x: x * 2 - 1,
    "w": lambda x: x * 2 + 1,
}
for _kind, _number in zip("tuvw", ("first", "second", "third", "fourth"), strict=True):
    _polynomial(
        f"chebyshev_polynomial_{_kind}",
        FIRST[_kind],
        lambda k, x, now, before: x * 2 * now - before,
        lambda x, n, kind=_kind: _chebyshev(kind, math.acos(x), n),  # type: ignore[misc]
        f"Chebyshev polynomial of the {_number} kind.",
    )
    _polynomial(
        f"shifted_chebyshev_polynomial_{_kind}",
        lambda x, kind=_kind: FIRST[kind](x * 2 - 1),  # type: ignore[misc]
        lambda k, x, now, before: (x * 4 - 2) * now - before,
        lambda x, n, kind=_kind: _chebyshev(kind, math.acos(2 * x - 1), n),  # type: ignore[misc]
        f"Chebyshev polynomial of the {_number} kind at 2 x - 1.",
    )
_polynomial(
    "hermite_polynomial_h",
    lambda x: x * 2,
    lambda k, x, now, before: x * 2 * now - before * (2.0 * k),
    lambda x, n: float(special.eval_hermite(int(n), x)),
    "Hermite polynomial of the physicists.",
)
_polynomial(
    "hermite_polynomial_he",
    lambda x: x,
    lambda k, x, now, before: x * now - before * float(k),
    lambda x, n: float(special.eval_hermitenorm(int(n), x)),
    "Hermite polynomial of the probabilists.",
)
_polynomial(
    "laguerre_polynomial_l",
    lambda x: 1 - x,
    lambda k, x, now, before: ((2.0 * k + 1.0 - x) * now - before * float(k)) / (k + 1.0),
    lambda x, n: float(special.eval_laguerre(int(n), x)),
    "Laguerre polynomial.",
)
_polynomial(
    "legendre_polynomial_p",
    lambda x: x,
    lambda k, x, now, before: (x * (2.0 * k + 1.0) * now - before * float(k)) / (k + 1.0),
    lambda x, n: float(special.eval_legendre(int(n), x)),
    "Legendre polynomial.",
)
