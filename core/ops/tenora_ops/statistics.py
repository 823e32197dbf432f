"""Sums and means without NaN, moments in pairs, covariances, histograms."""

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
from tenora_ops.oracles import exact_mean, exact_sum, reduced, variance
from tenora_ops.record import op
from tenora_ops.reduce import SUM, corrections, of_all
from tenora_ops.samples import (
    ORDERED,
    REALS,
    Domain,
    Draw,
    Sample,
    reductions,
    sample,
)
from tenora_ops.search import _search


# ---- without NaN ----
def sums(draw: Draw) -> Iterable[Sample]:
    """The usual reductions, one with a dtype, and rows with NaN."""
    found = [*reductions(draw), sample(draw.array(3, 4), 0, dtype="float64")]
    if draw.dtype in ("float16", "float32", "float64"):  # NumPy finds no NaN equal to NaN in bfloat16
        x = np.array([[1.0, math.nan, 2.0], [math.nan, math.nan, 0.5], [math.nan] * 3])
        found += [sample(x.astype(draw.array().dtype), 1), sample(x.astype(draw.array().dtype))]
    return found


def plain_sums(draw: Draw) -> Iterable[Sample]:
    return reductions(draw)


def _present(x: Any) -> Any:
    return ops.where(ops.isnan(x), 0, x)


