"""Moves, copies, parts and joins of dims; diagonals; scans and differences."""

from __future__ import annotations

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_X, _STACK, _VECTOR, _NUMBER = reals(3, 4), reals(2, 3, 4), reals(4), reals()
_COMPLEX = reals(3, 4, dtype="complex64")

_MOVED = {
    "a_destination_too_few": refusal("runtime", Call(_STACK, [0, 1], [2]), Call(_STACK, [0, 1], [2, 0])),
    "a_destination_too_many": refusal("runtime", Call(_STACK, [0], [2, 1]), Call(_STACK, [0], [2])),
    "a_source_above": refusal("index", Call(_STACK, 3, 0), Call(_STACK, 2, 0)),
    "a_source_below": refusal("index", Call(_STACK, -4, 0), Call(_STACK, -3, 0)),
    "a_destination_above": refusal("index", Call(_STACK, 0, 3), Call(_STACK, 0, 2)),
    "a_source_twice": refusal("runtime", Call(_STACK, [0, -3], [0, 1]), Call(_STACK, [0, -2], [0, 1])),
    "a_destination_twice": refusal("runtime", Call(_STACK, [0, 1], [2, -1]), Call(_STACK, [0, 1], [2, -2])),
}
_UNFLATTENED = {
    "dim_above": refusal("index", Call(_X, 2, [2, 2]), Call(_X, 1, [2, 2])),
    "dim_below": refusal("index", Call(_X, -3, [3, 1]), Call(_X, -2, [3, 1])),
    "a_number": refusal("runtime", Call(_NUMBER, 0, [1]), Call(reals(1), 0, [1])),
    "a_product_too_large": refusal("runtime", Call(_X, 1, [2, 3]), Call(_X, 1, [2, 2])),
    "a_product_too_small": refusal("runtime", Call(_X, 1, [2]), Call(_X, 1, [4])),
    "no_whole_number_left": refusal("runtime", Call(_X, 1, [3, -1]), Call(_X, 1, [2, -1])),
    "two_unknown_sizes": refusal("runtime", Call(_X, 1, [-1, 2, -1]), Call(_X, 1, [-1, 2, 1])),
    "an_unknown_size_beside_zero": refusal("runtime", Call(_X, 1, [0, -1]), Call(_X, 1, [1, -1])),
}
_REPEATED = {
    "a_number_too_few": refusal("runtime", Call(_X, [2]), Call(_X, [2, 1])),
    "a_negative_number": refusal("runtime", Call(_X, [2, -1]), Call(_X, [2, 0])),
}
_INTERLEAVED = {
    "a_negative_number": refusal("runtime", Call(_X, -1, 0), Call(_X, 0, 0)),
    "a_negative_number_of_all": refusal("runtime", Call(_X, -1), Call(_X, 1)),
    "dim_above": refusal("index", Call(_X, 2, 2), Call(_X, 2, 1)),
    "dim_below": refusal("index", Call(_X, 2, -3), Call(_X, 2, -2)),
}
_TIMES = np.array([1, 0, 2])
_INTERLEAVED_BY = {
    "a_matrix_of_numbers": refusal("runtime", Call(_X, _TIMES[:, None], 0), Call(_X, _TIMES, 0)),
    "a_number_too_few": refusal("runtime", Call(_X, _TIMES[:2], 0), Call(_X, _TIMES[:1], 0)),
    "a_number_too_many": refusal(
        "runtime", Call(_X, np.array([1, 0, 2, 1]), 0), Call(_X, np.array([1, 0, 2, 1]), 1)
    ),
    "a_number_too_few_for_all": refusal("runtime", Call(_X, _TIMES), Call(reals(3, 1), _TIMES)),
    "numbers_that_are_fractions": refusal("runtime", Call(_X, reals(3), 0), Call(_X, wholes(3), 0)),
    "a_negative_number": refusal(
        "runtime", Call(_X, np.array([1, -1, 2]), 0), Call(_X, np.array([1, 0, 2]), 0)
    ),
    "dim_above": refusal("index", Call(_X, np.array(2), 2), Call(_X, np.array(2), 1)),
    "dim_below": refusal("index", Call(_X, np.array(2), -3), Call(_X, np.array(2), -2)),
}
_INTERLEAVED_PLACES = {
    "a_number": refusal("runtime", Call(np.array(2)), Call(np.array([2]))),
    "a_matrix": refusal("runtime", Call(_TIMES[None]), Call(_TIMES)),
    "a_negative_number": refusal("runtime", Call(np.array([1, -1])), Call(np.array([1, 0]))),
    "numbers_that_are_fractions": refusal("runtime", Call(reals(2)), Call(wholes(2))),
}
_ROLLED = {
    "no_shifts": refusal("runtime", Call(_X, []), Call(_X, [0])),
    "two_shifts_of_all": refusal("runtime", Call(_X, [1, 2]), Call(_X, [1])),
    "a_dim_too_few": refusal("runtime", Call(_X, [1, 2], [0]), Call(_X, [1, 2], [0, 1])),
    "a_dim_too_many": refusal("runtime", Call(_X, 1, [0, 1]), Call(_X, 1, [0])),
    "dim_above": refusal("index", Call(_X, 1, 2), Call(_X, 1, 1)),
    "dim_below": refusal("index", Call(_X, 1, -3), Call(_X, 1, -2)),
}
_TURNED = {
    "a_vector": refusal("runtime", Call(_VECTOR), Call(_X)),
    "one_dim": refusal("runtime", Call(_X, 1, [0]), Call(_X, 1, [0, 1])),
    "three_dims": refusal("runtime", Call(_STACK, 1, [0, 1, 2]), Call(_STACK, 1, [0, 2])),
    "a_dim_twice": refusal("runtime", Call(_X, 1, [0, -2]), Call(_X, 1, [0, -1])),
    "dim_above": refusal("index", Call(_X, 1, [0, 2]), Call(_X, 1, [0, 1])),
    "dim_below": refusal("index", Call(_X, 1, [-3, 1]), Call(_X, 1, [-2, 1])),
}
_CHUNKS = {
    "a_number": refusal("runtime", Call(_NUMBER, 1), Call(reals(1), 1)),
    "no_chunks": refusal("runtime", Call(_VECTOR, 0), Call(_VECTOR, 1)),
    "dim_above": refusal("index", Call(_VECTOR, 2, 1), Call(_VECTOR, 2, 0)),
    "dim_below": refusal("index", Call(_VECTOR, 2, -2), Call(_VECTOR, 2, -1)),
}
_SPLITS = {
    "a_number": refusal("runtime", Call(_NUMBER, 1), Call(reals(1), 1)),
    "a_size_of_zero": refusal("runtime", Call(_VECTOR, 0), Call(reals(0), 0)),
    "a_negative_size": refusal("runtime", Call(reals(0), -1), Call(reals(0), 0)),
    "sizes_below_the_sum": refusal("runtime", Call(_VECTOR, [1, 2]), Call(_VECTOR, [1, 3])),
    "dim_above": refusal("index", Call(_VECTOR, 2, 1), Call(_VECTOR, 2, 0)),
    "dim_below": refusal("index", Call(_VECTOR, 2, -2), Call(_VECTOR, 2, -1)),
}
_SIZES = {
    "a_number": refusal("runtime", Call(_NUMBER, [1]), Call(reals(1), [1])),
    "sizes_below_the_sum": refusal("runtime", Call(_VECTOR, [1, 2]), Call(_VECTOR, [1, 3])),
    "sizes_beyond_the_sum": refusal("runtime", Call(_VECTOR, [2, 3]), Call(_VECTOR, [1, 3])),
    "a_negative_size": refusal("runtime", Call(_VECTOR, [5, -1]), Call(_VECTOR, [4, 0])),
    "dim_above": refusal("index", Call(_X, [1, 3], 2), Call(_X, [1, 3], 1)),
    "dim_below": refusal("index", Call(_X, [1, 2], -3), Call(_X, [1, 2], -2)),
}
_SECTIONS = {
    "a_number": refusal("runtime", Call(_NUMBER, 1), Call(reals(1), 1)),
    "no_sections": refusal("runtime", Call(_VECTOR, 0), Call(_VECTOR, 1)),
    "dim_above": refusal("index", Call(_VECTOR, 2, 1), Call(_VECTOR, 2, 0)),
    "dim_below": refusal("index", Call(_VECTOR, 2, -2), Call(_VECTOR, 2, -1)),
}
_EVEN = reals(4, 4, 4)
_WRITTEN_SLICE = {
    "a_source_of_another_length": refusal(
        "runtime", Call(_X, reals(1, 4), 0, 1), Call(_X, reals(2, 4), 0, 1)
    ),
    "a_source_of_a_lower_rank": refusal("runtime", Call(_X, _VECTOR, 0, 2), Call(_X, _VECTOR[None], 0, 2)),
}
_WINDOWS = {
    "a_stride_too_few": refusal(
        "runtime", Call(_X, reals(2, 2), [2, 2], [4]), Call(_X, reals(2, 2), [2, 2], [4, 1])
    ),
    "a_stride_too_many": refusal("runtime", Call(_X, reals(2), [2], [4, 1]), Call(_X, reals(2), [2], [4])),
    "a_source_of_another_shape": refusal(
        "runtime", Call(_X, reals(1, 2), [2, 2], [4, 1]), Call(_X, reals(2, 2), [2, 2], [4, 1])
    ),
    "beyond_the_memory": refusal(
        "runtime", Call(_X, reals(2, 2), [2, 2], [11, 1]), Call(_X, reals(2, 2), [2, 2], [10, 1])
    ),
    "beyond_the_memory_by_the_offset": refusal(
        "runtime", Call(_X, reals(2, 2), [2, 2], [4, 1], 7), Call(_X, reals(2, 2), [2, 2], [4, 1], 6)
    ),
    "before_the_memory": refusal(
        "runtime", Call(_X, reals(2), [2], [1], -1), Call(_X, reals(2), [2], [1], 0)
    ),
    "one_element_beyond_the_memory": refusal(
        "runtime", Call(_X, reals(1), [1], [1], 12), Call(_X, reals(1), [1], [1], 11)
    ),
    "backwards_before_the_memory": refusal(
        "runtime", Call(_X, reals(2), [2], [-1], 0), Call(_X, reals(2), [2], [-1], 1)
    ),
    "an_empty_window_before_the_memory": refusal(
        "runtime", Call(_X, reals(0), [0], [1], -2), Call(_X, reals(0), [0], [1], 11)
    ),
}
_TRIANGLES = {
    "a_negative_number_of_rows": refusal("runtime", Call(-1, 3), Call(0, 3)),
    "a_negative_number_of_columns": refusal("runtime", Call(3, -1), Call(3, 0)),
}
_AREAS = {
    "a_number": refusal("runtime", Call(_NUMBER, _NUMBER), Call(reals(1), reals(1))),
    "a_point_too_few": refusal("runtime", Call(_X, reals(3)), Call(_X, _VECTOR)),
    "a_point_too_many_along_the_first_dim": refusal(
        "runtime", Call(_X, _VECTOR, dim=0), Call(_X, reals(3), dim=0)
    ),
    "dim_above": refusal("index", Call(_X, _VECTOR, dim=2), Call(_X, _VECTOR, dim=1)),
    "dim_below": refusal("index", Call(_X, reals(3), dim=-3), Call(_X, reals(3), dim=-2)),
}
_STEPS = {
    "a_number": refusal("runtime", Call(_NUMBER), Call(reals(1))),
    "dim_above": refusal("index", Call(_X, dim=2), Call(_X, dim=1)),
    "dim_below": refusal("index", Call(_X, dim=-3), Call(_X, dim=-2)),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "movedim": _MOVED,
    "unflatten": _UNFLATTENED,
    "repeat": _REPEATED,
    "tile": {"a_negative_number": refusal("runtime", Call(_X, [2, -1]), Call(_X, [2, 0]))},
    "repeat_interleave": _INTERLEAVED,
    "repeat_interleave_by": _INTERLEAVED_BY,
    "repeat_interleave_places": _INTERLEAVED_PLACES,
    "roll": _ROLLED,
    "fliplr": {"a_vector": refusal("runtime", Call(_VECTOR), Call(_X))},
    "flipud": {"a_number": refusal("runtime", Call(_NUMBER), Call(_VECTOR))},
    "rot90": _TURNED,
    "matrix_transpose": {"a_vector": refusal("runtime", Call(_VECTOR), Call(_X))},
    "adjoint": {"a_vector": refusal("runtime", Call(_VECTOR), Call(_X))},
    "hermitian": {
        "a_stack": refusal("runtime", Call(_STACK), Call(_X)),
        "a_stack_of_one": refusal("runtime", Call(_STACK[:1]), Call(_NUMBER)),
    },
    "chunk": _CHUNKS,
    "split": _SPLITS,
    "split_with_sizes": _SIZES,
    "tensor_split": _SECTIONS,
    "hsplit": {
        "a_number": refusal("runtime", Call(_NUMBER, 1), Call(reals(1), 1)),
        "no_divisor": refusal("runtime", Call(reals(4, 3), 2), Call(reals(3, 4), 2)),
        "no_divisor_of_a_vector": refusal("runtime", Call(reals(3), 2), Call(_VECTOR, 2)),
        "no_sections": refusal("runtime", Call(_EVEN, 0), Call(_EVEN, [1, 3])),
    },
    "vsplit": {
        "a_vector": refusal("runtime", Call(_VECTOR, 2), Call(_VECTOR[:, None], 2)),
        "no_divisor": refusal("runtime", Call(reals(3, 4), 2), Call(reals(4, 3), 2)),
    },
    "dsplit": {
        "a_matrix": refusal("runtime", Call(reals(4, 4), 2), Call(_EVEN, 2)),
        "no_divisor": refusal("runtime", Call(reals(4, 4, 3), 2), Call(reals(3, 3, 4), 2)),
    },
    "unbind": {
        "a_number": refusal("index", Call(_NUMBER), Call(reals(1))),
        "dim_above": refusal("index", Call(_X, 2), Call(_X, 1)),
        "dim_below": refusal("index", Call(_X, -3), Call(_X, -2)),
    },
    "hstack": {"no_tensors": refusal("runtime", Call([]), Call([_NUMBER]))},
    "column_stack": {"no_tensors": refusal("runtime", Call([]), Call([_VECTOR]))},
    "broadcast_tensors": {
        "sizes_apart": refusal("runtime", Call(_X, reals(3)), Call(_X, reals(1))),
        "sizes_apart_the_other_way": refusal("runtime", Call(reals(3), _X), Call(reals(3, 1), _X)),
    },
    "meshgrid": {
        "an_unknown_indexing": refusal(
            "runtime", Call([_VECTOR, reals(3)], indexing="yx"), Call([_VECTOR, reals(3)], indexing="xy")
        ),
        "a_matrix": refusal("runtime", Call([_VECTOR, _X]), Call([_VECTOR, _NUMBER])),
        "dtypes_apart": refusal("runtime", Call([_VECTOR, wholes(3)]), Call([_VECTOR])),
    },
    "cartesian_prod": {
        "a_number": refusal("runtime", Call(_VECTOR, _NUMBER), Call(_VECTOR, reals(1))),
        "a_matrix": refusal("runtime", Call(_VECTOR, _X), Call(_VECTOR, reals(3))),
    },
    "combinations": {
        "a_number": refusal("runtime", Call(_NUMBER), Call(_VECTOR)),
        "a_matrix": refusal("runtime", Call(_X), Call(_VECTOR)),
        "fewer_than_none": refusal("runtime", Call(_VECTOR, -1), Call(_VECTOR, 0)),
        "too_many": refusal("runtime", Call(reals(40), 20), Call(reals(40), 2)),
    },
    "block_diag": {"a_stack": refusal("runtime", Call(_STACK, _X), Call(_NUMBER, _X))},
    "diag_embed": {
        "a_number": refusal("runtime", Call(_NUMBER), Call(reals(1))),
        "first_above": refusal("index", Call(_X, 0, 3, 0), Call(_X, 0, 2, 0)),
        "second_below": refusal("index", Call(_X, 0, 0, -4), Call(_X, 0, 0, -2)),
        "a_dim_twice": refusal("runtime", Call(_X, 0, 0, -3), Call(_X, 0, 0, -2)),
    },
    "diag": {
        "a_number": refusal("runtime", Call(_NUMBER), Call(reals(1))),
        "a_stack": refusal("runtime", Call(_STACK), Call(_X)),
    },
    "trace": {
        "a_vector": refusal("runtime", Call(_VECTOR), Call(_X)),
        "a_stack": refusal("runtime", Call(_STACK), Call(_X)),
    },
    "diagonal_scatter": {
        "a_source_of_another_length": refusal("runtime", Call(_X, reals(2)), Call(_X, reals(3))),
        "a_source_beside_the_offset": refusal("runtime", Call(_X, reals(3), -1), Call(_X, reals(2), -1)),
    },
    "select_scatter": {
        "a_source_of_another_length": refusal("runtime", Call(_X, reals(3), 0, 1), Call(_X, reals(4), 0, 1)),
        "a_source_of_a_higher_rank": refusal(
            "runtime", Call(_X, reals(1, 4), 0, 1), Call(_X, reals(4), 0, 1)
        ),
    },
    "slice_scatter": _WRITTEN_SLICE,
    "as_strided_scatter": _WINDOWS,
    "tril_indices": _TRIANGLES,
    "triu_indices": _TRIANGLES,
    "logcumsumexp": {
        "dim_above": refusal("index", Call(_X, 2), Call(_X, 1)),
        "dim_below": refusal("index", Call(_X, -3), Call(_X, -2)),
        "whole_numbers": refusal("runtime", Call(wholes(3), 0), Call(_COMPLEX, 0)),
    },
    "diff": {
        "a_number": refusal("runtime", Call(_NUMBER), Call(reals(1))),
        "a_negative_order": refusal("runtime", Call(_X, -1), Call(_X, 0)),
        "dim_above": refusal("index", Call(_X, 1, 2), Call(_X, 1, 1)),
        "dim_below": refusal("index", Call(_X, 1, -3), Call(_X, 1, -2)),
    },
    "trapezoid": _AREAS,
    "cumulative_trapezoid": _AREAS,
    "trapezoid_dx": _STEPS,
    "cumulative_trapezoid_dx": _STEPS,
}
