"""Distributions beside the uniform and the normal one: the in-place forms and the draws from tensors of parameters.

- One uniform number u per element, by the rules of `random.py` (float32 for half types), and these formulas:
  exponential -log1p(-u) / lambd; cauchy median + sigma tan(pi (u - 1/2)); geometric floor(log1p(-u) / log1p(-p)) + 1;
  log_normal exp of a normal number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import is_number, ops
from tenora_ops.lazy import np
from tenora_ops.random import (
    RANDOM,
    SHAPES,
    WHOLE_RANGE,
    _check_floating,
    _count,
    _name,
    _randint,
    _randint_oracle,
    _randn,
    _uniform,
    check_probabilities,
    fits,
    level,
    normals,
    uniforms,
    unrounded,
)
from tenora_ops.record import op
from tenora_ops.samples import (
    BOOLEAN,
    FLOATING,
    INTEGERS,
    REALS,
    UNIT,
    Domain,
    Draw,
    Seed,
    sample,
)

#: One more than the largest whole number of a dtype up to which all are representable.
BEYOND = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}


def _drawn(input: Any, generator: Any, formula: Callable[[Any], Any]) -> Any:
    """The formula of one uniform number per element, in the dtype of input."""
    wide = _engine.float64 if input.dtype == _engine.float64 else _engine.float32
    found = formula(_uniform(input.shape, wide, generator, input.device))
    return found if input.dtype == wide else ops.to(found, input.dtype)


def _positive(op: str, name: str, value: float) -> None:
    if not value > 0:
        raise errors.OperationError(
            f"[{op}] {name}: got {value}, expected a positive number. Choose a positive number."
        )


def like(*values: float) -> Callable[[Draw], Any]:
    return lambda draw: [sample(draw.array(*s), *values, generator=Seed(i)) for i, s in enumerate(SHAPES)]


def oracle(formula: Callable[..., float]) -> Callable[..., Any]:
    """An oracle from Python's mathematics of one uniform number."""

    def apply(x: Any, *values: float, generator: Any) -> Any:
        name = _name(x) if x.dtype.kind == "f" else "float32"
        drawn = uniforms(generator.seed, x.size, name if name == "float64" else "float32")
        found = np.array([formula(u, *values) for u in drawn], dtype=float).reshape(x.shape)
        return found if x.dtype.kind == "f" else found.astype(x.dtype)

    return apply


def _exponential(input: Any, lambd: float, generator: Any) -> Any:
    _check_floating("exponential_", input.dtype)
    _positive("exponential_", "lambd", lambd)
    return _drawn(input, generator, lambda u: ops.log1p(-u) * (-1.0 / lambd))


exponential = op(
    "exponential(input: Tensor, lambd: float = 1.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_exponential,
    differentiable=False,
    shape_only=("input",),
    dtypes=REALS,
    samples=like(1.5),
    oracle=oracle(lambda u, rate: -math.log1p(-u) / rate),
    doc="Exponential numbers of rate lambd, of the shape of input: the functional form of exponential_.",
    example="tenora.zeros(3).exponential_(2.0)",
    public="",
    inplace=True,
)


def _cauchy(input: Any, median: float, sigma: float, generator: Any) -> Any:
    _check_floating("cauchy_", input.dtype)
    _positive("cauchy_", "sigma", sigma)
    return _drawn(input, generator, lambda u: ops.tan((u - 0.5) * math.pi) * sigma + median)


cauchy = op(
    "cauchy(input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_cauchy,
    differentiable=False,
    shape_only=("input",),
    dtypes=REALS,
    samples=like(1.0, 2.0),
    oracle=oracle(lambda u, median, sigma: median + sigma * math.tan(math.pi * (u - 0.5))),
    tolerance="normalised",
    doc="Cauchy numbers, of the shape of input: the functional form of cauchy_.",
    example="tenora.zeros(3).cauchy_()",
    public="",
    inplace=True,
)


def _geometric(input: Any, p: float, generator: Any) -> Any:
    if not 0 < p < 1:
        raise errors.OperationError(
            f"[geometric_] p: got {p}, expected a probability between 0 and 1."
            " Choose a probability between 0 and 1."
        )
    if input.dtype.is_complex or input.dtype == _engine.bool:
        raise errors.OperationError(
            f"[geometric_] dtype not supported: got {input.dtype}, expected a real type that counts. Cast afterwards."
        )
    return _drawn(input, generator, lambda u: ops.floor(ops.log1p(-u) * (1.0 / math.log1p(-p))) + 1)


geometric = op(
    "geometric(input: Tensor, p: float, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_geometric,
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS),
    samples=like(0.3),
    oracle=oracle(lambda u, p: math.floor(math.log1p(-u) / math.log1p(-p)) + 1),
    doc="How many trials until the first success of probability p: the functional form of geometric_.",
    example="tenora.zeros(3).geometric_(0.5)",
    public="",
    inplace=True,
)


def _log_normal(input: Any, mean: float, std: float, generator: Any) -> Any:
    _check_floating("log_normal_", input.dtype)
    _positive("log_normal_", "std", std)
    wide = unrounded(input.dtype)
    found = ops.exp(_randn(input.shape, generator, wide, input.device) * std + mean)
    return found if input.dtype == wide else ops.to(found, input.dtype)


