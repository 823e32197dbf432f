"""Random numbers: Philox 4x32-10 words, and the stated formulas that make numbers of them.

- Word i of a call with (seed, offset) is word i % 4 of Philox4x32-10 with counter (offset + i // 4, 0) and key seed; a
  call advances the generator by ceil(n / 4). Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
- Uniform numbers in [0, 1): float32 (w >> 8) 2^-24; float16 (w >> 21) 2^-11; bfloat16 (w >> 24) 2^-8; float64 takes
  two words, ((w0 >> 5) 2^26 + (w1 >> 6)) 2^-53.
- Normal numbers: Box-Muller on pairs of uniforms (u, v), sqrt(-2 log(1 - u)) times cos(2 pi v) and sin(2 pi v), in
  float32 for half types.
- A complex number is two such numbers, the real part first; both parts of a normal one are scaled by sqrt(1/2). Bounds
  and mean hold for either part, as in PyTorch.
- randint: low + floor(w span / 2^32) for spans = high - low up to 2^31; low + (w0 2^31 + (w1 >> 1)) mod span up to
  2^62; else low + (w0 2^32 + w1) mod span.
- randperm: the stable order of the keys w0 2^31 + (w1 >> 1). Bernoulli and dropout compare float32 uniforms with p.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import ints
from tenora_ops.formula import is_number, max_number, ops
from tenora_ops.lazy import np
from tenora_ops.limits import PARTS, WHOLE, finfo, iinfo
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INTEGERS,
    REALS,
    UNIT,
    Draw,
    Sample,
    Seed,
    numpy_dtype,
    sample,
)

RANDOM = Family("random", "", "", "", lambda draw: _sizes(draw), ("float32", "float64"), tolerance="few_ulp")
SHAPES: tuple[tuple[int, ...], ...] = ((5,), (3, 4), (), (0,), (2, 3, 2), (1, 2, 1, 2, 3))
#: Word shift and scale of a uniform number made of one word.
ONE_WORD = {"float32": (2**8, 2.0**-24), "float16": (2**21, 2.0**-11), "bfloat16": (2**24, 2.0**-8)}
#: The lowest whole number of a dtype, and one more than its highest; those of wider floating types are out of reach.
WHOLE_RANGE = {
    **{info.dtype: (info.min, info.max + 1) for info in map(iinfo, WHOLE)},
    "bool": (0, 2),
    "float16": (int(finfo(_engine.float16).min), int(finfo(_engine.float16).max) + 1),
}


def _sizes(draw: Draw) -> list[Sample]:
    return [sample(shape, generator=Seed(7 + i), dtype=draw.dtype) for i, shape in enumerate(SHAPES)]


def fits(dtype: str, low: int, high: int) -> tuple[int, int]:
    """The part of a sample's range that a dtype has."""
    lowest, beyond = WHOLE_RANGE.get(dtype, (low, high))
    return max(low, lowest), min(high, beyond)


