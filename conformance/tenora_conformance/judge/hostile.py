"""Samples at the edges, made from the records' own: nothing is written by hand for an op.

- *Edges*: every combination of zeros of both signs, subnormal, tiny, huge and infinite numbers, NaN, the ends of a
  whole dtype, in each place of a pointwise form.
- *Rows with* NaN, infinities, signed zeros or the dtype's ends, in the place of a sample's own arrays, for ops that
  read along a dim.
- *Shapes*: rank 0 to 8, size 1, nothing. *Memory*: stride 0, one tensor in two places.
- *Long*: sums and products of thousands of terms, whose tolerance grows with their number.
- What an oracle is not meant for is stated by its record (`edges`), never here.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import tenora
import tenora_ops
from tenora_conformance.judge.calls import samples_of
from tenora_conformance.judge.layouts import LAYOUT_BOUND, LAYOUTS, Layout
from tenora_conformance.judge.pointwise import (
    arrays_of,
    filled,
    is_plain,
    pointwise_forms,
    vectors,
)
from tenora_ops.record import Record
from tenora_ops.samples import BOOLEAN, COMPLEX, FLOATING, INTEGERS, Draw, Sample, numpy_dtype
from tenora_ops.tolerance import TINY

#: Forms of a record that are tried in each dtype.
FORMS = 4
#: Elements of one sample of edges; beyond, the rows are shortened.
MOST = 2000
RANKS = range(9)
SHAPES: dict[str, tuple[int, ...]] = {
    **{f"rank{rank}": tuple((1, 2, 1, 1, 3, 1, 2, 1)[:rank]) for rank in RANKS},
    "size1": (1, 1),
    "empty": (2, 0, 3),
}
#: Shape rules of ops that read along a dim, or contract two.
READING = frozenset(
    "reduce reduce_nonempty reduce_named argreduce moments scan sort topk dim_same matmul mm bmm mv dot addmm baddbmm"
    " linear norm".split()
)
FAMILIES = frozenset(("reduce", "scan", "order", "sort"))
#: Shape and dim of long samples; a scan's are shorter, as its oracle sums each prefix anew.
LINES: tuple[tuple[tuple[int, ...], int], ...] = (((10_000,), 0), ((10_000, 4), 0), ((3, 5_000), 1))
PREFIXES: tuple[tuple[tuple[int, ...], int], ...] = (((1_200,), 0), ((1_000, 2), 0), ((2, 900), 1))
#: Shapes of matrices that are multiplied, larger than the blocks of a fast kernel; and larger ones, for float32.
BLOCKS = ((70, 512), (512, 65))
SQUARES = ((512, 512), (512, 64))


def _stride_zero(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The first dim repeats what lies under it."""
    return tuple(0 if d == 0 else math.prod(shape[d + 1 :]) for d in range(len(shape)))


STRIDE_ZERO = Layout("broadcast", _stride_zero)


@dataclass(frozen=True)
class Hostile:
    """One call at an edge; `terms` are summed in each element of its result.

    `make` draws its sample when somebody runs it: a list of all cases needs names only.
    """

    kind: str
    number: str
    make: Callable[[], Sample]
    layout: Layout = LAYOUTS["contiguous"]
    alias: bool = False
    terms: int = 1

    @functools.cached_property
    def sample(self) -> Sample:
        with np.errstate(all="ignore"):
            return self.make()


def edges(dtype: str, count: int) -> np.ndarray:
    """The row of a dtype; a short one where `count` operands are combined."""
    if dtype in BOOLEAN:
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        values = [0, 1, 2, 7, info.max]
        values += [] if count > 2 else [3, info.bits - 1, info.bits, 100, info.max - 1]
        if info.min:
            values += [-1, -3, info.min, *([] if count > 2 else [-2, -7, -100, info.min + 1])]
        return np.array(values, object).astype(dtype)
    limits = tenora.finfo(getattr(tenora, dtype))
    huge = 1e300 if dtype == "float64" else 1e30
    reals = [0.0, TINY[dtype], 1e-5, 1.0, 3.0, float(limits.max), np.inf]
    if count <= 2:
        normal = float(limits.smallest_normal)
        reals += [normal / 4, normal, 1 / huge, 0.5, 1.5, 2.0, 20.0, 1e5, huge]
    with np.errstate(over="ignore"):
        row = np.array([*reals, *(-v for v in reals), np.nan]).astype(numpy_dtype(dtype))
    _, first = np.unique(row.view(f"u{row.itemsize}"), return_index=True)  # half types round some to others
    return np.asarray(row[np.sort(first)])


KNOWN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all": lambda row: row,
    "limited": lambda row: _limited(row),
    "cancels": lambda row: _limited(row),
    "ordinary": lambda row: row[_small(row) | ~np.isfinite(row)],
    "numbers": lambda row: row[row == row],
    "nonzero": lambda row: row if row.dtype.name in FLOATING else row[row != 0],
    "finite": lambda row: row[_small(row)],
    "positive": lambda row: row[_small(row) & (row > 0)],
}


