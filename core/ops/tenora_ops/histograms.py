"""Histograms: of one range, of edges, of a grid of boxes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.checks import need_rank
from tenora_ops.families import COMPOSITE
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample
from tenora_ops.search import _search


def _range(op: str, input: Any, low: float, high: float, room: float = 1.0) -> tuple[float, float]:
    """The bounds, those of the data where both are equal; `room` on both sides of equal data, 0 to 1 without any."""
    if low == high and input.numel():
        low, high = float(ops.amin(input)), float(ops.amax(input))
    if low == high:
        low, high = low - room, high + (room or 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise errors.OperationError(
            f"[{op}] range is not finite: got {low} to {high}, expected numbers. Pass min and max."
        )
    if low > high:
        raise errors.OperationError(
            f"[{op}] max is below min: got {low} to {high}, expected min <= max. Swap them."
        )
    return low, high


def _totals(places: Any, inside: Any, weights: Any, bins: int) -> Any:
    empty = ops.full((bins + 1,), 0, dtype=weights.dtype, device=places.device)
    places = ops.where(inside, places, bins)
    return ops.clone(ops.narrow(ops.scatter_add(empty, 0, places, weights), 0, 0, bins))


def _histc(input: Any, bins: int, min: Any, max: Any) -> Any:
    if bins <= 0:
        raise errors.OperationError(f"[histc] bins: got {bins}, expected 1 or more. Ask for one bin or more.")
    if not input.dtype.is_floating_point:
        raise errors.OperationError(
            f"[histc] dtype not supported: got {input.dtype}, expected a floating type. Cast it first."
        )
    low, high = _range("histc", input.detach(), float(min), float(max))
    flat = ops.reshape(input.detach(), (-1,))
    inside = ops.logical_and(ops.ge(flat, low), ops.le(flat, high))
    share = (ops.where(inside, flat, low) - low) * bins / (high - low)
    places = ops.clamp(ops.to(share, _engine.int64), 0, bins - 1)
    return _totals(places, inside, ops.full_like(flat, 1), bins)


def _binned(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    values = np.ravel(x).tolist()
    if min == max and values:
        min, max = np.min(x), np.max(x)
    if min == max:
        min, max = min - 1, max + 1
    out = np.zeros(bins)
    for v in values:
        if min <= v <= max:
            out[int(np.minimum(math.floor((v - min) * bins / (max - min)), bins - 1))] += 1
    return out


histc = op(
    "histc(input: Tensor, bins: int = 100, min: real = 0, max: real = 0) -> Tensor",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    function=_histc,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.array(9), 4),
        sample(draw.array(3, 4), 3, -2, 2),
        sample(draw.array(2, 3, 2), 5, -1, 1.5),
        sample(draw.array(), 3),
        sample(draw.array(0), 3),
        sample(draw.array(2, 3, 2, 2)),
        sample(np.array([0.0, 1.0, 2.0, 3.0]).astype(draw.array().dtype), 3, 0, 3),
    ],
    tolerance="exact",
    oracle=_binned,
    doc="How many elements are in each of `bins` equal bins from min to max; of the data where both are equal.",
    example="tenora.histc(tenora.tensor([1.0, 2.0, 1.0]), 4, 0, 3)",
    method=True,
    out=True,
)


def _need_edges(op: str, edges: Any, dtype: Any) -> None:
    if edges.ndim != 1 or edges.shape[0] < 2:
        raise errors.OperationError(
            f"[{op}] bins: got edges of shape {tuple(edges.shape)}, expected a vector of at least two. Pass one."
        )
    if edges.dtype != dtype:
        raise errors.OperationError(
            f"[{op}] bins: got edges of {edges.dtype}, expected {dtype} like input. Cast them."
        )


def _need_weight(op: str, weight: Any, given: tuple[int, ...], wanted: tuple[int, ...], dtype: Any) -> None:
    """A weight for each point, in the dtype of the points."""
    if weight is not None and (given != wanted or weight.dtype != dtype):
        raise errors.OperationError(
            f"[{op}] weight does not fit: got {weight.dtype} of shape {tuple(weight.shape)}, expected {dtype} with one "
            f"weight for each point, {list(wanted)}. Reshape or cast it."
        )


def _bins_of(edges: Any, x: Any) -> tuple[Any, Any]:
    """The bin of each number, and whether it has one: whether it lies between the first edge and the last.

    Edges out of order are searched as they are, as in PyTorch: if the first is above the last, nothing is counted.
    """
    last = edges.shape[0] - 1
    places = _search(edges, x, True) - 1
    places = ops.where(ops.eq(places, last), last - 1, places)
    between = ops.logical_and(ops.ge(x, ops.select(edges, 0, 0)), ops.le(x, ops.select(edges, 0, last)))
    return places, ops.logical_and(between, ops.ge(places, 0))


def _edges_of(op: str, x: Any, bins: Any, bounds: Any) -> Any:
    """The edges of one dim: given, or `bins` equal parts of its bounds."""
    if isinstance(bins, Tensor):
        return bins
    if not isinstance(bins, int):
        raise errors.ArgumentTypeError(
            f"[{op}] bins: got {bins!r}, expected a whole number of bins or a tensor of edges. Pass one."
        )
    low, high = bounds or (0.0, 0.0)
    if bounds and low == high:
        low, high = low - 0.5, high + 0.5
    low, high = _range(op, x, low, high, room=0.5 if x.numel() else 0.0)
    return ops.to(ops.linspace(low, high, bins + 1, dtype=_engine.float64, device=x.device), x.dtype)


def _histogram(
    input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    flat = ops.reshape(input.detach(), (-1,))
    if isinstance(bins, int):
        if range is not None and (not isinstance(range, list | tuple) or len(range) != 2):
            raise errors.OperationError(
                f"[histogram] range: got {range}, expected two numbers. Pass (min, max)."
            )
        if bins <= 0:
            raise errors.OperationError(
                f"[histogram] bins: got {bins}, expected 1 or more. Ask for one bin or more."
            )
    elif range is not None:
        raise errors.ArgumentTypeError(
            f"[histogram] range does not fit: got {range} with edges as bins, expected a number of bins. "
            "Leave it out."
        )
    edges = _edges_of("histogram", flat, bins, range)
    _need_edges("histogram", edges, input.dtype)
    given = () if weight is None else (weight.numel(),)
    _need_weight("histogram", weight, given, (flat.numel(),), input.dtype)
    last = edges.shape[0] - 1
    places, inside = _bins_of(edges, flat)
    weights = ops.full_like(flat, 1) if weight is None else ops.reshape(weight, (-1,))
    counts = _totals(places, inside, weights, last)
    if density:
        widths = ops.sub(ops.narrow(edges, 0, 1, last), ops.narrow(edges, 0, 0, last))
        counts = counts / (widths * ops.sum(counts))
    return counts, edges


def _counts_between(x: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    hist, edges = np.histogram(
        np.ravel(x), bins, range, weights=None if weight is None else np.ravel(weight), density=density
    )
    return hist.astype(float), np.asarray(edges, dtype=float)


histogram = op(
    "histogram(input: Tensor, bins: Tensor | Scalar = 100, *, range: int[]? = None, weight: Tensor? = None, "
    "density: bool = False) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    python=_histogram,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.array(9), 4),
        sample(draw.array(3, 4), 3, range=(-2, 2)),
        sample(draw.array(2, 3, 2), np.array([-3.0, -1.0, 0.5, 2.0]).astype(draw.array().dtype)),
        sample(draw.array(2, 3), 3, density=True),
        sample(draw.array(2, 3), 2, weight=np.abs(draw.array(2, 3)), range=(-5, 5)),
        sample(draw.array(2, 3, 2, 2), 5),
    ],
    tolerance="reduction",
    oracle=_counts_between,
    doc="How many elements are between each two edges (or the weight of them), and the edges.",
    example="tenora.histogram(tenora.tensor([1.0, 2.0, 1.0]), 4, range=(0, 3)).hist",
    result=("hist", "bin_edges"),
    method=True,
)


def _histogramdd(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> tuple[Any, Any]:
    need_rank("histogramdd", input, 2)
    dims = input.shape[-1]
    if range is not None and (not isinstance(range, list | tuple) or len(range) != 2 * dims):
        raise errors.OperationError(
            f"[histogramdd] range: got {range}, expected {2 * dims} numbers. Pass a pair per dim."
        )
    rows = ops.flatten(input.detach(), 0, -2)  # (elements, dims)
    columns = [ops.clone(ops.select(rows, 1, d)) for d in builtins.range(dims)]
    each_bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each_bins) != dims:
        raise errors.OperationError(
            f"[histogramdd] bins: got {len(each_bins)} for {dims} dims, expected one for each."
            " Pass one number or tensor per dim."
        )
    bounds = [range[2 * d : 2 * d + 2] if range else None for d in builtins.range(dims)]
    edges = [_edges_of("histogramdd", c, b, r) for c, b, r in zip(columns, each_bins, bounds, strict=True)]
    for edge in edges:
        _need_edges("histogramdd", edge, input.dtype)
    given = () if weight is None else tuple(weight.shape)
    _need_weight("histogramdd", weight, given, tuple(input.shape[:-1]), input.dtype)
    place = ops.full((rows.shape[0],), 0, dtype=_engine.int64, device=input.device)
    inside = ops.full_like(place, dims > 0, dtype=_engine.bool)  # points without coordinates are nowhere
    for column, edge in zip(columns, edges, strict=True):
        last = edge.shape[0] - 1
        here, between = _bins_of(edge, column)
        inside = ops.logical_and(inside, between)
        place = place * last + here
    shape = [edge.shape[0] - 1 for edge in edges]
    weights = ops.full((rows.shape[0],), 1, dtype=input.dtype, device=input.device)
    counts = _totals(
        place, inside, weights if weight is None else ops.reshape(weight, (-1,)), math.prod(shape)
    )
    counts = ops.reshape(counts, shape)
    if density:
        counts = counts / ops.sum(counts)
        for d, edge in enumerate(edges):
            widths = ops.diff(edge)
            counts = counts / ops.reshape(widths, [-1 if e == d else 1 for e in builtins.range(dims)])
    return counts, tuple(edges)


def _counts_in_boxes(x: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    pairs = [tuple(range[2 * d : 2 * d + 2]) for d in np.arange(x.shape[-1])] if range else None
    hist, edges = np.histogramdd(
        rows, bins, pairs, weights=None if weight is None else np.ravel(weight), density=density
    )
    return hist.astype(float), tuple(np.asarray(edge, dtype=float) for edge in edges)


def boxes(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(9, 2), 3),
        sample(draw.array(2, 5, 2), [2, 3]),
        sample(draw.array(9, 1), [4], range=(-2.0, 2.0)),
        sample(draw.array(7, 3), [2, 2, 2], density=True),
        sample(draw.array(6, 2), [2, 2], weight=np.abs(draw.array(6))),
        sample(draw.array(6, 2), 2, range=(-5.0, 5.0, -1.0, 1.0)),
    ]


histogramdd = op(
    "histogramdd(input: Tensor, bins: int[], *, range: int[]? = None, weight: Tensor? = None, "
    "density: bool = False) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    python=_histogramdd,
    differentiable=False,
    samples=boxes,
    tolerance="reduction",
    oracle=_counts_in_boxes,
    doc="How many rows of input are in each box of a grid (or the weight of them), and the edges of each dim.",
    example="tenora.histogramdd(tenora.ones(4, 2), [2, 2]).hist",
    result=("hist", "bin_edges"),
)
