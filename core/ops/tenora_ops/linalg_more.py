"""Products, powers and functions of matrices, and the small vector ops that live in `linalg`.

- All are composed of other ops, which are recorded; the exponential scales, sums a series and squares (Higham 2008,
  Functions of Matrices, 10.3, with a Taylor polynomial of degree 18 as Bader, Blanes and Casas 2019 use for it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops import linalg_steps
from tenora_ops.checks import wrap_dims
from tenora_ops.formula import ops
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import PARTS, PRECISE, check_dtype, check_matrix, refuse, regular, stacked
from tenora_ops.record import Family, op
from tenora_ops.samples import Domain, Draw, Sample, sample

TAYLOR = 18
MOST_COLUMNS = 2**31  # of vander: more fit no memory, and NumPy refuses such a shape even without elements
NUMERIC = ("int64", *PRECISE)
VECTOR = Family("linalg", "", "", "", lambda draw: [], NUMERIC, tolerance="contraction")


# ---- powers and products -------------------------------------------------------------------------------------------
def _power(A: Any, n: int) -> Any:
    check_matrix("linalg.matrix_power", A.shape, square=True)
    if n < 0:
        A, n = ops.linalg_inv(A), -n
    if n == 0:
        return ops.constant_in(linalg_steps.identity(A, A.shape[-1], A.shape[-1]), A)
    result = None
    while n:
        if n % 2:
            result = A if result is None else ops.matmul(result, A)
        n //= 2
        if n:
            A = ops.matmul(A, A)
    return ops.clone(result) if result is A else result


def _powers(draw: Draw) -> list[Sample]:
    small = [
        (regular(draw, *shape) / 4).astype(draw.dtype) for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 2, 2))
    ]
    numbers = (3, 2, 5, 1)
    found = [sample(m, n) for m, n in zip(small, numbers, strict=True)]
    return [*found, sample(small[0], -2), sample(small[1], 0), sample(small[0], 1)]


def _power_oracle(x: Any, n: int) -> Any:
    def one(m: Any) -> Any:
        base, result = (decompositions.inv(m) if n < 0 else m), np.eye(len(m), dtype=m.dtype)
        for _ in range(abs(n)):
            result = result @ base
        return result

    return stacked(one, x)


linalg_matrix_power = op(
    "linalg_matrix_power(A: Tensor, n: int) -> Tensor",
    family=PARTS,
    function=_power,
    samples=_powers,
    oracle=_power_oracle,
    doc="A to a whole power by repeated squaring; of the inverse when n is negative.",
    example="tenora.linalg.matrix_power(tenora.eye(2), 3)",
    public="linalg.matrix_power",
    out=True,
)
matrix_power = op(
    "matrix_power(input: Tensor, n: int) -> Tensor",
    family=PARTS,
    function=lambda input, n: _power(input, n),
    samples=_powers,
    oracle=_power_oracle,
    doc="linalg.matrix_power under its older name.",
    example="tenora.matrix_power(tenora.eye(2), 3)",
    method=True,
    renames="linalg.matrix_power",
    out=True,
)


def _splits(sizes: Sequence[int]) -> list[list[int]]:
    """Where to split every run of factors so that the fewest multiplications are made (Cormen et al., 15.2)."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i][j], split[i][j] = min(options)
    return split


def _multiplied(matrices: Sequence[Any], split: Sequence[Sequence[int]], i: int, j: int) -> Any:
    """Matrices i to j in the order found; no closure, whose cycle would keep them until the collector comes."""
    k = split[i][j]
    if i == j:
        return matrices[i]
    return ops.mm(_multiplied(matrices, split, i, k), _multiplied(matrices, split, k + 1, j))


