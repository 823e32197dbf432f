"""Norms of vectors: sums of powers of magnitudes, their extremes and counts.

- `norm` looks at p, which a Program cannot, and hands on: each case is an op with its own gradient.
- The gradient at zero is 0, the subgradient that PyTorch takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_ops.families import COMPOSITE
from tenora_ops.formula import conj, is_complex, ops
from tenora_ops.halves import rounds_once
from tenora_ops.lazy import decompositions, np
from tenora_ops.oracles import reduced
from tenora_ops.record import Family, op
from tenora_ops.samples import FLOATING, HALVES, REALS, Domain, Draw, Sample, reductions, sample

NORM = Family(
    "norm", "float_real", "reduce", "plain", reductions, FLOATING, Domain(0.2, 2.0), tolerance="normalised"
)


def _power_mean(row: Any, p: Any) -> float:
    """One vector's norm, by definition."""
    sizes = [abs(v) for v in row.tolist()]
    if p == 0:
        return float(len([v for v in sizes if v]))
    if abs(p) == math.inf:
        return float(max(sizes) if p > 0 else min(sizes))
    return float(math.fsum(v**p for v in sizes) ** (1 / p))


def _squares(x: Any) -> Any:
    return ops.real(x * conj(x)) if is_complex(x) else x * x


def _two_gradient(g: Any, x: Any, r: Any, dim: Any, keepdim: bool) -> Any:
    """x g / r, and 0 where the norm is 0."""
    zero = ops.eq(r, 0)
    scale = ops.where(zero, 0, g / ops.where(zero, 1, r))
    return x * ops.unreduce(scale, x, dim, keepdim)


def _far(draw: Draw) -> list[Sample]:
    """Numbers whose squares float32, then float64, cannot hold."""
    scale = {"float64": 1e200, "float32": 1e30, "complex128": 1e200, "complex64": 1e30}.get(draw.dtype)
    if scale is None:
        return []
    rows = draw.array(3, 40)
    return [sample((rows * s).astype(rows.dtype), -1) for s in (scale / 1e20, 1e10 / scale)]


norm_two = op(
    "norm_two(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=NORM,
    composite=lambda x, dim, keepdim: ops.sqrt(ops.sum(_squares(x), dim, keepdim)),
    vjp=_two_gradient,
    oracle=lambda x, dim=None, keepdim=False: reduced(lambda row: _power_mean(row, 2), x, dim, keepdim),
    doc="Square root of the sum of squared magnitudes.",
    example="tenora.norm(tenora.tensor([3.0, 4.0]))",
    display="norm",
    public="",
)


def _scaled_two(x: Any, dim: Any, keepdim: bool) -> Any:
    """The largest magnitude is taken out, so that nothing overflows."""
    size = ops.abs(x)
    largest = ops.softmax_shift(size, dim, True)
    usable = ops.logical_and(ops.gt(largest, 0), ops.lt(largest, math.inf))
    scale = ops.where(usable, largest, 1.0)
    share = size / scale
    return ops.sqrt(ops.sum(share * share, dim, keepdim)) * ops.softmax_shift(scale, dim, keepdim)


norm_scaled = op(
    "norm_scaled(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=NORM,
    composite=_scaled_two,
    vjp=_two_gradient,
    samples=lambda draw: [*reductions(draw), *_far(draw)],
    gradient_samples=reductions,
    oracle=lambda x, dim=None, keepdim=False: reduced(
        lambda row: math.hypot(*np.abs(row).tolist()), x, dim, keepdim
    ),
    doc="Square root of the sum of squared magnitudes, also where squares overflow or vanish.",
    example="tenora.linalg.vector_norm(tenora.tensor([3.0, 4.0]))",
    display="linalg.vector_norm",
    public="",
)


def _power_gradient(g: Any, x: Any, r: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    """x |x|^(p - 2) g / r^(p - 1), and 0 where x or the norm is 0."""
    nothing, zero = ops.eq(x, 0), ops.eq(r, 0)
    size = ops.abs(ops.where(nothing, 1, x))
    scale = ops.where(zero, 0, g / ops.pow(ops.where(zero, 1, r), p - 1.0))
    return x * ops.where(nothing, 0, ops.pow(size, p - 2.0)) * ops.unreduce(scale, x, dim, keepdim)


def exponents(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(7), 3.0),
        sample(draw.array(3, 4), 2.5, 0),
        sample(draw.array(3, 4), 1.0, (-1,), True),
        sample(draw.array(2, 3, 4), 3.0, (0, 2)),
        sample(draw.array(1, 2, 1, 3, 2), 0.5, 3),
        sample(draw.array(), 1.5),
    ]