def _limited(row: np.ndarray) -> np.ndarray:
    """Without finite numbers whose square is none."""
    if row.dtype.name not in FLOATING:
        return row
    largest = float(tenora.finfo(getattr(tenora, row.dtype.name)).max)
    return np.asarray(row[~np.isfinite(row) | (abs(row) <= largest**0.5)])


def _small(row: np.ndarray) -> np.ndarray:
    """Zeros, and what lies between 1e-5 and 20."""
    return np.asarray((row == 0) | ((abs(row) >= 1e-5) & (abs(row) <= 20)))


def known_edges(record: Record, dtype: str, count: int) -> np.ndarray:
    """Those for which a record's oracle has an answer."""
    with np.errstate(invalid="ignore"):
        row = edges(dtype, count)
        return row if dtype in BOOLEAN else KNOWN[record.edges](row)


def _combined(record: Record, sample: Sample) -> Sample:
    """Every combination of the edges of a form's operands."""
    given = arrays_of(sample)
    rows = [known_edges(record, a.dtype.name, len(given)) for a in given]
    while math.prod(map(len, rows)) > MOST:
        longest = max(range(len(rows)), key=lambda i: len(rows[i]))
        rows[longest] = rows[longest][::2]
    grid = np.meshgrid(*rows, indexing="ij")
    return filled(sample, [np.ascontiguousarray(g.reshape(-1)) for g in grid])


def _edge_samples(record: Record, dtype: str) -> Iterator[Hostile]:
    if dtype in COMPLEX or record.edges == "none":
        return  # there is no agreement on the infinities of complex numbers
    for number, form in enumerate(pointwise_forms(record.name, dtype)[:FORMS]):
        if not any(a.dtype.name in COMPLEX for a in arrays_of(form)):
            yield Hostile(
                "edges",
                str(number),
                functools.partial(_combined, record, form),
                LAYOUTS["strided" if number % 2 else "contiguous"],
            )


def _draws(name: str, of: str, dtype: str, every: int) -> bool:
    """Whether a thinned kind is tried in this dtype: one in `every`, and always in float32."""
    return dtype == "float32" or zlib.crc32(f"{name}:{of}:{dtype}".encode()) % every == 0


def _shaped(record: Record, dtype: str) -> Iterator[Hostile]:
    """The first form in every rank, with single elements, with none."""
    if record.edges == "none":
        return
    for number, form in enumerate(pointwise_forms(record.name, dtype)[:1]):
        for kind in SHAPES:
            if _draws(record.name, kind, dtype, 4):
                yield Hostile(kind, str(number), functools.partial(_in_shape, record, dtype, form, kind))


def _in_shape(record: Record, dtype: str, form: Sample, kind: str) -> Sample:
    """The form with vectors of its domain, in the shape of a name."""
    shape = SHAPES[kind]
    given = vectors(record, dtype, form, math.prod(shape), kind)
    return filled(form, [v.reshape(shape) for v in given])


def _repeated(record: Record, dtype: str) -> Iterator[Hostile]:
    """Samples whose arrays repeat along their first dim, without memory for it."""
    if (
        record.tolerance in ("factorised", "statistics")
        or record.domain.distinct
        or record.dtypes == BOOLEAN
        or record.kind == "python"
    ):
        return  # equal rows make singular matrices, variances of zero, and ties; a mask's count is an argument
    if record.name in LAYOUT_BOUND:
        return
    found = 0
    for number, sample in enumerate(samples_of(record.name, dtype)):
        if is_plain(sample) and any(a.ndim and a.shape[0] > 1 and a.size for a in arrays_of(sample)):
            yield Hostile("broadcast", str(number), functools.partial(_repeating, sample), STRIDE_ZERO)
            found += 1
            if found == 2:
                return


def _repeating(sample: Sample) -> Sample:
    return filled(sample, [_repeat(a) for a in arrays_of(sample)])


def _repeat(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(array[:1], array.shape)) if array.ndim else array


def _aliased(record: Record, dtype: str) -> Iterator[Hostile]:
    """Samples whose equal operands are one tensor."""
    if (
        record.edges == "none"
        or record.tolerance in ("factorised", "statistics")
        or (dtype in INTEGERS and not pointwise_forms(record.name, dtype))
    ):
        return  # singular matrices, variances of zero; indices are no values
    for number, sample in enumerate(samples_of(record.name, dtype)):
        arrays = arrays_of(sample)
        if not is_plain(sample) or len(arrays) < 2 or not arrays[0].size:
            continue
        first = arrays[0]
        same = [first if (a.shape, a.dtype) == (first.shape, first.dtype) else a for a in arrays]
        if sum(a is first for a in same) > 1:
            yield Hostile("aliased", str(number), functools.partial(filled, sample, same), alias=True)
            return