def _multi_dot(tensors: Sequence[Any]) -> Any:
    name = "linalg.multi_dot"
    if len(tensors) < 2:
        raise refuse(name, "number of tensors", len(tensors), "at least 2", "Add one.")
    matrices = list(tensors)
    ranks = [t.ndim for t in matrices]
    if any(r != 2 for r in ranks[1:-1]) or ranks[0] not in (1, 2) or ranks[-1] not in (1, 2):
        raise refuse(name, "dims", ranks, "matrices, and vectors at the ends", "Check the operands.")
    if ranks[0] == 1:
        matrices[0] = ops.unsqueeze(matrices[0], 0)
    if ranks[-1] == 1:
        matrices[-1] = ops.unsqueeze(matrices[-1], -1)
    for a, b in zip(matrices, matrices[1:], strict=False):
        if a.shape[1] != b.shape[0]:
            shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
            raise refuse(name, "shapes do not fit", shapes, "(m, k) and (k, n)", "Check the operands.")
    split = _splits([matrices[0].shape[0], *[m.shape[1] for m in matrices]])
    result = _multiplied(matrices, split, 0, len(matrices) - 1)
    if ranks[-1] == 1:
        result = ops.squeeze(result, [-1])
    return ops.squeeze(result, [0]) if ranks[0] == 1 else result


def _chains(draw: Draw) -> list[Sample]:
    rows = (
        ((2, 3), (3, 4)),
        ((2, 3), (3, 4), (4, 2)),
        ((3,), (3, 4), (4, 2)),
        ((2, 3), (3, 4), (4,)),
        ((3,), (3, 3), (3,)),
        ((2, 0), (0, 3), (3, 1)),
        ((1, 4), (4, 2), (2, 3), (3, 1)),
    )
    return [sample([draw.array(*shape) for shape in row]) for row in rows]


def _chain_oracle(tensors: Any) -> Any:
    result = tensors[0]
    for t in tensors[1:]:
        result = (result[..., :, None] * t).sum(-2) if t.ndim > 1 else (result * t).sum(-1)
    return result


linalg_multi_dot = op(
    "linalg_multi_dot(tensors: Tensor[]) -> Tensor",
    family=VECTOR,
    dtypes=PRECISE,
    function=_multi_dot,
    samples=_chains,
    oracle=_chain_oracle,
    doc="The product of two or more matrices in the cheapest order; vectors may stand at the ends.",
    example="tenora.linalg.multi_dot([tenora.ones(2, 3), tenora.ones(3, 4), tenora.ones(4)])",
    public="linalg.multi_dot",
    out=True,
)


# ---- small vector ops ----------------------------------------------------------------------------------------------
def _paired(draw: Draw, size: int | None = None) -> list[tuple[Any, Any, int]]:
    n = size
    rows = (
        ((n or 4,), (n or 4,), -1),
        ((2, n or 4), (2, n or 4), -1),
        ((n or 3, 2), (n or 3, 2), 0),
        ((2, 1, n or 3), (1, 4, n or 3), -1),
        ((2, n or 2, 2), (2, n or 2, 1), 1),
        ((0, n or 3), (0, n or 3), 1),
    )
    return [(draw.array(*a), draw.array(*b), d) for a, b, d in rows]


linalg_vecdot = op(
    "linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor",
    family=VECTOR,
    dtypes=PRECISE,
    composite=lambda x, y, dim: ops.sum(ops.conj(x) * y, (dim,)),
    samples=lambda draw: [sample(a, b, dim=d) for a, b, d in _paired(draw)],
    oracle=lambda x, y, dim=-1: (np.conj(x) * y).sum(dim),
    doc="Sums of conj(x) y along a dim.",
    example="tenora.linalg.vecdot(tenora.ones(3), tenora.ones(3))",
    public="linalg.vecdot",
    out=True,
)


def _cross(name: str, x: Any, y: Any, dim: int) -> Any:
    if x.ndim != y.ndim:
        shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
        raise refuse(name, "numbers of dims", shapes, "equal ones", "Add dims with unsqueeze.")
    if not -x.ndim <= dim < x.ndim:
        raise errors.IndexRangeError(
            f"[{name}] dim: got {dim}, expected one of {x.ndim} dims. Name one.", op=name
        )
    if x.device != y.device:  # single elements of the host would go along as numbers
        raise errors.OperationError(
            f"[{name}] operands on different devices: got {x.device} and {y.device}, expected one device."
            " Move one of them with .to(...).",
            code="device",
            op=name,
        )
    if x.shape[dim] != 3 or y.shape[dim] != 3:
        raise refuse(name, "length of the dim", (x.shape[dim], y.shape[dim]), "3", "Choose another dim.")
    a, b = [ops.select(x, dim, i) for i in range(3)], [ops.select(y, dim, i) for i in range(3)]
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return ops.stack(parts, dim % x.ndim)