log_normal = op(
    "log_normal(input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_log_normal,
    differentiable=False,
    shape_only=("input",),
    dtypes=REALS,
    samples=like(0.5, 0.25),
    oracle=lambda x, mean, std, generator: np.exp(
        np.array(normals(generator.seed, x.size, _name(x))).reshape(x.shape) * std + mean
    ),
    tolerance="normalised",
    doc="Numbers whose logarithm is normal, of the shape of input: the functional form of log_normal_.",
    example="tenora.zeros(3).log_normal_()",
    public="",
    inplace=True,
)


def _random_range(input: Any, low: int, high: Any, generator: Any) -> Any:
    name = str(input.dtype).rsplit(".", 1)[-1]
    top = BEYOND.get(name) or WHOLE_RANGE.get(name, (0, 1))[1]  # a complex type is refused by _randint
    size, high = tuple(input.shape), top if high is None else high
    return _randint(low, high, size, generator, input.dtype, input.device, "random_")


def _random_oracle(x: Any, low: int = 0, high: Any = None, *, generator: Any) -> Any:
    name = _name(x)
    top = BEYOND.get(name) or WHOLE_RANGE[name][1]
    if name == "uint64" and high is None:
        return _randint_oracle(0, top, x.shape, generator, name)
    return _randint_oracle(low, top if high is None else high, x.shape, generator).astype(x.dtype)


def ranges(low: int, high: int) -> Callable[[Draw], Any]:
    """Calls with the part of a range that a dtype has; without low where it is 0."""

    def made(draw: Draw) -> Any:
        least, most = fits(draw.dtype, low, high)
        return like(least, most)(draw) if low else like(most)(draw)

    return made


random_all = op(
    "random_all(input: Tensor, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=lambda input, generator: _random_range(input, 0, None, generator),
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS, *BOOLEAN),
    tolerance="exact",
    samples=like(),
    oracle=_random_oracle,
    display="random_",
    doc="Whole numbers from 0 on, as many as the dtype holds without gaps: the functional form of random_.",
    example="tenora.zeros(3).random_()",
    public="",
    inplace="random_",
)
random_to = op(
    "random_to(input: Tensor, to: int, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=lambda input, to, generator: _random_range(input, 0, to, generator),
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS),
    tolerance="exact",
    samples=ranges(0, 100),
    oracle=lambda x, to, generator: _random_oracle(x, 0, to, generator=generator),
    display="random_",
    doc="Whole numbers from 0 to to - 1, of the shape of input.",
    example="tenora.zeros(3).random_(10)",
    public="",
    inplace="random_",
)
random_range = op(
    "random_range(input: Tensor, low: int, to: int, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=lambda input, low, to, generator: _random_range(input, low, to, generator),
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS),
    tolerance="exact",
    samples=ranges(-5, 100),
    oracle=lambda x, low, to, generator: _random_oracle(x, low, to, generator=generator),
    display="random_",
    doc="Whole numbers from low to to - 1, of the shape of input.",
    example="tenora.zeros(3).random_(-3, 3)",
    public="",
    inplace="random_",
)


# ---- normal numbers of given means and deviations ----
def _need_deviation(std: Any) -> None:
    """Refuses a negative number and NaN, and a tensor with such elements."""
    if not (std >= 0 if is_number(std) else bool(ops.all(ops.ge(std, 0)))):
        got = std if is_number(std) else "negative elements or NaN"
        raise errors.OperationError(
            f"[normal] std: got {got}, expected what is not negative. Take absolute values."
        )


def _normal_of(mean: Any, std: Any, generator: Any) -> Any:
    _need_deviation(std)
    like = ops.add(mean, std)
    _check_floating("normal", like.dtype, complex_too=True)
    mu, sigma = (x if is_number(x) else x.detach() for x in (mean, std))
    return level(_scaled(tuple(like.shape), mu, sigma, generator, like.dtype, like.device), mean, std)


def _scaled(size: Any, mean: Any, std: Any, generator: Any, dtype: Any, device: Any) -> Any:
    """Normal numbers times std plus mean, rounded to their dtype once."""
    wide = unrounded(dtype)
    mean, std = (x if is_number(x) or x.dtype == dtype == wide else ops.to(x, wide) for x in (mean, std))
    found = _randn(size, generator, wide, device) * std + mean
    return found if dtype == wide else ops.to(found, dtype)


def _normal_size(mean: float, std: float, size: Any, generator: Any, dtype: Any, device: Any) -> Any:
    _need_deviation(std)
    return _scaled(size, mean, std, generator, dtype or _engine.default_dtype(), device)


def _normals_of(mean: Any, std: Any = 1.0, *, generator: Any) -> Any:
    like = mean + std
    name = _name(mean if np.ndim(mean) or not np.ndim(std) else std)
    return np.array(normals(generator.seed, np.size(like), name)).reshape(np.shape(like)) * std + mean


