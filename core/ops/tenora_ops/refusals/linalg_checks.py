"""Ops on matrices: what they are told of ranks, squares, dtypes, orders of norms and pivots."""

from __future__ import annotations

import math
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes


def _regular(*shape: int, dtype: str = "float32") -> Any:
    """Symmetric positive definite matrices (..., n, n)."""
    return (np.eye(shape[-1]) * 2 + np.full(shape, 0.25)).astype(dtype)


_SQUARE, _ONE, _WIDE, _TALL, _STACK = (
    _regular(2, 2),
    _regular(1, 1),
    reals(2, 3),
    reals(3, 2),
    _regular(3, 2, 2),
)
_VECTOR, _ROW = reals(2), reals(3)
_ZERO = np.zeros((2, 2), "float32")
_HALF, _WHOLE = _regular(2, 2, dtype="float16"), wholes(2, 2)
_SINGULAR = np.array([[1, 1], [1, 1]], "float32")
_NEGATIVE = np.array([[1, 0], [0, -1]], "float32")
_INFINITE = np.array([[1, 0], [0, math.inf]], "float32")


def _of_matrices(
    *before: Any, sound: Any = _WIDE, square: bool = False, half: str = "dtype"
) -> dict[str, Refusal]:
    """What all say that take a stack of matrices, square ones, of the precise dtypes; `half`: the code, or none."""
    taken = _SQUARE if square else sound
    found = {"a_vector": refusal("shape", Call(_VECTOR, *before), Call(taken, *before))}
    if square:
        found["columns_beyond_rows"] = refusal("shape", Call(_WIDE, *before), Call(taken, *before))
        found["rows_beyond_columns"] = refusal("shape", Call(reals(3, 3, 2), *before), Call(_STACK, *before))
    if half:
        found["a_half_type"] = refusal(half, Call(_HALF, *before), Call(_SQUARE, *before))
        found["whole_numbers"] = refusal(half, Call(_WHOLE, *before), Call(_SQUARE, *before))
    return found


