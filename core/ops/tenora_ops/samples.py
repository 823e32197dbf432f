"""Sample inputs: small generators that a record names, and the arrays they draw.

- A sample is one call: positional arguments (NumPy arrays, lists of arrays, numbers) and options. Layouts (strided,
  transposed, negative step, ...) are made from it by the harness: a sample is only values.
- Every draw comes from one seeded generator, so a sample is the same in every run and on every backend.
- Shapes run from 0-d to 5-d, with empty and broadcast ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tenora_ops.lazy import ml_dtypes, np

BOOLEAN = ("bool",)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = UNSIGNED + SIGNED
HALVES = ("float16", "bfloat16")
REALS = HALVES + ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATING = REALS + COMPLEX
NUMBERS = INTEGERS + FLOATING
ALL = BOOLEAN + NUMBERS
#: Everything but complex numbers.
ORDERED = BOOLEAN + INTEGERS + REALS
#: Numbers at the edges of a dtype for which a record's oracle knows the answer, from most to fewest.
EDGES = {
    "all": "zeros of either sign, subnormal, huge and infinite numbers, NaN, the ends of whole dtypes",
    "limited": "all but finite numbers beyond the root of the largest, whose products overflow on the way to a result",
    "cancels": "those of limited, each result judged by the largest of its operands, as terms of that size cancel",
    "ordinary": "zeros, infinities, NaN and what lies between 1e-5 and 20, of either sign",
    "numbers": "all but NaN, which the oracle loses",
    "nonzero": "all but the zero of whole dtypes, by which they are not divided",
    "finite": "zeros and what lies between 1e-5 and 20, of either sign",
    "positive": "what lies between 1e-5 and 20",
    "none": "the record's own samples alone, in their shapes",
}
#: What matmul is tried with: half types, reals, complex and two integer types.
PRODUCTS = ("int32", "int64") + FLOATING

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (5,),
    (3, 4),
    (2, 1, 3),
    (2, 3, 2, 2),
    (1, 2, 1, 3, 2),
    (0,),
    (2, 0, 3),
)
PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5,), (5,)),
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((1, 2, 1, 3, 2), (2, 4, 1, 1)),
    ((0,), (1,)),
    ((2, 0, 3), (3,)),
    ((), ()),
)
#: The pairs for ops of which a case is dear.
FEW_PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5,), (5,)),
    ((3, 4), (4,)),
    ((), ()),
    ((0,), (1,)),
    ((2, 3, 2, 2), (2,)),
    ((1, 2, 1, 3, 2), (3, 1)),
)


@dataclass(frozen=True, slots=True)
class Domain:
    """Where an op is defined, and what finite differences must stay away from.

    `avoid`: points (kinks, poles) from which floating inputs keep `gap`; `distinct`: no two elements nearer than
    `gap`, for ops that order their input.
    """

    low: float = -4.0
    high: float = 4.0
    avoid: tuple[float, ...] = ()
    gap: float = 0.1
    distinct: bool = False


EVERYWHERE = Domain()
POSITIVE = Domain(0.05, 4.0)
NONZERO = Domain(avoid=(0.0,))
UNIT = Domain(0.0, 1.0)
DISTINCT = Domain(distinct=True, gap=0.05)


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an op."""

    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = [_show(a) for a in self.arguments] + [f"{k}={_show(v)}" for k, v in self.options.items()]
        return ", ".join(shown)


@dataclass(frozen=True, slots=True)
class Seed:
    """Stands for a fresh generator in a sample."""

    seed: int


def _show(value: Any) -> str:
    if isinstance(value, list | tuple) and any(hasattr(v, "dtype") for v in value):
        return "[" + ", ".join(map(_show, value)) + "]"
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else repr(value)


