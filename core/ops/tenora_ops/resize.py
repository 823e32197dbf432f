"""Resizing of the spatial dims of (N, C, spatial...): PyTorch's interpolate and its older names.

- Every mode but 'area' is separable: one dim after another, each result element a weighted sum of a few positions. The
  positions and weights are worked out here in double precision; the gradient is the adjoint of reading them.
- A scale factor that is given is the one that positions are computed with, unless `recompute_scale_factor`.
- Half types compute in float32 and round once.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Draw, Sample, sample

RESIZE = Family("resize", "", "", "", lambda draw: [], REALS, tolerance="reduction")

#: Mode -> the number of spatial dims it is for; None: any of 1 to 3.
MODES: dict[str, int | None] = {
    "nearest": None,
    "nearest-exact": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
    "area": None,
}
CUBIC = -0.75  # the parameter of Keys' kernel (1981) that PyTorch and image libraries use
LARGEST = 1 << 24  # a dim beyond it has more positions than float32 tells apart
MOVING = ("nearest", "nearest-exact")
#: Integer dtype -> the modes that round to it; all others have those that only move elements.
WHOLE = {_engine.uint8: (*MOVING, "bilinear", "bicubic")}
Taps = list[tuple[list[int], list[float]]]


# ---- sizes and scales ------------------------------------------------------------------------------------
def _spread(name: str, value: Any, n: int) -> list[Any]:
    given = list(value) if isinstance(value, Sequence) else [value] * n
    if len(given) != n:
        raise errors.ArgumentValueError(
            f"[interpolate] wrong number of items in {name}: got {given}, expected {n}. Give one per spatial dim."
        )
    return given


def _targets(x: Any, size: Any, scale_factor: Any, recompute: Any) -> tuple[list[int], list[float | None]]:
    """The sizes of the result, and per dim the scale factor that positions use (None: the ratio of the sizes)."""
    n = x.ndim - 2
    if isinstance(size, _engine.Tensor) or isinstance(scale_factor, _engine.Tensor):
        raise errors.ArgumentTypeError(
            "[interpolate] size and scale_factor: got a tensor, expected numbers. Use .tolist()."
        )
    if (size is None) == (scale_factor is None):
        raise errors.ArgumentValueError(
            f"[interpolate] size and scale_factor: got {size} and {scale_factor}, expected exactly one of them."
            " Leave the other out."
        )
    if size is not None:
        if recompute:
            raise errors.ArgumentValueError(
                "[interpolate] recompute_scale_factor: got True with a size, expected scale_factor."
                " Pass scale_factor instead of size."
            )
        sizes = _spread("size", size, n)
        if not all(hasattr(type(s), "__index__") or (isinstance(s, float) and s.is_integer()) for s in sizes):
            raise errors.ArgumentTypeError(
                f"[interpolate] size: got {size}, expected whole numbers. Round the sizes."
            )
        return [int(s) for s in sizes], [None] * n
    factors = [float(f) for f in _spread("scale_factor", scale_factor, n)]
    if not all(0 < f < LARGEST for f in factors):
        raise errors.ArgumentValueError(
            f"[interpolate] scale_factor: got {scale_factor}, expected positive numbers below {LARGEST}. Pass a size."
        )
    sizes = [math.floor(length * f) for length, f in zip(x.shape[2:], factors, strict=True)]
    return sizes, [None] * n if recompute else list(factors)


def _check(x: Any, mode: str, align_corners: Any, antialias: bool) -> None:
    if x.ndim not in (3, 4, 5):
        raise errors.NotImplementedOperationError(
            f"[interpolate] wrong rank: got shape {tuple(x.shape)}, expected (N, C, spatial...) with 1 to 3 "
            "spatial dims."
            " Reshape the input."
        )
    if mode not in MODES or MODES[mode] not in (None, x.ndim - 2):
        raise errors.NotImplementedOperationError(
            f"[interpolate] mode does not fit: got '{mode}' for {x.ndim - 2} spatial dims, expected one of "
            f"{[m for m, n in MODES.items() if n in (None, x.ndim - 2)]}."
            " Choose one of them."
        )
    if antialias and (mode not in ("bilinear", "bicubic") or x.ndim != 4):
        raise errors.ArgumentValueError(
            f"[interpolate] antialias does not fit: got it in mode '{mode}' for shape {tuple(x.shape)}, expected mode "
            "'bilinear' or 'bicubic' and (N, C, H, W). Leave it out."
        )
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise errors.ArgumentValueError(
            f"[interpolate] align_corners: got {align_corners} in mode '{mode}', expected None. Leave it out."
        )


# ---- positions and weights of one dim --------------------------------------------------------------------
def _single(value: float) -> float:
    """Rounded to float32, which PyTorch computes nearest positions in."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _nearest(size: int, out: int, factor: float | None, offset: float) -> Taps:
    scale = _single(1 / factor if factor else size / out)
    places = [min(int(math.floor(_single((i + offset) * scale))), size - 1) for i in range(out)]
    return [(places, [])]