def _cross_oracle(x: Any, y: Any, dim: Any = -1) -> Any:
    if dim is None:
        dim = next(d for d, n in enumerate(x.shape) if n == 3)
    a, b = np.broadcast_arrays(np.moveaxis(x, dim, -1), np.moveaxis(y, dim, -1))
    out = np.empty_like(a)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return np.moveaxis(out, -1, dim)


linalg_cross = op(
    "linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor",
    family=VECTOR,
    function=lambda input, other, dim: _cross("linalg.cross", input, other, dim),
    samples=lambda draw: [sample(a, b, dim=d) for a, b, d in _paired(draw, 3)],
    oracle=_cross_oracle,
    doc="The cross product of vectors of length 3.",
    example="tenora.linalg.cross(tenora.tensor([1, 0, 0]), tenora.tensor([0, 1, 0]))",
    public="linalg.cross",
    out=True,
)


def _cross_any(input: Any, other: Any, dim: int | None) -> Any:
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise refuse("cross", "no dim of length 3", tuple(input.shape), "one", "Name dim.")
    return _cross("cross", input, other, dim)


cross = op(
    "cross(input: Tensor, other: Tensor, dim: int? = None) -> Tensor",
    family=VECTOR,
    function=_cross_any,
    samples=lambda draw: [sample(a, b, d) for a, b, d in _paired(draw, 3)],
    oracle=_cross_oracle,
    doc="The cross product along a dim, the first of length 3 without one.",
    example="tenora.cross(tenora.tensor([1, 0, 0]), tenora.tensor([0, 1, 0]))",
    method=True,
    renames="linalg.cross",
    out=True,
)
linalg_diagonal = op(
    "linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor",
    family=VECTOR,
    composite=lambda A, offset, dim1, dim2: ops.diagonal(A, offset, dim1, dim2),
    tolerance="exact",
    samples=lambda draw: [
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), offset=1),
        sample(draw.array(2, 3, 3), offset=-1),
        sample(draw.array(2, 3, 2), dim1=0, dim2=1),
        sample(draw.array(0, 3, 3)),
        sample(draw.array(2, 2, 2, 2), offset=1, dim1=1, dim2=3),
    ],
    oracle=lambda x, offset=0, dim1=-2, dim2=-1: _diagonal(x, offset, dim1, dim2),
    doc="The diagonals of matrices.",
    example="tenora.linalg.diagonal(tenora.eye(3))",
    public="linalg.diagonal",
    renames="diagonal",
)


