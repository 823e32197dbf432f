"""Convolution in one, two and three spatial dims: the product, its two adjoints, the transposed form.

- conv, conv_input and conv_weight are closed under differentiation: each is bilinear, and the gradients of any are the
  other two. A backend that brings these three has all of convolution.
- The composite views the windows of the padded input as a matrix and multiplies (im2col).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_engine._engine import OpFunction
from tenora_ops.conv_cases import (
    adjoint_samples,
    conv_oracle,
    conv_samples,
    input_oracle,
    padded_oracle,
    padded_samples,
    transposed_oracle,
    transposed_samples,
    weight_oracle,
)
from tenora_ops.formula import conj, ops
from tenora_ops.record import Family, op
from tenora_ops.samples import FLOATING
from tenora_ops.windows import Windows, around, counts, items, leading, product, spatial

CONV = Family("conv", "float_same", "", "plain", lambda draw: [], FLOATING, tolerance="contraction")
#: PyTorch's CPU convolves whole numbers too; the transposed form and gradients it does not.
WHOLE_TOO = (*FLOATING, "int64")


# ---- composites ------------------------------------------------------------------------------------------
def _columns(
    x: Any, kernel: Any, out: Any, stride: Any, padding: Any, dilation: Any, groups: Any, n: int
) -> Any:
    """The windows of x as matrices, (N, groups, C / groups * kernel, windows)."""
    lead, batch = leading(x, n)
    channels = x.shape[-n - 1]
    room = ops.contiguous(ops.pad(x, around(padding, padding)))
    sizes = spatial(room.shape, n)
    out = counts(sizes, kernel, stride, dilation) if out is None else out
    windows = Windows([batch, channels], sizes, kernel, stride, dilation, out)
    seen = windows.view(room, windows.outer, windows.kernel, windows.out)
    matrix = (batch, groups, channels // groups * product(kernel), product(out))
    return ops.reshape(seen, matrix), lead, out


def _weights(weight: Any, groups: Any) -> Any:
    """(groups, out / groups, in / groups * kernel)"""
    return ops.reshape(weight, (groups, weight.shape[0] // groups, weight.shape.part(1, None).product()))


def _with_bias(out: Any, bias: Any, n: int) -> Any:
    return out if bias is None else out + ops.reshape(ops.straight(bias), (bias.shape[0], *[1] * n))


def _conv(n: int) -> Callable[..., Any]:
    def formula(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        kernel, stride, dilation = spatial(weight.shape, n), items(stride, n), items(dilation, n)
        columns, lead, out = _columns(x, kernel, None, stride, items(padding, n), dilation, groups, n)
        values = ops.matmul(_weights(weight, groups), columns)  # (N, G, out / G, windows)
        return _with_bias(ops.reshape(values, lead + (weight.shape[0], *out)), bias, n)

    return formula


def _conv_input(n: int) -> Callable[..., Any]:
    def formula(g: Any, weight: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        kernel, stride, dilation = spatial(weight.shape, n), items(stride, n), items(dilation, n)
        padding = items(padding, n)
        _, batch = leading(g, n)
        channels, out = weight.shape[1] * groups, spatial(g.shape, n)
        gradients = ops.reshape(g, (batch, groups, weight.shape[0] // groups, product(out)))
        columns = ops.matmul(ops.transpose(conj(_weights(weight, groups)), 1, 2), gradients)
        spread_out = ops.reshape(columns, (batch, channels, *kernel, *out))
        order = (*range(2, 2 + n), 0, 1, *range(2 + n, 2 + 2 * n))
        room = [size[i - n] + padding[i] * 2 for i in range(n)]
        windows = Windows([batch, channels], room, kernel, stride, dilation, out)
        whole = windows.add(ops.permute(spread_out, order), [batch, channels, *room])
        cut = [-p for p in padding]
        return ops.reshape(ops.pad(whole, around(cut, cut)), size)

    return formula


def _conv_weight(n: int) -> Callable[..., Any]:
    def formula(g: Any, x: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        kernel, out = spatial(size, n), spatial(g.shape, n)
        columns, _, _ = _columns(
            x, kernel, out, items(stride, n), items(padding, n), items(dilation, n), groups, n
        )
        batch = columns.shape[0]
        each = g.shape[-n - 1] // groups
        gradients = ops.reshape(g, (batch, groups, each, product(out)))
        rows = ops.reshape(ops.permute(gradients, (1, 2, 0, 3)), (groups, each, batch * product(out)))
        lines = ops.permute(conj(columns), (1, 0, 3, 2))
        lines = ops.reshape(lines, (groups, batch * product(out), columns.shape[2]))
        return ops.reshape(ops.matmul(rows, lines), size)

    return formula


def _conv_padded(n: int) -> Callable[..., Any]:
    def formula(x: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: Any) -> Any:
        conv = getattr(ops, f"conv{n}d")
        if padding == "valid":
            return conv(x, weight, bias, stride, 0, dilation, groups)
        totals = [d * (k - 1) for d, k in zip(items(dilation, n), spatial(weight.shape, n), strict=True)]
        before = [total // 2 for total in totals]
        after = [total - first for total, first in zip(totals, before, strict=True)]
        return conv(ops.pad(x, around(before, after)), weight, bias, stride, 0, dilation, groups)

    return formula


def _conv_transpose(n: int) -> Callable[..., Any]:
    def formula(
        x: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        groups: Any,
        dilation: Any,
    ) -> Any:
        lead, _ = leading(x, n)
        rows = zip(
            spatial(x.shape, n), items(stride, n), items(padding, n), items(dilation, n),
            spatial(weight.shape, n), items(output_padding, n), strict=True,
        )  # fmt: skip
        out = [(size - 1) * s - p * 2 + d * (k - 1) + e + 1 for size, s, p, d, k, e in rows]
        size = lead + (weight.shape[1] * groups, *out)
        conv_input = getattr(ops, f"conv{n}d_input")
        return _with_bias(conv_input(x, conj(weight), size, stride, padding, dilation, groups), bias, n)

    return formula


# ---- gradients -------------------------------------------------------------------------------------------
def _conv_vjp(n: int) -> Callable[..., Any]:
    def formula(
        g: Any, x: Any, weight: Any, bias: Any, r: Any, stride: Any, padding: Any, dilation: Any, groups: Any
    ) -> Any:
        where = (stride, padding, dilation, groups)
        return (
            getattr(ops, f"conv{n}d_input")(g, weight, x.shape, *where),
            getattr(ops, f"conv{n}d_weight")(g, x, weight.shape, *where),
            None if bias is None else ops.constant_in(_bias_gradient(g, n), bias),
        )

    return formula


def _bias_gradient(g: Any, n: int) -> Any:
    _, batch = leading(g, n)
    return ops.sum(ops.reshape(g, (batch, g.shape[-n - 1], product(spatial(g.shape, n)))), (0, 2))


def _input_vjp(n: int) -> Callable[..., Any]:
    def formula(
        h: Any, g: Any, weight: Any, r: Any, stride: Any, padding: Any, dilation: Any, groups: Any
    ) -> Any:
        where = (stride, padding, dilation, groups)
        back = getattr(ops, f"conv{n}d")(h, weight, None, *where)
        for dim in range(-n, 0):  # with an output_padding beyond the stride more windows fit than g has
            back = ops.narrow(back, dim, 0, g.shape[dim])
        return back, getattr(ops, f"conv{n}d_weight")(g, h, weight.shape, *where)

    return formula


def _weight_vjp(n: int) -> Callable[..., Any]:
    def formula(h: Any, g: Any, x: Any, r: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        where = (stride, padding, dilation, groups)
        back = getattr(ops, f"conv{n}d")(x, h, None, *where)
        for dim in range(-n, 0):
            back = ops.narrow(back, dim, 0, g.shape[dim])
        return back, getattr(ops, f"conv{n}d_input")(g, h, x.shape, *where)

    return formula


# ---- records ---------------------------------------------------------------------------------------------
OPERANDS = "input: Tensor, weight: Tensor, bias: Tensor? = None"
WHERE = "stride: int[] = 1, padding: int[] = 0, dilation: int[] = 1, groups: int = 1"


def _call(n: int) -> str:
    return f"(tenora.ones({'1, 1' + ', 3' * n}), tenora.ones(1, 1{', 2' * n}))"


def _declare(n: int) -> tuple[OpFunction, ...]:
    """The records of n spatial dims that users call."""
    call = _call(n)
    conv = op(
        f"conv{n}d({OPERANDS}, {WHERE}) -> Tensor",
        family=CONV,
        dtype="same_all",
        dtypes=WHOLE_TOO,
        shape=f"conv{n}d",
        composite=_conv(n),
        vjp=_conv_vjp(n),
        samples=conv_samples(n),
        oracle=conv_oracle(n),
        doc="out[o] = bias[o] + sum over c, k of weight[o, c, k] input[c, stride i + dilation k - padding].",
        example=f"tenora.nn.functional.conv{n}d{call}",
        public=f"nn.functional.conv{n}d",
        aliases=(f"conv{n}d",),
    )
    named = op(
        f"conv{n}d_padding({OPERANDS}, stride: int[] = 1, padding: str = 'valid', dilation: int[] = 1, "
        "groups: int = 1) -> Tensor",
        family=CONV,
        dtype="same_all",
        dtypes=WHOLE_TOO,
        shape=f"conv{n}d_padding",
        composite=_conv_padded(n),
        samples=padded_samples(n),
        oracle=padded_oracle(n),
        doc="Convolution with padding 'valid' (none) or 'same' (the result has the sizes of the input).",
        example=f"tenora.nn.functional.conv{n}d{call[:-1]}, padding='same')",
        public=f"nn.functional.conv{n}d",
    )
    transposed = op(
        f"conv_transpose{n}d({OPERANDS}, stride: int[] = 1, padding: int[] = 0, output_padding: int[] = 0, "
        "groups: int = 1, dilation: int[] = 1) -> Tensor",
        family=CONV,
        shape=f"conv_transpose{n}d",
        composite=_conv_transpose(n),
        samples=transposed_samples(n),
        oracle=transposed_oracle(n),
        doc="The adjoint of convolution as a layer: each input element adds its multiple of the kernel.",
        example=f"tenora.nn.functional.conv_transpose{n}d{call}",
        public=f"nn.functional.conv_transpose{n}d",
        aliases=(f"conv_transpose{n}d",),
    )
    return conv, named, transposed


def _declare_adjoints(n: int) -> tuple[OpFunction, OpFunction]:
    """The gradients of convolution as ops."""
    ones = "1, " * (n + 2)
    backward = (
        f"tenora.nn.functional.conv{n}d(tenora.ones({ones}requires_grad=True), "
        f"tenora.ones({ones[:-2]})).backward()"
    )
    to_input = op(
        f"conv{n}d_input(grad: Tensor, weight: Tensor, size: int[], {WHERE}) -> Tensor",
        family=CONV,
        shape=f"conv{n}d_input",
        composite=_conv_input(n),
        vjp=_input_vjp(n),
        samples=adjoint_samples(n, of_weight=False),
        oracle=input_oracle(n),
        doc="The gradient of convolution for its input, whose size is given.",
        example=backward,
        public="",
    )
    to_weight = op(
        f"conv{n}d_weight(grad: Tensor, input: Tensor, size: int[], {WHERE}) -> Tensor",
        family=CONV,
        shape=f"conv{n}d_weight",
        composite=_conv_weight(n),
        vjp=_weight_vjp(n),
        samples=adjoint_samples(n, of_weight=True),
        oracle=weight_oracle(n),
        doc="The gradient of convolution for its weight, whose size is given.",
        example=backward,
        public="",
    )
    return to_input, to_weight


conv1d, conv1d_padding, conv_transpose1d = _declare(1)
conv2d, conv2d_padding, conv_transpose2d = _declare(2)
conv3d, conv3d_padding, conv_transpose3d = _declare(3)
conv1d_input, conv1d_weight = _declare_adjoints(1)
conv2d_input, conv2d_weight = _declare_adjoints(2)
conv3d_input, conv3d_weight = _declare_adjoints(3)
