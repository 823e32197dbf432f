"""Products summed over dims, and distances between rows."""

from __future__ import annotations

import math

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_WIDE, _TALL, _SQUARE, _VECTOR, _ROW = reals(2, 3), reals(3, 2), reals(2, 2), reals(2), reals(3)
_STACK, _NUMBER = reals(2, 2, 3), reals()
_WHOLE, _BOOL = wholes(2, 3), wholes(2, 3, dtype="bool")
_COMPLEX = reals(2, 3, dtype="complex64")
_DOUBLE = reals(2, 3, dtype="float64")

_EINSUMS = {
    "a_sign_for_a_label": refusal(
        "runtime", Call("i1,jk->ik", _WIDE, _TALL), Call("ij,jk->ik", _WIDE, _TALL)
    ),
    "dots_twice": refusal("runtime", Call("...i...->i", _WIDE), Call("...i->i", _WIDE)),
    "a_label_too_many": refusal("runtime", Call("ijk->i", _WIDE), Call("ij->i", _WIDE)),
    "a_label_too_few": refusal("runtime", Call("i->i", _WIDE), Call("...i->i", _WIDE)),
    "a_label_too_many_around_dots": refusal("runtime", Call("i...jk->i", _WIDE), Call("i...j->i", _WIDE)),
    "a_term_too_many": refusal("runtime", Call("ij,jk->ij", _WIDE), Call("ij->ij", _WIDE)),
    "a_term_too_few": refusal("runtime", Call("ij->ij", _WIDE, _TALL), Call("ij,jk->ij", _WIDE, _TALL)),
    "a_result_of_one_label_twice": refusal("runtime", Call("ij->ii", _SQUARE), Call("ij->ji", _SQUARE)),
    "a_result_of_an_unknown_label": refusal("runtime", Call("ij->k", _WIDE), Call("ij->j", _WIDE)),
    "sizes_apart": refusal(
        "runtime", Call("ij,jk->ik", _WIDE, _SQUARE), Call("ij,jk->ik", _WIDE, reals(1, 2))
    ),
    "sizes_apart_after_one": refusal(
        "runtime",
        Call("ij,jk,jl->i", reals(2, 1), _TALL, _SQUARE),
        Call("ij,jk,jl->i", reals(2, 1), _TALL, _TALL),
    ),
    "sizes_apart_from_the_second": refusal(
        "runtime",
        Call("ij,jk,jl->i", _WIDE, _TALL, _SQUARE),
        Call("ij,jk,jl->i", _WIDE, reals(1, 2), _TALL),
    ),
    "sizes_under_dots_apart": refusal(
        "runtime",
        Call("...i,...i->i", reals(2, 3), reals(3, 3)),
        Call("...i,...i->i", reals(2, 3), reals(1, 3)),
    ),
    "a_diagonal_of_unequal_sizes": refusal("runtime", Call("ii->i", _WIDE), Call("ii->i", _SQUARE)),
    "a_diagonal_of_one_and_more": refusal("runtime", Call("ii->i", reals(1, 2)), Call("ii->i", reals(1, 1))),
    "a_number_for_an_equation": refusal("value", Call(2, _WIDE), Call("ij", _WIDE)),
    "no_operand": refusal("value", Call("ij"), Call("ij", _WIDE)),
    "an_empty_list_of_operands": refusal("value", Call("ij", []), Call("ij", [_WIDE])),
    "a_label_below_zero": refusal("value", Call(_WIDE, [-1, 0]), Call(_WIDE, [1, 0])),
    "a_label_above_51": refusal("value", Call(_WIDE, [52, 0], [0]), Call(_WIDE, [51, 0], [51])),
}
_TENSORDOTS = {
    "fewer_dims_than_none": refusal("runtime", Call(_WIDE, _TALL, -1), Call(_WIDE, _TALL, 0)),
    "more_dims_than_the_first": refusal(
        "runtime", Call(_ROW, reals(3, 2, 2), 2), Call(_ROW, reals(3, 2, 2), 1)
    ),
    "more_dims_than_the_second": refusal(
        "runtime", Call(reals(2, 2, 3), _ROW, 2), Call(reals(2, 2, 3), _ROW, 1)
    ),
    "one_list": refusal("type", Call(_WIDE, _TALL, ([1],)), Call(_WIDE, _TALL, ([1], [0]))),
    "three_lists": refusal("type", Call(_WIDE, _TALL, ([1], [0], [0])), Call(_WIDE, _TALL, ([1], [0]))),
    "numbers_of_dims_apart": refusal(
        "runtime", Call(_SQUARE, _SQUARE, ([0, 1], [0])), Call(_SQUARE, _SQUARE, ([0, 1], [0, 1]))
    ),
    "a_first_dim_too_many": refusal("index", Call(_SQUARE, _ROW, ([2], [0])), Call(_TALL, _ROW, ([0], [0]))),
    "a_second_dim_too_many": refusal("index", Call(_ROW, _SQUARE, ([0], [2])), Call(_ROW, _WIDE, ([0], [1]))),
    "a_dim_twice": refusal(
        "runtime", Call(_SQUARE, _SQUARE, ([0, -2], [0, 1])), Call(_SQUARE, _SQUARE, ([0, -1], [0, 1]))
    ),
    "sizes_apart": refusal("runtime", Call(_WIDE, _WIDE, 1), Call(_WIDE, _TALL, 1)),
    "sizes_apart_and_none_is_one": refusal("runtime", Call(_WIDE, _WIDE, 1), Call(_WIDE, reals(1, 4), 1)),
    "sizes_apart_and_the_first_is_not_one": refusal(
        "runtime", Call(reals(1, 2), _TALL, 1), Call(reals(2, 1), _TALL, 1)
    ),
    "numbers_for_lists": refusal("type", Call(_WIDE, _TALL, [1, 0]), Call(_WIDE, _TALL, [[1], [0]])),
    "sizes_apart_in_named_dims": refusal(
        "runtime", Call(_WIDE, _TALL, ([0, 1], [0, 1])), Call(_WIDE, _TALL, ([0, 1], [1, 0]))
    ),
}
_ADDR = {
    "a_number_first": refusal("runtime", Call(_WIDE, _NUMBER, _ROW), Call(_WIDE, _VECTOR, _ROW)),
    "a_matrix_first": refusal("runtime", Call(_WIDE, _SQUARE, _ROW), Call(_WIDE, _VECTOR, _ROW)),
    "a_number_second": refusal("runtime", Call(_WIDE, _VECTOR, _NUMBER), Call(_WIDE, _VECTOR, _ROW)),
    "a_matrix_second": refusal("runtime", Call(_WIDE, _VECTOR, _WIDE), Call(_WIDE, _VECTOR, _ROW)),
    "an_input_of_other_rows": refusal(
        "runtime", Call(_ROW[:, None], _VECTOR, _ROW), Call(_VECTOR[:, None], _VECTOR, _ROW)
    ),
    "an_input_of_other_columns": refusal("runtime", Call(_VECTOR, _VECTOR, _ROW), Call(_ROW, _VECTOR, _ROW)),
    "an_input_larger_than_the_product": refusal(
        "runtime", Call(_WIDE, reals(1), _ROW), Call(_WIDE[:1], reals(1), _ROW)
    ),
    "an_input_of_a_higher_rank": refusal(
        "runtime", Call(reals(1, 2, 3), _VECTOR, _ROW), Call(_WIDE, _VECTOR, _ROW)
    ),
    "a_complex_factor": refusal(
        "runtime", Call(_WIDE, _VECTOR, _ROW, alpha=1j), Call(_COMPLEX, _VECTOR, _ROW, alpha=1j)
    ),
    "a_complex_factor_of_the_input": refusal(
        "runtime", Call(_WIDE, _VECTOR, _ROW, beta=1j), Call(_WIDE, _VECTOR, _ROW, beta=1 + 0j)
    ),
    "a_vector_as_factor": refusal(
        "type", Call(_WIDE, _VECTOR, _ROW, alpha=reals(1)), Call(_WIDE, _VECTOR, _ROW, alpha=_NUMBER)
    ),
    "a_fraction_of_whole_numbers": refusal(
        "runtime", Call(_WHOLE, wholes(2), wholes(3), alpha=0.5), Call(_WHOLE, wholes(2), reals(3), alpha=0.5)
    ),
    "a_fraction_of_the_whole_input": refusal(
        "runtime", Call(_WHOLE, wholes(2), wholes(3), beta=0.5), Call(_WHOLE, wholes(2), wholes(3), beta=2)
    ),
    "a_bool_factor": refusal(
        "runtime",
        Call(_WHOLE, wholes(2), wholes(3), alpha=True),
        Call(_BOOL, wholes(2, dtype="bool"), wholes(3, dtype="bool"), alpha=True, beta=True),
    ),
    "a_complex_factor_of_whole_numbers": refusal(
        "runtime",
        Call(_WHOLE, wholes(2), wholes(3), alpha=2 + 0j),
        Call(_WHOLE, wholes(2), wholes(3), alpha=2),
    ),
}
_BATCHES, _OTHERS = reals(2, 3, 4), reals(2, 4, 5)
_INPUT = reals(3, 5)
_ADDBMM = {
    "a_first_matrix": refusal(
        "runtime", Call(_INPUT, reals(2, 4), _OTHERS), Call(_INPUT, reals(2, 3, 4), _OTHERS)
    ),
    "a_first_of_rank_4": refusal(
        "runtime", Call(_INPUT, reals(2, 3, 4, 1), _OTHERS), Call(_INPUT, _BATCHES, _OTHERS)
    ),
    "a_second_matrix": refusal(
        "runtime", Call(_INPUT, _BATCHES, reals(2, 4)), Call(_INPUT, _BATCHES, _OTHERS)
    ),
    "a_second_of_rank_4": refusal(
        "runtime", Call(_INPUT, _BATCHES, reals(2, 4, 5, 1)), Call(_INPUT, _BATCHES, _OTHERS)
    ),
    "batches_apart": refusal(
        "runtime", Call(_INPUT, reals(1, 3, 4), _OTHERS), Call(_INPUT, _BATCHES, _OTHERS)
    ),
    "inner_sizes_apart": refusal(
        "runtime", Call(_INPUT, _BATCHES, reals(2, 3, 5)), Call(_INPUT, _BATCHES, _OTHERS)
    ),
    "a_complex_factor": refusal(
        "runtime", Call(_INPUT, _BATCHES, _OTHERS, alpha=1j), Call(_INPUT, _BATCHES, _OTHERS, alpha=1 + 0j)
    ),
    "a_complex_factor_of_the_input": refusal(
        "runtime", Call(_INPUT, _BATCHES, _OTHERS, beta=1j), Call(_INPUT, _BATCHES, _OTHERS, beta=1 + 0j)
    ),
}
_ROWS, _MORE_ROWS = reals(2, 4, 3), reals(2, 5, 3)
_ROW_DISTANCES = {
    "a_first_vector": refusal("runtime", Call(_ROW, reals(4, 3), 2.0), Call(_WIDE, reals(4, 3), 2.0)),
    "a_second_vector": refusal("runtime", Call(_WIDE, _ROW, 2.0), Call(_WIDE, reals(4, 3), 2.0)),
    "rows_of_other_lengths": refusal("runtime", Call(_WIDE, reals(4, 2), 2.0), Call(_WIDE, reals(4, 3), 2.0)),
    "stacks_apart": refusal("runtime", Call(_ROWS, reals(1, 5, 3), 2.0), Call(_ROWS, _MORE_ROWS, 2.0)),
}
_CDISTS = {
    "an_unknown_mode": refusal(
        "value",
        Call(_WIDE, reals(4, 3), compute_mode="mm"),
        Call(_WIDE, reals(4, 3), compute_mode="donot_use_mm_for_euclid_dist"),
    ),
    "a_first_vector": refusal("runtime", Call(_ROW, reals(4, 3)), Call(_WIDE, reals(4, 3))),
    "a_second_vector": refusal("runtime", Call(_WIDE, _ROW), Call(_WIDE, reals(4, 3))),
    "rows_of_other_lengths": refusal("runtime", Call(_WIDE, reals(4, 2)), Call(_WIDE, reals(4, 3))),
    "whole_numbers_first": refusal("runtime", Call(_WHOLE, _WIDE), Call(_WIDE, _WIDE)),
    "whole_numbers_second": refusal("runtime", Call(_WIDE, _WHOLE), Call(_WIDE, _WIDE)),
    "complex_numbers": refusal("runtime", Call(_COMPLEX, _COMPLEX), Call(_WIDE, _WIDE)),
    "a_negative_order": refusal("runtime", Call(_WIDE, _WIDE, -0.5), Call(_WIDE, _WIDE, 0.0)),
    "an_order_that_is_nan": refusal("runtime", Call(_WIDE, _WIDE, math.nan), Call(_WIDE, _WIDE, math.inf)),
    "stacks_apart": refusal("runtime", Call(_ROWS, reals(3, 5, 3)), Call(_ROWS, reals(1, 5, 3))),
    "dtypes_apart": refusal("runtime", Call(_WIDE, _DOUBLE), Call(_WIDE, _DOUBLE[:0])),
    "dtypes_apart_the_other_way": refusal("runtime", Call(_DOUBLE, _WIDE), Call(_DOUBLE[:0], _WIDE)),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "einsum": _EINSUMS,
    "tensordot": _TENSORDOTS,
    "inner": {
        "lengths_apart": refusal("runtime", Call(_WIDE, _SQUARE), Call(_WIDE, reals(4, 3))),
        "one_and_more": refusal("runtime", Call(reals(1), _ROW), Call(_NUMBER, _ROW)),
    },
    "addr": _ADDR,
    "addbmm": _ADDBMM,
    "cdist": _CDISTS,
    "row_distances": _ROW_DISTANCES,
    "row_distances_backward": {
        "a_gradient_of_another_shape": refusal(
            "runtime",
            Call(reals(2, 1), _WIDE, reals(4, 3), reals(2, 4), 2.0),
            Call(reals(2, 4), _WIDE, reals(4, 3), reals(2, 4), 2.0),
        ),
        "distances_of_another_shape": refusal(
            "runtime",
            Call(reals(2, 4), _WIDE, reals(4, 3), reals(4, 2), 2.0),
            Call(reals(2, 4), _WIDE, reals(4, 3), reals(2, 4), 2.0),
        ),
    },
    "pdist": {
        "a_vector": refusal("runtime", Call(_ROW), Call(_WIDE)),
        "a_stack": refusal("runtime", Call(_STACK), Call(_WIDE)),
        "a_negative_order": refusal("runtime", Call(_WIDE, -0.5), Call(_WIDE, 0.0)),
        "an_order_that_is_nan": refusal("runtime", Call(_WIDE, math.nan), Call(_WIDE, math.inf)),
    },
    "cosine_similarity": {
        "dim_above": refusal("index", Call(_WIDE, _WIDE, 2), Call(_WIDE, _WIDE, 1)),
        "dim_below": refusal("index", Call(_WIDE, _WIDE, -3), Call(_WIDE, _WIDE, -2)),
        "dim_above_of_a_number": refusal("index", Call(_NUMBER, _NUMBER, 1), Call(_NUMBER, _NUMBER, 0)),
        "dim_below_of_a_number": refusal("index", Call(_NUMBER, _NUMBER, -2), Call(_NUMBER, _NUMBER, -1)),
        "sizes_apart": refusal("runtime", Call(_WIDE, _SQUARE), Call(_WIDE, reals(2, 1))),
        "sizes_apart_in_another_dim": refusal("runtime", Call(_WIDE, reals(3, 3)), Call(_WIDE, reals(1, 3))),
    },
    "bilinear": {
        "a_weight_of_rank_2": refusal(
            "runtime", Call(_WIDE, _SQUARE, reals(3, 2)), Call(_WIDE, _SQUARE, reals(4, 3, 2))
        ),
        "a_weight_of_rank_4": refusal(
            "runtime", Call(_WIDE, _SQUARE, reals(1, 4, 3, 2)), Call(_WIDE, _SQUARE, reals(4, 3, 2))
        ),
        "batches_apart": refusal(
            "runtime", Call(_WIDE, reals(1, 2), reals(4, 3, 2)), Call(_WIDE, _SQUARE, reals(4, 3, 2))
        ),
        "other_first_features": refusal(
            "runtime", Call(_SQUARE, _SQUARE, reals(4, 3, 2)), Call(_WIDE, _SQUARE, reals(4, 3, 2))
        ),
        "other_second_features": refusal(
            "runtime", Call(_WIDE, _WIDE, reals(4, 3, 2)), Call(_WIDE, _SQUARE, reals(4, 3, 2))
        ),
        "numbers": refusal(
            "runtime", Call(_NUMBER, _NUMBER, reals(4, 1, 1)), Call(reals(1), reals(1), reals(4, 1, 1))
        ),
        "a_bias_too_short": refusal(
            "runtime",
            Call(_WIDE, _SQUARE, reals(4, 3, 2), reals(1)),
            Call(_WIDE, _SQUARE, reals(4, 3, 2), reals(4)),
        ),
        "a_bias_of_rank_2": refusal(
            "runtime",
            Call(_WIDE, _SQUARE, reals(4, 3, 2), reals(1, 4)),
            Call(_WIDE, _SQUARE, reals(4, 3, 2), reals(4)),
        ),
    },
    "one_hot": {
        "whole_numbers_of_32_bits": refusal("runtime", Call(wholes(3, dtype="int32")), Call(wholes(3))),
        "floating_numbers": refusal("runtime", Call(reals(3)), Call(wholes(3))),
        "no_class_of_nothing": refusal("runtime", Call(wholes(0)), Call(wholes(0), 1)),
        "zero_classes_of_nothing": refusal("runtime", Call(wholes(0), 0), Call(wholes(0), 1)),
        "a_negative_class": refusal("runtime", Call(np.array([0, -1]), 2), Call(np.array([0, 1]), 2)),
        "zero_classes": refusal("runtime", Call(np.array([0, 0]), 0), Call(np.array([0, 0]), 1)),
        "fewer_classes_than_none": refusal("runtime", Call(np.array([0, 1]), -2), Call(np.array([0, 1]), -1)),
        "a_class_beyond": refusal("runtime", Call(np.array([0, 2]), 2), Call(np.array([0, 2]), 3)),
    },
}
