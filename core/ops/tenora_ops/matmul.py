"""Products of matrices and vectors. All run the backend's one `matmul` kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_ops.blend import blend
from tenora_ops.checks import need_rank
from tenora_ops.formula import conj, ops, sum_to
from tenora_ops.halves import rounds_once
from tenora_ops.lazy import np
from tenora_ops.oracles import contract
from tenora_ops.record import Family, op
from tenora_ops.samples import FLOATING, PRODUCTS, Draw, Sample, products, sample

PRODUCT = Family("matmul", "same_all", "matmul", "matmul", products, PRODUCTS, tolerance="contraction")
AFFINE = Family("matmul", "same_all", "", "", products, FLOATING, tolerance="contraction")


def pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    return lambda draw: [sample(draw.array(*a), draw.array(*b)) for a, b in shapes]


def affine(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((2, 4), (2, 3), (3, 4)),
        ((4,), (2, 3), (3, 4)),
        ((), (2, 3), (3, 4)),
        ((1, 4), (17, 33), (33, 4)),
        ((2, 1), (2, 3), (3, 5)),
        ((2, 4), (2, 0), (0, 4)),
    ]
    found = [sample(*[draw.array(*shape) for shape in row]) for row in rows]
    return [*found, sample(*[draw.array(*shape) for shape in rows[0]], beta=0.5, alpha=2)]


def layers(draw: Draw) -> Iterable[Sample]:
    rows = [
        ((2, 3), (4, 3)),
        ((3,), (4, 3)),
        ((5, 2, 3), (4, 3)),
        ((2, 2, 5, 3), (4, 3)),
        ((0, 3), (4, 3)),
        ((17, 33), (9, 33)),
    ]
    with_bias = [sample(draw.array(*x), draw.array(*w), draw.array(w[0])) for x, w in rows]
    return [*with_bias, sample(draw.array(2, 3), draw.array(4, 3)), sample(draw.array(3), draw.array(4, 3))]


matmul = op(
    "matmul(input: Tensor, other: Tensor) -> Tensor",
    family=PRODUCT,
    vjp=lambda g, a, b, r: (ops.matmul_left(g, a, b), ops.matmul_right(g, a, b)),
    oracle=contract,
    doc="Matrix product of the last two dims, broadcast over the others; a 1-d operand is a row or a column.",
    example="tenora.matmul(tenora.ones(2, 3), tenora.ones(3, 4))",
    method=True,
    out=True,
    operator="matmul",
)
matmul_left = op(
    "matmul_left(grad: Tensor, input: Tensor, other: Tensor) -> Tensor",
    family=PRODUCT,
    dtype="",
    shape="",
    prepare="",
    dtypes=FLOATING,
    structural="matmul_left",
    shape_only=("input",),
    vjp=lambda h, g, a, b, r: (ops.matmul(h, b), None, ops.matmul_right(g, h, b)),
    samples=lambda draw: [sample(_random_like(draw, *s.arguments), *s.arguments) for s in products(draw)],
    oracle=lambda g, a, b: _left(g, a, b),
    doc="The gradient of matmul for its first operand: grad other^H, summed to its shape.",
    example="(tenora.ones(2, 3, requires_grad=True) @ tenora.ones(3)).sum().backward()",
    public="",
)
matmul_right = op(
    "matmul_right(grad: Tensor, input: Tensor, other: Tensor) -> Tensor",
    family=PRODUCT,
    dtype="",
    shape="",
    prepare="",
    dtypes=FLOATING,
    structural="matmul_right",
    shape_only=("other",),
    vjp=lambda h, g, a, b, r: (ops.matmul(a, h), ops.matmul_left(g, a, h), None),
    samples=lambda draw: [sample(_random_like(draw, *s.arguments), *s.arguments) for s in products(draw)],
    oracle=lambda g, a, b: _right(g, a, b),
    doc="The gradient of matmul for its second operand: input^H grad, summed to its shape.",
    example="(tenora.ones(3) @ tenora.ones(3, 2, requires_grad=True)).sum().backward()",
    public="",
)


def _random_like(draw: Draw, a: Any, b: Any) -> Any:
    shape = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    return draw.array(*shape)


def _matrices(g: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The three as stacks of matrices."""
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    if a.ndim == 1:
        g = g[..., None, :] if b.ndim > 1 else np.reshape(g, (1,))
    if b.ndim == 1:
        g = g[..., None]
    return g, left, right


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    extra = tuple(range(x.ndim - len(shape)))
    ones = tuple(d + len(extra) for d, n in enumerate(shape) if n == 1)
    return x.sum(axis=extra + ones, keepdims=True).reshape(shape)