def sample(*arguments: Any, **options: Any) -> Sample:
    """A sample; NumPy's scalars, which arithmetic on 0-d arrays gives, become arrays again."""
    return Sample(tuple(map(_array, arguments)), {k: _array(v) for k, v in options.items()})


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype of a tenora dtype name; bfloat16 comes from ml_dtypes."""
    if name == "bfloat16":
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Draw:
    """Draws arrays of one dtype inside one domain."""

    def __init__(self, dtype: str, domain: Domain = EVERYWHERE, seed: str = "") -> None:
        self.dtype = dtype
        self.domain = domain
        self.rng = np.random.default_rng(zlib.crc32(f"{seed}:{dtype}".encode()))

    @property
    def is_float(self) -> bool:
        return self.dtype in REALS

    @property
    def is_complex(self) -> bool:
        return self.dtype in COMPLEX

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    def array(self, *shape: int, dtype: str | None = None, domain: Domain | None = None) -> Any:
        """An array of the given shape, of this draw's dtype unless another is named."""
        kind = dtype or self.dtype
        values = self._values(shape, kind, domain or self.domain)
        return np.ascontiguousarray(np.asarray(values).astype(numpy_dtype(kind))).reshape(shape)

    def _values(self, shape: tuple[int, ...], kind: str, domain: Domain) -> Any:
        if kind == "bool":
            return self.rng.integers(0, 2, shape)
        if kind in INTEGERS:
            low = max(int(np.ceil(domain.low)), 0) if kind in UNSIGNED else int(np.ceil(domain.low))
            values = self.rng.integers(low, int(np.floor(domain.high)) + 1, shape)
            return np.where(np.isin(values, domain.avoid), max(1, low), values) if domain.avoid else values
        if kind in COMPLEX:
            return self._reals(shape, domain) + 1j * self._reals(shape, domain)
        return self._reals(shape, domain)

    def _reals(self, shape: tuple[int, ...], domain: Domain) -> Any:
        if domain.distinct:
            count = int(np.prod(shape, dtype=int))
            step = max(domain.gap, (domain.high - domain.low) / max(count, 1) * 0.9)
            return (domain.low + step * self.rng.permutation(count)).reshape(shape)
        values = self.rng.uniform(domain.low, domain.high, shape)
        for point in domain.avoid:
            near = np.abs(values - point) < domain.gap
            values = np.where(
                near, point + np.where(values < point, -1, 1) * (domain.gap + np.abs(values - point)), values
            )
        return values

    def indices(self, size: int, *shape: int, dtype: str = "int64") -> Any:
        """Integers in [0, size)."""
        return self.rng.integers(0, max(size, 1), shape).astype(dtype)

    def mask(self, *shape: int) -> Any:
        return self.rng.integers(0, 2, shape).astype(bool)


Samples = Callable[[Draw], Iterable[Sample]]


def unary(draw: Draw) -> Iterable[Sample]:
    """Every shape once."""
    return [sample(draw.array(*shape)) for shape in SHAPES]


def binary(draw: Draw) -> Iterable[Sample]:
    """Equal and broadcast shapes; a Python number on either side."""
    pairs = [sample(draw.array(*a), draw.array(*b)) for a, b in PAIRS]
    return [*pairs, sample(draw.array(2, 3), 2), sample(3, draw.array(2, 3))]


def reductions(draw: Draw) -> Iterable[Sample]:
    """All dims, one, several, negative, kept; 0-d and empty."""
    return [
        sample(draw.array(7)),
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), 0),
        sample(draw.array(3, 4), -1, True),
        sample(draw.array(2, 3, 4), (0, 2)),
        sample(draw.array(2, 3, 2, 2), (1, -1), keepdim=True),
        sample(draw.array(1, 2, 1, 3, 2), 3),
        sample(draw.array()),
        sample(draw.array(2, 0, 3), 0),
        sample(draw.array(300), 0),
    ]


def named_reductions(draw: Draw) -> Iterable[Sample]:
    """Those of a sum, and of no dims, which leaves every element by itself."""
    return [*reductions(draw), sample(draw.array(3, 4), ()), sample(draw.array(3, 4), (), True)]


def nonempty_reductions(draw: Draw) -> Iterable[Sample]:
    """Those of `reductions` whose reduced part has elements."""
    return [s for s in reductions(draw) if s.arguments[0].size]


def one_dim(draw: Draw) -> Iterable[Sample]:
    """A tensor and one dim."""
    shapes = ((5,), (3, 4), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    return [sample(draw.array(*shape), dim) for shape in shapes for dim in (0, -1)] + [
        sample(draw.array(), 0)
    ]


def one_dim_or_all(draw: Draw) -> Iterable[Sample]:
    """A tensor and one dim or none, kept or not."""
    more = ((), (1, True), (None, True))
    return [*one_dim(draw), *(sample(draw.array(3, 4), *arguments) for arguments in more)]


def some_zeros(draw: Draw) -> Any:
    """Rows and columns with no zero, one, and two."""
    array = draw.array(3, 5)
    array[[1, 2, 2], [2, 1, 3]] = 0
    array[1, 3] = 0
    return array


def dims(draw: Draw) -> Iterable[Sample]:
    """A tensor and one dim, which may be empty, or longer than a vector register."""
    longer = [sample(draw.array(0, 3), 1), sample(draw.array(3, 0), 1), sample(draw.array(2, 70), 1)]
    return [*one_dim(draw), *longer]


def products(draw: Draw) -> Iterable[Sample]:
    """Every rank combination of matmul, an empty contraction, broadcast batches."""
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (5, 3, 2)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((17, 33), (33, 9)),
    ]
    return [sample(draw.array(*a), draw.array(*b)) for a, b in shapes]
