"""Reading a field at positions of a grid, and the grids of affine maps (Jaderberg et al. 2015).

- A grid holds (x, y) or (x, y, z) in [-1, 1]: the centres of the corner elements with `align_corners`, their outer
  edges without. What lies outside reads zeros, the border, or the mirrored field.
- All is plain arithmetic over a gather, so the gradient of field and grid follows by itself. Half types compute in
  float32 and round once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Domain, Draw, Sample, sample

GRID = Family("grid", "", "", "", lambda draw: [], REALS, Domain(-1.3, 1.3), tolerance="statistics")
CUBIC = -0.75
PADDINGS = ("zeros", "border", "reflection")


# ---- affine_grid -----------------------------------------------------------------------------------------
def _steps(count: int, align_corners: bool, like: Any) -> Any:
    """Where the elements of a dim lie in [-1, 1]."""
    numbers = ops.arange(0, count, 1, dtype=like.dtype, device=like.device)
    if align_corners:
        return numbers * (2 / (count - 1)) - 1 if count > 1 else numbers
    return (numbers * 2 + 1) / count - 1


def _affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    if not isinstance(size, list | tuple):
        raise errors.ArgumentTypeError(
            f"[affine_grid] size is wrong: got {type(size).__name__}, expected ints. Pass whole numbers."
        )
    n = len(size) - 2
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1):
        raise errors.OperationError(
            f"[affine_grid] theta does not fit: got {tuple(theta.shape)} for size {tuple(size)}, expected (N, 2, 3) "
            "for (N, C, H, W) or (N, 3, 4) for (N, C, D, H, W)."
            " Reshape theta."
        )
    if not theta.dtype.is_floating_point:
        raise errors.ArgumentValueError(
            f"[affine_grid] theta: got {theta.dtype}, expected a floating dtype. Cast it."
        )
    if min(size) < 1:
        raise errors.ArgumentValueError(
            f"[affine_grid] size: got {tuple(size)}, expected sizes of at least 1. Choose positive sizes."
        )
    half = theta.dtype in (_engine.float16, _engine.bfloat16)
    wide = ops.to(theta, _engine.float32) if half else theta
    spatial = [int(s) for s in size[2:]]
    axes = []
    for i in reversed(range(n)):  # x is the last dim
        shape = [1] * n
        shape[i] = spatial[i]
        axes.append(ops.expand(ops.reshape(_steps(spatial[i], bool(align_corners), wide), shape), spatial))
    axes.append(ops.expand(ops.full([1] * n, 1.0, dtype=wide.dtype, device=wide.device), spatial))
    points = ops.reshape(ops.stack(axes, -1), (math.prod(spatial), n + 1))
    grid = ops.reshape(ops.matmul(points, ops.transpose(wide, 1, 2)), (theta.shape[0], *spatial, n))
    return ops.to(grid, theta.dtype) if half else grid


def _affine_oracle(theta: Any, size: Any, align_corners: Any = None) -> Any:
    spatial = size[2:]
    out = np.empty((len(theta), *spatial, len(spatial)))
    for at in np.ndindex(*spatial):
        point = [
            (-1 + 2 * i / (m - 1) if m > 1 else 0.0) if align_corners else (2 * i + 1) / m - 1
            for i, m in zip(at, spatial, strict=True)
        ]
        for row, matrix in enumerate(theta):
            out[(row, *at)] = matrix @ np.array([*reversed(point), 1.0])
    return out


# ---- grid_sample -----------------------------------------------------------------------------------------
def _check(x: Any, grid: Any, mode: str, padding_mode: str) -> None:
    n = x.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise errors.ArgumentValueError(
            f"[grid_sample] mode: got '{mode}', expected 'bilinear', 'nearest' or 'bicubic'."
            " Choose one of them."
        )
    if padding_mode not in PADDINGS:
        raise errors.ArgumentValueError(
            f"[grid_sample] padding_mode: got '{padding_mode}', expected one of {list(PADDINGS)}."
            " Choose one of them."
        )
    if n not in (2, 3) or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != n:
        raise errors.OperationError(
            f"[grid_sample] grid does not fit: got {tuple(grid.shape)} for input {tuple(x.shape)}, expected "
            "(N, H, W, 2) for (N, C, H, W) or (N, D, H, W, 3) for (N, C, D, H, W). Check both."
        )
    if mode == "bicubic" and n == 3:
        raise errors.OperationError(
            "[grid_sample] mode: got 'bicubic' for three dims, expected two. Use 'bilinear'."
        )
    if 0 in x.shape[2:]:
        raise errors.OperationError(
            f"[grid_sample] input has no elements: got {tuple(x.shape)}, expected batch or channels to be empty alone."
            " Check it."
        )
    if grid.dtype != x.dtype or not x.dtype.is_floating_point:
        raise errors.OperationError(
            f"[grid_sample] dtypes do not fit: got {x.dtype} and {grid.dtype}, expected one floating dtype. Cast one."
        )


def _mirrored(at: Any, low: float, high: float) -> Any:
    """Reflected at low and high until it lies between."""
    span = high - low
    if span <= 0:
        return at * 0
    distance = ops.abs(at - low)
    turns = ops.floor(distance / span)
    rest = distance - turns * span
    odd = ops.ne(ops.remainder(turns, 2), 0)
    return ops.where(odd, span - rest, rest) + low


def _inside(at: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    """Positions brought into the field, as the padding mode says; 'zeros' leaves them."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        at = _mirrored(at, 0, size - 1) if align_corners else _mirrored(at, -0.5, size - 0.5)
    # Where a position is no number, PyTorch's bounds leave 0.
    return ops.clamp(ops.where(ops.eq(at, at), at, 0.0), 0, size - 1)