def _diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    moved = np.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    found = [moved[..., i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    return np.stack(found, -1) if found else np.empty((*moved.shape[:-2], 0), x.dtype)


def _vander(op_name: str, x: Any, count: int, increasing: bool) -> Any:
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = ops.to(x, _engine.int64)
    if count < 0:
        raise refuse(op_name, "N", count, "at least 0", "Check N.")
    if count > MOST_COLUMNS:
        raise refuse(op_name, "N", count, f"at most {MOST_COLUMNS}", "Check N.")
    first = ops.ones([*x.shape, min(count, 1)], dtype=x.dtype, device=x.device)
    if count < 2:
        return first
    again = ops.expand(ops.unsqueeze(x, -1), [*x.shape, count - 1])
    powers = ops.cat([first, ops.cumprod(again, -1, dtype=x.dtype)], -1)
    return powers if increasing else ops.flip(powers, [-1])


def _batched_vander(x: Any, N: int | None) -> Any:
    x = x if x.ndim else ops.reshape(x, (1,))
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise refuse("linalg.vander", "N", count, "more than 1", "Check N.")
    if x.dtype == _engine.bool:
        raise refuse(
            "linalg.vander", "dtype of x", x.dtype, "numbers", "Cast it with .to(tenora.int64).", "dtype"
        )
    return _vander("linalg.vander", x, count, increasing=True)


def _single_vander(x: Any, N: int | None, increasing: bool) -> Any:
    if x.ndim != 1:
        raise refuse("vander", "rank of x", x.ndim, "1", "Reshape it to a vector, or call linalg.vander.")
    return _vander("vander", x, x.shape[-1] if N is None else N, increasing)


def _numbers(draw: Draw) -> list[Sample]:
    small = Domain(-2.0, 2.0)
    rows = (((4,), None), ((3,), 5), ((2, 3), None), ((2, 3), 2), ((0, 3), None), ((2, 1, 3), 4), ((3,), 2))
    return [
        sample(draw.array(*shape, domain=small))
        if n is None
        else sample(draw.array(*shape, domain=small), N=n)
        for shape, n in rows
    ]


def _vander_oracle(x: Any, N: Any = None, increasing: bool = True) -> Any:
    count = x.shape[-1] if N is None else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return np.stack([x**k for k in powers], -1).astype(x.dtype)


linalg_vander = op(
    "linalg_vander(x: Tensor, *, N: int? = None) -> Tensor",
    family=VECTOR,
    function=_batched_vander,
    samples=_numbers,
    oracle=_vander_oracle,
    doc="Matrices whose columns are the powers 0, 1, ... of x.",
    example="tenora.linalg.vander(tenora.tensor([1.0, 2.0, 3.0]))",
    public="linalg.vander",
)
vander = op(
    "vander(x: Tensor, N: int? = None, increasing: bool = False) -> Tensor",
    family=VECTOR,
    function=_single_vander,
    samples=lambda draw: [
        *[
            sample(s.arguments[0].reshape(-1), i + 1)
            for i, s in enumerate(_numbers(draw))
            if s.arguments[0].size
        ],
        sample(draw.array(3, domain=Domain(-2.0, 2.0)), 3, True),
    ],
    oracle=lambda x, N=None, increasing=False: _vander_oracle(x, N, increasing),
    doc="A matrix whose columns are the powers of x, the highest first unless increasing.",
    example="tenora.vander(tenora.tensor([1.0, 2.0, 3.0]))",
    renames="linalg.vander",
)


# ---- functions of matrices, tensors as matrices ----------------------------------------------------------------------
def _exponential(A: Any) -> Any:
    name = "linalg.matrix_exp"
    check_matrix(name, A.shape, square=True)
    check_dtype(name, A.dtype)
    n = A.shape[-1]
    if not A.numel():
        return ops.clone(A)
    size = float(ops.amax(ops.sum(ops.abs(A), [-2])))
    halvings = max(0, math.ceil(math.log2(size))) if 0 < size < math.inf else 0
    x = A * 2.0**-halvings
    one = linalg_steps.identity(A, n, n)
    result = one + x / TAYLOR
    for k in range(TAYLOR - 1, 0, -1):
        result = one + ops.matmul(x, result) / k
    for _ in range(halvings):
        result = ops.matmul(result, result)
    return result


def _small(draw: Draw) -> list[Sample]:
    shapes = ((3, 3), (1, 1), (2, 2, 2), (2, 1, 3, 3), (0, 2, 2), (2, 2))
    return [sample((draw.array(*shape) / 4).astype(draw.dtype)) for shape in shapes]


linalg_matrix_exp = op(
    "linalg_matrix_exp(A: Tensor) -> Tensor",
    family=PARTS,
    function=_exponential,
    samples=_small,
    gradient_samples=lambda draw: _small(draw)[:3],
    oracle=lambda x: stacked(lambda m: decompositions.expm(m), x),
    doc="The exponential of square matrices: scaling, a Taylor polynomial, squaring.",
    example="tenora.linalg.matrix_exp(tenora.zeros(2, 2))",
    public="linalg.matrix_exp",
)
matrix_exp = op(
    "matrix_exp(input: Tensor) -> Tensor",
    family=PARTS,
    function=lambda input: _exponential(input),
    samples=_small,
    gradient_samples=lambda draw: _small(draw)[:3],
    oracle=lambda x: stacked(lambda m: decompositions.expm(m), x),
    doc="linalg.matrix_exp under its older name.",
    example="tenora.matrix_exp(tenora.zeros(2, 2))",
    method=True,
    renames="linalg.matrix_exp",
)


def _tensorinv(A: Any, ind: int) -> Any:
    name = "linalg.tensorinv"
    if ind <= 0:
        raise refuse(name, "ind", ind, "a positive number", "Check ind.")
    rows, columns = list(A.shape[:ind]), list(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise refuse(
            name, "not a square matrix", tuple(A.shape), f"equal products around dim {ind}", "Check ind."
        )
    inverse, info = ops.inverse_matrices(ops.reshape(A, [math.prod(rows), math.prod(columns)]))
    _check_regular(name, info)
    return ops.reshape(inverse, [*columns, *rows])


def _check_regular(name: str, info: Any) -> None:
    from_rules = ops.any(ops.ne(info, 0))
    if bool(from_rules):
        raise refuse(name, "singular", "a zero pivot", "a regular matrix", "Check the operand.")


def _boxes(draw: Draw, *shapes: tuple[tuple[int, ...], int]) -> list[Any]:
    found = []
    for shape, ind in shapes:
        rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
        found.append(regular(draw, rows, columns).reshape(shape))
    return found


_BOXES = (((2, 2, 4), 2), ((4, 2, 2), 1), ((2, 3, 6), 2), ((1, 1), 1), ((3, 3), 1), ((2, 2, 2, 2), 2))

linalg_tensorinv = op(
    "linalg_tensorinv(A: Tensor, ind: int = 2) -> Tensor",
    family=PARTS,
    function=_tensorinv,
    samples=lambda draw: [sample(a, ind) for a, (_, ind) in zip(_boxes(draw, *_BOXES), _BOXES, strict=True)],
    oracle=lambda a, ind=2: decompositions.inv(a.reshape(math.prod(a.shape[:ind]), -1)).reshape(
        a.shape[ind:] + a.shape[:ind]
    ),
    doc="The inverse of tensordot with A, whose first ind dims are the rows.",
    example="tenora.linalg.tensorinv(tenora.eye(4).reshape(2, 2, 4))",
    public="linalg.tensorinv",
    out=True,
)


def _tensorsolve(A: Any, B: Any, dims: Sequence[int] | None) -> Any:
    name = "linalg.tensorsolve"
    if dims is not None:
        moved = wrap_dims(name, dims, A.ndim)
        A = ops.permute(A, [*[d for d in range(A.ndim) if d not in moved], *moved])
    rest = list(A.shape[B.ndim :])
    if math.prod(rest) != B.numel() or A.numel() != B.numel() ** 2:
        shapes = f"{tuple(A.shape)} and {tuple(B.shape)}"
        raise refuse(
            name, "shapes do not fit", shapes, "prod(B.shape) rows and columns", "Check the operands."
        )
    x = ops.linalg_solve(ops.reshape(A, [B.numel(), B.numel()]), ops.reshape(B, [-1]))
    return ops.reshape(x, rest)


_SYSTEMS = (((2, 2, 4), 2), ((4, 2, 2), 1), ((2, 3, 6), 2), ((1, 1), 1), ((3, 3), 1), ((2, 2, 2, 2), 2))

linalg_tensorsolve = op(
    "linalg_tensorsolve(A: Tensor, B: Tensor, dims: int[]? = None) -> Tensor",
    family=PARTS,
    function=_tensorsolve,
    samples=lambda draw: [
        sample(a, draw.array(*shape[:ind]))
        for a, (shape, ind) in zip(_boxes(draw, *_SYSTEMS), _SYSTEMS, strict=True)
    ],
    oracle=lambda a, b: (decompositions.inv(a.reshape(b.size, b.size)) @ b.reshape(-1)).reshape(
        a.shape[b.ndim :]
    ),
    doc="X with tensordot(A, X, X.ndim) = B.",
    example="tenora.linalg.tensorsolve(tenora.eye(4).reshape(2, 2, 4), tenora.ones(2, 2))",
    public="linalg.tensorsolve",
    out=True,
)


def _householder(input: Any, tau: Any) -> Any:
    """The first columns of H_1 ... H_k, recorded: nothing is written in place."""
    name = "linalg.householder_product"
    check_matrix(name, input.shape)
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise refuse(name, "shape of input", tuple(input.shape), "no more columns than rows", "Transpose it.")
    if tau.ndim != input.ndim - 1 or tau.shape[:-1] != input.shape[:-2] or tau.shape[-1] > columns:
        wanted = f"{tuple(input.shape[:-2])} and at most {columns}"
        raise refuse(name, "shape of tau", tuple(tau.shape), wanted, "Give what geqrf gives.")
    q = linalg_steps.identity(input, rows, columns)
    place = linalg_steps.integers(input, rows)
    for k in reversed(range(tau.shape[-1])):
        below = ops.where(ops.gt(place, k), input[..., k], 0)
        v = ops.unsqueeze(ops.where(ops.eq(place, k), 1, below), -1)
        scale = ops.unsqueeze(ops.unsqueeze(tau[..., k], -1), -1)
        q = q - v * ops.matmul(ops.conj(ops.transpose(v, -2, -1)), q) * scale
    return q


def _reflectors(draw: Draw) -> list[Sample]:
    rows = (((3, 3), 3), ((4, 3), 2), ((2, 3, 2), 2), ((2, 1, 3, 3), 3), ((3, 1), 1), ((4, 4), 1))
    return [
        sample(
            (draw.array(*shape) / 4).astype(draw.dtype), (draw.array(*shape[:-2], k) / 4).astype(draw.dtype)
        )
        for shape, k in rows
    ]


def _householder_oracle(x: Any, tau: Any) -> Any:
    def one(m: Any, t: Any) -> Any:
        q = np.eye(len(m), dtype=m.dtype)
        for k in range(t.shape[1]):
            v = np.r_[np.zeros(k), 1, m[k + 1 :, k]]
            q = q @ (np.eye(len(m)) - t[0, k] * np.outer(v, v.conj()))
        return q[:, : m.shape[1]]

    return stacked(one, x, tau[..., None, :])


linalg_householder_product = op(
    "linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor",
    family=PARTS,
    function=_householder,
    samples=_reflectors,
    oracle=_householder_oracle,
    doc="The first columns of the product of Householder reflections 1 - tau v v^H.",
    example="tenora.linalg.householder_product(tenora.eye(3), tenora.zeros(3))",
    public="linalg.householder_product",
    tolerance="factorised",
    out=True,
)


def _geqrf(input: Any) -> Any:
    check_matrix("geqrf", input.shape)
    check_dtype("geqrf", input.dtype)
    old = _engine.set_grad_enabled(False)
    try:
        return linalg_steps.reflections(input)
    finally:
        _engine.set_grad_enabled(old)


geqrf = op(
    "geqrf(input: Tensor) -> (Tensor, Tensor)",
    family=PARTS,
    function=_geqrf,
    differentiable=False,
    samples=lambda draw: [
        sample(draw.array(*shape)) for shape in ((3, 3), (4, 3), (3, 4), (2, 3, 2), (2, 1, 2, 3), (1, 1))
    ],
    oracle=lambda x: stacked(_geqrf_oracle, x),
    doc="Householder vectors below the diagonal and R on and above it, with their factors tau.",
    example="tenora.geqrf(tenora.eye(3)).tau",
    method=True,
    result=("a", "tau"),
    out=True,
)


def _geqrf_oracle(m: Any) -> Any:
    (stored, tau), _ = decompositions.qr(m, mode="raw")
    return stored, tau