_POWERS = {
    "a_vector": refusal("shape", Call(_VECTOR, 2), Call(_SQUARE, 2)),
    "columns_beyond_rows": refusal("shape", Call(_WIDE, 2), Call(_SQUARE, 2)),
    "rows_beyond_columns": refusal("shape", Call(_TALL, 0), Call(_SQUARE, 0)),
    "no_inverse": refusal("linalg", Call(_SINGULAR, -1), Call(_SINGULAR, 1)),
}
_EXPONENTIALS = {
    **_of_matrices(square=True, half=""),
    "whole_numbers": refusal("dtype", Call(_WHOLE), Call(_SQUARE)),
}
_VANDERS = {
    "a_count_below_zero": refusal("shape", Call(_ROW, -1), Call(_ROW, 0)),
    "a_matrix": refusal("shape", Call(_WIDE, 2), Call(_ROW, 2)),
    "a_number": refusal("shape", Call(reals(), 2), Call(reals(1), 2)),
}
_CROSSES = {
    "ranks_apart": refusal(
        "shape", Call(reals(2, 3), reals(3), dim=-1), Call(reals(2, 3), reals(1, 3), dim=-1)
    ),
    "dim_above": refusal(
        "index", Call(reals(3, 3), reals(3, 3), dim=2), Call(reals(3, 3), reals(3, 3), dim=1)
    ),
    "dim_below": refusal(
        "index", Call(reals(3, 3), reals(3, 3), dim=-3), Call(reals(3, 3), reals(3, 3), dim=-2)
    ),
    "a_short_first": refusal("shape", Call(reals(2), reals(3), dim=-1), Call(reals(3), reals(3), dim=-1)),
    "a_long_first": refusal("shape", Call(reals(4), reals(3), dim=0), Call(reals(3), reals(3), dim=0)),
    "a_short_second": refusal("shape", Call(reals(3), reals(2), dim=-1), Call(reals(3), reals(3), dim=-1)),
    "a_long_second": refusal("shape", Call(reals(3), reals(4), dim=0), Call(reals(3), reals(3), dim=0)),
}
_HOUSEHOLDER = {
    "a_vector": refusal("shape", Call(_VECTOR, reals()), Call(_SQUARE, _VECTOR)),
    "columns_beyond_rows": refusal("shape", Call(_WIDE, _VECTOR), Call(_TALL, _VECTOR)),
    "tau_of_a_higher_rank": refusal("shape", Call(_SQUARE, reals(1, 2)), Call(_SQUARE, _VECTOR)),
    "tau_of_a_lower_rank": refusal("shape", Call(_STACK, _VECTOR), Call(_STACK, reals(3, 2))),
    "tau_of_another_stack": refusal("shape", Call(_STACK, reals(1, 2)), Call(_STACK, reals(3, 2))),
    "tau_too_long": refusal("shape", Call(_TALL, reals(3)), Call(_TALL, reals(1))),
    "tau_a_number": refusal("shape", Call(_ONE, reals()), Call(_ONE, reals(1))),
}
_REFLECTED = {
    "a_vector": refusal("shape", Call(_VECTOR, reals(), _SQUARE), Call(_SQUARE, _VECTOR, _SQUARE)),
    "a_vector_to_multiply": refusal(
        "shape", Call(_SQUARE, _VECTOR, _VECTOR), Call(_SQUARE, _VECTOR, _SQUARE)
    ),
    "tau_of_a_higher_rank": refusal(
        "shape", Call(_SQUARE, reals(1, 2), _SQUARE), Call(_SQUARE, _VECTOR, _SQUARE)
    ),
    "tau_a_number": refusal("shape", Call(_ONE, reals(), _ONE), Call(_ONE, reals(1), _ONE)),
    "tau_too_short": refusal("shape", Call(_SQUARE, reals(1), _SQUARE), Call(_SQUARE, _VECTOR, _SQUARE)),
    "tau_too_long": refusal("shape", Call(_TALL, reals(3), _TALL), Call(_TALL, _VECTOR, _TALL)),
    "tau_of_the_other_side": refusal(
        "shape", Call(_regular(3, 3), _VECTOR, _WIDE, False), Call(_regular(3, 3), reals(3), _WIDE, False)
    ),
}
_SOLVES = {
    "a_vector": refusal("shape", Call(_VECTOR, _VECTOR), Call(_SQUARE, _VECTOR)),
    "columns_beyond_rows": refusal("shape", Call(_WIDE, _TALL), Call(_SQUARE, _WIDE)),
    "rows_apart": refusal("shape", Call(_SQUARE, _TALL), Call(_SQUARE, _WIDE)),
    "a_longer_vector": refusal("shape", Call(_SQUARE, reals(3)), Call(_SQUARE, _VECTOR)),
    "columns_apart_from_the_right": refusal(
        "shape", Call(_SQUARE, _WIDE, left=False), Call(_SQUARE, _TALL, left=False)
    ),
    "a_vector_from_the_right": refusal(
        "shape", Call(_ONE, reals(1), left=False), Call(_ONE, reals(1, 1), left=False)
    ),
    "vectors_from_the_right": refusal(
        "shape", Call(_STACK, reals(3, 2), left=False), Call(_STACK, reals(3, 2), left=True)
    ),
    "a_half_type": refusal("dtype", Call(_HALF, _HALF), Call(_SQUARE, _SQUARE)),
    "dtypes_apart": refusal("dtype", Call(_SQUARE, _WIDE.astype("float64")), Call(_SQUARE, _WIDE)),
}
_TRIANGLES = {
    "a_vector": refusal("shape", Call(_VECTOR, _SQUARE, upper=True), Call(_SQUARE, _SQUARE, upper=True)),
    "a_vector_to_solve": refusal(
        "shape", Call(_SQUARE, _VECTOR, upper=True), Call(_SQUARE, _SQUARE, upper=True)
    ),
    "columns_beyond_rows": refusal("shape", Call(_WIDE, _TALL, upper=True), Call(_SQUARE, _WIDE, upper=True)),
    "rows_apart": refusal("shape", Call(_SQUARE, _TALL, upper=True), Call(_SQUARE, _WIDE, upper=True)),
    "columns_apart_from_the_right": refusal(
        "shape", Call(_SQUARE, _WIDE, upper=True, left=False), Call(_SQUARE, _TALL, upper=True, left=False)
    ),
}
_PIVOTS = wholes(2, dtype="int32") + np.int32(1)
_LU_SOLVES = {
    "a_vector": refusal("shape", Call(_VECTOR, _PIVOTS[0], _SQUARE), Call(_SQUARE, _PIVOTS, _SQUARE)),
    "columns_beyond_rows": refusal("shape", Call(_WIDE, _PIVOTS, _TALL), Call(_SQUARE, _PIVOTS, _WIDE)),
    "a_vector_to_solve": refusal("shape", Call(_SQUARE, _PIVOTS, _VECTOR), Call(_SQUARE, _PIVOTS, _SQUARE)),
    "pivots_of_another_length": refusal(
        "shape", Call(_SQUARE, np.ones(3, "int32"), _WIDE), Call(_SQUARE, _PIVOTS, _WIDE)
    ),
    "pivots_of_another_stack": refusal(
        "shape", Call(_STACK, np.ones((1, 2), "int32"), _WIDE), Call(_STACK, np.ones((3, 2), "int32"), _WIDE)
    ),
    "rows_apart": refusal("shape", Call(_SQUARE, _PIVOTS, _TALL), Call(_SQUARE, _PIVOTS, _WIDE)),
}
_UNPACKED = {
    "a_vector": refusal("shape", Call(_VECTOR, _PIVOTS), Call(_SQUARE, _PIVOTS)),
    "pivots_of_int64": refusal("dtype", Call(_SQUARE, _PIVOTS.astype("int64")), Call(_SQUARE, _PIVOTS)),
    "pivots_as_many_as_columns": refusal("shape", Call(_WIDE, np.ones(3, "int32")), Call(_WIDE, _PIVOTS)),
    "pivots_of_no_stack": refusal(
        "shape", Call(_regular(1, 2, 2), _PIVOTS), Call(_regular(1, 2, 2), np.ones((1, 2), "int32"))
    ),
}
_CHAINS = {
    "one_matrix": refusal("shape", Call([_WIDE]), Call([_WIDE, _TALL])),
    "a_number_first": refusal("shape", Call([reals(), _WIDE]), Call([_VECTOR, _WIDE])),
    "a_stack_first": refusal("shape", Call([_STACK, _WIDE]), Call([_SQUARE, _WIDE])),
    "a_number_last": refusal("shape", Call([_WIDE, reals()]), Call([_WIDE, _ROW])),
    "a_stack_last": refusal("shape", Call([_WIDE, reals(1, 3, 2)]), Call([_WIDE, _TALL])),
    "a_vector_in_between": refusal("shape", Call([_WIDE, _ROW, _ROW]), Call([_WIDE, reals(3, 1), reals(1)])),
    "lengths_apart": refusal("shape", Call([_WIDE, _WIDE]), Call([_WIDE, _TALL])),
    "a_vector_of_another_length": refusal("shape", Call([_ROW, _WIDE]), Call([_VECTOR, _WIDE])),
    "the_last_lengths_apart": refusal("shape", Call([_WIDE, _TALL, _TALL]), Call([_WIDE, _TALL, _WIDE])),
}
_TRIANGULAR = {
    name: refusal("linalg", Call(wrong), Call(_SQUARE))
    for name, wrong in {"no_factor": _NEGATIVE, "a_zero": _ZERO}.items()
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "linalg_matrix_power": _POWERS,
    "matrix_power": _POWERS,
    "linalg_multi_dot": _CHAINS,
    "linalg_cross": _CROSSES,
    "cross": {
        **{name: refused for name, refused in _CROSSES.items() if name.startswith("a_")},
        "no_dim_of_length_3": refusal(
            "shape", Call(reals(2, 4), reals(2, 4)), Call(reals(3, 4), reals(3, 4))
        ),
    },
    "linalg_vander": {
        "one_column": refusal("shape", Call(_ROW, N=1), Call(_ROW, N=2)),
        "one_element": refusal("shape", Call(reals(2, 1)), Call(reals(1, 2))),
        "a_number": refusal("shape", Call(reals()), Call(reals(), N=2)),
        "bool": refusal("dtype", Call(_ROW > 0.5), Call(_ROW)),
        "too_many_columns": refusal("shape", Call(reals(0), N=2**31 + 1), Call(reals(0), N=2)),
    },
    "vander": _VANDERS,
    "linalg_matrix_exp": _EXPONENTIALS,
    "matrix_exp": _EXPONENTIALS,
    "linalg_tensorinv": {
        "no_dims_before": refusal("shape", Call(_ONE, 0), Call(_ONE, 1)),
        "unequal_products": refusal(
            "shape", Call(reals(2, 3, 7), 2), Call(_regular(6, 6).reshape(2, 3, 6), 2)
        ),
        "singular": refusal("shape", Call(_SINGULAR, 1), Call(_SQUARE, 1)),
    },
    "linalg_tensorsolve": {
        "a_dim_too_many": refusal("index", Call(_SQUARE, _VECTOR, [2]), Call(_SQUARE, _VECTOR, [0])),
        "a_dim_twice": refusal("runtime", Call(_SQUARE, _VECTOR, [1, 1]), Call(_SQUARE, _VECTOR, [0, 1])),
        "more_unknowns": refusal("shape", Call(_WIDE, _VECTOR), Call(_SQUARE, _VECTOR)),
        "more_equations": refusal("shape", Call(_TALL, _ROW), Call(_SQUARE, _VECTOR)),
        "singular": refusal("linalg", Call(_SINGULAR, _VECTOR), Call(_SQUARE, _VECTOR)),
    },
    "linalg_householder_product": _HOUSEHOLDER,
    "orgqr": _HOUSEHOLDER,
    "ormqr": _REFLECTED,
    "geqrf": _of_matrices(),
    "linalg_solve": {
        **_SOLVES,
        "singular": refusal("linalg", Call(_SINGULAR, _VECTOR), Call(_SQUARE, _VECTOR)),
    },
    "linalg_solve_ex": {
        **_SOLVES,
        "singular_and_checked": refusal(
            "linalg", Call(_SINGULAR, _VECTOR, check_errors=True), Call(_SINGULAR, _VECTOR)
        ),
    },
    "linalg_inv": {
        **_of_matrices(square=True),
        "singular": refusal("linalg", Call(_SINGULAR), Call(_SQUARE)),
    },
    "inverse": {**_of_matrices(square=True), "singular": refusal("linalg", Call(_SINGULAR), Call(_SQUARE))},
    "linalg_inv_ex": {
        **_of_matrices(square=True),
        "singular_and_checked": refusal("linalg", Call(_SINGULAR, check_errors=True), Call(_SINGULAR)),
    },
    "linalg_solve_triangular": _TRIANGLES,
    "linalg_lu_solve": _LU_SOLVES,
    "lu_solve": {
        "pivots_of_another_length": refusal(
            "shape", Call(_WIDE, _SQUARE, np.ones(3, "int32")), Call(_WIDE, _SQUARE, _PIVOTS)
        ),
        "rows_apart": refusal("shape", Call(_TALL, _SQUARE, _PIVOTS), Call(_WIDE, _SQUARE, _PIVOTS)),
    },
    "cholesky_inverse": _of_matrices(square=True, half=""),
    "linalg_cholesky": {**_of_matrices(square=True), **_TRIANGULAR},
    "cholesky": {**_of_matrices(square=True), **_TRIANGULAR},
    "linalg_cholesky_ex": _of_matrices(square=True),
    "linalg_cholesky_ex_checked": {
        "no_factor": refusal(
            "linalg", Call(_NEGATIVE, check_errors=True), Call(_NEGATIVE, check_errors=False)
        ),
    },
    "linalg_lu_factor": {
        **_of_matrices(),
        "singular": refusal("linalg", Call(_SINGULAR), Call(_SQUARE)),
    },
    "linalg_lu_factor_ex": _of_matrices(),
    "linalg_lu_factor_ex_checked": {
        "singular": refusal(
            "linalg", Call(_SINGULAR, check_errors=True), Call(_SINGULAR, check_errors=False)
        ),
    },
    "linalg_lu": _of_matrices(),
    "lu": {
        **_of_matrices(),
        "one_out": refusal("type", Call(_SQUARE, out=[_SQUARE]), Call(_SQUARE)),
        "an_out_without_infos": refusal(
            "type", Call(_SQUARE, True, True, out=[_SQUARE, _PIVOTS]), Call(_SQUARE)
        ),
    },
    "lu_unpack": _UNPACKED,
    "linalg_qr": {
        **_of_matrices(),
        "an_unknown_mode": refusal("shape", Call(_WIDE, "full"), Call(_WIDE, "r")),
    },
    "qr": _of_matrices(),
    "linalg_eigh": {
        **_of_matrices(square=True),
        "an_unknown_triangle": refusal("shape", Call(_SQUARE, "R"), Call(_SQUARE, "u")),
        "infinite": refusal("linalg", Call(_INFINITE), Call(_SQUARE)),
    },
    "linalg_eigvalsh": {
        **_of_matrices(square=True),
        "an_unknown_triangle": refusal("shape", Call(_SQUARE, "R"), Call(_SQUARE, "l")),
    },
    "linalg_eig": {
        **_of_matrices(square=True),
        "infinite": refusal("linalg", Call(_INFINITE), Call(_SQUARE)),
    },
    "linalg_eigvals": _of_matrices(square=True),
    "linalg_svd": {**_of_matrices(), "infinite": refusal("linalg", Call(_INFINITE), Call(_SQUARE))},
    "linalg_svdvals": _of_matrices(),
    "svd": {
        **_of_matrices(),
        "a_vector_without_factors": refusal("shape", Call(_VECTOR, True, False), Call(_WIDE, True, False)),
    },
    "linalg_det": _of_matrices(square=True),
    "det": _of_matrices(square=True),
    "linalg_slogdet": _of_matrices(square=True),
    "slogdet": _of_matrices(square=True),
    "logdet": _of_matrices(square=True),
    "linalg_matrix_rank": _of_matrices(),
    "linalg_pinv": {
        **_of_matrices(),
        "columns_beyond_rows_of_a_hermitian": refusal(
            "shape", Call(_WIDE, hermitian=True), Call(_WIDE, hermitian=False)
        ),
    },
    "solve_matrices": {
        "stacks_apart": refusal("shape", Call(_STACK, reals(2, 2, 1)), Call(_STACK, reals(3, 2, 1))),
        "stacks_of_other_ranks": refusal("shape", Call(_STACK, reals(2, 1)), Call(_SQUARE, reals(2, 1))),
        "columns_beyond_rows": refusal("shape", Call(_WIDE, _TALL), Call(_SQUARE, _WIDE)),
        "a_vector_to_solve": refusal("shape", Call(_SQUARE, _VECTOR), Call(_SQUARE, _WIDE)),
    },
    "solve_triangle": {
        "stacks_apart": refusal(
            "shape", Call(_STACK, reals(2, 2, 1), upper=True), Call(_STACK, reals(3, 2, 1), upper=True)
        ),
        "columns_beyond_rows": refusal(
            "shape", Call(_WIDE, _TALL, upper=True), Call(_SQUARE, _WIDE, upper=True)
        ),
        "a_vector_to_solve": refusal(
            "shape", Call(_SQUARE, _VECTOR, upper=True), Call(_SQUARE, _SQUARE, upper=True)
        ),
    },
    "linalg_pinv_by": {
        "a_vector": refusal("shape", Call(_VECTOR, rtol=reals()), Call(_WIDE, rtol=reals())),
        "columns_beyond_rows_of_a_hermitian": refusal(
            "shape", Call(_WIDE, rtol=reals(), hermitian=True), Call(_WIDE, rtol=reals())
        ),
        "a_half_type": refusal("dtype", Call(_HALF, rtol=reals()), Call(_SQUARE, rtol=reals())),
        "a_complex_tolerance": refusal(
            "dtype", Call(_WIDE, rtol=reals(dtype="complex64")), Call(_WIDE, rtol=reals())
        ),
        "a_complex_absolute_tolerance": refusal(
            "dtype", Call(_WIDE, atol=reals(dtype="complex64")), Call(_WIDE, atol=reals())
        ),
        "a_complex_number_as_tolerance": refusal("type", Call(_WIDE, rtol=1j), Call(_WIDE, rtol=reals())),
        "tolerances_that_do_not_fit": refusal(
            "runtime", Call(_STACK, rtol=reals(2)), Call(_STACK, rtol=reals(3))
        ),
    },
    "linalg_matrix_rank_by": {
        "a_vector": refusal("shape", Call(_VECTOR, rtol=reals()), Call(_WIDE, rtol=reals())),
        "a_complex_tolerance": refusal(
            "dtype", Call(_WIDE, rtol=reals(dtype="complex64")), Call(_WIDE, rtol=reals())
        ),
        "a_complex_absolute_tolerance": refusal(
            "dtype", Call(_WIDE, atol=reals(dtype="complex64")), Call(_WIDE, atol=reals())
        ),
    },
    "linalg_lstsq": {
        "a_vector": refusal("shape", Call(_VECTOR, _VECTOR), Call(_TALL, reals(3))),
        "a_half_type": refusal("dtype", Call(_HALF, _HALF), Call(_SQUARE, _SQUARE)),
        "an_unknown_driver": refusal(
            "runtime", Call(_TALL, _ROW, driver="svd"), Call(_TALL, _ROW, driver="gels")
        ),
    },
    "linalg_vector_norm": {
        "whole_numbers": refusal("dtype", Call(wholes(3)), Call(reals(3, dtype="float16"))),
        "largest_of_nothing": refusal("shape", Call(reals(0), math.inf), Call(reals(1), math.inf)),
        "a_negative_order_of_nothing": refusal("shape", Call(reals(0), -1.0), Call(reals(0), 0.0)),
        "largest_along_nothing": refusal(
            "shape", Call(reals(2, 0), math.inf, 1), Call(reals(2, 0), math.inf, 0)
        ),
        "a_negative_order_along_nothing": refusal(
            "shape", Call(reals(0, 2), -2.0, 0), Call(reals(1, 2), -2.0, 0)
        ),
    },
    "linalg_matrix_norm": {
        "a_vector": refusal("shape", Call(_VECTOR, 1.0), Call(_WIDE, 1.0)),
        "one_dim": refusal("shape", Call(_WIDE, 1.0, [0]), Call(_WIDE, 1.0, [0, 1])),
        "three_dims": refusal("shape", Call(_STACK, 1.0, [0, 1, 2]), Call(_STACK, 1.0, [0, 2])),
        "a_dim_twice": refusal("shape", Call(_WIDE, 1.0, [0, -2]), Call(_WIDE, 1.0, [0, -1])),
        "an_unknown_order": refusal("runtime", Call(_WIDE, 3.0), Call(_WIDE, 2.0)),
        "an_unknown_negative_order": refusal("runtime", Call(_WIDE, -3.0), Call(_WIDE, -2.0)),
        "order_of_a_half_type": refusal("dtype", Call(_HALF, 2.0), Call(_SQUARE, 2.0)),
        "whole_numbers": refusal("dtype", Call(_WHOLE, 1.0), Call(_SQUARE, 1.0)),
    },
    "linalg_matrix_norm_str": {
        "an_unknown_order": refusal("runtime", Call(_WIDE, "frobenius"), Call(_WIDE, "fro")),
        "order_of_a_half_type": refusal("dtype", Call(_HALF, "nuc"), Call(_SQUARE, "nuc")),
    },
    "linalg_norm": {
        "three_dims": refusal("shape", Call(_STACK, None, [0, 1, 2]), Call(_STACK, None, [0, 1])),
        "no_dims": refusal("shape", Call(_STACK, None, []), Call(_STACK, None, [0])),
        "an_order_of_a_stack": refusal("shape", Call(_STACK, 1.0), Call(_STACK, None)),
        "an_order_of_a_number": refusal("shape", Call(reals(), 1.0), Call(reals(1), 1.0)),
    },
    "linalg_norm_str": {
        "a_named_order_of_a_vector": refusal("shape", Call(_VECTOR, "fro"), Call(_SQUARE, "fro")),
        "a_named_order_of_one_dim": refusal("shape", Call(_WIDE, "nuc", [0]), Call(_WIDE, "nuc", [0, 1])),
        "a_named_order_of_a_stack": refusal("shape", Call(_STACK, "fro"), Call(_STACK, "fro", [0, 1])),
    },
    "linalg_cond": {
        "a_vector": refusal("shape", Call(_VECTOR), Call(_WIDE)),
        "an_unknown_order": refusal("runtime", Call(_SQUARE, 3.0), Call(_SQUARE, 1.0)),
        "a_wide_matrix_of_an_order": refusal("shape", Call(_WIDE, 1.0), Call(_SQUARE, 1.0)),
    },
    "linalg_cond_str": {
        "an_unknown_order": refusal("runtime", Call(_SQUARE, "frobenius"), Call(_SQUARE, "fro")),
        "a_wide_matrix": refusal("shape", Call(_WIDE, "fro"), Call(_SQUARE, "fro")),
    },
}
