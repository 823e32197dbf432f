"""Windows as columns and back, and exchanges between channels and space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, FLOATING, Draw, Sample, sample
from tenora_ops.windows import (
    Sizes,
    Windows,
    around,
    counts,
    items,
    leading,
    padded,
    positions,
    product,
    spatial,
    spread,
    taps,
)

COLUMNS = Family("fold", "float_same", "", "plain", lambda draw: [], FLOATING)
MOVED = Family("fold", "same", "", "plain", lambda draw: [], ALL)
WHERE = "kernel_size: int[], dilation: int[] = 1, padding: int[] = 0, stride: int[] = 1"


# ---- composites ------------------------------------------------------------------------------------------
def _unfold(x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    kernel, dilation, padding, stride = (items(v, 2) for v in (kernel_size, dilation, padding, stride))
    lead, batch = leading(x, 2)
    channels = x.shape[-3]
    room = ops.contiguous(ops.pad(x, around(padding, padding)))
    sizes = spatial(room.shape, 2)
    windows = Windows(
        [batch, channels], sizes, kernel, stride, dilation, counts(sizes, kernel, stride, dilation)
    )
    seen = windows.view(room, windows.outer, windows.kernel, windows.out)
    return ops.reshape(seen, lead + (channels * product(kernel), product(windows.out[0])))


def _fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    size, kernel = items(output_size, 2), items(kernel_size, 2)
    dilation, padding, stride = (items(v, 2) for v in (dilation, padding, stride))
    lead, batch = leading(x, 1)
    channels = x.shape[-2] // product(kernel)
    room = [size[i] + padding[i] * 2 for i in range(2)]
    windows = Windows(
        [batch, channels], room, kernel, stride, dilation, counts(room, kernel, stride, dilation)
    )
    columns = ops.reshape(x, (batch, channels, *kernel, *windows.out[0]))
    whole = windows.add(ops.permute(columns, (2, 3, 0, 1, 4, 5)), [batch, channels, *room])
    cut = [-p for p in padding]
    return ops.reshape(ops.pad(whole, around(cut, cut)), lead + (channels, *size))


# ---- oracles and samples ---------------------------------------------------------------------------------
def _numbers(*spans: Any) -> list[Sizes]:
    return [spread("oracle", "numbers", v, 2, 0) for v in spans]


def _unfold_oracle(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    kernel, dilation, padding, stride = _numbers(kernel_size, dilation, padding, stride)
    out = tuple(counts(x.shape[-2:], kernel, stride, dilation, padding))
    room = padded(x, padding)
    seen = [room[(..., *taps(at, out, stride, dilation))] for at in positions(*kernel)]
    columns = np.stack(seen, -3)  # (..., C, kernel, out)
    return columns.reshape(*x.shape[:-3], x.shape[-3] * len(seen), out[0] * out[1])


def _fold_oracle(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    kernel, dilation, padding, stride = _numbers(kernel_size, dilation, padding, stride)
    size = spread("oracle", "size", output_size, 2, 1)
    out = tuple(counts(size, kernel, stride, dilation, padding))
    columns = x.reshape(*x.shape[:-2], -1, kernel[0] * kernel[1], *out) if x.size else x
    shape = (*x.shape[:-2], x.shape[-2] // (kernel[0] * kernel[1]), *size)
    room = padded(np.zeros(shape, dtype=x.dtype), padding)
    for i, at in enumerate(positions(*kernel)) if x.size else ():
        room[(..., *taps(at, out, stride, dilation))] += columns[..., i, :, :]
    return room[..., padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


def _unfold_samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(2, 3, 4, 5), 2),
        sample(draw.array(1, 1, 3, 4), (2, 3)),
        sample(draw.array(2, 3, 3), (2, 1), 2, 1),
        sample(draw.array(1, 2, 3, 4), 2, 1, (1, 0), (2, 1)),
        sample(draw.array(0, 2, 3, 3), 2),
        sample(draw.array(2, 2, 5, 6), 3, padding=1, stride=2),
    ]


def _fold_samples(draw: Draw) -> Iterable[Sample]:
    found = []
    for s in _unfold_samples(draw):
        columns = _unfold_oracle(*s.arguments, **s.options)
        rest = s.arguments[1:]
        found.append(sample(draw.array(*columns.shape), s.arguments[0].shape[-2:], *rest, **s.options))
    return found


unfold = op(
    f"unfold(input: Tensor, {WHERE}) -> Tensor",
    family=COLUMNS,
    shape="unfold_windows",
    composite=_unfold,
    vjp=lambda g, x, r, kernel_size, dilation, padding, stride: ops.fold(
        g, (x.shape[-2], x.shape[-1]), kernel_size, dilation, padding, stride
    ),
    samples=_unfold_samples,
    oracle=_unfold_oracle,
    doc="The windows of (N, C, H, W) as columns: (N, C * kernel, windows), also called im2col.",
    example="tenora.nn.functional.unfold(tenora.ones(1, 2, 3, 3), 2)",
    public="nn.functional.unfold",
)
fold = op(
    f"fold(input: Tensor, output_size: int[], {WHERE}) -> Tensor",
    family=COLUMNS,
    shape="fold_windows",
    composite=_fold,
    vjp=lambda g, x, r, kernel_size, dilation, padding, stride: ops.unfold(
        g, kernel_size, dilation, padding, stride
    ),
    samples=_fold_samples,
    oracle=_fold_oracle,
    tolerance="reduction",
    doc="Adds columns of windows into their places: the adjoint of unfold.",
    example="tenora.nn.functional.fold(tenora.ones(1, 8, 4), (3, 3), 2)",
    public="nn.functional.fold",
)


# ---- channels and space ----------------------------------------------------------------------------------
def _shuffle_rule(name: str, up: bool) -> Any:
    def rule(operands: Any, attributes: Any) -> Sizes:
        shape, factor = operands[0][0], attributes[0]
        fits = len(shape) >= 3 and factor > 0
        if fits and up:
            fits = shape[-3] % (factor * factor) == 0
        elif fits:
            fits = shape[-2] % factor == 0 and shape[-1] % factor == 0
        if not fits:
            raise errors.OperationError(
                f"[{name}] the factor does not fit: got {factor} for shape {tuple(shape)}, expected (..., C, H, W) "
                "that it divides. Check the sizes."
            )
        c, h, w = shape[-3:]
        if up:
            return (*shape[:-3], c // (factor * factor), h * factor, w * factor)
        return (*shape[:-3], c * factor * factor, h // factor, w // factor)

    return rule


def _pixel_shuffle(x: Any, upscale_factor: Any) -> Any:
    lead, batch = leading(x, 2)
    r, (h, w) = upscale_factor, spatial(x.shape, 2)
    channels = x.shape[-3] // (r * r)
    parts = ops.permute(ops.reshape(x, (batch * channels, r, r, h, w)), (0, 3, 1, 4, 2))
    return ops.reshape(parts, lead + (channels, h * r, w * r))


def _pixel_unshuffle(x: Any, downscale_factor: Any) -> Any:
    lead, batch = leading(x, 2)
    r = downscale_factor
    h, w = x.shape[-2] // r, x.shape[-1] // r
    parts = ops.permute(ops.reshape(x, (batch * x.shape[-3], h, r, w, r)), (0, 2, 4, 1, 3))
    return ops.reshape(parts, lead + (x.shape[-3] * r * r, h, w))


def _shuffled(x: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    out = np.empty((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r), dtype=x.dtype)
    for i, j in positions(r, r):
        out[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return out


def _unshuffled(x: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    out = np.empty((*x.shape[:-3], x.shape[-3] * r**2, x.shape[-2] // r, x.shape[-1] // r), dtype=x.dtype)
    for i, j in positions(r, r):
        out[..., i * r + j :: r * r, :, :] = x[..., i::r, j::r]
    return out


pixel_shuffle = op(
    "pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor",
    family=MOVED,
    shape=_shuffle_rule("pixel_shuffle", up=True),
    composite=_pixel_shuffle,
    vjp=lambda g, x, r, upscale_factor: ops.pixel_unshuffle(g, upscale_factor),
    samples=lambda draw: [
        sample(draw.array(2, 8, 3, 2), 2),
        sample(draw.array(4, 2, 2), 2),
        sample(draw.array(1, 2, 9, 1, 1), 3),
        sample(draw.array(2, 3, 2, 2), 1),
        sample(draw.array(0, 4, 2, 2), 2),
        sample(draw.array(1, 9, 2, 1), 3),
    ],
    oracle=_shuffled,
    doc="(..., C r^2, H, W) to (..., C, H r, W r): channels become positions (Shi et al. 2016).",
    example="tenora.nn.functional.pixel_shuffle(tenora.ones(1, 4, 2, 2), 2)",
    public="nn.functional.pixel_shuffle",
    aliases=("pixel_shuffle",),
)
pixel_unshuffle = op(
    "pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor",
    family=MOVED,
    shape=_shuffle_rule("pixel_unshuffle", up=False),
    composite=_pixel_unshuffle,
    vjp=lambda g, x, r, downscale_factor: ops.pixel_shuffle(g, downscale_factor),
    samples=lambda draw: [
        sample(draw.array(2, 2, 4, 6), 2),
        sample(draw.array(1, 4, 4), 2),
        sample(draw.array(1, 2, 1, 3, 3), 3),
        sample(draw.array(2, 3, 2, 2), 1),
        sample(draw.array(0, 1, 2, 2), 2),
        sample(draw.array(1, 1, 6, 3), 3),
    ],
    oracle=_unshuffled,
    doc="(..., C, H r, W r) to (..., C r^2, H, W): the inverse of pixel_shuffle.",
    example="tenora.nn.functional.pixel_unshuffle(tenora.ones(1, 1, 4, 4), 2)",
    public="nn.functional.pixel_unshuffle",
    aliases=("pixel_unshuffle",),
)


def _channel_rule(operands: Any, attributes: Any) -> Sizes:
    shape, groups = operands[0][0], attributes[0]
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        raise errors.OperationError(
            f"[channel_shuffle] groups do not fit: got {groups} for shape {tuple(shape)}, expected (N, C, ...) whose "
            "channels they divide. Check the sizes."
        )
    return tuple(shape)


def _channel_shuffle(x: Any, groups: Any) -> Any:
    parts = (x.shape[0], groups, x.shape[1] // groups, x.shape.part(2, None).product())
    return ops.reshape(ops.transpose(ops.reshape(x, parts), 1, 2), x.shape)


def channel_shuffle_samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(2, 6, 2), 2),
        sample(draw.array(1, 6, 2, 2), 3),
        sample(draw.array(2, 4, 1, 2, 1), 4),
        sample(draw.array(1, 3, 2, 2), 1),
        sample(draw.array(0, 4, 2), 2),
        sample(draw.array(2, 4, 3), 2),
    ]


def shuffled_channels(x: Any, groups: int) -> Any:
    """By the number of each result channel's source."""
    return x[:, [i % groups * (x.shape[1] // groups) + i // groups for i in range(x.shape[1])]]


channel_shuffle = op(
    "channel_shuffle(input: Tensor, groups: int) -> Tensor",
    family=MOVED,
    shape=_channel_rule,
    composite=_channel_shuffle,
    vjp=lambda g, x, r, groups: ops.channel_shuffle(g, x.shape[1] // groups),
    samples=channel_shuffle_samples,
    oracle=shuffled_channels,
    doc="Deals the channels of (N, C, ...) out of groups, one from each in turn.",
    example="tenora.nn.functional.channel_shuffle(tenora.ones(1, 4, 2), 2)",
    public="nn.functional.channel_shuffle",
    aliases=("channel_shuffle",),
)
