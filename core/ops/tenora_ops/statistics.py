"""Sums and means without NaN, moments in pairs, covariances."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
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


# ---- without NaN ----
def sums(draw: Draw) -> Iterable[Sample]:
    """The usual reductions, one with a dtype, and rows with NaN."""
    found = [*reductions(draw), sample(draw.array(3, 4), 0, dtype="float64")]
    if draw.dtype in ("float16", "float32", "float64"):  # NumPy finds no NaN equal to NaN in bfloat16
        x = np.array([[1.0, math.nan, 2.0], [math.nan, math.nan, 0.5], [math.nan] * 3])
        found += [sample(x.astype(draw.array().dtype), 1), sample(x.astype(draw.array().dtype))]
    return found


def plain_sums(draw: Draw) -> Iterable[Sample]:
    """A NaN that moves stays one, so that differences see what no gradient goes to."""
    x = draw.array(3, 4)
    x[[0, 0, 2], [1, 3, 0]] = math.nan
    return [*reductions(draw), sample(x, 1), sample(x, (0, 1), True)]


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
    gradient_samples=lambda draw: [s for s in plain_sums(draw) if s.arguments[0].size],
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