def _masked_gradient(g: Any, x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    g = g if dtype is None else ops.to(g, x.dtype)
    return ops.unreduce(g, x, dim, keepdim) * ops.logical_not(ops.isnan(x))


def _numbers(row: Any) -> Any:
    return row[~np.isnan(row)] if row.dtype.kind == "f" else row


nansum = op(
    "nansum(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    family=SUM,
    dtype="sum_as_given",
    dtypes=ORDERED,
    samples=sums,
    gradient_samples=plain_sums,
    composite=lambda x, dim, keepdim, dtype: ops.sum(_present(x), dim, keepdim, dtype=dtype),
    vjp=lambda g, x, r, dim, keepdim, dtype: _masked_gradient(g, x, dim, keepdim, dtype),
    oracle=lambda x, dim=None, keepdim=False, dtype=None: reduced(
        lambda row: exact_sum(_numbers(row)), x.astype(np.int64) if x.dtype == bool else x, dim, keepdim
    ),
    doc="Sum of the elements that are not NaN.",
    example="tenora.nansum(tenora.tensor([1.0, float('nan'), 2.0]))",
    method=True,
    out=True,
)


def _nanmean(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    total = ops.sum(_present(x), dim, keepdim, dtype=dtype)
    return total / ops.sum(ops.logical_not(ops.isnan(x)), dim, keepdim)


nanmean = op(
    "nanmean(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    family=SUM,
    dtype="mean",
    dtypes=REALS,
    samples=sums,
    gradient_samples=lambda draw: [s for s in reductions(draw) if s.arguments[0].size],
    composite=_nanmean,
    vjp=lambda g, x, r, dim, keepdim, dtype: _masked_gradient(
        g / ops.sum(ops.logical_not(ops.isnan(x)), dim, keepdim), x, dim, keepdim, dtype
    ),
    oracle=lambda x, dim=None, keepdim=False, dtype=None: reduced(
        lambda row: exact_mean(_numbers(row)), x, dim, keepdim
    ),
    doc="Mean of the elements that are not NaN; NaN of nothing.",
    example="tenora.nanmean(tenora.tensor([1.0, float('nan'), 2.0]))",
    method=True,
    out=True,
)

# ---- two at once ----
aminmax = op(
    "aminmax(input: Tensor, *, dim: int? = None, keepdim: bool = False) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=ORDERED,
    domain=Domain(distinct=True, gap=0.05),
    composite=lambda x, dim, keepdim: (ops.amin(x, dim, keepdim), ops.amax(x, dim, keepdim)),
    samples=lambda draw: [
        sample(draw.array(7)),
        sample(draw.array(3, 4), dim=0),
        sample(draw.array(3, 4), dim=-1, keepdim=True),
        sample(draw.array(2, 3, 2, 2), dim=1),
        sample(draw.array(1, 2, 1, 3, 2), dim=3),
        sample(draw.array()),
    ],
    tolerance="exact",
    oracle=lambda x, dim=None, keepdim=False: tuple(
        reduced(lambda row, best=best: best(row.tolist()), x, dim, keepdim).astype(x.dtype)
        for best in (min, max)
    ),
    doc="The smallest and the largest elements; NaN wins.",
    example="tenora.aminmax(tenora.tensor([3, 1, 2]))",
    method=True,
    result=("min", "max"),
    out=True,
)


def _moments(x: Any, dim: Any, keepdim: bool, correction: Any, root: bool) -> Any:
    spread = reduced(lambda row: variance(row, correction), x, dim, keepdim)
    return np.sqrt(spread) if root else spread, reduced(exact_mean, x, dim, keepdim)


def _with_mean(spread: Any, x: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    return spread(x, dim, correction=correction, keepdim=keepdim), ops.mean(x, dim, keepdim)


CORRECTED = "input: Tensor, dim: int[]? = None, *, correction: real? = 1.0, keepdim: bool = False"
UNBIASED = "input: Tensor, dim: int[]? = None, unbiased: bool = True, keepdim: bool = False"


def unbiased(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3, 4), 0, False),
        sample(draw.array(3, 4), (-1,), True, True),
        sample(draw.array(2, 3, 4), (0, 2), False),
        sample(draw.array(1, 2, 3, 3, 2), 3, True),
        sample(draw.array(60), unbiased=False),
        sample(draw.array(7), 0, True, True),
    ]


var_mean = op(
    f"var_mean({CORRECTED}) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=corrections,
    composite=lambda x, dim, correction, keepdim: _with_mean(ops.var, x, dim, correction, keepdim),
    tolerance="statistics",
    oracle=lambda x, dim=None, correction=1, keepdim=False: _moments(x, dim, keepdim, correction, False),
    doc="var and mean.",
    example="tenora.var_mean(tenora.tensor([1.0, 2.0, 4.0]))",
    out=True,
)
var_mean_unbiased = op(
    f"var_mean_unbiased({UNBIASED}) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=unbiased,
    composite=lambda x, dim, unbiased, keepdim: _with_mean(
        ops.var, x, dim, 1.0 if unbiased else 0.0, keepdim
    ),
    tolerance="statistics",
    oracle=lambda x, dim=None, unbiased=True, keepdim=False: _moments(x, dim, keepdim, int(unbiased), False),
    doc="var_mean with correction 1 or 0.",
    example="tenora.var_mean(tenora.tensor([1.0, 2.0, 4.0]), 0, False)",
    public="var_mean",
    out=True,
)
var_mean_of_all = op(
    "var_mean_of_all(input: Tensor, unbiased: bool) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=of_all,
    composite=lambda x, unbiased: _with_mean(ops.var, x, None, 1.0 if unbiased else 0.0, False),
    tolerance="statistics",
    oracle=lambda x, unbiased: _moments(x, None, False, int(unbiased), False),
    doc="var_mean of all elements with correction 1 or 0.",
    example="tenora.var_mean(tenora.tensor([1.0, 2.0, 4.0]), False)",
    public="var_mean",
    out=True,
)
std_mean = op(
    f"std_mean({CORRECTED}) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=corrections,
    composite=lambda x, dim, correction, keepdim: _with_mean(ops.std, x, dim, correction, keepdim),
    tolerance="statistics",
    oracle=lambda x, dim=None, correction=1, keepdim=False: _moments(x, dim, keepdim, correction, True),
    doc="std and mean.",
    example="tenora.std_mean(tenora.tensor([1.0, 2.0, 4.0]))",
    out=True,
)
std_mean_unbiased = op(
    f"std_mean_unbiased({UNBIASED}) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=unbiased,
    composite=lambda x, dim, unbiased, keepdim: _with_mean(
        ops.std, x, dim, 1.0 if unbiased else 0.0, keepdim
    ),
    tolerance="statistics",
    oracle=lambda x, dim=None, unbiased=True, keepdim=False: _moments(x, dim, keepdim, int(unbiased), True),
    doc="std_mean with correction 1 or 0.",
    example="tenora.std_mean(tenora.tensor([1.0, 2.0, 4.0]), 0, False)",
    public="std_mean",
    out=True,
)
std_mean_of_all = op(
    "std_mean_of_all(input: Tensor, unbiased: bool) -> (Tensor, Tensor)",
    family=COMPOSITE,
    dtypes=REALS,
    samples=of_all,
    composite=lambda x, unbiased: _with_mean(ops.std, x, None, 1.0 if unbiased else 0.0, False),
    tolerance="statistics",
    oracle=lambda x, unbiased: _moments(x, None, False, int(unbiased), True),
    doc="std_mean of all elements with correction 1 or 0.",
    example="tenora.std_mean(tenora.tensor([1.0, 2.0, 4.0]), False)",
    public="std_mean",
    out=True,
)


# ---- covariances ----
def _cov(input: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if input.ndim > 2:
        raise errors.OperationError(
            f"[cov] too many dimensions: got {input.ndim}, expected at most 2. Reshape it to a matrix."
        )
    wanted = (input.shape[0] if input.ndim == 2 else 1, input.shape[-1] if input.ndim else 1)
    rows = ops.reshape(input, wanted)  # (variables, observations)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        rows = ops.to(rows, _engine.default_dtype())
    weights = _weights(rows, fweights, aweights)
    total: Any = rows.shape[1] if weights is None else ops.sum(weights)
    mean = ops.mean(rows, 1, True) if weights is None else ops.sum(rows * weights, 1, True) / total
    factor: Any = total - correction
    if aweights is not None:
        factor = total - correction * ops.sum(weights * aweights) / total
    centred = rows - mean
    scaled = centred if weights is None else centred * weights
    product = ops.matmul(scaled, ops.conj(ops.transpose(centred, 0, 1)))
    norm = max(factor, 0) if isinstance(factor, int) else ops.clamp(factor, 0, None)
    found = product / norm
    return found if rows.shape[0] != 1 else ops.reshape(found, ())


def _weights(rows: Any, fweights: Any, aweights: Any) -> Any:
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None and tuple(weights.shape) != (rows.shape[1],):
            raise errors.OperationError(
                f"[cov] {name} do not fit: got {tuple(weights.shape)}, expected one per observation, "
                f"({rows.shape[1]},). Check the orientation."
            )
        if weights is not None and weights.dtype.is_floating_point is (name == "fweights"):
            expected = "whole numbers" if name == "fweights" else "a floating dtype"
            raise errors.OperationError(f"[cov] {name}: got {weights.dtype}, expected {expected}. Cast them.")
        if weights is not None and bool(ops.any(ops.lt(weights, 0))):
            raise errors.OperationError(
                f"[cov] {name}: got one below 0, expected 0 or more. Check the weights."
            )
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def _covariance(x: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    rows = np.atleast_2d(np.asarray(x, dtype=complex if np.iscomplexobj(x) else float))
    f = np.ones(rows.shape[1]) if fweights is None else fweights
    a = np.ones(rows.shape[1]) if aweights is None else aweights
    total = math.fsum(f * a)
    factor = total - correction * math.fsum(f * a * a) / total
    centred = rows - ((rows * (f * a)).sum(1) / total)[:, None]
    found = (centred * (f * a)) @ centred.conj().T / factor
    return found if len(found) != 1 else found.reshape(())


def observations(draw: Draw) -> Iterable[Sample]:
    counts, shares = draw.rng.integers(1, 4, 4), draw.rng.uniform(0.5, 1.5, 4)
    shares = shares.astype(draw.array().real.dtype)
    return [
        sample(draw.array(3, 4)),
        sample(draw.array(5)),
        sample(draw.array(2, 6), correction=0),
        sample(draw.array(3, 4), fweights=counts),
        sample(draw.array(3, 4), aweights=shares),
        sample(draw.array(3, 4), correction=0, fweights=counts, aweights=shares),
        sample(draw.array(1, 3)),
    ]


cov = op(
    "cov(input: Tensor, *, correction: int = 1, fweights: Tensor? = None, aweights: Tensor? = None) -> Tensor",
    family=COMPOSITE,
    dtypes=("float32", "float64", "complex64", "complex128"),
    function=_cov,
    samples=observations,
    tolerance="statistics",
    oracle=_covariance,
    doc="Covariances of the rows of a matrix, observations in columns, counted (fweights) or weighted (aweights).",
    example="tenora.cov(tenora.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))",
    method=True,
)


def _corrcoef(input: Any) -> Any:
    found = _cov(input, 1, None, None)
    if not found.ndim:
        return found / found
    root = ops.sqrt(ops.real(ops.diagonal(found)) if found.dtype.is_complex else ops.diagonal(found))
    found = found / ops.unsqueeze(root, 1) / ops.unsqueeze(root, 0)
    if not found.dtype.is_complex:
        return ops.clamp(found, -1, 1)
    return ops.complex(ops.clamp(ops.real(found), -1, 1), ops.clamp(ops.imag(found), -1, 1))


def _correlation(x: Any) -> Any:
    found = _covariance(x)
    if not found.ndim:
        return found / found
    root = np.sqrt(np.diagonal(found).real)
    return found / root[:, None] / root[None, :]


corrcoef = op(
    "corrcoef(input: Tensor) -> Tensor",
    family=COMPOSITE,
    dtypes=("float32", "float64"),
    function=_corrcoef,
    samples=lambda draw: [sample(draw.array(*s)) for s in ((3, 4), (5,), (2, 6), (1, 3), (4, 9), (2, 3))],
    gradient_samples=lambda draw: [sample(draw.array(3, 4)), sample(draw.array(2, 6))],
    tolerance="statistics",
    oracle=_correlation,
    doc="Correlation coefficients of the rows of a matrix, cov over the product of standard deviations.",
    example="tenora.corrcoef(tenora.tensor([[0.0, 1.0, 2.0], [2.0, 1.5, 0.0]]))",
    method=True,
)


# ---- histograms ----
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


def _histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
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
        if range is not None and range[0] == range[1]:
            range = (range[0] - 0.5, range[1] + 0.5)
        lowest, highest = range or (0.0, 0.0)
        low, high = _range("histogram", flat, lowest, highest, room=0.5 if flat.numel() else 0.0)
        edges = ops.to(
            ops.linspace(low, high, bins + 1, dtype=_engine.float64, device=input.device), input.dtype
        )
    else:
        if range is not None:
            raise errors.ArgumentTypeError(
                f"[histogram] range does not fit: got {range} with edges as bins, expected a number of bins. "
                "Leave it out."
            )
        edges = bins
    if edges.ndim != 1 or edges.shape[0] < 2:
        raise errors.OperationError(
            f"[histogram] bins: got a tensor of shape {tuple(edges.shape)}, expected a vector of at least two edges. "
            "Pass one."
        )
    last = edges.shape[0] - 1
    places = _search(edges, flat, True) - 1
    places = ops.where(ops.eq(flat, ops.select(edges, 0, last)), last - 1, places)
    inside = ops.logical_and(ops.ge(places, 0), ops.lt(places, last))
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
    "histogram(input: Tensor, bins: Tensor | Scalar, *, range: int[]? = None, weight: Tensor? = None, "
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


def _edges_of(x: Any, bins: Any, bounds: Any) -> Any:
    """The edges of one dim: given, or `bins` equal parts of its bounds."""
    if isinstance(bins, Tensor):
        return bins
    low, high = _range("histogramdd", x, *(bounds or (0.0, 0.0)))
    return ops.to(ops.linspace(low, high, bins + 1, dtype=_engine.float64, device=x.device), x.dtype)


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
    edges = [_edges_of(c, b, r) for c, b, r in zip(columns, each_bins, bounds, strict=True)]
    place = ops.full((rows.shape[0],), 0, dtype=_engine.int64, device=input.device)
    inside = ops.full_like(place, True, dtype=_engine.bool)
    for column, edge in zip(columns, edges, strict=True):
        last = edge.shape[0] - 1
        here = ops.sub(_search(edge, column, True), 1)
        here = ops.where(ops.eq(column, ops.select(edge, 0, last)), last - 1, here)
        inside = ops.logical_and(inside, ops.logical_and(ops.ge(here, 0), ops.lt(here, last)))
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