def _elements(x: Any, places: list[Any], zeros: bool) -> Any:
    """The elements at whole positions per dim, each (N, points); (N, C, points)."""
    spatial = x.shape[2:]
    flat: Any = None
    seen: Any = None
    for at, size in zip(places, spatial, strict=True):
        if zeros:
            here = ops.logical_and(ops.ge(at, 0), ops.le(at, size - 1))
            seen = here if seen is None else ops.logical_and(seen, here)
        whole = ops.to(ops.clamp(ops.where(ops.eq(at, at), at, 0.0), 0, size - 1), _engine.int64)
        flat = whole if flat is None else flat * size + whole
    index = ops.expand(ops.unsqueeze(flat, 1), (x.shape[0], x.shape[1], flat.shape[1]))
    values = ops.gather(ops.reshape(x, (x.shape[0], x.shape[1], math.prod(spatial))), 2, index)
    return ops.where(ops.unsqueeze(seen, 1), values, 0.0) if zeros else values


def _weighted(x: Any, taps: list[list[tuple[Any, Any]]], zeros: bool) -> Any:
    """The sum over all combinations of (position, weight) per dim."""
    total: Any = None
    for choice in itertools.product(*taps):
        weight = choice[0][1]
        for _, other in choice[1:]:
            weight = weight * other
        part = _elements(x, [at for at, _ in choice], zeros) * ops.unsqueeze(weight, 1)
        total = part if total is None else total + part
    return total


def _keys(t: Any) -> list[Any]:
    def near(v: Any) -> Any:
        return (v * (CUBIC + 2) - (CUBIC + 3)) * v * v + 1

    def far(v: Any) -> Any:
        return ((v * CUBIC - 5 * CUBIC) * v + 8 * CUBIC) * v - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _sampled(x: Any, at: list[Any], mode: str, padding_mode: str, align_corners: bool) -> Any:
    zeros, sizes = padding_mode == "zeros", x.shape[2:]
    if mode == "bicubic":
        taps = []
        for a, size in zip(at, sizes, strict=True):
            base = ops.floor(a)
            weights = _keys(a - base)
            taps.append(
                [(_inside(base + (k - 1), size, padding_mode, align_corners), weights[k]) for k in range(4)]
            )
        return _weighted(x, taps, zeros)
    at = [_inside(a, size, padding_mode, align_corners) for a, size in zip(at, sizes, strict=True)]
    if mode == "nearest":
        return _elements(x, [ops.round(a) for a in at], zeros)
    taps = []
    for a in at:
        base = ops.floor(a)
        share = a - base
        taps.append([(base, 1 - share), (base + 1, share)])
    return _weighted(x, taps, zeros)


def _grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    _check(input, grid, mode, padding_mode)
    half = input.dtype in (_engine.float16, _engine.bfloat16)
    x, points = (ops.to(t, _engine.float32) for t in (input, grid)) if half else (input, grid)
    n, shape = input.ndim - 2, grid.shape[1:-1]
    at = []
    for i in range(n):  # the last coordinate belongs to the first spatial dim
        size = input.shape[2 + i]
        raw = ops.reshape(ops.select(points, -1, n - 1 - i), (grid.shape[0], math.prod(shape)))
        at.append((raw + 1) * ((size - 1) / 2) if align_corners else ((raw + 1) * size - 1) / 2)
    values = _sampled(x, at, mode, padding_mode, bool(align_corners))
    if mode == "nearest":
        values = ops.constant_in(values, ops.straight(points))
    result = ops.reshape(values, (input.shape[0], input.shape[1], *shape))
    return ops.to(result, input.dtype) if half else result


# ---- oracle and samples ----------------------------------------------------------------------------------
def _reflected(at: float, low: float, high: float) -> float:
    if high <= low:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def _bring(at: float, size: int, padding_mode: str, align_corners: Any) -> float:
    if padding_mode == "reflection":
        at = _reflected(at, 0, size - 1) if align_corners else _reflected(at, -0.5, size - 0.5)
    return at if padding_mode == "zeros" else min(max(at, 0), size - 1)