def reads_along(record: Record) -> bool:
    """Whether a record reads several elements for one of its result's."""
    return record.shape in READING or record.family.name in FAMILIES


#: What a row is filled with, by what the oracle knows.
KINDS = {
    "all": ("nan", "infinite", "zeros"),
    "limited": ("nan", "infinite", "zeros"),
    "numbers": ("infinite", "zeros"),
    "nonzero": ("nan", "infinite"),
}


def _put(array: np.ndarray, rng: np.random.Generator, values: list[float]) -> np.ndarray:
    """Some elements of an array, replaced."""
    found = array.copy()
    flat = found.reshape(-1)
    places = rng.permutation(flat.size)[: max(1, min(len(values), flat.size // 2))]
    flat[places] = np.array(values[: len(places)], array.dtype)
    return found


def _filled_with(kind: str, array: np.ndarray, rng: np.random.Generator, unique: bool) -> np.ndarray:
    """An array with some of its elements at an edge; none of them equal where that would be a tie."""
    name = array.dtype.name
    if not array.size or name in BOOLEAN:
        return array
    if name in INTEGERS:
        info = np.iinfo(name)
        return _put(array, rng, [info.max] if unique else [info.max, info.min]) if kind == "ends" else array
    if name in COMPLEX or kind == "ends" or (unique and kind == "zeros"):
        return array
    tiny = TINY[name]
    return _put(
        array, rng, {"nan": [np.nan], "infinite": [np.inf, -np.inf], "zeros": [-0.0, 0.0, tiny, -tiny]}[kind]
    )


def _rows(record: Record, dtype: str) -> Iterator[Hostile]:
    if not reads_along(record) or dtype in COMPLEX or record.edges == "none":
        return
    plain = [
        (i, s) for i, s in enumerate(samples_of(record.name, dtype)) if is_plain(s) and arrays_of(s)[0].size
    ]
    kinds = ("ends",) if dtype in INTEGERS else KINDS.get(record.edges, ())
    for turn, kind in enumerate(kinds):
        for number, sample in plain[turn::3][:2]:
            rng = np.random.default_rng(zlib.crc32(f"{record.name}:{dtype}:{kind}:{number}".encode()))
            arrays = [
                _filled_with(kind, a, rng, record.domain.distinct) if a.dtype.name == dtype else a
                for a in arrays_of(sample)
            ]
            if any(a is not b for a, b in zip(arrays, arrays_of(sample), strict=True)):
                yield Hostile(kind, str(number), functools.partial(filled, sample, arrays))


def _long(record: Record, dtype: str) -> Iterator[Hostile]:
    """Thousands of terms: of both signs where several are summed, of one sign where there is one sum."""
    draw = Draw(dtype, record.domain, f"long:{record.name}")
    layouts = (LAYOUTS["contiguous"], LAYOUTS["transposed"], LAYOUTS["strided"])
    turn = record.dtypes.index(dtype)
    if record.shape in ("reduce", "reduce_nonempty", "reduce_named", "scan") and record.tolerance != "exact":
        form = next((s for s in samples_of(record.name, dtype) if is_plain(s)), None)
        if form is None or len(arrays_of(form)) > 1:
            return
        for number, (shape, dim) in enumerate(PREFIXES if record.shape == "scan" else LINES):
            values = draw.array(*shape)
            if dtype in FLOATING:
                values = (values / np.abs(values).max()).astype(values.dtype)  # products stay finite
            one = np.abs(values) if values.ndim == 1 and dtype not in COMPLEX else values
            layout = layouts[(number + turn) % len(layouts)]
            yield Hostile(
                "long", str(number), functools.partial(Sample, (one, dim)), layout, terms=shape[dim]
            )
    if record.shape in ("matmul", "mm"):
        for number, shapes in enumerate(
            (BLOCKS, SQUARES) if (dtype, record.shape) == ("float32", "mm") else (BLOCKS,)
        ):
            given = tuple(draw.array(*shape) for shape in shapes)
            yield Hostile(
                "long",
                str(number),
                functools.partial(Sample, given),
                layouts[turn % len(layouts)],
                terms=shapes[0][1],
            )


@functools.lru_cache(maxsize=64)
def hostile_samples(name: str, dtype: str) -> dict[str, Hostile]:
    """All of a record in a dtype, by `kind/number`, in a stable order."""
    record = tenora_ops.record(name)
    found: dict[str, Hostile] = {}
    if record.random or record.tolerance == "unspecified":
        return found
    with np.errstate(all="ignore"):
        for make in (_edge_samples, _shaped, _repeated, _aliased, _rows, _long):
            for made in make(record, dtype):
                found[f"{made.kind}/{made.number}"] = made
    return found
