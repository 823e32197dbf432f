"""Hypothesis strategies for the ops that read and write by indices and masks, and what each means, told in loops.

A call is `Call(arguments, options)`, with arrays and numbers as NumPy has them. `STRATEGIES[name]` draws calls that are
right; `ORACLES[name]` answers to them. Where the order of writes would matter, places are named once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from index_cases import filled, generator, narrowed, shapes

import tenora_ops
from tenora_ops.tolerance import TOLERANCES


@dataclass(frozen=True)
class Call:
    """The arguments of one call; `dim` and `index` are at places 1 and 2 of the ops that have them."""

    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        told = [
            f"{a.dtype}{list(a.shape)} {a.tolist()}" if hasattr(a, "shape") else repr(a)
            for a in self.arguments
        ]
        return f"({', '.join(told)}, {self.options})"


def close(name: str, found: Any, expected: Any) -> None:
    """Within the tolerance of the op's record."""
    finite = np.abs(expected[np.isfinite(expected)])
    tolerance = TOLERANCES[tenora_ops.record(name).tolerance]
    rtol, atol = tolerance.bounds(expected.dtype.name, float(finite.max()) if finite.size else 0.0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@st.composite
def with_dim(draw: Any, low: int = 1, high: int = 4) -> tuple[tuple[int, ...], int]:
    shape = draw(shapes(low, high))
    return shape, draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))


@st.composite
def reads(draw: Any, dtype: str) -> Call:
    """gather: indices of another shape, no larger outside dim."""
    shape, dim = draw(with_dim())
    size = shape[dim]
    sizes = [draw(st.integers(0, n)) for n in shape]
    sizes[dim] = draw(st.integers(0, 5)) if size else 0
    index = generator(draw).integers(0, max(size, 1), sizes)
    return Call((filled(shape, dtype), dim, index))


@st.composite
def writes(draw: Any, dtype: str, repeated: bool, source: bool = True) -> Call:
    """scatter: a source of at least the shape of the index; places named once unless `repeated`."""
    shape, dim = draw(with_dim())
    size = shape[dim]
    sizes = [draw(st.integers(0, n)) for n in shape]
    rng = generator(draw)
    if repeated:
        sizes[dim] = draw(st.integers(0, 5)) if size else 0
        index = rng.integers(0, max(size, 1), sizes)
    else:
        index = np.argsort(
            rng.random([size if d == dim % len(shape) else n for d, n in enumerate(sizes)]), dim
        )
        index = np.take(index, range(sizes[dim]), dim)
    if not source:
        return Call((filled(shape, dtype), dim, index, draw(st.sampled_from([0, 1]))))
    src = filled(tuple(n + draw(st.integers(0, 1)) for n in sizes), dtype, seed=1)
    return Call((filled(shape, dtype), dim, index, src))


@st.composite
def reducing(draw: Any, dtype: str) -> Call:
    call = draw(writes(dtype, True))
    reduce = draw(
        st.sampled_from(["sum", "prod", "amax", "amin"] + (["mean"] if dtype.startswith("f") else []))
    )
    return Call((*call.arguments, reduce), {"include_self": draw(st.booleans())})


@st.composite
def rows(draw: Any, dtype: str, what: str) -> Call:
    """index_select, index_add, index_copy, index_fill: a vector of indices of one dim."""
    shape, dim = draw(with_dim(0 if what == "select" else 1))
    size = shape[dim] if shape else 1
    rng = generator(draw)
    if what == "copy":
        index = rng.permutation(size)[: draw(st.integers(0, size))]
    else:
        index = rng.integers(0, max(size, 1), draw(st.integers(0, 5)) if size and shape else size)
    index = index.astype(
        draw(st.sampled_from(["int64", "int32"] if what in ("select", "add") else ["int64"]))
    )
    x = filled(shape, dtype)
    if what == "select":
        return Call((x, dim, index))
    if what == "fill":
        return Call((x, dim, index, draw(st.sampled_from([0, 1]))))
    source = filled(
        tuple(len(index) if d == dim % len(shape) else n for d, n in enumerate(shape)), dtype, seed=1
    )
    alpha = {"alpha": draw(st.sampled_from([1, 2]))} if what == "add" and draw(st.booleans()) else {}
    return Call((x, dim, index, source), alpha)