normal_mean = op(
    "normal_mean(mean: Tensor, std: float = 1.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_normal_of,
    differentiable=False,
    dtypes=FLOATING,
    samples=like(2.0),
    oracle=_normals_of,
    tolerance="transcendental",
    doc="Normal numbers of given means.",
    example="tenora.normal(tenora.tensor([0.0, 100.0]), 0.1)",
    public="normal",
    out=True,
)
normal_size = op(
    "normal_size(mean: float, std: float, size: int[], *, generator: Generator? = None, dtype: dtype? = None, "
    "device: device? = None) -> Tensor",
    family=RANDOM,
    function=_normal_size,
    differentiable=False,
    dtypes=FLOATING,
    samples=lambda draw: [
        sample(1.0, 2.0, shape, generator=Seed(7 + i), dtype=draw.dtype) for i, shape in enumerate(SHAPES)
    ],
    oracle=lambda mean, std, size, generator, dtype: (
        np.array(normals(generator.seed, _count(size), dtype)).reshape(size) * std + mean
    ),
    tolerance="normalised",
    doc="Normal numbers of one mean and deviation, of a given size.",
    example="tenora.normal(0.0, 1.0, (2, 3))",
    public="normal",
    out=True,
)
normal_std = op(
    "normal_std(mean: Tensor | Scalar, std: Tensor, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_normal_of,
    differentiable=False,
    dtypes=REALS,
    domain=Domain(0.1, 2.0),
    samples=lambda draw: [
        *[sample(draw.array(*s), draw.array(*s), generator=Seed(i)) for i, s in enumerate(SHAPES)],
        sample(1.5, draw.array(3), generator=Seed(9)),
        sample(draw.array(3, 1), draw.array(2), generator=Seed(10)),
    ],
    oracle=_normals_of,
    tolerance="transcendental",
    doc="Normal numbers of given means and deviations.",
    example="tenora.normal(0.0, tenora.tensor([1.0, 10.0]))",
    public="normal",
    out=True,
)


def _randint_like(input: Any, low: int, high: int, dtype: Any, generator: Any) -> Any:
    return _randint(low, high, tuple(input.shape), generator, dtype or input.dtype, input.device)


def _randint_like_oracle(x: Any, low: int, high: int, generator: Any, dtype: str | None) -> Any:
    return _randint_oracle(low, high, x.shape, generator).astype(dtype or x.dtype)


def also_in_int16(samples: Callable[[Draw], Any]) -> Callable[[Draw], Any]:
    """The calls, and the second one for another dtype than that of the input."""

    def made(draw: Draw) -> Any:
        found = samples(draw)
        return [*found, sample(*found[1].arguments, **found[1].options, dtype="int16")]

    return made


LIKE = "*, dtype: dtype? = None, generator: Generator? = None"
randint_like_high = op(
    f"randint_like_high(input: Tensor, high: int, {LIKE}) -> Tensor",
    family=RANDOM,
    function=lambda input, high, dtype, generator: _randint_like(input, 0, high, dtype, generator),
    differentiable=False,
    dtypes=(*INTEGERS, *REALS),
    tolerance="exact",
    samples=also_in_int16(ranges(0, 9)),
    oracle=lambda x, high, generator, dtype=None: _randint_like_oracle(x, 0, high, generator, dtype),
    doc="Whole numbers in [0, high), of the shape and dtype of input.",
    example="tenora.randint_like(tenora.zeros(3), 10)",
    public="randint_like",
)
randint_like = op(
    f"randint_like(input: Tensor, low: int, high: int, {LIKE}) -> Tensor",
    family=RANDOM,
    function=_randint_like,
    differentiable=False,
    dtypes=(*INTEGERS, *REALS),
    tolerance="exact",
    samples=also_in_int16(ranges(-3, 9)),
    oracle=lambda x, low, high, generator, dtype=None: _randint_like_oracle(x, low, high, generator, dtype),
    doc="Whole numbers in [low, high), of the shape and dtype of input.",
    example="tenora.randint_like(tenora.zeros(3), 5, 10)",
)


def _bernoulli_of(input: Any, p: Any, generator: Any) -> Any:
    check_probabilities("bernoulli_", p)
    u = _uniform(tuple(input.shape), _engine.float32, generator, input.device)
    return level(ops.to(ops.lt(u, p), input.dtype), p)


bernoulli_of = op(
    "bernoulli_of(input: Tensor, p: Tensor, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_bernoulli_of,
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS, *BOOLEAN),
    tolerance="exact",
    domain=UNIT,
    samples=lambda draw: [
        sample(draw.array(*s), draw.array(*s, dtype="float32"), generator=Seed(i))
        for i, s in enumerate(SHAPES)
    ],
    oracle=lambda x, p, generator: np.array(
        [
            u < q
            for u, q in zip(uniforms(generator.seed, x.size, "float32"), np.ravel(p).tolist(), strict=True)
        ],
        dtype=x.dtype,
    ).reshape(x.shape),
    display="bernoulli_",
    doc="1 with the probabilities p, else 0, of the shape of input: the form of bernoulli_ with a tensor.",
    example="tenora.zeros(2).bernoulli_(tenora.tensor([0.1, 0.9]))",
    public="",
    inplace="bernoulli_",
)
