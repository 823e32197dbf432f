"""Shape rules of convolution: what fits, and the sizes of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.windows import Sizes, check_rank, spread


def _refuse(name: str, what: str, got: Any, expected: Any, advice: str) -> None:
    raise RuntimeError(f"[{name}] {what}: got {got}, expected {expected}. {advice}")


def _check_weight(name: str, x: Sizes, weight: Sizes, channels: int, groups: int, n: int) -> None:
    """`channels`: the dim of the weight that faces the input, in units of one group or of all."""
    if groups < 1:
        _refuse(name, "wrong number of groups", groups, "at least 1", "Pass groups=1 for a full convolution.")
    if len(weight) != n + 2:
        _refuse(name, "wrong rank of weight", weight, f"{n + 2} dims", "Give (out, in / groups, kernel...).")
    if min(weight[2:]) < 1:
        _refuse(name, "the kernel is empty", weight, "sizes of at least 1", "Give a kernel.")
    if weight[0] % groups:
        _refuse(name, "groups do not divide the weight", f"{weight} for {groups} groups", "a multiple in dim 0",
                "Change the number of groups.")  # fmt: skip
    if x[-n - 1] != channels:
        _refuse(name, "channels do not fit", f"{x} with weight {weight} and {groups} groups",
                f"{channels} channels of input", "Check the layer's channels.")  # fmt: skip


def _check_bias(name: str, bias: Any, channels: int) -> None:
    if bias is not None and tuple(bias[0]) != (channels,):
        _refuse(name, "bias does not fit", tuple(bias[0]), (channels,), "Give one number per output channel.")


def windows_of(name: str, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Any, dilation: Sizes) -> Sizes:
    out = []
    for size, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        room = size + p - d * (k - 1) - 1
        if room < 0:
            _refuse(name, "the kernel is larger than the padded input", f"kernel {kernel} on {sizes}",
                    "at most the padded size in every dim", "Use a smaller kernel or more padding.")  # fmt: skip
        out.append(room // s + 1)
    return tuple(out)


def conv_rule(n: int) -> Callable[..., Sizes]:
    name = f"conv{n}d"

    def rule(operands: Any, attributes: Any) -> Sizes:
        (x, _), (weight, _), bias = operands
        stride, padding, dilation, groups = attributes
        stride, dilation = spread(name, "stride", stride, n, 1), spread(name, "dilation", dilation, n, 1)
        _check_rank_and_weight(name, x, weight, groups, n)
        _check_bias(name, bias, weight[0])
        if isinstance(padding, str):
            both = _named_padding(name, padding, weight[2:], stride, dilation)
        else:
            both = tuple(2 * p for p in spread(name, "padding", padding, n, 0))
        out = windows_of(name, x[-n:], weight[2:], stride, both, dilation)
        return (*x[: -n - 1], weight[0], *out)

    return rule


def _check_rank_and_weight(name: str, x: Sizes, weight: Sizes, groups: int, n: int) -> None:
    check_rank(name, x, n)
    _check_weight(name, x, weight, weight[1] * groups if len(weight) > 1 else 0, groups, n)


def _named_padding(name: str, padding: str, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Sizes:
    if padding not in ("same", "valid"):
        raise RuntimeError(
            f"[{name}] unknown padding: got '{padding}', expected 'same' or 'valid'. Pass one of these, or numbers."
        )
    if padding == "valid":
        return (0,) * len(kernel)
    if max(stride) > 1:
        _refuse(name, "padding='same' with a stride", stride, "stride 1", "Pass the padding as numbers.")
    return tuple(d * (k - 1) for k, d in zip(kernel, dilation, strict=True))


def transposed_rule(n: int) -> Callable[..., Sizes]:
    name = f"conv_transpose{n}d"

    def rule(operands: Any, attributes: Any) -> Sizes:
        (x, _), (weight, _), bias = operands
        stride, padding, output_padding, groups, dilation = attributes
        stride, dilation = spread(name, "stride", stride, n, 1), spread(name, "dilation", dilation, n, 1)
        padding = spread(name, "padding", padding, n, 0)
        extra = spread(name, "output_padding", output_padding, n, 0)
        check_rank(name, x, n)
        _check_weight(name, x, weight, weight[0] if weight else 0, groups, n)
        _check_bias(name, bias, weight[1] * groups)
        if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
            _refuse(name, "output_padding is too large", extra, f"less than stride {stride} or dilation {dilation}",
                    "Use a smaller one.")  # fmt: skip
        out = tuple(
            (size - 1) * s - 2 * p + d * (k - 1) + e + 1
            for size, s, p, d, k, e in zip(x[-n:], stride, padding, dilation, weight[2:], extra, strict=True)
        )
        if min(out) < 1:
            _refuse(name, "the result would be empty", out, "sizes of at least 1", "Use less padding.")
        return (*x[: -n - 1], weight[1] * groups, *out)

    return rule


def size_rule(operands: Any, attributes: Any) -> Sizes:
    """The adjoints are told the size of their result."""
    return tuple(attributes[0])