@st.composite
def flat(draw: Any, dtype: str, what: str) -> Call:
    """take and put: places of the flattened input, negative ones included."""
    shape = draw(shapes())
    size = int(np.prod(shape, dtype=int))
    rng = generator(draw)
    target = draw(shapes(0, 2)) if size else (0,)
    count = int(np.prod(target, dtype=int))
    accumulate = what == "put" and draw(st.booleans())
    if what == "put" and not accumulate:
        count = min(count, size)
        target = (count,)
        index = rng.permutation(size)[:count] - (size if draw(st.booleans()) else 0)
    else:
        index = rng.integers(-size, max(size, 1), target)
    if what == "take":
        return Call((filled(shape, dtype), np.asarray(index).reshape(target)))
    source = filled(target, dtype, seed=1)
    return Call((filled(shape, dtype), np.asarray(index).reshape(target), source), {"accumulate": accumulate})


@st.composite
def along(draw: Any, dtype: str) -> Call:
    """take_along_dim: the other dims broadcast."""
    shape, dim = draw(with_dim())
    size = shape[dim]
    other = [n if draw(st.integers(0, 3)) else 1 for n in shape]
    other[dim] = draw(st.integers(0, 4)) if size else 0
    x = filled(
        tuple(n if d == dim % len(shape) or draw(st.integers(0, 3)) else 1 for d, n in enumerate(shape)),
        dtype,
    )
    index = generator(draw).integers(0, max(size, 1), other)
    if draw(st.integers(0, 4)) == 0 and x.size:
        return Call((x, generator(draw).integers(0, x.size, other)))
    return Call((x, index, dim))


@st.composite
def masked(draw: Any, dtype: str, what: str) -> Call:
    """masked_fill, masked_select, masked_scatter: mask and input broadcast."""
    shape = draw(shapes())
    mask = generator(draw).random(narrowed(draw, shape)) > 0.5
    wide = what == "select" and draw(st.booleans())
    x = filled(narrowed(draw, shape) if wide else shape, dtype)
    if what == "select":
        return Call((x, np.asarray(mask)))
    if what == "fill":
        value = draw(st.sampled_from([0, 1, "0-d"]))
        return Call((x, np.asarray(mask), filled((), dtype, seed=1) if value == "0-d" else value))
    count = int(np.broadcast_to(mask, shape).sum())
    return Call((x, np.asarray(mask), filled((count + draw(st.integers(0, 2)),), dtype, seed=1)))


@st.composite
def nonzeros(draw: Any, dtype: str) -> Call:
    shape = draw(shapes())
    values = np.asarray(filled(shape, dtype) * (generator(draw).random(shape) > 0.5))
    return Call((values.astype(dtype),))


@st.composite
def wheres(draw: Any, dtype: str) -> Call:
    shape = draw(shapes())
    condition = np.asarray(generator(draw).random(narrowed(draw, shape)) > 0.5)
    return Call(
        (condition, filled(narrowed(draw, shape), dtype), filled(narrowed(draw, shape), dtype, seed=1))
    )


STRATEGIES: dict[str, Callable[[str], Any]] = {
    "gather": reads,
    "scatter": lambda dtype: writes(dtype, False) | writes(dtype, False, source=False),
    "scatter_add": lambda dtype: writes(dtype, True),
    "scatter_reduce": reducing,
    "index_select": lambda dtype: rows(dtype, "select"),
    "index_add": lambda dtype: rows(dtype, "add"),
    "index_copy": lambda dtype: rows(dtype, "copy"),
    "index_fill": lambda dtype: rows(dtype, "fill"),
    "take": lambda dtype: flat(dtype, "take"),
    "put": lambda dtype: flat(dtype, "put"),
    "take_along_dim": along,
    "masked_fill": lambda dtype: masked(dtype, "fill"),
    "masked_select": lambda dtype: masked(dtype, "select"),
    "masked_scatter": lambda dtype: masked(dtype, "scatter"),
    "nonzero": nonzeros,
    "where": wheres,
}