def _sources(size: int, out: int, factor: float | None, align_corners: bool) -> list[float]:
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
        return [i * scale for i in range(out)]
    scale = 1 / factor if factor else size / out
    return [(i + 0.5) * scale - 0.5 for i in range(out)]


def _linear(size: int, out: int, factor: float | None, align_corners: bool) -> Taps:
    sources = [max(s, 0.0) for s in _sources(size, out, factor, align_corners)]
    first = [min(int(s), size - 1) for s in sources]
    share = [min(max(s - f, 0.0), 1.0) for s, f in zip(sources, first, strict=True)]
    second = [min(f + 1, size - 1) for f in first]
    return [(first, [1 - s for s in share]), (second, share)]


def _keys(t: float) -> tuple[float, float, float, float]:
    """Weights of the elements at -1, 0, 1 and 2 for a position t in [0, 1)."""

    def near(x: float) -> float:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    def far(x: float) -> float:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _cubic(size: int, out: int, factor: float | None, align_corners: bool) -> Taps:
    sources = _sources(size, out, factor, align_corners)
    base = [math.floor(s) for s in sources]
    weights = [_keys(s - b) for s, b in zip(sources, base, strict=True)]
    return [([min(max(b + k - 1, 0), size - 1) for b in base], [w[k] for w in weights]) for k in range(4)]


def _filtered(mode: str, size: int, out: int, factor: float | None, align_corners: bool) -> Taps:
    """The kernel as wide as an output is in the input, so that what shrinks is averaged (Pillow's resize)."""
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        scale = 1 / factor if factor else size / out
    wide = max(scale, 1.0)
    reach = (2 if mode == "bicubic" else 1) * wide
    rows = []
    for i in range(out):
        centre = scale * (i + 0.5)
        first, end = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), size)
        weights = [_filter(mode, abs(j + 0.5 - centre) / wide) for j in range(first, end)]
        total = sum(weights) or 1.0
        rows.append((first, [w / total for w in weights]))
    count = max(len(weights) for _, weights in rows)
    return [
        (
            [min(first + k, size - 1) for first, _ in rows],
            [weights[k] if k < len(weights) else 0.0 for _, weights in rows],
        )
        for k in range(count)
    ]


def _filter(mode: str, x: float) -> float:
    """The triangle, or the cubic kernel with a = -1/2 (Keys 1981)."""
    if mode == "bilinear":
        return max(1 - x, 0.0)
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


def _taps(mode: str, size: int, out: int, factor: float | None, align_corners: bool) -> Taps:
    if mode in ("nearest", "nearest-exact"):
        return _nearest(size, out, factor, 0.5 if mode == "nearest-exact" else 0.0)
    return (_cubic if mode == "bicubic" else _linear)(size, out, factor, align_corners)


# ---- the op ----------------------------------------------------------------------------------------------
def _read(x: Any, dim: int, taps: Taps) -> Any:
    total = None
    for places, weights in taps:
        index = _engine.as_tensor_data(places, dtype=_engine.int64, device=x.device)
        part = ops.index_select(x, dim, index)
        if weights:
            factors = _engine.as_tensor_data(weights, dtype=x.dtype, device=x.device)
            part = part * ops.reshape(factors, (len(weights), *[1] * (x.ndim - 1 - dim)))
        total = part if total is None else total + part
    return total


