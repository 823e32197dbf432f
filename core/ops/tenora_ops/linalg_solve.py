"""Linear systems and inverses.

- `solve_triangle`, `solve_matrices` and `inverse_matrices` are one node each, and a backend may have kernels for them;
  the public functions broadcast stacks, take vectors and check `info`.
- Gradients: Giles 2008, An extended collection of matrix derivative results, in the conjugate convention.
"""

from __future__ import annotations

from typing import Any

from tenora_ops import linalg_steps
from tenora_ops.formula import ops
from tenora_ops.lazy import decompositions, np
from tenora_ops.linalg_rules import (
    FACTOR,
    PARTS,
    H,
    Operands,
    check_info,
    check_matrix,
    product,
    refuse,
    regular,
    same_dtypes,
    square_shapes,
    squares,
    stacked,
)
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample


def _pair_shapes(name: str, results: str) -> Any:
    """Rule of (..., n, n) and (..., n, k), or (..., k, n) from the right; equal stacks."""

    def rule(operands: Operands, attributes: Operands) -> Any:
        a, b = tuple(operands[0][0]), tuple(operands[1][0])
        check_matrix(name, a, square=True)
        check_matrix(name, b)
        right = name == "linalg.solve_triangular" and not attributes[1]
        if a[:-2] != b[:-2] or a[-1] != b[-1 if right else -2]:
            wanted = "(..., n, n) and (..., k, n)" if right else "(..., n, n) and (..., n, k)"
            raise refuse(name, "shapes do not fit", f"{a} and {b}", wanted, "Check the operands.")
        return (b, a[:-2]) if results == "mi" else b

    return rule


def pairs(draw: Draw) -> list[Sample]:
    """Stacks of matrices with right-hand sides."""
    rows = (
        ((3, 3), 2),
        ((1, 1), 1),
        ((2, 2, 2), 3),
        ((2, 1, 3, 3), 1),
        ((0, 0), 2),
        ((0, 2, 2), 1),
        ((5, 5), 5),
    )
    return [sample(regular(draw, *shape), draw.array(*shape[:-1], k)) for shape, k in rows]


def triangles(draw: Draw) -> list[Sample]:
    first = pairs(draw)[0].arguments
    wide = sample(first[0], draw.array(2, 3), upper=True, left=False)
    unit = sample((first[0] / 8).astype(first[0].dtype), first[1], upper=False, unitriangular=True)
    return [*[sample(*s.arguments, upper=bool(i % 2)) for i, s in enumerate(pairs(draw))], wide, unit]


def _triangle_gradient(
    g: Any, a: Any, b: Any, x: Any, upper: bool, left: bool, unitriangular: bool
) -> tuple[Any, Any]:
    gb = ops.solve_triangle(H(a), g, upper=not upper, left=left, unitriangular=unitriangular)
    ga = -product(gb, H(x)) if left else -product(H(x), gb)
    if unitriangular:
        return (ops.triu(ga, 1) if upper else ops.tril(ga, -1)), gb
    return (ops.triu(ga) if upper else ops.tril(ga)), gb


TRIANGLE = "A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False"

solve_triangle = op(
    f"solve_triangle({TRIANGLE}) -> Tensor",
    family=FACTOR,
    dtype=same_dtypes("linalg.solve_triangular", "v"),
    shape=_pair_shapes("linalg.solve_triangular", "m"),
    function=lambda A, B, upper, left, unitriangular: linalg_steps.solve_triangular(
        A, B, upper, left, unitriangular
    ),
    vjp=_triangle_gradient,
    samples=triangles,
    oracle=lambda a, b, upper, left=True, unitriangular=False: _triangle_oracle(
        a, b, upper, left, unitriangular
    ),
    doc="A^-1 B, or B A^-1, for triangular A with the stack of B.",
    example="tenora.linalg.solve_triangular(tenora.eye(2), tenora.ones(2, 1), upper=True)",
    public="",
)