# ---- oracles: the generator in Python integers ----
def philox(counter: list[int], key: list[int]) -> list[int]:
    """Ten rounds of Philox 4x32."""
    c, k = list(counter), list(key)
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(high >> 32) ^ c[1] ^ k[0], high & 0xFFFFFFFF, (low >> 32) ^ c[3] ^ k[1], low & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(seed: int, count: int, offset: int = 0) -> list[int]:
    """The first `count` words of a generator."""
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    found: list[int] = []
    for block in range(offset, offset + -(-count // 4)):
        found += philox([block & 0xFFFFFFFF, block >> 32, 0, 0], key)
    return found[:count]


def in_parts(numbers: list[float], scale: float = 1.0) -> list[Any]:
    """Complex numbers of pairs of real ones."""
    return [scale * complex(*numbers[i : i + 2]) for i in range(0, len(numbers), 2)]


def uniforms(seed: int, count: int, dtype: str) -> list[Any]:
    if dtype in COMPLEX:
        return in_parts(uniforms(seed, 2 * count, "float32" if dtype == "complex64" else "float64"))
    if dtype == "float64":
        w = words(seed, 2 * count)
        return [((w[2 * i] >> 5) * 2**26 + (w[2 * i + 1] >> 6)) * 2.0**-53 for i in range(count)]
    divisor, scale = ONE_WORD[dtype]
    return [(w // divisor) * scale for w in words(seed, count)]


def normals(seed: int, count: int, dtype: str) -> list[Any]:
    if dtype in COMPLEX:
        parts = normals(seed, 2 * count, "float32" if dtype == "complex64" else "float64")
        return in_parts(parts, math.sqrt(0.5))
    u = uniforms(seed, 2 * -(-count // 2), "float64" if dtype == "float64" else "float32")
    found = []
    for i in range(0, len(u), 2):
        radius = math.sqrt(-2 * math.log1p(-u[i]))
        beyond = u[i + 1] - 0.5  # as differences to the nearest zeros are exact, and 2 pi is not
        cosine = abs(beyond) - 0.25
        sine = math.copysign(0.25 - abs(cosine), -beyond)
        found += [radius * math.sin(2 * math.pi * quarter) for quarter in (cosine, sine)]
    return found[:count]


def _count(size: Any) -> int:
    return math.prod(size)


# ---- ops ----
random_bits = op(
    "random_bits(size: int[], *, generator: Generator? = None, device: device? = None) -> Tensor",
    family=RANDOM,
    dtype="uint32",
    shape="full",
    prepare="random",
    random=True,
    dtypes=("uint32",),
    samples=lambda draw: [sample(shape, generator=Seed(3 + i)) for i, shape in enumerate(SHAPES)],
    oracle=lambda size, generator: np.array(words(generator.seed, _count(size)), dtype=np.uint32).reshape(
        size
    ),
    doc="Random 32-bit words.",
    example="tenora.rand(3)",
    tolerance="exact",
    public="",
)


def _check_floating(op: str, dtype: Any, *, complex_too: bool = False) -> None:
    if not dtype.is_floating_point and not (complex_too and dtype.is_complex):
        kinds = "a floating or complex type" if complex_too else "a real floating type"
        raise errors.OperationError(
            f"[{op}] dtype not supported: got {str(dtype).rsplit('.', 1)[-1]}, expected {kinds}. Use randint for whole "
            "numbers, or cast afterwards."
        )


def _uniform(size: Any, dtype: Any, generator: Any, device: Any) -> Any:
    """Uniform numbers by the formula of their dtype."""
    size = ints(size)
    if dtype in PARTS:
        return ops.clone(ops.view_as_complex(_uniform((*size, 2), PARTS[dtype], generator, device)))
    if dtype == _engine.float64:
        bits = ops.random_bits((*size, 2), generator=generator, device=device)
        high = ops.to(ops.floor_divide(ops.select(bits, -1, 0), 2**5), dtype)
        low = ops.to(ops.floor_divide(ops.select(bits, -1, 1), 2**6), dtype)
        return (high * 2.0**26 + low) * 2.0**-53
    divisor, scale = ONE_WORD[str(dtype).rsplit(".", 1)[-1]]
    bits = ops.random_bits(size, generator=generator, device=device)
    return ops.to(ops.floor_divide(bits, divisor), dtype) * scale


def _rand(size: Any, generator: Any, dtype: Any, device: Any) -> Any:
    dtype = dtype or _engine.default_dtype()
    _check_floating("rand", dtype, complex_too=True)
    return _uniform(size, dtype, generator, device)


SIZE = "size: int[], *, generator: Generator? = None, dtype: dtype? = None, device: device? = None"
rand = op(
    f"rand({SIZE}) -> Tensor",
    family=RANDOM,
    dtypes=FLOATING,
    function=_rand,
    differentiable=False,
    tolerance="exact",
    oracle=lambda size, generator, dtype: np.array(uniforms(generator.seed, _count(size), dtype)).reshape(
        size
    ),
    doc="Uniform numbers in [0, 1); both parts of complex ones.",
    example="tenora.rand(2, 3)",
    out=True,
)


def unrounded(dtype: Any) -> Any:
    """The dtype in which numbers of a dtype are worked out: half types compute in float32 and round once."""
    return _engine.float32 if dtype in (_engine.float16, _engine.bfloat16) else dtype


def _quarters(turn: Any) -> tuple[Any, Any]:
    """Turns in [-1/4, 1/4] whose sines are cosine and sine of a turn in [0, 1).

    All steps are exact, so that neither loses digits near its zeros, as those of a rounded angle would.
    """
    beyond = turn - 0.5
    cosine = ops.abs(beyond) - 0.25
    return cosine, ops.copysign(0.25 - ops.abs(cosine), -beyond)


def _randn(size: Any, generator: Any, dtype: Any, device: Any) -> Any:
    dtype = dtype or _engine.default_dtype()
    _check_floating("randn", dtype, complex_too=True)
    size = ints(size)
    if any(n < 0 for n in size):
        raise errors.OperationError(
            f"[randn] size: got {list(size)}, expected no negative length. Pass lengths of 0 or more."
        )
    if dtype in PARTS:
        parts = _randn((*size, 2), generator, PARTS[dtype], device)
        return ops.view_as_complex(parts) * math.sqrt(0.5)
    wide, count = unrounded(dtype), math.prod(size)
    pairs = _uniform(((count + 1) // 2, 2), wide, generator, device)
    radius = ops.sqrt(ops.log(1 - ops.select(pairs, 1, 0)) * -2.0)
    quarters = _quarters(ops.select(pairs, 1, 1))
    both = ops.stack([radius * ops.sin(quarter * (2 * math.pi)) for quarter in quarters], 1)
    flat = ops.narrow(ops.reshape(both, (-1,)), 0, 0, count)
    found = ops.clone(ops.reshape(flat, size))
    return found if dtype == wide else ops.to(found, dtype)


randn = op(
    f"randn({SIZE}) -> Tensor",
    family=RANDOM,
    dtypes=FLOATING,
    function=_randn,
    differentiable=False,
    oracle=lambda size, generator, dtype: np.array(normals(generator.seed, _count(size), dtype)).reshape(
        size
    ),
    doc="Standard normal numbers (Box-Muller); complex ones of variance 1, half of it in either part.",
    example="tenora.randn(2, 3)",
    tolerance="four_ulp",
    out=True,
)


def _whole(bits_pairs: Any) -> Any:
    """62-bit keys of pairs of words."""
    high = ops.to(ops.select(bits_pairs, -1, 0), _engine.int64)
    low = ops.to(ops.select(bits_pairs, -1, 1), _engine.int64)
    half = ops.bitwise_right_shift(high, 1)
    return ops.bitwise_or(ops.bitwise_left_shift(half, 31), ops.bitwise_right_shift(low, 1))


def _modulo(bits_pairs: Any, span: int) -> Any:
    """The 64-bit numbers of pairs of words modulo a span above 2^62, in int64, whose sums wrap."""
    high = ops.to(ops.select(bits_pairs, -1, 0), _engine.int64)
    found = high * 2**32 + ops.to(ops.select(bits_pairs, -1, 1), _engine.int64)
    wrapped, lowest = (span + 2**63) % 2**64 - 2**63, -(2**63)
    for _ in range(3):  # an order of unsigned numbers is that of signed ones with the highest bit flipped
        beyond = ops.ge(ops.bitwise_xor(found, lowest), (wrapped + 2**64) % 2**64 - 2**63)
        found = ops.where(beyond, found - wrapped, found)
    return found


def _check_range(op: str, low: int, high: int, dtype: Any) -> None:
    if low >= high:
        raise errors.OperationError(
            f"[{op}] low must be below high: got low {low}, expected less than {high}. Exchange or widen the bounds."
        )
    name = str(dtype or "int64").rsplit(".", 1)[-1]
    if name in COMPLEX:
        raise errors.OperationError(
            f"[{op}] dtype not supported: got {name}, expected a real type. Cast afterwards."
        )
    lowest, beyond = WHOLE_RANGE.get(name, (low, high))
    if low < lowest or high > beyond:
        raise errors.OperationError(
            f"[{op}] bounds: got {low} to {high - 1}, expected what fits into {name}: {lowest} to {beyond - 1}. "
            "Narrow them or take a wider dtype."
        )


def _randint(
    low: int, high: int, size: Any, generator: Any, dtype: Any, device: Any, op: str = "randint"
) -> Any:
    _check_range(op, low, high, dtype)
    size, span = ints(size), high - low
    if span <= 2**31:
        bits = ops.to(ops.random_bits(size, generator=generator, device=device), _engine.int64)
        found = ops.floor_divide(bits * span, 2**32) + low
    else:
        pairs = ops.random_bits((*size, 2), generator=generator, device=device)
        found = (ops.remainder(_whole(pairs), span) if span <= 2**62 else _modulo(pairs, span)) + low
    return found if dtype in (None, _engine.int64) else ops.to(found, dtype)


def _randint_oracle(low: int, high: int, size: Any, generator: Any, dtype: str = "int64") -> Any:
    span, count = high - low, _count(size)
    if span <= 2**31:
        values = [low + (w * span >> 32) for w in words(generator.seed, count)]
    else:
        w = words(generator.seed, 2 * count)
        pairs = [(w[2 * i], w[2 * i + 1]) for i in range(count)]
        values = [
            low + ((a // 2 * 2**31 + b // 2) % span if span <= 2**62 else (a * 2**32 + b) % span)
            for a, b in pairs
        ]
    return np.array(values, dtype=numpy_dtype(dtype)).reshape(size)


def _ranges(draw: Draw) -> list[Sample]:
    rows: list[tuple[int, int, tuple[int, ...]]] = [
        (0, 10, (5,)),
        (-3, 4, (3, 4)),
        (0, 1, ()),
        (0, 2**31, (6,)),
        (0, 2, (0,)),
        (-(2**31), 2**31 - 1, (2, 3)),
        (-(2**63), 2**63 - 1, (5,)),
        (-5, 3 * 2**61, (1, 2, 1, 2, 3)),
    ]
    return [
        sample(*fits(draw.dtype, low, high), size, generator=Seed(i), dtype=draw.dtype)
        for i, (low, high, size) in enumerate(rows)
    ]


INTEGER = "size: int[], *, generator: Generator? = None, dtype: dtype? = None, device: device? = None"
randint = op(
    f"randint(low: int, high: int, {INTEGER}) -> Tensor",
    family=RANDOM,
    function=_randint,
    differentiable=False,
    dtypes=(*INTEGERS, *REALS, *BOOLEAN),
    tolerance="exact",
    samples=lambda draw: _ranges(draw),
    oracle=_randint_oracle,
    doc="Whole numbers in [low, high).",
    example="tenora.randint(0, 10, (3,))",
    out=True,
)
randint_high = op(
    f"randint_high(high: int, {INTEGER}) -> Tensor",
    family=RANDOM,
    function=lambda high, size, generator, dtype, device: _randint(0, high, size, generator, dtype, device),
    differentiable=False,
    dtypes=("int64", "int32", "uint8", "float32"),
    tolerance="exact",
    samples=lambda draw: [
        sample(high, size, generator=Seed(i), dtype=draw.dtype)
        for i, (high, size) in enumerate(
            [(10, (5,)), (3, (3, 4)), (1, ()), (100, (6,)), (2, (0,)), (7, (2, 2))]
        )
    ],
    oracle=lambda high, size, generator, dtype: _randint_oracle(0, high, size, generator, dtype),
    doc="Whole numbers in [0, high).",
    example="tenora.randint(10, (3,))",
    public="randint",
    out=True,
)


random_order = op(
    "random_order(input: Tensor) -> Tensor",
    family=Family("sort", "index", "", "plain", lambda draw: [], ("uint32",)),
    shape=lambda operands, attributes: operands[0][0][:1],
    function=lambda input: ops.argsort(_whole(input), 0, False, True),
    differentiable=False,
    samples=lambda draw: [
        sample(draw.rng.integers(0, high, (n, 2), dtype=np.uint32))
        for n, high in ((5, 2**32), (0, 2), (1, 9), (40, 4), (700, 2**32), (300, 6))
    ],
    oracle=lambda x: np.array(
        sorted(range(len(x)), key=lambda i: int(x[i, 0]) // 2 * 2**31 + int(x[i, 1]) // 2), dtype=np.int64
    ),
    doc="The stable order of rows of two words by their high 31 bits: randperm of random words.",
    example="tenora.randperm(5)",
    public="",
)


#: How many whole numbers from 0 on a floating type tells apart; bfloat16 repeats them beyond, as in PyTorch.
DISTINCT = {"float16": 2**11 + 1, "float32": 2**24 + 1, "float64": 2**53 + 1}


def _randperm(n: int, generator: Any, dtype: Any, device: Any) -> Any:
    if n < 0:
        raise errors.OperationError(
            f"[randperm] n must not be negative: got {n}, expected 0 or more. Pass a count."
        )
    if n:
        _check_range("randperm", 0, n, dtype)
    most = DISTINCT.get(str(dtype).rsplit(".", 1)[-1], n)
    if n > most:
        raise errors.OperationError(
            f"[randperm] n: got {n}, expected at most {most}, as {dtype} has no more whole numbers in a row. Take a "
            "wider dtype."
        )
    order = ops.random_order(ops.random_bits((n, 2), generator=generator, device=device))
    return order if dtype in (None, _engine.int64) else ops.to(order, dtype)


def _randperm_oracle(n: int, generator: Any, dtype: str = "int64") -> Any:
    w = words(generator.seed, 2 * n)
    keys = [w[2 * i] // 2 * 2**31 + w[2 * i + 1] // 2 for i in range(n)]
    return np.array(sorted(range(n), key=keys.__getitem__), dtype=numpy_dtype(dtype))


randperm = op(
    "randperm(n: int, *, generator: Generator? = None, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=RANDOM,
    function=_randperm,
    differentiable=False,
    dtypes=(*INTEGERS, *REALS),
    tolerance="exact",
    samples=lambda draw: [sample(n, generator=Seed(n), dtype=draw.dtype) for n in (5, 0, 1, 17, 64, 2)],
    oracle=_randperm_oracle,
    doc="The numbers 0 to n - 1 in random order.",
    example="tenora.randperm(5)",
    out=True,
)


def _uniform_like(input: Any, low: float, to: float, generator: Any) -> Any:
    if not low <= to:
        raise errors.OperationError(
            f"[uniform_] bounds: got from {low} to {to}, expected from <= to. Swap them."
        )
    _check_floating("uniform_", input.dtype, complex_too=True)
    found = _uniform(input.shape, input.dtype, generator, input.device)
    return found * (to - low) + (complex(low, low) if input.dtype in PARTS else low)


uniform = op(
    "uniform(input: Tensor, low: float = 0.0, to: float = 1.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_uniform_like,
    differentiable=False,
    shape_only=("input",),
    dtypes=FLOATING,
    samples=lambda draw: [sample(draw.array(*s), 1.0, 3.0, generator=Seed(i)) for i, s in enumerate(SHAPES)],
    oracle=lambda x, low, to, generator: (
        np.array(uniforms(generator.seed, x.size, _name(x))).reshape(x.shape) * (to - low) + _both(x, low)
    ),
    doc="Uniform numbers in [low, to), of the shape of input: the functional form of uniform_.",
    example="tenora.zeros(3).uniform_(-1, 1)",
    public="",
    inplace=True,
)


def _name(x: Any) -> str:
    """Oracles are told float64; the drawn dtype travels in the array's metadata."""
    return str((x.dtype.metadata or {}).get("drawn", x.dtype.name))


def _both(x: Any, number: float) -> Any:
    """A bound or a mean of either part."""
    return complex(number, number) if x.dtype.kind == "c" else number


def _normal_like(input: Any, mean: float, std: float, generator: Any) -> Any:
    if not std >= 0:
        raise errors.OperationError(
            f"[normal_] std: got {std}, expected a number that is not negative. Take its absolute value."
        )
    _check_floating("normal_", input.dtype, complex_too=True)
    found = _randn(input.shape, generator, unrounded(input.dtype), input.device)
    found = found * std + (complex(mean, mean) if input.dtype in PARTS else mean)
    return found if found.dtype == input.dtype else ops.to(found, input.dtype)


normal = op(
    "normal(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_normal_like,
    differentiable=False,
    shape_only=("input",),
    dtypes=FLOATING,
    samples=lambda draw: [sample(draw.array(*s), 1.0, 2.0, generator=Seed(i)) for i, s in enumerate(SHAPES)],
    oracle=lambda x, mean, std, generator: (
        np.array(normals(generator.seed, x.size, _name(x))).reshape(x.shape) * std + _both(x, mean)
    ),
    doc="Normal numbers, of the shape of input: the functional form of normal_.",
    example="tenora.zeros(3).normal_()",
    tolerance="few_ulp",
    public="",
    inplace=True,
)


def check_probabilities(op: str, p: Any) -> None:
    if bool(ops.any(ops.logical_not(ops.logical_and(ops.ge(p, 0), ops.le(p, 1))))):
        raise errors.OperationError(
            f"[{op}] p is no probability: got elements outside 0 to 1, expected none. Clamp them."
        )


def level(drawn: Any, *parameters: Any) -> Any:
    """The drawn numbers, of derivative 0 by the tensors among the parameters of their distribution, as in PyTorch."""
    for parameter in parameters:
        if is_number(parameter) or not parameter.requires_grad:
            continue
        if drawn.dtype.is_floating_point or drawn.dtype.is_complex:
            never = ops.full((), False, dtype=_engine.bool, device=drawn.device)
            drawn = ops.where(never, ops.to(parameter, drawn.dtype), drawn)
    return drawn


def _bernoulli(input: Any, generator: Any) -> Any:
    check_probabilities("bernoulli", input)
    below = ops.lt(_uniform(input.shape, _engine.float32, generator, input.device), input)
    return level(ops.to(below, input.dtype), input)


bernoulli = op(
    "bernoulli(input: Tensor, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_bernoulli,
    differentiable=False,
    dtypes=REALS,
    domain=UNIT,
    tolerance="exact",
    samples=lambda draw: [sample(draw.array(*s), generator=Seed(i)) for i, s in enumerate(SHAPES)],
    oracle=lambda p, generator: np.array(
        [
            u < q
            for u, q in zip(uniforms(generator.seed, p.size, "float32"), p.reshape(-1).tolist(), strict=True)
        ],
        dtype=float,
    ).reshape(p.shape),
    doc="1 with the probability that input states, else 0.",
    example="tenora.bernoulli(tenora.full((3,), 0.5))",
    method=True,
    out=True,
)


def _bernoulli_like(input: Any, p: float, generator: Any) -> Any:
    if not 0 <= p <= 1:
        raise errors.OperationError(f"[bernoulli_] p: got {p}, expected a probability from 0 to 1. Clamp it.")
    if input.dtype.is_complex:
        raise errors.OperationError(
            f"[bernoulli_] dtype not supported: got {input.dtype}, expected a real type. Cast it."
        )
    return ops.to(ops.lt(_uniform(input.shape, _engine.float32, generator, input.device), p), input.dtype)


bernoulli_p = op(
    "bernoulli_p(input: Tensor, p: float = 0.5, *, generator: Generator? = None) -> Tensor",
    family=RANDOM,
    function=_bernoulli_like,
    differentiable=False,
    shape_only=("input",),
    dtypes=(*INTEGERS, *REALS, *BOOLEAN),
    tolerance="exact",
    samples=lambda draw: [sample(draw.array(*s), 0.3, generator=Seed(i)) for i, s in enumerate(SHAPES)],
    oracle=lambda x, p, generator: np.array(
        [u < float(np.float32(p)) for u in uniforms(generator.seed, x.size, "float32")], dtype=x.dtype
    ).reshape(x.shape),
    doc="1 with probability p, else 0, of the shape of input.",
    example="tenora.zeros(3).bernoulli_(0.5)",
    public="bernoulli",
    method=True,
    inplace="bernoulli_",
)


def _dropout(x: Any, p: Any, training: bool) -> Any:
    if not training:
        return x
    bits = ops.random_bits(x.shape, device=x.device)
    chance = ops.to(ops.floor_divide(bits, 2**8), _engine.float32) * 2.0**-24
    # A quotient: 0 over the least number of float16 is 0, where a factor beyond it would be inf and 0 times it NaN.
    return ops.where(ops.ge(chance, p), x / max_number(1.0 - p, 2.0**-24), x * 0)  # NaN stays NaN


def _certain(draw: Draw) -> list[Sample]:
    """Samples that no drawn number changes."""
    return [
        *[sample(draw.array(*s), p, False) for s, p in (((5,), 0.5), ((3, 4), 0.1), ((), 0.5), ((0,), 0.5))],
        sample(draw.array(3, 4), 0.0, True),
        sample(draw.array(3, 4), 1.0, True),
    ]


dropout = op(
    "dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor",
    no_differences="each call in training draws anew",
    family=RANDOM,
    composite=_dropout,
    samples=_certain,
    gradient_samples=_certain,
    oracle=lambda x, p, training: x * 0 if training and p == 1 else x,
    doc="Elements zeroed with probability p, the others scaled by 1 / (1 - p) (Srivastava et al. 2014).",
    example="tenora.nn.functional.dropout(tenora.ones(4), 0.5)",
    public="nn.functional.dropout",
)