def _interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Any:
    _check(input, mode, align_corners, antialias)
    out, factors = _targets(input, size, scale_factor, recompute_scale_factor)
    if min(out) < 1 or 0 in input.shape[1:]:
        raise errors.OperationError(
            f"[interpolate] sizes without elements: got {tuple(input.shape)} to {tuple(out)}, expected sizes of at "
            "least 1. Only the batch may be empty."
        )
    if max(out) > LARGEST:
        raise errors.OperationError(
            f"[interpolate] the result is too large: got {tuple(out)}, expected at most {LARGEST} per dim. Resize less."
        )
    if not (
        input.dtype.is_floating_point or input.dtype.is_complex or mode in WHOLE.get(input.dtype, MOVING)
    ):
        raise errors.NotImplementedOperationError(
            f"[interpolate] dtype not supported: got {input.dtype} in mode '{mode}', expected a floating type. "
            "Cast with .to(tenora.float32), or use mode 'nearest'."
        )
    if mode == "area":
        return getattr(ops, f"adaptive_avg_pool{len(out)}d")(input, out)
    rounded = input.dtype in (_engine.float16, _engine.bfloat16, _engine.uint8) and not mode.startswith(
        "nearest"
    )
    x = ops.to(input, _engine.float32) if rounded else input
    taps = _filtered if antialias else _taps
    for i, (length, factor) in enumerate(zip(out, factors, strict=True)):
        x = _read(x, i + 2, taps(mode, input.shape[i + 2], length, factor, bool(align_corners)))
    if input.dtype == _engine.uint8 and rounded:
        x = ops.clamp(ops.round(x), 0, 255)
    return ops.to(x, input.dtype) if rounded else x


# ---- oracle and samples ----------------------------------------------------------------------------------
def _matrix(mode: str, size: int, out: int, factor: float | None, align_corners: bool) -> Any:
    """The (out, size) matrix of one dim, from the kernel functions of the modes."""
    scale = 1 / factor if factor else size / out
    centres = (np.arange(out) + 0.5) * scale - 0.5
    if align_corners:
        centres = np.linspace(0, size - 1, out) if out > 1 else np.zeros(1)
    matrix = np.zeros((out, size))
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        found = np.floor((np.arange(out) + shift).astype(np.float32) * np.float32(scale)).astype(int)
        matrix[np.arange(out), np.minimum(found, size - 1)] = 1
        return matrix
    if mode == "area":
        for i in range(out):
            start, end = i * size // out, -(-(i + 1) * size // out)
            matrix[i, start:end] = 1 / (end - start)
        return matrix
    reach = 2 if mode == "bicubic" else 1
    for i, centre in enumerate(centres if mode == "bicubic" else np.maximum(centres, 0)):
        for at in range(math.floor(centre) - reach, math.floor(centre) + reach + 2):
            distance = abs(at - centre)
            if distance < reach:
                matrix[i, min(max(at, 0), size - 1)] += _kernel(distance, reach)
    return matrix


def _smooth_matrix(mode: str, size: int, out: int, factor: float | None, align_corners: bool) -> Any:
    """Rows of the stretched kernel at all inputs, divided by their sums."""
    scale = (size - 1) / max(out - 1, 1) if align_corners else 1 / factor if factor else size / out
    centres = scale * (np.arange(out)[:, None] + 0.5)
    x = np.abs(np.arange(size) + 0.5 - centres) / max(scale, 1)
    cubic = np.where(
        x < 1, 1.5 * x**3 - 2.5 * x**2 + 1, np.where(x < 2, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2, 0)
    )
    rows = np.maximum(1 - x, 0) if mode == "bilinear" else cubic
    return rows / rows.sum(1, keepdims=True)


def _kernel(x: float, reach: int) -> float:
    if reach == 1:
        return 1 - x
    a = CUBIC
    return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a