def _triangle_oracle(a: Any, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    def solve(m: Any, v: Any) -> Any:
        m = np.triu(m) if upper else np.tril(m)
        if unitriangular:
            m = m - np.diag(np.diag(m)) + np.eye(len(m))
        return decompositions.inv(m) @ v if left else v @ decompositions.inv(m)

    return stacked(solve, a, b)


def _together(a: Any, b: Any) -> tuple[Any, Any]:
    """Both expanded to one stack."""
    batch = linalg_steps.common_stack(a.shape[:-2], b.shape[:-2])
    return ops.expand(a, [*batch, *a.shape[-2:]]), ops.expand(b, [*batch, *b.shape[-2:]])


def _solve_triangular(A: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    check_matrix("linalg.solve_triangular", A.shape, square=True)
    check_matrix("linalg.solve_triangular", B.shape)
    a, b = _together(A, B)
    return ops.solve_triangle(a, b, upper=upper, left=left, unitriangular=unitriangular)


linalg_solve_triangular = op(
    f"linalg_solve_triangular({TRIANGLE}) -> Tensor",
    family=PARTS,
    function=_solve_triangular,
    samples=lambda draw: [*triangles(draw), sample(regular(draw, 2, 2), draw.array(4, 2, 3), upper=True)],
    oracle=_triangle_oracle,
    doc="X with A X = B (or X A = B) for triangular A; stacks broadcast.",
    example="tenora.linalg.solve_triangular(tenora.eye(2), tenora.ones(2, 1), upper=True)",
    public="linalg.solve_triangular",
    out=True,
)


def _triangular_solve(input: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    a = ops.transpose(A, -2, -1) if transpose else A
    return _solve_triangular(a, input, upper != transpose, True, unitriangular), ops.clone(A)


triangular_solve = op(
    "triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,"
    " unitriangular: bool = False) -> (Tensor, Tensor)",
    family=PARTS,
    function=_triangular_solve,
    samples=lambda draw: [sample(s.arguments[1], s.arguments[0]) for s in pairs(draw)],
    oracle=lambda b, a: (_triangle_oracle(a, b, True), a),
    doc="X with A X = input for triangular A, and A: an older form of linalg.solve_triangular.",
    example="tenora.triangular_solve(tenora.ones(2, 1), tenora.eye(2)).solution",
    method=True,
    result=("solution", "cloned_coefficient"),
    out=True,
)


def _solved(A: Any, B: Any) -> tuple[Any, Any]:
    lu, pivots, info = linalg_steps.lu_factor(A, True, False)
    order = linalg_steps.row_order(pivots, A.shape[-1])
    rows = ops.gather(B, -2, ops.expand(ops.unsqueeze(order, -1), B.shape))
    lower = linalg_steps.solve_triangular(lu, rows, False, True, True)
    return linalg_steps.solve_triangular(lu, lower, True, True, False), info


def _solve_gradient(g: Any, a: Any, b: Any, x: Any, info: Any) -> tuple[Any, Any]:
    gb = ops.solve_matrices(H(a), g)[0]
    return -product(gb, H(x)), gb


solve_matrices = op(
    "solve_matrices(A: Tensor, B: Tensor) -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.solve", "vi"),
    shape=_pair_shapes("linalg.solve", "mi"),
    function=_solved,
    vjp=_solve_gradient,
    not_differentiable=(1,),
    samples=pairs,
    oracle=lambda a, b: stacked(lambda m, v: (decompositions.inv(m) @ v, np.int32(0)), a, b),
    doc="A^-1 B for equal stacks, and the first zero pivot.",
    example="tenora.linalg.solve(tenora.eye(2), tenora.ones(2))",
    public="",
)


def _solve_ex(A: Any, B: Any, left: bool, check_errors: bool, name: str = "linalg.solve") -> tuple[Any, Any]:
    check_matrix("linalg.solve", A.shape, square=True)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(A.shape[:-1]) == tuple(B.shape))
    b = ops.unsqueeze(B, -1) if vector else B
    a = A
    if not left:
        if vector:
            raise refuse(
                "linalg.solve", "left=False with a vector", tuple(B.shape), "matrices", "Use left=True."
            )
        a, b = ops.transpose(a, -2, -1), ops.transpose(b, -2, -1)
    result, info = ops.solve_matrices(*_together(a, b))
    if vector:
        result = ops.squeeze(result, [-1])
    elif not left:
        result = ops.transpose(result, -2, -1)
    if check_errors:
        check_info(name, info, "is singular")
    return result, info


def systems(draw: Draw) -> list[Sample]:
    """Vectors, broadcast stacks, from the right."""
    return [
        *pairs(draw)[:5],
        sample(regular(draw, 3, 3), draw.array(3)),
        sample(regular(draw, 2, 3, 3), draw.array(2, 3)),
        sample(regular(draw, 2, 2), draw.array(4, 2, 3)),
        sample(regular(draw, 3, 3), draw.array(2, 3), left=False),
    ]


def _solve_oracle(a: Any, b: Any, left: bool = True) -> Any:
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return stacked(lambda m, v: decompositions.inv(m) @ v, a, b[..., None])[..., 0]
    return stacked(lambda m, v: decompositions.inv(m) @ v if left else v @ decompositions.inv(m), a, b)


linalg_solve_ex = op(
    "linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> (Tensor, Tensor)",
    family=PARTS,
    function=lambda A, B, left, check_errors: _solve_ex(A, B, left, check_errors, "linalg.solve_ex"),
    samples=pairs,
    oracle=lambda a, b: stacked(lambda m, v: (decompositions.inv(m) @ v, np.int32(0)), a, b),
    doc="linalg.solve without a check, and the number of the first zero pivot.",
    example="tenora.linalg.solve_ex(tenora.eye(2), tenora.ones(2)).result",
    public="linalg.solve_ex",
    result=("result", "info"),
    out=True,
)
linalg_solve = op(
    "linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor",
    family=PARTS,
    function=lambda A, B, left: _solve_ex(A, B, left, True)[0],
    samples=systems,
    oracle=_solve_oracle,
    doc="X with A X = B (or X A = B); LinAlgError where A is singular.",
    example="tenora.linalg.solve(tenora.tensor([[2.0, 0.0], [0.0, 4.0]]), tenora.ones(2))",
    public="linalg.solve",
    out=True,
)


def _inverse(A: Any) -> tuple[Any, Any]:
    return _solved(A, linalg_steps.identity(A, A.shape[-1], A.shape[-1]))


inverse_matrices = op(
    "inverse_matrices(A: Tensor) -> (Tensor, Tensor)",
    family=FACTOR,
    dtype=same_dtypes("linalg.inv", "vi"),
    shape=square_shapes("linalg.inv", "ms"),
    function=_inverse,
    vjp=lambda g, a, x, info: -product(H(x), g, H(x)),
    not_differentiable=(1,),
    oracle=lambda a: stacked(lambda m: (decompositions.inv(m), np.int32(0)), a),
    doc="The inverse, and the first zero pivot.",
    example="tenora.linalg.inv(tenora.eye(2))",
    public="",
)


def _inv_ex(A: Any, check_errors: bool = True, name: str = "linalg.inv") -> tuple[Any, Any]:
    result, info = ops.inverse_matrices(A)
    if check_errors:
        check_info(name, info, "is singular")
    return result, info


linalg_inv_ex = op(
    "linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> (Tensor, Tensor)",
    family=PARTS,
    function=lambda A, check_errors: _inv_ex(A, check_errors, "linalg.inv_ex"),
    oracle=lambda a: stacked(lambda m: (decompositions.inv(m), np.int32(0)), a),
    doc="linalg.inv without a check, and the number of the first zero pivot.",
    example="tenora.linalg.inv_ex(tenora.eye(2)).inverse",
    public="linalg.inv_ex",
    result=("inverse", "info"),
    out=True,
)
linalg_inv = op(
    "linalg_inv(A: Tensor) -> Tensor",
    family=PARTS,
    function=lambda A: _inv_ex(A)[0],
    oracle=lambda a: stacked(lambda m: decompositions.inv(m), a),
    doc="The inverse; LinAlgError where a matrix is singular.",
    example="tenora.linalg.inv(tenora.tensor([[2.0, 0.0], [0.0, 4.0]]))",
    public="linalg.inv",
    out=True,
)
inverse = op(
    "inverse(input: Tensor) -> Tensor",
    family=PARTS,
    function=lambda input: _inv_ex(input)[0],
    oracle=lambda a: stacked(lambda m: decompositions.inv(m), a),
    doc="linalg.inv under its older name.",
    example="tenora.inverse(tenora.eye(2))",
    method=True,
    out=True,
    renames="linalg.inv",
)


def _lu_solve(LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    check_matrix("linalg.lu_solve", LU.shape, square=True)
    check_matrix("linalg.lu_solve", B.shape)
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        wanted = str(tuple(LU.shape[:-1]))
        raise refuse("linalg.lu_solve", "shape of pivots", tuple(pivots.shape), wanted, "Give those of LU.")
    if not left:
        turned = _lu_solve(LU, pivots, H(B), True, not adjoint)
        return H(turned)
    batch = linalg_steps.common_stack(LU.shape[:-2], B.shape[:-2])
    lu, b = ops.expand(LU, [*batch, *LU.shape[-2:]]), ops.expand(B, [*batch, *B.shape[-2:]])
    order = linalg_steps.row_order(ops.expand(pivots, [*batch, pivots.shape[-1]]), LU.shape[-1])
    if adjoint:
        x = ops.solve_triangle(H(lu), b, upper=False)
        x = ops.solve_triangle(H(lu), x, upper=True, unitriangular=True)
        return _rows(x, ops.argsort(order, -1))
    x = ops.solve_triangle(lu, _rows(b, order), upper=False, unitriangular=True)
    return ops.solve_triangle(lu, x, upper=True)


def _rows(x: Any, order: Any) -> Any:
    return ops.gather(x, -2, ops.expand(ops.unsqueeze(order, -1), x.shape))


def _factored_systems(draw: Draw) -> list[Sample]:
    found = []
    for s in pairs(draw):
        a, b = s.arguments
        pivots = np.broadcast_to(np.arange(1, a.shape[-1] + 1, dtype=np.int32), a.shape[:-1])
        found.append(sample(a, np.ascontiguousarray(pivots), b))
    return found


linalg_lu_solve = op(
    "linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor",
    family=PARTS,
    function=_lu_solve,
    samples=_factored_systems,
    oracle=lambda lu, pivots, b: stacked(
        lambda m, v: decompositions.inv((np.tril(m, -1) + np.eye(len(m))) @ np.triu(m)) @ v, lu, b
    ),
    doc="X with A X = B (or X A = B, or with A^H) from the factors of linalg.lu_factor.",
    example="tenora.linalg.lu_solve(*tenora.linalg.lu_factor(tenora.eye(2)), tenora.ones(2, 1))",
    public="linalg.lu_solve",
    out=True,
)
lu_solve = op(
    "lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor",
    family=PARTS,
    function=lambda b, LU_data, LU_pivots: _lu_solve(LU_data, LU_pivots, b, True, False),
    samples=lambda draw: [sample(s.arguments[2], *s.arguments[:2]) for s in _factored_systems(draw)],
    oracle=lambda b, lu, pivots: stacked(
        lambda m, v: decompositions.inv((np.tril(m, -1) + np.eye(len(m))) @ np.triu(m)) @ v, lu, b
    ),
    doc="linalg.lu_solve under its older name.",
    example="tenora.lu_solve(tenora.ones(2, 1), *tenora.linalg.lu_factor(tenora.eye(2)))",
    method=True,
    renames="linalg.lu_solve",
    out=True,
)


def _cholesky_solve(input: Any, input2: Any, upper: bool) -> Any:
    factor, b = _together(H(input2) if upper else input2, input)
    x = ops.solve_triangle(factor, b, upper=False)
    return ops.solve_triangle(H(factor), x, upper=True)


cholesky_solve = op(
    "cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor",
    family=PARTS,
    function=_cholesky_solve,
    samples=lambda draw: [
        *[sample(s.arguments[1], s.arguments[0]) for s in pairs(draw)],
        sample(draw.array(3, 2), regular(draw, 3, 3), True),
    ],
    oracle=lambda b, f, upper=False: stacked(lambda m, v: decompositions.inv(_squared(m, upper)) @ v, f, b),
    doc="A^-1 input from the Cholesky factor of A.",
    example="tenora.cholesky_solve(tenora.ones(2, 1), tenora.eye(2))",
    method=True,
    out=True,
)


def _squared(m: Any, upper: bool) -> Any:
    factor = np.triu(m).conj().T if upper else np.tril(m)
    return factor @ factor.conj().T


def _cholesky_inverse(input: Any, upper: bool) -> Any:
    check_matrix("cholesky_inverse", input.shape, square=True)
    size = input.shape[-1]
    return _cholesky_solve(linalg_steps.identity(input, size, size), input, upper)


cholesky_inverse = op(
    "cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor",
    family=PARTS,
    function=_cholesky_inverse,
    samples=lambda draw: [*squares(draw), sample(regular(draw, 3, 3), True)],
    oracle=lambda f, upper=False: stacked(lambda m: decompositions.inv(_squared(m, upper)), f),
    doc="The inverse of a matrix from its Cholesky factor.",
    example="tenora.cholesky_inverse(tenora.eye(2))",
    method=True,
    out=True,
)
