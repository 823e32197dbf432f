"""Choice between tensors, and mixtures of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_ops.checks import number_for
from tenora_ops.families import BINARY, COMPOSITE
from tenora_ops.formula import conj, is_complex, is_number, ops, sum_to
from tenora_ops.index import gathered
from tenora_ops.index_cases import gathers
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.samples import (
    ALL,
    BOOLEAN,
    FLOATING,
    NONZERO,
    NUMBERS,
    SIGNED,
    Draw,
    Sample,
    sample,
    unary,
)


def choices(draw: Draw) -> Iterable[Sample]:
    """A condition and two alternatives."""
    return [
        sample(draw.mask(3, 4), draw.array(3, 4), draw.array(3, 4)),
        sample(draw.mask(4), draw.array(3, 1), draw.array(2, 1, 1)),
        sample(draw.mask(2, 3), draw.array(2, 3), 2),
        sample(draw.mask(2, 3), 3, draw.array(3)),
        sample(draw.mask(), draw.array(5), draw.array()),
        sample(draw.mask(2, 0, 3), draw.array(3), draw.array(2, 1, 1)),
        sample(draw.mask(3, 1, 1), draw.array(2, 3, 2, 2), draw.array(2)),
        sample(draw.mask(1, 2, 1, 3, 2), draw.array(3, 1), draw.array()),
    ]


def fills(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3, 4), draw.mask(3, 4), 2),
        sample(draw.array(3, 4), draw.mask(4), draw.array()),
        sample(draw.array(2, 3, 2, 2), draw.mask(3, 1, 2), 1),
        sample(draw.array(), draw.mask(), 3),
        sample(draw.array(0), draw.mask(0), 3),
        sample(draw.array(5), draw.mask(), 1),
        sample(draw.array(2, 3), draw.mask(2, 3), 1.5),
    ]


def weights(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3, 4), draw.array(3, 4), 0.25),
        sample(draw.array(3, 4), draw.array(4), draw.array(3, 1)),
        sample(draw.array(2, 3, 2, 2), draw.array(2), 0.75),
        sample(draw.array(), draw.array(), 0.5),
        sample(draw.array(0), draw.array(0), 0.5),
        sample(draw.array(1, 2, 1, 3, 2), draw.array(2), draw.array(3, 1)),
        sample(draw.array(2, 1, 3), draw.array(4, 1), 0.5),
    ]


def three(draw: Draw) -> Iterable[Sample]:
    """Three operands and a factor."""
    shapes = (
        ((3, 4), (3, 4), (3, 4)),
        ((3, 4), (4,), (3, 1)),
        ((), (2, 3), ()),
        ((0,), (1,), (0,)),
        ((2, 3, 2, 2), (2,), ()),
        ((2, 1, 3), (4, 1), (3,)),
        ((1, 2, 1, 3, 2), (3, 1), (2,)),
    )
    found = [sample(*[draw.array(*shape) for shape in group], value=2) for group in shapes]
    return [*found, sample(draw.array(5), draw.array(5), draw.array(5))]


where = op(
    "where(condition: Tensor, input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor",
    family=BINARY,
    dtype="where",
    prepare="choose",
    samples=choices,
    vjp=lambda g, c, a, b, r: (None, sum_to(ops.where(c, g, 0), a), sum_to(ops.where(c, 0, g), b)),
    tolerance="exact",
    oracle=lambda c, a, b: np.where(c, a, b),
    doc="input where the condition holds, other elsewhere.",
    example="tenora.where(tenora.tensor([True, False]), 1.0, tenora.tensor([5.0, 6.0]))",
    out=True,
)


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """In x's dtype, whatever the value's."""
    number = is_number(value)
    if not number and is_complex(value) and not is_complex(x):
        raise errors.OperationError(
            "[masked_fill] value does not fit: got a complex number for a real tensor, expected a real one. Cast the "
            "tensor first."
        )
    fit = ops.full((), value, dtype=x.dtype, device=x.device) if number else ops.to(value, x.dtype)
    return ops.where(mask, fit, x)


masked_fill = op(
    "masked_fill(input: Tensor, mask: Tensor, value: Tensor | real) -> Tensor",
    family=COMPOSITE,
    dtypes=BOOLEAN + NUMBERS,
    samples=fills,
    composite=_masked_fill,
    vjp=lambda g, x, mask, value, r: (
        sum_to(ops.where(mask, 0, g), x),
        None,
        sum_to(ops.where(mask, g, 0), value),
    ),
    tolerance="exact",
    oracle=lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
    masks=("mask",),
    doc="input with value where the mask holds.",
    example="tenora.masked_fill(tenora.tensor([1.0, 2.0]), tenora.tensor([True, False]), 9.0)",
    method=True,
    inplace=True,
)


def _lerp(a: Any, b: Any, w: Any) -> Any:
    """From the nearer end, as PyTorch: exact at both ends."""
    if is_number(w):
        w = ops.full((), w, dtype=a.dtype, device=a.device)
    near = ops.lt(ops.abs(w), 0.5)
    return ops.where(near, a, b) + ops.where(near, w, w - 1) * (b - a)


lerp = op(
    "lerp(input: Tensor, end: Tensor, weight: Tensor | real) -> Tensor",
    family=BINARY,
    dtype="promote_tensors",
    dtypes=FLOATING,
    samples=weights,
    composite=_lerp,
    vjp=lambda g, a, b, w, r: (
        sum_to(g * conj(1 - w), a),
        sum_to(g * conj(w), b),
        None if is_number(w) else sum_to(g * conj(b - a), w),
    ),
    tolerance="few_ulp",
    edges="cancels",
    either_zero=True,
    oracle=lambda a, b, w: np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)),
    doc="input + weight * (end - input), computed from the end that is nearer.",
    example="tenora.lerp(tenora.tensor([0.0, 2.0]), tenora.tensor([4.0, 4.0]), 0.25)",
    method=True,
    inplace=True,
    out=True,
)

addcmul = op(
    "addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor",
    family=BINARY,
    dtypes=SIGNED + FLOATING,
    samples=three,
    composite=lambda x, a, b, value: x + a * b * value,
    vjp=lambda g, x, a, b, r, value: (
        sum_to(g, x),
        sum_to(g * conj(b) * value, a),
        sum_to(g * conj(a) * value, b),
    ),
    edges="limited",
    oracle=lambda x, a, b, value=1: np.add(x, np.multiply(np.multiply(a, b), value)),
    tolerance="transcendental",
    doc="input + value * tensor1 * tensor2.",
    example="tenora.addcmul(tenora.tensor([1.0]), tenora.tensor([2.0]), tenora.tensor([3.0]), value=0.5)",
    method=True,
    inplace=True,
    out=True,
)

addcdiv = op(
    "addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor",
    family=BINARY,
    dtype="promote_quotient",
    dtypes=FLOATING,
    domain=NONZERO,
    samples=three,
    composite=lambda x, a, b, value: x + a / b * value,
    vjp=lambda g, x, a, b, r, value: (
        sum_to(g, x),
        sum_to(g * value / conj(b), a),
        sum_to(g * -value * conj(a / (b * b)), b),
    ),
    edges="ordinary",
    oracle=lambda x, a, b, value=1: x + value * np.true_divide(a, b),
    tolerance="transcendental",
    doc="input + value * tensor1 / tensor2.",
    example="tenora.addcdiv(tenora.tensor([1.0]), tenora.tensor([2.0]), tenora.tensor([4.0]), value=0.5)",
    method=True,
    inplace=True,
    out=True,
)


def _fill_tensor(input: Any, value: Any) -> Any:
    if isinstance(value, Tensor) and value.ndim:
        raise errors.OperationError(
            f"[fill] value: got {value.ndim} dimensions, expected a number or a tensor of none. Use copy_ to broadcast."
        )
    tensor = isinstance(value, Tensor)
    if not input.dtype.is_complex and (value.dtype.is_complex if tensor else isinstance(value, complex)):
        value = number_for("fill", "value", value, input.dtype)
    return ops.copy(input, value)


fill_tensor = op(
    "fill_tensor(input: Tensor, value: Tensor | Scalar) -> Tensor",
    family=COMPOSITE,
    dtypes=FLOATING,
    tolerance="exact",
    function=_fill_tensor,
    samples=lambda draw: [sample(s.arguments[0], draw.array()) for s in unary(draw)],
    edges="none",
    oracle=lambda x, value: np.broadcast_to(value, x.shape).astype(x.dtype),
    doc="As fill with a value that may have a history, or be complex: the value's gradient is the sum.",
    example="tenora.zeros(2).fill_(tenora.tensor(7.0, requires_grad=True))",
    public="fill",
    display="fill",
    inplace="fill_",
)
gather_keyword = op(
    "gather_keyword(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool) -> Tensor",
    family=COMPOSITE,
    dtypes=ALL,
    samples=lambda draw: [sample(*s.arguments, sparse_grad=False) for s in gathers(draw)],
    composite=lambda x, index, dim, sparse_grad: ops.gather(x, dim, index),
    tolerance="exact",
    oracle=lambda x, dim, index, sparse_grad: gathered(x, dim, index),
    apart=("input",),
    doc="gather with the keyword of programs for PyTorch; gradients are dense all the same.",
    example="tenora.gather(tenora.tensor([1, 2]), 0, tenora.tensor([1]), sparse_grad=False)",
    public="gather",
    display="gather",
    method=True,
    out=True,
)