def _oracle(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    n = x.ndim - 2
    factors = [None] * n if scale_factor is None else _spread("scale_factor", scale_factor, n)
    out = _spread("size", size, n) if size is not None else [
        int(np.floor(m * f)) for m, f in zip(x.shape[2:], factors, strict=True)
    ]  # fmt: skip
    for i in range(n):
        factor = None if recompute_scale_factor else factors[i]
        one = _smooth_matrix if antialias else _matrix
        matrix = one(mode, x.shape[2 + i], out[i], factor, bool(align_corners))
        x = np.moveaxis(np.tensordot(matrix, x, (1, 2 + i)), 0, 2 + i)
    return x


def _samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(2, 2, 5), 8),
        sample(draw.array(1, 2, 3, 4), (5, 2), mode="nearest-exact"),
        sample(draw.array(1, 2, 2, 2, 3), (3, 4, 2)),
        sample(draw.array(1, 2, 5), scale_factor=2.0, mode="linear"),
        sample(draw.array(1, 2, 5), 9, mode="linear", align_corners=True),
        sample(draw.array(1, 2, 3, 4), (6, 3), mode="bilinear"),
        sample(draw.array(1, 2, 3, 4), scale_factor=1.7, mode="bilinear"),
        sample(draw.array(1, 2, 3, 4), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        sample(draw.array(1, 2, 3, 4), (5, 5), mode="bicubic"),
        sample(draw.array(1, 1, 4, 5), (7, 3), mode="bicubic", align_corners=True),
        sample(draw.array(1, 2, 2, 3, 2), (4, 2, 3), mode="trilinear", align_corners=True),
        sample(draw.array(1, 2, 2, 3, 2), scale_factor=2.0, mode="trilinear"),
        sample(draw.array(1, 2, 6, 5), (3, 2), mode="area"),
        sample(draw.array(0, 2, 3, 4), (2, 2), mode="bilinear"),
        sample(draw.array(1, 2, 7, 5), (3, 2), mode="bilinear", antialias=True),
        sample(draw.array(1, 1, 9, 4), (4, 6), mode="bicubic", antialias=True),
        sample(draw.array(1, 1, 8, 7), (3, 3), mode="bicubic", align_corners=True, antialias=True),
        sample(draw.array(1, 1, 8, 7), scale_factor=0.4, mode="bilinear", antialias=True),
    ]


interpolate = op(
    "interpolate(input: Tensor, size: int[]? = None, scale_factor: float? = None, mode: str = 'nearest', "
    "align_corners: bool? = None, recompute_scale_factor: bool? = None, antialias: bool = False) -> Tensor",
    family=RESIZE,
    python=_interpolate,
    samples=_samples,
    oracle=_oracle,
    doc="Resizes (N, C, ...) by 'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area'.",
    example="tenora.nn.functional.interpolate(tenora.ones(1, 1, 2, 2), scale_factor=2)",
    public="nn.functional.interpolate",
)


def _older(mode: str, align_corners: Any) -> Callable[..., Any]:
    def upsample(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
        return _interpolate(input, size, scale_factor, mode, align_corners)

    return upsample


def _older_samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(1, 2, 3, 4), (5, 2)),
        sample(draw.array(1, 2, 3, 4), scale_factor=2.0),
        sample(draw.array(2, 1, 2, 2), (4, 4)),
        sample(draw.array(1, 3, 2, 1), (2, 3)),
        sample(draw.array(0, 3, 2, 1), (2, 3)),
        sample(draw.array(1, 1, 5, 5), (3, 3)),
    ]


upsample = op(
    "upsample(input: Tensor, size: int[]? = None, scale_factor: float? = None, mode: str = 'nearest', "
    "align_corners: bool? = None) -> Tensor",
    family=RESIZE,
    python=lambda input, size=None, scale_factor=None, mode="nearest", align_corners=None: _interpolate(
        input, size, scale_factor, mode, align_corners
    ),
    samples=lambda draw: [
        s for s in _samples(draw) if not {"recompute_scale_factor", "antialias"} & set(s.options)
    ],
    oracle=_oracle,
    doc="The older name of interpolate.",
    example="tenora.nn.functional.upsample(tenora.ones(1, 1, 2, 2), scale_factor=2)",
    public="nn.functional.upsample",
    renames="nn.functional.interpolate",
)
upsample_nearest = op(
    "upsample_nearest(input: Tensor, size: int[]? = None, scale_factor: float? = None) -> Tensor",
    family=RESIZE,
    python=_older("nearest", None),
    samples=_older_samples,
    oracle=lambda x, size=None, scale_factor=None: _oracle(x, size, scale_factor, "nearest"),
    doc="interpolate in mode 'nearest'.",
    example="tenora.nn.functional.upsample_nearest(tenora.ones(1, 1, 2, 2), scale_factor=2)",
    public="nn.functional.upsample_nearest",
    renames="nn.functional.interpolate",
)
upsample_bilinear = op(
    "upsample_bilinear(input: Tensor, size: int[]? = None, scale_factor: float? = None) -> Tensor",
    family=RESIZE,
    python=_older("bilinear", True),
    samples=_older_samples,
    oracle=lambda x, size=None, scale_factor=None: _oracle(x, size, scale_factor, "bilinear", True),
    doc="interpolate in mode 'bilinear' with aligned corners.",
    example="tenora.nn.functional.upsample_bilinear(tenora.ones(1, 1, 2, 2), scale_factor=2)",
    public="nn.functional.upsample_bilinear",
    renames="nn.functional.interpolate",
)