# ---- what they mean ------------------------------------------------------------------------------------------------
def gather(x: Any, dim: int, index: Any) -> Any:
    out = np.empty(index.shape, x.dtype)
    for place in np.ndindex(*index.shape):
        source = list(place)
        source[dim] = index[place]
        out[place] = x[tuple(source)]
    return out


def scatter(x: Any, dim: int, index: Any, src: Any, reduce: str = "", include_self: bool = True) -> Any:
    out = x.copy()
    found: dict[tuple[int, ...], list[Any]] = {}
    for place in np.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        found.setdefault(tuple(target), []).append(src[place] if isinstance(src, np.ndarray) else src)
    for where, values in found.items():
        if not reduce:
            (out[where],) = values
            continue
        every = np.array(([out[where]] if include_self else []) + values, dtype=x.dtype)
        reduced = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min, "mean": np.mean}[reduce](
            every
        )
        out[where] = np.asarray(reduced).astype(x.dtype)
    return out


def index_rows(what: str) -> Callable[..., Any]:
    def run(x: Any, dim: int, index: Any, value: Any = None, alpha: Any = 1) -> Any:
        if what == "select":
            return np.take(x, index, dim) if x.ndim else x.copy()
        out = x.copy()
        moved = np.moveaxis(out, dim, 0)
        for number, row in enumerate(index):
            if what == "add":
                moved[row] += (np.moveaxis(value, dim, 0)[number] * alpha).astype(x.dtype)
            else:
                moved[row] = value if what == "fill" else np.moveaxis(value, dim, 0)[number]
        return out

    return run


def put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    out = x.reshape(-1).copy()
    for place, value in zip(index.reshape(-1), source.reshape(-1), strict=True):
        out[place] = out[place] + value if accumulate else value
    return out.reshape(x.shape)


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    out, values = x.copy(), iter(source.reshape(-1))
    wide = np.broadcast_to(mask, x.shape)
    for place in np.ndindex(*x.shape):
        if wide[place]:
            out[place] = next(values)
    return out


def masked_select(x: Any, mask: Any) -> Any:
    a, b = np.broadcast_arrays(x, mask)
    return a[b]


def take_along(x: Any, index: Any, dim: int | None = None) -> Any:
    if dim is None:
        return x.reshape(-1)[index.reshape(-1)]
    wide = list(
        np.broadcast_shapes(
            *[[1 if d == dim % x.ndim else n for d, n in enumerate(a.shape)] for a in (x, index)]
        )
    )
    a, b = ([t.shape[dim] if d == dim % x.ndim else n for d, n in enumerate(wide)] for t in (x, index))
    return np.take_along_axis(np.broadcast_to(x, a), np.broadcast_to(index, b), dim)


ORACLES: dict[str, Callable[..., Any]] = {
    "gather": gather,
    "scatter": scatter,
    "scatter_add": lambda x, dim, index, src: scatter(x, dim, index, src, "sum"),
    "scatter_reduce": scatter,
    "index_select": index_rows("select"),
    "index_add": index_rows("add"),
    "index_copy": index_rows("copy"),
    "index_fill": index_rows("fill"),
    "take": lambda x, index: x.reshape(-1)[index] if x.size else np.empty(index.shape, x.dtype),
    "put": put,
    "take_along_dim": take_along,
    "masked_fill": lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
    "masked_select": masked_select,
    "masked_scatter": masked_scatter,
    "nonzero": lambda x: np.argwhere(x),
    "where": np.where,
}