def _left(g: Any, a: Any, b: Any) -> Any:
    g, left, right = _matrices(g, a, b)
    return _summed(contract(g, np.swapaxes(right, -1, -2).conj()), left.shape).reshape(a.shape)


def _right(g: Any, a: Any, b: Any) -> Any:
    g, left, right = _matrices(g, a, b)
    return _summed(contract(np.swapaxes(left, -1, -2).conj(), g), right.shape).reshape(b.shape)


mm = op(
    "mm(input: Tensor, mat2: Tensor) -> Tensor",
    family=PRODUCT,
    shape="mm",
    kernel="matmul",
    vjp=lambda g, a, b, r: (ops.mm(g, conj(ops.t(b))), ops.mm(conj(ops.t(a)), g)),
    samples=pairs(
        ((2, 3), (3, 4)),
        ((1, 5), (5, 1)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((17, 33), (33, 9)),
        ((4, 4), (4, 4)),
    ),
    oracle=contract,
    doc="Product of two matrices.",
    example="tenora.mm(tenora.ones(2, 3), tenora.ones(3, 4))",
    method=True,
    out=True,
)
bmm = op(
    "bmm(input: Tensor, mat2: Tensor) -> Tensor",
    family=PRODUCT,
    shape="bmm",
    kernel="matmul",
    vjp=lambda g, a, b, r: (
        ops.bmm(g, conj(ops.transpose(b, 1, 2))),
        ops.bmm(conj(ops.transpose(a, 1, 2)), g),
    ),
    samples=pairs(
        ((5, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (1, 3, 2)),
        ((0, 2, 3), (0, 3, 4)),
        ((2, 2, 0), (2, 0, 3)),
        ((3, 17, 5), (3, 5, 9)),
        ((2, 1, 1), (2, 1, 1)),
    ),
    oracle=contract,
    doc="Products of two stacks of matrices, one by one.",
    example="tenora.bmm(tenora.ones(5, 2, 3), tenora.ones(5, 3, 4))",
    method=True,
    out=True,
)
mv = op(
    "mv(input: Tensor, vec: Tensor) -> Tensor",
    family=PRODUCT,
    shape="mv",
    kernel="matmul",
    vjp=lambda g, a, b, r: (ops.unsqueeze(g, 1) * ops.unsqueeze(conj(b), 0), ops.mv(conj(ops.t(a)), g)),
    samples=pairs(
        ((2, 3), (3,)), ((1, 5), (5,)), ((2, 0), (0,)), ((0, 3), (3,)), ((17, 33), (33,)), ((4, 1), (1,))
    ),
    oracle=contract,
    doc="Product of a matrix and a vector.",
    example="tenora.mv(tenora.ones(2, 3), tenora.ones(3))",
    method=True,
    out=True,
)
dot = op(
    "dot(input: Tensor, other: Tensor) -> Tensor",
    family=PRODUCT,
    shape="dot",
    kernel="matmul",
    vjp=lambda g, a, b, r: (g * conj(b), g * conj(a)),
    samples=pairs(((3,), (3,)), ((1,), (1,)), ((0,), (0,)), ((33,), (33,)), ((7,), (7,)), ((64,), (64,))),
    oracle=contract,
    doc="Sum of the products of two vectors' elements.",
    example="tenora.dot(tenora.ones(3), tenora.ones(3))",
    method=True,
    out=True,
)


@rounds_once
def _addmm(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    return blend(input, ops.mm(mat1, mat2), beta, alpha)


@rounds_once
def _baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return blend(input, ops.bmm(batch1, batch2), beta, alpha)


addmm = op(
    "addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor",
    family=AFFINE,
    shape="addmm",
    samples=affine,
    function=_addmm,
    shape_only=("input",),
    vjp=lambda g, x, a, b, r, beta, alpha: (
        sum_to(g * beta, x),
        ops.mm(g, conj(ops.t(b))) * alpha,
        ops.mm(conj(ops.t(a)), g) * alpha,
    ),
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="beta * input + alpha * (mat1 @ mat2).",
    example="tenora.addmm(tenora.ones(4), tenora.ones(2, 3), tenora.ones(3, 4))",
    method=True,
    inplace=True,
    out=True,
)
baddbmm = op(
    "baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor",
    family=AFFINE,
    shape="baddbmm",
    function=_baddbmm,
    shape_only=("input",),
    vjp=lambda g, x, a, b, r, beta, alpha: (
        sum_to(g * beta, x),
        ops.bmm(g, conj(ops.transpose(b, 1, 2))) * alpha,
        ops.bmm(conj(ops.transpose(a, 1, 2)), g) * alpha,
    ),
    samples=lambda draw: [
        sample(draw.array(*x), draw.array(*a), draw.array(*b), beta=0.5, alpha=2)
        for x, a, b in (
            ((5, 2, 4), (5, 2, 3), (5, 3, 4)),
            ((4,), (5, 2, 3), (5, 3, 4)),
            ((), (1, 2, 3), (1, 3, 4)),
            ((2, 1), (3, 2, 3), (3, 3, 4)),
            ((1,), (2, 2, 0), (2, 0, 4)),
            ((1,), (0, 2, 3), (0, 3, 4)),
        )
    ],
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="beta * input + alpha * (batch1 @ batch2).",
    example="tenora.baddbmm(tenora.ones(1), tenora.ones(5, 2, 3), tenora.ones(5, 3, 4))",
    method=True,
    inplace=True,
    out=True,
)


def _outer(input: Any, vec2: Any) -> Any:
    need_rank("outer", input, 1, 1)
    need_rank("outer", vec2, 1, 1)
    return ops.mul(ops.unsqueeze(input, 1), ops.unsqueeze(vec2, 0))


outer = op(
    "outer(input: Tensor, vec2: Tensor) -> Tensor",
    family=AFFINE,
    dtype="",
    function=_outer,
    samples=pairs(((2,), (3,)), ((1,), (5,)), ((0,), (3,)), ((3,), (0,)), ((7,), (7,)), ((17,), (9,))),
    oracle=lambda a, b: a.reshape(-1, 1) * b,
    doc="All products of two vectors' elements.",
    example="tenora.outer(tenora.ones(2), tenora.ones(3))",
    method=True,
    aliases=("ger",),
    out=True,
)


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    product = ops.matmul(x, ops.t(weight))
    return product if bias is None else product + bias


def _linear_gradients(g: Any, x: Any, weight: Any, bias: Any, r: Any) -> tuple[Any, Any, Any]:
    # The weight stands transposed in the product, so its gradient is that of a right operand with both roles swapped.
    return ops.matmul(g, conj(weight)), conj(ops.matmul_right(x, g, weight)), sum_to(g, bias)


linear = op(
    "linear(input: Tensor, weight: Tensor, bias: Tensor? = None) -> Tensor",
    family=AFFINE,
    shape="linear",
    samples=layers,
    composite=_linear,
    vjp=_linear_gradients,
    oracle=lambda x, w, b=None: contract(x, w.T) + (0 if b is None else b),
    doc="input @ weight^T + bias, weight of shape (out, in).",
    example="tenora.nn.functional.linear(tenora.ones(2, 3), tenora.ones(4, 3))",
    public="nn.functional.linear",
)
