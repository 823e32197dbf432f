"""Reductions over segments of a dim, and ops that only move channels to where another op wants them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_engine import _engine
from tenora_ops.checks import need_rank
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


def _bounds(data: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> Any:
    """The lengths of the segments, (..., segments)."""
    if (lengths is None) == (offsets is None):
        raise RuntimeError(
            "[segment_reduce] segments: got lengths and offsets, or neither, expected one of them."
        )
    lengths = ops.sub(offsets[..., 1:], offsets[..., :-1]) if lengths is None else lengths
    if tuple(lengths.shape[:-1]) != tuple(data.shape[: lengths.ndim - 1]) or lengths.ndim - 1 != axis:
        raise RuntimeError(
            f"[segment_reduce] segments do not fit: got shape {tuple(lengths.shape)} for data {tuple(data.shape)} "
            f"along axis {axis}, expected the sizes before the axis, then one dim. Check lengths."
        )
    totals = ops.sum(lengths, -1).reshape(-1).tolist()
    if not unsafe and any(t != data.shape[axis] for t in totals):
        raise RuntimeError(
            f"[segment_reduce] lengths do not add up: got sums {totals}, expected {data.shape[axis]}. Check lengths."
        )
    return lengths


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
        raise RuntimeError(
            f"[segment_reduce] unknown reduce: got {reduce!r}, expected one of {sorted(KINDS)}."
        )
    if indices is not None:
        raise RuntimeError(
            "[segment_reduce] indices are not supported: got some, expected lengths or offsets."
        )
    need_rank("segment_reduce", data, 1)
    lengths = _bounds(data, lengths, offsets, axis, unsafe)
    kind, empty = KINDS[reduce]
    count, size = lengths.shape[-1], data.shape[axis]
    ends = ops.cumsum(lengths, -1)
    places = ops.iota(0, 1, size, device=data.device)
    later = ops.ge(ops.reshape(places, (size, 1)), ops.unsqueeze(ends, -2))  # (..., size, segments)
    number = ops.sum(ops.to(later, _engine.int64), -1)  # the segment of each element
    trail = data.ndim - axis - 1
    index = ops.expand(ops.reshape(number, (*number.shape, *[1] * trail)), tuple(data.shape))
    shape = (*data.shape[:axis], count, *data.shape[axis + 1 :])
    given = initial is not None
    base = ops.full(shape, initial if given else empty, dtype=data.dtype, device=data.device)
    if given and reduce == "mean":  # the initial value is added to the sum and does not count
        total = ops.scatter_reduce(base, axis, ops.contiguous(index), data, "sum", include_self=True)
        counts = ops.clamp_min(ops.reshape(lengths, (*lengths.shape, *[1] * trail)), 1)
        return total / ops.to(counts, data.dtype)
    return ops.scatter_reduce(base, axis, ops.contiguous(index), data, kind, include_self=given)


def _segment_oracle(
    data: Any, reduce: str, *, lengths: Any = None, offsets: Any = None, axis: int = 0, initial: Any = None
) -> Any:
    if lengths is None:
        lengths = np.diff(offsets, axis=-1)
    out = np.zeros((*data.shape[:axis], lengths.shape[-1], *data.shape[axis + 1 :]), data.dtype)
    functions: Any = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
    for lead in np.ndindex(*data.shape[:axis]):
        at = 0
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
    samples=lambda draw: [
        sample(draw.array(2, 6, 2), 2),
        sample(draw.array(1, 6, 2, 2), 3),
        sample(draw.array(2, 4, 1, 2, 1), 4),
        sample(draw.array(1, 3, 2, 2), 1),
        sample(draw.array(2, 8, 2), 2),
        sample(draw.array(2, 4, 3), 2),
    ],
    tolerance="exact",
    oracle=lambda x, groups: x[
        :, [i % groups * (x.shape[1] // groups) + i // groups for i in range(x.shape[1])]
    ],
    doc="channel_shuffle under its other name.",
    example="tenora.nn.functional.native_channel_shuffle(tenora.ones(1, 4, 2), 2)",
    public="nn.functional.native_channel_shuffle",
    renames="nn.functional.channel_shuffle",
    aliases=("native_channel_shuffle",),
)
