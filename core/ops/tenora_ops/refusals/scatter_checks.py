"""Reads and writes at places: their indices, sources and reductions; segments."""

from __future__ import annotations

import math

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_X, _VECTOR, _NUMBER = reals(3, 4), reals(4), reals()
_COMPLEX = reals(3, 4, dtype="complex64")
_INDEX, _SHORT = np.array([2, 0]), np.array([2, 0], "int32")
_GRID = np.array([[0, 2, 1, 0], [1, 0, 2, 2]])
_SOURCE = reals(2, 4)

_TAKEN = {
    "indices_of_32_bits": refusal("runtime", Call(_X, _SHORT), Call(_X, _INDEX)),
    "bool": refusal("runtime", Call(_X, np.array([True])), Call(_X, np.array([1]))),
}
_ALONG = {
    "indices_of_a_lower_rank": refusal("runtime", Call(_X, _INDEX, 0), Call(_X, _INDEX[:, None], 0)),
    "indices_of_a_higher_rank": refusal("runtime", Call(_VECTOR, _INDEX[None], 0), Call(_VECTOR, _INDEX, 0)),
    "a_number": refusal("index", Call(_NUMBER, np.array(0), 0), Call(_NUMBER, np.array(0))),
    "indices_of_32_bits": refusal("runtime", Call(_VECTOR, _SHORT, 0), Call(_VECTOR, _INDEX, 0)),
    "dim_above": refusal("index", Call(_VECTOR, _INDEX, 1), Call(_VECTOR, _INDEX, 0)),
    "dim_below": refusal("index", Call(_VECTOR, _INDEX, -2), Call(_VECTOR, _INDEX, -1)),
    "sizes_apart": refusal("runtime", Call(_X, _GRID[:, :3], 0), Call(_X, _GRID[:, :1], 0)),
    "sizes_apart_in_the_first_dim": refusal("runtime", Call(_X, _GRID, 1), Call(_X, _GRID[:1], 1)),
    "nothing_along_the_dim": refusal("index", Call(reals(0, 4), _GRID, 0), Call(reals(0, 4), _GRID[:0], 0)),
}
_FILLED = {
    "a_vector_as_value": refusal("runtime", Call(_X, 0, _INDEX, reals(1)), Call(_X, 0, _INDEX, _NUMBER)),
    "a_complex_number": refusal("runtime", Call(_X, 0, _INDEX, 1 + 0j), Call(_COMPLEX, 0, _INDEX, 1 + 0j)),
    "a_complex_tensor": refusal(
        "runtime",
        Call(_X, 0, _INDEX, reals(dtype="complex64")),
        Call(_COMPLEX, 0, _INDEX, reals(dtype="complex64")),
    ),
    "indices_of_32_bits": refusal("index", Call(_X, 0, _SHORT, 1.0), Call(_X, 0, _INDEX, 1.0)),
    "indices_of_rank_2": refusal("index", Call(_X, 0, _INDEX[None], 1.0), Call(_X, 0, np.array(1), 1.0)),
    "dim_above": refusal("index", Call(_X, 2, _INDEX, 1.0), Call(_X, 1, _INDEX, 1.0)),
    "dim_below": refusal("index", Call(_X, -3, _INDEX, 1.0), Call(_X, -2, _INDEX, 1.0)),
}
_COPIED = {
    "indices_of_32_bits": refusal("runtime", Call(_X, 0, _SHORT, _SOURCE), Call(_X, 0, _INDEX, _SOURCE)),
    "indices_of_rank_2": refusal("index", Call(_X, 0, _INDEX[None], _SOURCE), Call(_X, 0, _INDEX, _SOURCE)),
    "dim_above": refusal("index", Call(_X, 2, _INDEX, _SOURCE), Call(_X, 0, _INDEX, _SOURCE)),
    "dim_below": refusal("index", Call(_X, -3, _INDEX, _SOURCE), Call(_X, -2, _INDEX, _SOURCE)),
    "a_slice_too_few": refusal("index", Call(_X, 0, _INDEX, _SOURCE[:1]), Call(_X, 0, _INDEX, _SOURCE[:2])),
    "a_short_slice": refusal("index", Call(_X, 0, _INDEX, reals(2, 3)), Call(_X, 0, _INDEX, reals(2, 4))),
    "a_source_of_another_dtype": refusal(
        "index", Call(_X, 0, _INDEX, reals(2, 4, dtype="float64")), Call(_X, 0, _INDEX, reals(2, 4))
    ),
}
_PUT = {
    "indices_of_32_bits": refusal("runtime", Call(_X, _SHORT, reals(2)), Call(_X, _INDEX, reals(2))),
    "an_element_too_few": refusal("index", Call(_X, _INDEX, reals(1)), Call(_X, _INDEX, reals(2))),
    "an_element_too_many": refusal("index", Call(_X, _INDEX, reals(3)), Call(_X, _INDEX, reals(2))),
    "a_source_of_another_dtype": refusal(
        "dtype", Call(_X, _INDEX, reals(2, dtype="float64")), Call(_X, _INDEX, reals(2))
    ),
}
_MASK = np.array([[True, False, True, False]])
_MASKED = {
    "a_source_of_another_dtype": refusal(
        "runtime", Call(_X, _MASK, reals(6, dtype="float64")), Call(_X, _MASK, reals(6))
    ),
    "a_source_too_short": refusal("runtime", Call(_X, _MASK, reals(5)), Call(_X, _MASK, reals(6))),
    "an_empty_source": refusal("runtime", Call(_X, _MASK, reals(0)), Call(_X, np.array([False]), reals(0))),
    "a_mask_that_does_not_broadcast": refusal(
        "runtime", Call(_X, _MASK[:, :3], reals(12)), Call(_X, _MASK[:, :1], reals(12))
    ),
}
_ADDED = {
    "indices_of_16_bits": refusal(
        "runtime", Call(_X, 0, _INDEX.astype("int16"), _SOURCE), Call(_X, 0, _SHORT, _SOURCE)
    ),
    "indices_of_rank_2": refusal("index", Call(_X, 0, _INDEX[None], _SOURCE), Call(_X, 0, _INDEX, _SOURCE)),
    "dim_above": refusal("index", Call(_X, 2, _INDEX, _SOURCE), Call(_X, 0, _INDEX, _SOURCE)),
    "dim_below": refusal("index", Call(_X, -3, _INDEX, _SOURCE), Call(_X, -2, _INDEX, _SOURCE)),
    "a_slice_too_few": refusal("runtime", Call(_X, 0, _INDEX, _SOURCE[:1]), Call(_X, 0, _INDEX, _SOURCE[:2])),
    "a_short_slice": refusal("runtime", Call(_X, 0, _INDEX, reals(2, 3)), Call(_X, 0, _INDEX, reals(2, 4))),
    "a_vector_for_a_number": refusal(
        "runtime", Call(_NUMBER, 0, np.array([0]), reals(1)), Call(_NUMBER, 0, np.array([0]), _NUMBER)
    ),
    "two_indices_of_a_number": refusal(
        "runtime", Call(_NUMBER, 0, np.array([0, 0]), _NUMBER), Call(_NUMBER, 0, np.array(0), _NUMBER)
    ),
    "a_source_of_another_dtype": refusal(
        "runtime", Call(_X, 0, _INDEX, reals(2, 4, dtype="float64")), Call(_X, 0, _INDEX, reals(2, 4))
    ),
    "a_complex_factor": refusal(
        "runtime", Call(_X, 0, _INDEX, _SOURCE, alpha=1j), Call(_X, 0, _INDEX, _SOURCE, alpha=1 + 0j)
    ),
    "an_infinite_factor_of_whole_numbers": refusal(
        "runtime",
        Call(wholes(3, 4), 0, _INDEX, wholes(2, 4), alpha=math.inf),
        Call(wholes(3, 4), 0, _INDEX, wholes(2, 4), alpha=2.5),
    ),
    "a_vector_as_factor": refusal(
        "type", Call(_X, 0, _INDEX, _SOURCE, alpha=reals(1)), Call(_X, 0, _INDEX, _SOURCE, alpha=_NUMBER)
    ),
}
_REDUCED = {
    "an_unknown_reduction": refusal(
        "runtime", Call(_X, 0, _GRID, _SOURCE, "median"), Call(_X, 0, _GRID, _SOURCE, "amax")
    ),
    "a_source_of_another_dtype": refusal(
        "runtime", Call(_X, 0, _GRID, reals(2, 4, dtype="float64"), "sum"), Call(_X, 0, _GRID, _SOURCE, "sum")
    ),
    "dim_above": refusal("index", Call(_X, 2, _GRID, _SOURCE, "sum"), Call(_X, 1, _GRID, _SOURCE, "sum")),
    "dim_below": refusal("index", Call(_X, -3, _GRID, _SOURCE, "sum"), Call(_X, -2, _GRID, _SOURCE, "sum")),
    "an_index_beyond_the_source": refusal(
        "runtime", Call(_X, 0, _GRID, reals(1, 4), "amin"), Call(_X, 0, _GRID, reals(2, 4), "amin")
    ),
    "an_index_wider_than_the_source": refusal(
        "runtime", Call(_X, 0, _GRID, reals(2, 3), "prod"), Call(_X, 0, _GRID[:, :3], reals(2, 3), "prod")
    ),
    "an_index_wider_than_the_input": refusal(
        "runtime", Call(reals(3, 3), 0, _GRID, _SOURCE, "amax"), Call(reals(3, 4), 0, _GRID, _SOURCE, "amax")
    ),
    "an_index_longer_than_the_input": refusal(
        "runtime",
        Call(reals(1, 4), 1, _GRID, _SOURCE, "amax"),
        Call(reals(1, 4), 0, _GRID * 0, _SOURCE, "amax"),
    ),
    "an_index_of_a_lower_rank": refusal(
        "runtime", Call(_X, 0, _GRID[0], _SOURCE, "amax"), Call(_X, 0, _GRID[:1], _SOURCE, "amax")
    ),
    "a_source_of_a_lower_rank": refusal(
        "runtime", Call(_X, 0, _GRID[:1], _SOURCE[0], "amax"), Call(_X, 0, _GRID[:1], _SOURCE[:1], "amax")
    ),
    "an_index_of_rank_2_of_a_number": refusal(
        "runtime",
        Call(_NUMBER, 0, np.array([[0]]), reals(1, 1), "prod"),
        Call(_NUMBER, 0, np.array([0]), reals(1), "prod"),
    ),
    "an_index_beyond": refusal(
        "index", Call(_X, 0, _GRID + 1, _SOURCE, "amax"), Call(_X, 0, _GRID, _SOURCE, "amax")
    ),
    "an_index_before": refusal(
        "index", Call(_X, 0, _GRID - 1, _SOURCE, "prod"), Call(_X, 0, _GRID, _SOURCE, "prod")
    ),
}
_COMBINED = {
    "an_unknown_reduction": refusal(
        "runtime", Call(_X, 0, _GRID, _SOURCE, reduce="sum"), Call(_X, 0, _GRID, _SOURCE, reduce="add")
    ),
    "a_source_of_another_dtype": refusal(
        "runtime",
        Call(_X, 0, _GRID, reals(2, 4, dtype="float64"), reduce="multiply"),
        Call(_X, 0, _GRID, _SOURCE, reduce="multiply"),
    ),
}
_DATA, _LENGTHS, _OFFSETS = reals(5, 2), np.array([2, 3]), np.array([0, 2, 5])