norm_power = op(
    "norm_power(input: Tensor, p: float, dim: int[]? = None, keepdim: bool = False) -> Tensor",
    family=NORM,
    shape="norm",
    samples=exponents,
    composite=lambda x, p, dim, keepdim: ops.pow(ops.sum(ops.pow(ops.abs(x), p), dim, keepdim), 1.0 / p),
    vjp=lambda g, x, r, p, dim, keepdim: _power_gradient(g, x, r, p, dim, keepdim),
    oracle=lambda x, p, dim=None, keepdim=False: reduced(lambda row: _power_mean(row, p), x, dim, keepdim),
    doc="(sum |x|^p)^(1/p), for finite p other than 0.",
    example="tenora.norm(tenora.tensor([3.0, 4.0]), 3)",
    public="",
)


def _norm(input: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None and dtype != input.dtype:
        input = ops.to(input, dtype)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        name = str(input.dtype).rsplit(".", 1)[-1]
        raise errors.OperationError(
            f"[norm] dtype not supported: got {name}, expected a floating or complex type. "
            "Cast with .to(tenora.float32) or pass dtype=."
        )
    if p is None or p == 2:
        return ops.norm_two(input, dim, keepdim)
    if p == 0:
        found = ops.sum(ops.ne(input, 0), dim, keepdim)
        return ops.to(found, ops.abs(input).dtype)
    if p == 1:
        return ops.sum(ops.abs(input), dim, keepdim)
    if p == math.inf:
        return ops.amax(ops.abs(input), dim, keepdim)
    if p == -math.inf:
        return ops.amin(ops.abs(input), dim, keepdim)
    return ops.norm_power(input, p, dim, keepdim)


def norms(draw: Draw) -> Iterable[Sample]:
    """Every kind of p."""
    return [
        sample(draw.array(7)),
        sample(draw.array(3, 4), 2.0, 0),
        sample(draw.array(3, 4), 1.0, (-1,), True),
        sample(draw.array(2, 3, 4), 3.0, (0, 2)),
        sample(draw.array(1, 2, 1, 3, 2), 2.0, 3),
        sample(draw.array(60), 2.5),
        sample(draw.array(3, 4), 0.0, 0),
        sample(draw.array(3, 4), math.inf, 1),
        sample(draw.array(2, 3, 4), -math.inf, (0, 1), True),
        sample(draw.array(), math.inf),
        sample(draw.array(3, 4), None, 1),
    ]


norm = op(
    "norm(input: Tensor, p: float? = 2.0, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) "
    "-> Tensor",
    family=NORM,
    dtype="",
    shape="",
    prepare="",
    function=_norm,
    samples=norms,
    oracle=lambda x, p=2.0, dim=None, keepdim=False: reduced(
        lambda row: _power_mean(row, 2.0 if p is None else p), x, dim, keepdim
    ),
    doc="(sum |x|^p)^(1/p); the largest magnitude for inf, the smallest for -inf, the number of non-zeros for 0.",
    example="tenora.norm(tenora.tensor([3.0, 4.0]))",
    method=True,
)


def _named_norm(input: Any, p: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if p == "fro":
        return _norm(input, 2.0, dim, keepdim, dtype)
    if p != "nuc":
        raise errors.OperationError(
            f"[norm] unknown p: got {p!r}, expected a number, 'fro' or 'nuc'. Pass one of these."
        )
    if (dim is None and input.ndim != 2) or input.ndim < 2:
        raise errors.OperationError(
            f"[norm] the nuclear norm is one of matrices: got {input.ndim} dims, expected 2. Name two dims."
        )
    first, second = (0, 1) if dim is None else (d % input.ndim for d in dim)
    moved = ops.permute(
        input if dtype is None else ops.to(input, dtype),
        [d for d in range(input.ndim) if d not in (first, second)] + [first, second],
    )
    found = ops.sum(ops.linalg_svdvals(moved), -1)
    for place in sorted((first, second)) if keepdim else ():
        found = ops.unsqueeze(found, place)
    return found


def _nuclear(draw: Draw) -> list[Sample]:
    if draw.dtype in HALVES:
        return []
    return [sample(draw.array(3, 4), "nuc"), sample(draw.array(2, 3, 4), "nuc", (2, 0), True)]


def _named_norm_oracle(x: Any, p: str, dim: Any = None, keepdim: bool = False) -> Any:
    if p == "fro":
        return reduced(lambda row: _power_mean(row, 2), x, dim, keepdim)
    dims = (0, 1) if dim is None else dim
    stack = np.moveaxis(x, dims, (-2, -1)).reshape(-1, x.shape[dims[0]], x.shape[dims[1]])
    found = np.array([np.trace(decompositions.polar(matrix)[1]) for matrix in stack])
    return found.reshape([1 if d in dims else n for d, n in enumerate(x.shape)] if keepdim else x.shape[2:])


norm_name = op(
    "norm_name(input: Tensor, p: str, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) "
    "-> Tensor",
    family=COMPOSITE,
    dtypes=REALS,
    domain=Domain(0.2, 2.0),
    function=_named_norm,
    samples=lambda draw: [
        sample(draw.array(7), "fro"),
        sample(draw.array(3, 4), "fro", 0),
        sample(draw.array(3, 4), "fro", (0, 1), True),
        sample(draw.array(2, 3, 4), "fro", (0, 2)),
        sample(draw.array(1, 2, 1, 3, 2), "fro"),
        sample(draw.array(5), "fro", -1, True),
        *_nuclear(draw),
    ],
    oracle=_named_norm_oracle,
    tolerance="normalised",
    doc="The norm of a name: 'fro', the square root of the sum of squares, or 'nuc', the sum of singular values.",
    example="tenora.norm(tenora.tensor([3.0, 4.0]), 'fro')",
    public="norm",
    method=True,
)

dist = op(
    "dist(input: Tensor, other: Tensor, p: float = 2.0) -> Tensor",
    family=COMPOSITE,
    dtypes=FLOATING,
    samples=lambda draw: [
        sample(draw.array(7), draw.array(7)),
        sample(draw.array(3, 4), draw.array(4), 1.0),
        sample(draw.array(2, 3, 2, 2), draw.array(2), 3.0),
        sample(draw.array(5), draw.array(5), math.inf),
        sample(draw.array(2, 1, 3), draw.array(4, 1)),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(1, 2), 2.0),
    ],
    function=rounds_once(lambda input, other, p: _norm(ops.sub(input, other), p, None, False, None)),
    tolerance="normalised",
    oracle=lambda a, b, p=2.0: reduced(lambda row: _power_mean(row, p), a - b),
    doc="The p-norm of input - other.",
    example="tenora.dist(tenora.tensor([1.0, 2.0]), tenora.tensor([4.0, 6.0]))",
    method=True,
)


def _renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    if not p > 0:
        raise errors.OperationError(f"[renorm] p: got {p}, expected a positive number. Pass 1, 2 or inf.")
    if input.ndim < 2:
        raise errors.OperationError(
            f"[renorm] too few dimensions: got {input.ndim}, expected at least 2. Reshape it to a matrix."
        )
    if dim < -input.ndim or dim >= input.ndim:
        raise errors.IndexRangeError(
            f"[renorm] dimension out of range: got {dim}, expected {-input.ndim} to {input.ndim - 1}. "
            "Pass a dimension the tensor has."
        )
    others = [d for d in range(input.ndim) if d != dim % input.ndim]
    size = _norm(input, p, others, True, None)
    return input * ops.where(ops.gt(size, maxnorm), maxnorm / (size + 1e-7), 1.0)


def _renormed(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    out = x.copy()
    rows = np.moveaxis(out, dim, 0)
    for row in rows:
        size = _power_mean(row.reshape(-1), p)
        if size > maxnorm:
            row *= maxnorm / (size + 1e-7)
    return out


renorm = op(
    "renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor",
    family=COMPOSITE,
    dtypes=REALS,
    function=rounds_once(_renorm),
    samples=lambda draw: [
        sample(draw.array(3, 4), 2.0, 0, 5.0),
        sample(draw.array(3, 4), 1.0, 1, 4.0),
        sample(draw.array(2, 3, 2), 2.0, -1, 3.0),
        sample(draw.array(2, 3, 2, 2), math.inf, 1, 1.0),
        sample(draw.array(1, 2, 1, 3, 2), 3.0, 3, 2.0),
        sample(draw.array(3, 4), 2.0, 0, 500.0),
    ],
    tolerance="normalised",
    edges="none",
    oracle=_renormed,
    doc="Slices along dim whose p-norm exceeds maxnorm are scaled to it.",
    example="tenora.renorm(tenora.tensor([[3.0, 4.0], [0.1, 0.2]]), 2, 0, 1.0)",
    method=True,
    inplace=True,
    out=True,
)
