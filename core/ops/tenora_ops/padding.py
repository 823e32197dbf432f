"""Padding by elements of the input: mirrored, repeated or wrapped around.

- One dim after another, each read through a list of positions; corners then follow by themselves. The gradient is the
  adjoint of that reading.
- `pad` (structural.py) fills with a constant; `nn.functional.pad` chooses by mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import number_for
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, FLOATING, NUMBERS, Draw, Sample, sample

PADDED = Family("padding", "", "", "", lambda draw: [], FLOATING)

#: Mode -> the positions in a dim of some size that stand for positions outside.
SOURCES: dict[str, Callable[[Any, int], Any]] = {
    "reflect": lambda at, size: (size - 1) - ops.abs((size - 1) - ops.abs(at)),
    "replicate": lambda at, size: ops.clamp(at, 0, size - 1),
    "circular": lambda at, size: ops.remainder(at, size),
}


def _check_amounts(mode: str, pad: Any, x: Any) -> None:
    if mode not in SOURCES:
        raise errors.NotImplementedOperationError(
            f"[pad] unknown mode: got '{mode}', expected 'constant', 'reflect', 'replicate' or 'circular'. Pass one of "
            "these."
        )
    dims, odd = divmod(len(pad), 2)
    if odd or not (1 <= dims <= 3 and dims + 1 <= x.ndim <= dims + 2):
        fitting = " or ".join(str(2 * n) for n in (x.ndim - 2, x.ndim - 1) if 1 <= n <= 3)
        expected = f"{fitting} amounts" if fitting else "2 to 5 dims"
        advice = "Pass 0 for a dim that stays as it is." if fitting else "Reshape it."
        raise errors.NotImplementedOperationError(
            f"[pad] pad does not fit: got {len(pad)} amounts in mode '{mode}' for shape {tuple(x.shape)}, expected "
            f"{expected}, pairs from the last dim on. {advice}"
        )


def _check_dim(mode: str, before: int, after: int, size: int) -> None:
    limit = {"reflect": size - 1, "circular": size}.get(mode)
    if limit is not None and max(before, after) > limit:
        raise errors.OperationError(
            f"[pad] padding is too large: got ({before}, {after}) for a dim of size {size} in mode '{mode}', expected "
            f"at most {limit}. Pad less."
        )
    if size == 0 or size + before + after < 1:
        raise errors.OperationError(
            f"[pad] nothing is left: got ({before}, {after}) for a dim of size {size}, expected a result with "
            "elements. Crop less."
        )


def _cropped(input: Any, dim: int, before: int, after: int) -> Any:
    size = input.shape[dim]
    start = max(-before, 0)
    return input if min(before, after) >= 0 else ops.narrow(input, dim, start, size - start - max(-after, 0))


def _pad_by(input: Any, pad: Any, mode: str) -> Any:
    _check_amounts(mode, pad, input)
    input = ops.straight(input)
    for i, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        dim = input.ndim - 1 - i
        _check_dim(mode, before, after, input.shape[dim])
        if mode == "circular" or max(before, after) <= 0:  # the others look at elements that are cropped
            input = _cropped(input, dim, before, after)
            before, after = max(before, 0), max(after, 0)
        size = input.shape[dim]
        if max(before, after) > 0:
            places = ops.arange(-before, size + after, 1, device=input.device)
            input = ops.index_select(input, dim, SOURCES[mode](places, size))
    return ops.clone(input)


def _pad_oracle(x: Any, pad: Any, mode: str) -> Any:
    """Crops where amounts are negative, then NumPy pads."""
    widths = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        widths[-1 - i] = (max(before, 0), max(after, 0))
        x = np.take(x, range(max(-before, 0), x.shape[-1 - i] - max(-after, 0)), axis=x.ndim - 1 - i)
    named: Any = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x, widths, mode=named)


def _samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(2, 3, 5), (2, 1), "reflect"),
        sample(draw.array(2, 5), (4, 6), "replicate"),
        sample(draw.array(1, 2, 5), (3, 5), "circular"),
        sample(draw.array(1, 2, 3, 4), (1, 2, 2, 0), "reflect"),
        sample(draw.array(2, 3, 3), (1, 0, 0, 4), "replicate"),
        sample(draw.array(1, 1, 3, 4), (4, 1, 0, 2), "circular"),
        sample(draw.array(1, 1, 2, 3, 2), (1, 1, 2, 0, 0, 1), "reflect"),
        sample(draw.array(2, 2, 2, 2), (0, 1, 3, 0, 1, 1), "replicate"),
        sample(draw.array(1, 2, 2, 2), (1, 1, 0, 2, 2, 0), "circular"),
        sample(draw.array(1, 2, 5), (2, -1), "circular"),
        sample(draw.array(1, 2, 5), (-2, 1), "reflect"),
        sample(draw.array(0, 2, 3), (1, 1), "replicate"),
    ]


pad_by = op(
    "pad_by(input: Tensor, pad: int[], mode: str) -> Tensor",
    family=PADDED,
    function=_pad_by,
    dtypes=NUMBERS,
    samples=_samples,
    oracle=_pad_oracle,
    doc="Adds elements around the last dims: 'reflect' mirrors, 'replicate' repeats the edge, 'circular' wraps around.",
    example="tenora.nn.functional.pad(tenora.tensor([[1, 2, 3]]), (1, 1), mode='reflect')",
    display="pad",
    public="",
)
constant_pad_nd = op(
    "constant_pad_nd(input: Tensor, pad: int[], value: Scalar = 0) -> Tensor",
    family=PADDED,
    composite=lambda x, pad, value: ops.pad(x, pad, "constant", value),
    dtypes=NUMBERS,
    samples=lambda draw: [
        sample(draw.array(5), (1, 2)),
        sample(draw.array(3, 4), (1, 0, 2, 1)),
        sample(draw.array(3, 4), (1, 2), 3),
        sample(draw.array(2, 3, 2, 2), (0, 1, 2, 0), 1),
        sample(draw.array(3, 4), (-1, 2, 0, -1)),
        sample(draw.array(2, 0), (1, 1)),
    ],
    oracle=lambda x, pad, value=0: _constant(x, pad, value),
    doc="Adds elements of one value around the last dims; negative amounts crop.",
    example="tenora.constant_pad_nd(tenora.tensor([1, 2]), (1, 1), 7)",
)


def _pad_by_complex(input: Any, pad: Any, value: Any) -> Any:
    if all(amount <= 0 for amount in pad):
        return ops.pad(input, pad, "constant", 0)
    value = number_for("constant_pad_nd", "value", value, input.dtype)
    if not isinstance(value, complex):
        return ops.pad(input, pad, "constant", value)
    inside = ops.pad(ops.full_like(input, True, dtype=_engine.bool), pad, "constant", False)
    return ops.where(inside, ops.pad(input, pad, "constant", 0), value)


constant_pad_nd_complex = op(
    "constant_pad_nd_complex(input: Tensor, pad: int[], value: Tensor | Scalar) -> Tensor",
    family=PADDED,
    function=_pad_by_complex,
    dtypes=COMPLEX,
    samples=lambda draw: [
        sample(draw.array(5), (1, 2), 2 - 3j),
        sample(draw.array(3, 4), (1, 0, 2, 1), 1j),
        sample(draw.array(3, 4), (-1, 2, 0, -1), 0.5 + 2j),
        sample(draw.array(2, 3, 2, 2), (0, 1, 2, 0), 1 - 1j),
        sample(draw.array(2, 0), (1, 1), -2j),
        sample(draw.array(3, 4), (-1, -1), 3j),
    ],
    oracle=lambda x, pad, value: _constant(x, pad, value),
    doc="constant_pad_nd with a complex value.",
    example="tenora.constant_pad_nd(tenora.tensor([1j]), (1, 1), 2j)",
    public="constant_pad_nd",
    display="constant_pad_nd",
)


def _constant(x: Any, pad: Any, value: Any) -> Any:
    widths = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        widths[-1 - i] = (max(before, 0), max(after, 0))
        x = np.take(x, range(max(-before, 0), x.shape[-1 - i] - max(-after, 0)), axis=x.ndim - 1 - i)
    return np.pad(x, widths, constant_values=value)