def _taps_of(
    at: float, size: int, mode: str, padding_mode: str, align_corners: Any
) -> list[tuple[int, float]]:
    if mode == "bicubic":
        found = []
        for k in range(math.floor(at) - 1, math.floor(at) + 3):
            d, a = abs(at - k), CUBIC
            w = (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
            found.append((int(_bring(k, size, padding_mode, align_corners)), w))
        return found
    at = _bring(at, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(round(at), 1.0)]
    low = math.floor(at)
    return [(low, low + 1 - at), (low + 1, at - low)]


def _oracle(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Any:
    sizes, shape = x.shape[2:], grid.shape[1:-1]
    out = np.zeros((*x.shape[:2], *shape))
    for row in range(len(x)):
        for place in np.ndindex(*shape):
            point = list(reversed(grid[(row, *place)].tolist()))
            at = [
                (p + 1) / 2 * (m - 1) if align_corners else ((p + 1) * m - 1) / 2
                for p, m in zip(point, sizes, strict=True)
            ]
            taps = [_taps_of(a, m, mode, padding_mode, align_corners) for a, m in zip(at, sizes, strict=True)]
            for choice in itertools.product(*taps):
                where = tuple(k for k, _ in choice)
                if all(0 <= k < m for k, m in zip(where, sizes, strict=True)):
                    out[(row, slice(None), *place)] += x[(row, slice(None), *where)] * math.prod(
                        w for _, w in choice
                    )
    return out


def _samples(draw: Draw) -> Iterable[Sample]:
    rows: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
        ((1, 2, 3, 4), (1, 2, 1, 2), {}),
        ((2, 1, 3, 3), (2, 1, 2, 2), {"align_corners": True}),
        ((1, 2, 3, 4), (1, 1, 2, 2), {"mode": "nearest", "align_corners": False}),
        ((1, 1, 4, 4), (1, 2, 2, 2), {"padding_mode": "border", "align_corners": False}),
        ((1, 1, 3, 4), (1, 2, 2, 2), {"padding_mode": "reflection", "align_corners": False}),
        ((1, 1, 3, 4), (1, 2, 2, 2), {"padding_mode": "reflection", "align_corners": True}),
        ((1, 2, 3, 4), (1, 1, 2, 2), {"mode": "bicubic", "align_corners": False}),
        ((1, 1, 4, 4), (1, 1, 3, 2), {"mode": "bicubic", "padding_mode": "border", "align_corners": True}),
        ((1, 1, 2, 2, 3), (1, 1, 2, 1, 3), {"align_corners": False}),
        ((2, 1, 2, 2, 2), (2, 1, 1, 2, 3), {"padding_mode": "border", "align_corners": True}),
        (
            (1, 1, 2, 3, 2),
            (1, 1, 2, 2, 3),
            {"mode": "nearest", "padding_mode": "reflection", "align_corners": False},
        ),
    ]
    return [sample(draw.array(*x), draw.array(*grid), **options) for x, grid, options in rows]


grid_sample = op(
    "grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', "
    "align_corners: bool? = None) -> Tensor",
    family=GRID,
    python=_grid_sample,
    dtypes=("float32", "float64"),
    samples=_samples,
    oracle=_oracle,
    doc="Reads (N, C, H, W) or (N, C, D, H, W) at the positions of a grid: 'bilinear', 'nearest' or 'bicubic'.",
    example="tenora.nn.functional.grid_sample(tenora.ones(1, 1, 2, 2), tenora.zeros(1, 1, 1, 2))",
    public="nn.functional.grid_sample",
)
affine_grid = op(
    "affine_grid(theta: Tensor, size: int[], align_corners: bool? = None) -> Tensor",
    family=GRID,
    python=_affine_grid,
    dtypes=("float32", "float64"),
    samples=lambda draw: [
        sample(draw.array(1, 2, 3), (1, 1, 2, 3)),
        sample(draw.array(2, 2, 3), (2, 3, 3, 2), align_corners=True),
        sample(draw.array(1, 2, 3), (1, 1, 1, 4), align_corners=True),
        sample(draw.array(1, 3, 4), (1, 1, 2, 1, 3), align_corners=False),
        sample(draw.array(2, 3, 4), (2, 1, 2, 2, 2), align_corners=True),
        sample(draw.array(3, 2, 3), (3, 1, 5, 1), align_corners=False),
    ],
    oracle=_affine_oracle,
    doc="The positions that affine maps (N, 2, 3) or (N, 3, 4) of the unit square or cube read, for grid_sample.",
    example="tenora.nn.functional.affine_grid(tenora.eye(2, 3).reshape(1, 2, 3), (1, 1, 2, 2))",
    public="nn.functional.affine_grid",
)