def _by(lengths: object, **options: object) -> Call:
    return Call(_DATA, "sum", lengths=lengths, **options)


_SEGMENTS = {
    "an_unknown_reduction": refusal(
        "runtime", Call(_DATA, "median", lengths=_LENGTHS), Call(_DATA, "max", lengths=_LENGTHS)
    ),
    "indices": refusal("runtime", Call(_DATA, "sum", lengths=_LENGTHS, indices=_LENGTHS), _by(_LENGTHS)),
    "a_number": refusal(
        "runtime", Call(_NUMBER, "sum", lengths=np.array([1])), Call(reals(1), "sum", lengths=np.array([1]))
    ),
    "no_segments": refusal("runtime", Call(_DATA, "sum"), _by(_LENGTHS)),
    "lengths_that_are_fractions": refusal("runtime", _by(np.array([2, 3], "float32")), _by(np.array([2, 3]))),
    "lengths_of_bool": refusal(
        "runtime",
        Call(_DATA[:1], "sum", lengths=np.array([True])),
        Call(_DATA[:1], "sum", lengths=np.array([1])),
    ),
    "complex_lengths": refusal("runtime", _by(np.array([2, 3], "complex64")), _by(np.array([2, 3]))),
    "a_number_as_lengths": refusal("runtime", _by(np.array(5)), _by(np.array([5]))),
    "a_number_as_offsets": refusal(
        "runtime", Call(_DATA, "sum", offsets=np.array(0)), Call(_DATA, "sum", offsets=np.array([0, 5]))
    ),
    "no_offsets": refusal(
        "runtime", Call(_DATA, "sum", offsets=wholes(0)), Call(_DATA, "sum", offsets=np.array([0]))
    ),
    "lengths_along_another_axis": refusal(
        "runtime", _by(np.array([1, 1]), axis=1), _by(np.array([[1, 1]] * 5), axis=1)
    ),
    "lengths_of_a_higher_rank": refusal("runtime", _by(np.array([[2, 3]])), _by(_LENGTHS)),
    "lengths_of_fewer_rows": refusal(
        "runtime", _by(np.array([[1, 1]] * 4), axis=1), _by(np.array([[1, 1]] * 5), axis=1)
    ),
    "a_negative_length": refusal("runtime", _by(np.array([6, -1])), _by(np.array([5, 0]))),
    "lengths_that_do_not_add_up": refusal("runtime", _by(np.array([2, 2])), _by(np.array([2, 3]))),
    "lengths_beyond_the_data": refusal(
        "runtime", _by(np.array([2, 4]), unsafe=True), _by(np.array([2, 3]), unsafe=True)
    ),
    "lengths_that_leave_data_out": refusal(
        "runtime", _by(np.array([2, 2])), _by(np.array([2, 2]), unsafe=True)
    ),
    "lengths_of_a_row_beyond_the_data": refusal(
        "runtime",
        Call(reals(2, 3), "sum", lengths=np.array([[1, 1], [1, 3]]), axis=1, unsafe=True),
        Call(reals(2, 3), "sum", lengths=np.array([[1, 1], [1, 2]]), axis=1, unsafe=True),
    ),
    "falling_offsets": refusal(
        "runtime",
        Call(_DATA, "sum", offsets=np.array([0, 3, 2])),
        Call(_DATA, "sum", offsets=np.array([0, 2, 2])),
    ),
    "offsets_beyond_the_data": refusal(
        "runtime", Call(_DATA, "sum", offsets=np.array([0, 6])), Call(_DATA, "sum", offsets=np.array([0, 5]))
    ),
    "a_negative_offset": refusal(
        "runtime", Call(_DATA, "sum", offsets=np.array([-1, 5])), Call(_DATA, "sum", offsets=np.array([0, 5]))
    ),
    "axis_above": refusal("index", _by(np.array([[1, 1]] * 5), axis=2), _by(np.array([[1, 1]] * 5), axis=1)),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "take": _TAKEN,
    "take_along_dim": _ALONG,
    "index_fill": _FILLED,
    "index_copy": _COPIED,
    "put": _PUT,
    "masked_scatter": _MASKED,
    "index_add": _ADDED,
    "scatter_reduce": _REDUCED,
    "index_reduce": {
        "the_reduction_sum": refusal(
            "runtime", Call(_X, 0, _INDEX, _SOURCE, "sum"), Call(_X, 0, _INDEX, _SOURCE, "mean")
        ),
        "an_unknown_reduction": refusal(
            "runtime", Call(_X, 0, _INDEX, _SOURCE, "max"), Call(_X, 0, _INDEX, _SOURCE, "amax")
        ),
        "dim_above": refusal(
            "index", Call(_X, 2, _INDEX, _SOURCE, "prod"), Call(_X, 0, _INDEX, _SOURCE, "prod")
        ),
        "an_index_beyond": refusal(
            "index",
            Call(_X, 0, np.array([0, 3]), _SOURCE, "prod"),
            Call(_X, 0, np.array([0, 2]), _SOURCE, "prod"),
        ),
    },
    "scatter_combined": _COMBINED,
    "scatter_combined_value": {
        "an_unknown_reduction": refusal(
            "runtime", Call(_X, 0, _GRID, 2.0, reduce="mean"), Call(_X, 0, _GRID, 2.0, reduce="multiply")
        ),
    },
    "segment_reduce": _SEGMENTS,
    "unravel_index": {
        "complex_numbers": refusal("runtime", Call(_COMPLEX, [3, 4]), Call(wholes(3), [3, 4])),
    },
    "nonzero_static": {"a_negative_size": refusal("runtime", Call(_X, size=-1), Call(_X, size=0))},
    "masked_fill": {
        "a_complex_tensor": refusal(
            "runtime",
            Call(_X, _X > 0.5, np.array(1j, "complex64")),
            Call(_COMPLEX, _X > 0.5, np.array(1j, "complex64")),
        ),
    },
    "fill_tensor": {
        "a_vector": refusal("runtime", Call(_X, reals(1)), Call(_X, _NUMBER)),
        "a_complex_number": refusal("runtime", Call(_X, 1j), Call(_X, 1 + 0j)),
        "a_complex_tensor": refusal(
            "runtime", Call(_X, np.array(1j, "complex64")), Call(_COMPLEX, np.array(1j, "complex64"))
        ),
    },
}
