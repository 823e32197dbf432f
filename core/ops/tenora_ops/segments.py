"""Reductions over segments of a dim, and ops that only move channels to where another op wants them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_rank, wrap_dim
from tenora_ops.folding import channel_shuffle_samples, shuffled_channels
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import FLOATING, Draw, Sample, sample

SEGMENTS = Family("segments", "", "", "", lambda draw: [], ("float32", "float64"), tolerance="reduction")
CHANNELS_LAST = Family("conv", "", "", "", lambda draw: [], FLOATING, tolerance="contraction")

#: reduce -> how scatter_reduce calls it, and what an empty segment gives.
KINDS = {
    "sum": ("sum", 0.0),
    "mean": ("mean", math.nan),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "prod": ("prod", 1.0),
}


def _need_whole(name: str, value: Any) -> Any:
    dtype = value.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype == _engine.bool:
        raise errors.OperationError(
            f"[segment_reduce] {name} of a wrong dtype: got {dtype}, expected integers. Cast it."
        )
    if not value.ndim or (name == "offsets" and not value.shape[-1]):
        raise errors.OperationError(
            f"[segment_reduce] too few {name}: got shape {tuple(value.shape)}, expected a row of them. Pass one."
        )
    return ops.to(value, _engine.int64)


def _bounds(data: Any, lengths: Any, offsets: Any, axis: int) -> tuple[Any, Any]:
    """The lengths of the segments and where the first one begins, (..., segments) and (..., 1) or 0."""
    if (lengths is None) == (offsets is None):
        raise errors.OperationError(
            "[segment_reduce] segments: got lengths and offsets, or neither, expected one of them."
            " Leave the other out."
        )
    start: Any = 0
    if lengths is None:
        offsets = _need_whole("offsets", offsets)
        lengths, start = ops.sub(offsets[..., 1:], offsets[..., :-1]), offsets[..., :1]
    else:
        lengths = _need_whole("lengths", lengths)
    if tuple(lengths.shape[:-1]) != tuple(data.shape[: lengths.ndim - 1]) or lengths.ndim - 1 != axis:
        raise errors.OperationError(
            f"[segment_reduce] segments do not fit: got shape {tuple(lengths.shape)} for data {tuple(data.shape)} "
            f"along axis {axis}, expected the sizes before the axis, then one dim. Check lengths."
        )
    return lengths, start


def _covers(lengths: Any, start: Any, size: int, unsafe: bool) -> bool:
    """Whether the segments take up all of the `size` elements; those between offsets need not.

    Raises:
        RuntimeError: a segment is negative or lies outside, or lengths do not add up.
    """
    if lengths.numel() and ops.min(lengths).item() < 0:
        raise errors.OperationError(
            f"[segment_reduce] negative segment: got {ops.min(lengths).item()}, expected lengths of at least 0, "
            "offsets that do not fall. Check them."
        )
    between = not isinstance(start, int)
    first = ops.reshape(start, (-1,)).tolist() if between else [0]
    totals = ops.reshape(ops.sum(lengths, -1) + (ops.squeeze(start, -1) if between else 0), (-1,)).tolist()
    if between and any(f < 0 or t > size for f, t in zip(first, totals, strict=True)):
        raise errors.OperationError(
            f"[segment_reduce] offsets outside: got {min(first)} to {max(totals)}, expected 0 to {size}. Check them."
        )
    whole = all(t == size for t in totals)
    if not between and not whole and (not unsafe or max(totals) > size):
        raise errors.OperationError(
            f"[segment_reduce] lengths do not add up: got sums {totals}, expected {size}. Check lengths."
        )
    return whole and not any(first)


def _segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    if reduce not in KINDS:
        raise errors.OperationError(
            f"[segment_reduce] unknown reduce: got {reduce!r}, expected one of {sorted(KINDS)}."
            " Choose one of them."
        )
    if indices is not None:
        raise errors.OperationError(
            "[segment_reduce] indices are not supported: got some, expected lengths or offsets."
            " Count the lengths, e.g. with bincount."
        )
    need_rank("segment_reduce", data, 1)
    axis = wrap_dim("segment_reduce", axis, data.ndim)
    lengths, start = _bounds(data, lengths, offsets, axis)
    kind, empty = KINDS[reduce]
    count, size = lengths.shape[-1], data.shape[axis]
    slots = count + (
        0 if _covers(lengths, start, size, unsafe) else 1
    )  # the last one takes what lies outside
    trail = data.ndim - axis - 1
    index = ops.reshape(_numbers(lengths, start, size), (*data.shape[: axis + 1], *[1] * trail))
    index = ops.contiguous(ops.expand(index, tuple(data.shape)))
    shape = (*data.shape[:axis], slots, *data.shape[axis + 1 :])
    given = initial is not None
    base = ops.full(shape, initial if given else empty, dtype=data.dtype, device=data.device)
    if given and reduce == "mean":  # the initial value is added to the sum and does not count
        total = ops.narrow(
            ops.scatter_reduce(base, axis, index, data, "sum", include_self=True), axis, 0, count
        )
        counts = ops.clamp_min(ops.reshape(lengths, (*lengths.shape, *[1] * trail)), 1)
        return total / ops.to(counts, data.dtype)
    chosen = given and reduce in ("max", "min")
    found = ops.scatter_reduce(base, axis, index, data, kind, include_self=given and not chosen)
    if chosen:  # an element that equals the initial value has the gradient
        better = ops.gt(base, found) if reduce == "max" else ops.lt(base, found)
        found = ops.where(ops.logical_or(better, ops.isnan(base)), base, found)
    return found if slots == count else ops.contiguous(ops.narrow(found, axis, 0, count))


def _numbers(lengths: Any, start: Any, size: int) -> Any:
    """The segment of each element, (..., size): how many end at or before it; those in front are in the last slot."""
    count = lengths.shape[-1]
    ends = ops.contiguous(ops.cumsum(lengths, -1) + start)
    places = ops.iota(0, 1, size, device=lengths.device)
    places = ops.contiguous(ops.expand(places, (*lengths.shape[:-1], size)))
    number = ops.searchsorted(ends, places, right=True)
    return number if isinstance(start, int) else ops.where(ops.lt(places, start), count, number)


def _segment_oracle(
    data: Any, reduce: str, *, lengths: Any = None, offsets: Any = None, axis: int = 0, initial: Any = None
) -> Any:
    if lengths is None:
        lengths = np.diff(offsets, axis=-1)
    axis %= data.ndim
    out = np.zeros((*data.shape[:axis], lengths.shape[-1], *data.shape[axis + 1 :]), data.dtype)
    functions: Any = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
    for lead in np.ndindex(*data.shape[:axis]):
        at = 0 if offsets is None else offsets[lead][0]
        for i, length in enumerate(lengths[lead].tolist()):
            part = data[lead][at : at + length]
            at += length
            if initial is not None and reduce != "mean":
                part = np.concatenate([np.full((1, *part.shape[1:]), initial), part])
            empty = KINDS[reduce][1] if initial is None else initial
            out[(*lead, i)] = functions[reduce](part, axis=0) if len(part) else empty
            if initial is not None and reduce == "mean" and length:
                out[(*lead, i)] += initial / length
    return out


def _segment_samples(draw: Draw) -> Iterable[Sample]:
    lengths, rows = np.array([2, 0, 3, 1]), np.array([[1, 2, 0], [0, 0, 3]])
    return [
        *[sample(draw.array(6), kind, lengths=lengths) for kind in KINDS],
        sample(draw.array(6, 2), "sum", lengths=lengths),
        sample(draw.array(6, 2, 3), "max", lengths=lengths, initial=1),
        sample(draw.array(2, 3, 2), "mean", lengths=rows, axis=1),
        sample(draw.array(6), "min", offsets=np.array([0, 2, 2, 6])),
        sample(draw.array(6), "mean", lengths=lengths, initial=2),
        sample(draw.array(7, 2), "sum", offsets=np.array([1, 3, 3, 6])),
        sample(draw.array(2, 5), "max", offsets=np.array([[1, 4], [0, 5]]), axis=-1),
        sample(draw.array(6), "mean", lengths=lengths.astype(np.int32), axis=-1, initial=1),
    ]


segment_reduce = op(
    "segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor? = None, indices: Tensor? = None, "
    "offsets: Tensor? = None, axis: int = 0, unsafe: bool = False, initial: Scalar? = None) -> Tensor",
    family=SEGMENTS,
    python=_segment_reduce,
    samples=_segment_samples,
    gradient_samples=lambda draw: [
        sample(draw.array(6), kind, lengths=np.array([2, 3, 1])) for kind in KINDS
    ],
    oracle=_segment_oracle,
    doc="Sum, mean, max, min or product of segments of a dim, of given lengths or between offsets.",
    example="tenora.segment_reduce(tenora.tensor([1.0, 2.0, 3.0]), 'sum', lengths=tenora.tensor([2, 1]))",
)


def _conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    need_rank("conv_tbc", input, 3, 3)
    need_rank("conv_tbc", weight, 3, 3)
    found = ops.conv1d(
        ops.permute(input, (1, 2, 0)), ops.permute(weight, (2, 1, 0)), bias, stride=1, padding=pad
    )
    return ops.permute(found, (2, 0, 1))


def _conv_tbc_oracle(x: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    x = np.pad(x, ((pad, pad), (0, 0), (0, 0)))
    length = x.shape[0] - weight.shape[0] + 1
    parts = [np.tensordot(x[k : k + length], weight[k], (2, 0)) for k in range(weight.shape[0])]
    return sum(parts) + bias


conv_tbc = op(
    "conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor",
    family=CHANNELS_LAST,
    function=_conv_tbc,
    dtypes=("float32", "float64"),
    samples=lambda draw: [
        sample(draw.array(*x), draw.array(*w), draw.array(w[2]), *rest)
        for x, w, rest in (
            ((5, 2, 3), (2, 3, 4), ()),
            ((4, 1, 2), (3, 2, 1), (1,)),
            ((3, 2, 2), (1, 2, 2), (0,)),
            ((6, 1, 1), (4, 1, 2), (2,)),
            ((2, 3, 4), (2, 4, 3), ()),
            ((7, 1, 3), (3, 3, 2), (3,)),
        )
    ],
    oracle=_conv_tbc_oracle,
    doc="Convolution of (time, batch, channels) with weights (width, in, out).",
    example="tenora.conv_tbc(tenora.ones(4, 1, 2), tenora.ones(2, 2, 3), tenora.zeros(3))",
    public="nn.functional.conv_tbc",
    aliases=("conv_tbc",),
)
native_channel_shuffle = op(
    "native_channel_shuffle(input: Tensor, groups: int) -> Tensor",
    family=CHANNELS_LAST,
    composite=lambda x, groups: ops.channel_shuffle(x, groups),
    samples=channel_shuffle_samples,
    tolerance="exact",
    oracle=shuffled_channels,
    doc="channel_shuffle under its other name.",
    example="tenora.nn.functional.native_channel_shuffle(tenora.ones(1, 4, 2), 2)",
    public="nn.functional.native_channel_shuffle",
    renames="nn.functional.channel_shuffle",
    aliases=("native_channel_shuffle",),
)
