"""Histograms, counts, covariances, quantiles and searches."""

from __future__ import annotations

import math

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_X, _ROWS, _EDGES, _WHOLE = reals(5), reals(5, 2), reals(4), wholes(5)
_INFINITE = np.array([1, math.inf], "float32")
_DOUBLE = reals(4, dtype="float64")

_HISTC = {
    "no_bins": refusal("runtime", Call(_X, 0), Call(_X, 1)),
    "whole_numbers": refusal("runtime", Call(_WHOLE, 3), Call(_X, 3)),
    "bounds_the_wrong_way": refusal("runtime", Call(_X, 3, 2, 1), Call(_X, 3, 1, 1)),
    "an_infinite_bound": refusal("runtime", Call(_X, 3, 0, math.inf), Call(_X, 3, 0, 1)),
    "a_lower_bound_of_minus_infinity": refusal("runtime", Call(_X, 3, -math.inf, 1), Call(_X, 3, -1, 1)),
    "infinite_numbers": refusal("runtime", Call(_INFINITE, 3), Call(_INFINITE, 3, 0, 1)),
}
_HISTOGRAM = {
    "no_bins": refusal("runtime", Call(_X, 0), Call(_X, 1)),
    "a_fraction_of_bins": refusal("type", Call(_X, 2.5), Call(_X, 2)),
    "one_bound": refusal("runtime", Call(_X, 3, range=[0.0]), Call(_X, 3, range=[0.0, 1.0])),
    "three_bounds": refusal("runtime", Call(_X, 3, range=(0.0, 1.0, 2.0)), Call(_X, 3, range=(0.0, 1.0))),
    "a_number_as_range": refusal("runtime", Call(_X, 3, range=1.0), Call(_X, 3, range=[1.0, 1.0])),
    "bounds_of_edges": refusal("type", Call(_X, _EDGES, range=[0.0, 1.0]), Call(_X, _EDGES)),
    "bounds_the_wrong_way": refusal("runtime", Call(_X, 3, range=[1.0, 0.5]), Call(_X, 3, range=[0.5, 1.0])),
    "an_infinite_bound": refusal(
        "runtime", Call(_X, 3, range=[0.0, math.inf]), Call(_X, 3, range=[0.0, 1.0])
    ),
    "infinite_numbers": refusal("runtime", Call(_INFINITE, 3), Call(_INFINITE, 3, range=[0.0, 1.0])),
    "one_edge": refusal("runtime", Call(_X, reals(1)), Call(_X, reals(2))),
    "edges_of_rank_2": refusal("runtime", Call(_X, reals(2, 1)), Call(_X, reals(2))),
    "edges_of_another_dtype": refusal("runtime", Call(_X, _DOUBLE), Call(_X, _EDGES)),
    "a_weight_too_few": refusal("runtime", Call(_X, 3, weight=reals(4)), Call(_X, 3, weight=reals(5))),
    "weights_of_another_dtype": refusal(
        "runtime", Call(_X, 3, weight=reals(5, dtype="float64")), Call(_X, 3, weight=reals(5))
    ),
}
_HISTOGRAMDD = {
    "a_vector": refusal("runtime", Call(_X, 3), Call(_ROWS, 3)),
    "bounds_of_one_dim": refusal(
        "runtime", Call(_ROWS, 3, range=[0.0, 1.0]), Call(_ROWS, 3, range=[0.0, 1.0, 0.0, 1.0])
    ),
    "a_number_as_range": refusal(
        "runtime", Call(_ROWS, 3, range=1.0), Call(_ROWS, 3, range=(0.0, 1.0, 0.0, 1.0))
    ),
    "bins_of_one_dim": refusal("runtime", Call(_ROWS, [3]), Call(_ROWS, [3, 2])),
    "bins_of_three_dims": refusal("runtime", Call(_ROWS, [3, 2, 1]), Call(_ROWS, [3, 2])),
    "one_edge": refusal("runtime", Call(_ROWS, [_EDGES, reals(1)]), Call(_ROWS, [_EDGES, reals(2)])),
    "edges_of_another_dtype": refusal(
        "runtime", Call(_ROWS, [_EDGES, _DOUBLE]), Call(_ROWS, [_EDGES, _EDGES])
    ),
    "a_weight_too_few": refusal("runtime", Call(_ROWS, 3, weight=reals(4)), Call(_ROWS, 3, weight=reals(5))),
    "weights_of_another_dtype": refusal(
        "runtime", Call(_ROWS, 3, weight=reals(5, dtype="float64")), Call(_ROWS, 3, weight=reals(5))
    ),
}
_COUNTS = {
    "a_number": refusal("runtime", Call(np.array(1)), Call(np.array([1]))),
    "a_matrix": refusal("runtime", Call(wholes(2, 2)), Call(wholes(4))),
    "floating_numbers": refusal("runtime", Call(_X), Call(_WHOLE)),
    "complex_numbers": refusal("runtime", Call(reals(3, dtype="complex64")), Call(_WHOLE)),
    "bool": refusal("runtime", Call(wholes(3, dtype="bool")), Call(wholes(3, dtype="uint8"))),
    "a_negative_number": refusal("runtime", Call(np.array([1, -1])), Call(np.array([1, 0]))),
    "a_negative_length": refusal("runtime", Call(wholes(0), None, -1), Call(wholes(0), None, 0)),
    "a_weight_too_few": refusal("runtime", Call(_WHOLE, reals(4)), Call(_WHOLE, reals(5))),
    "a_weight_too_many": refusal("runtime", Call(_WHOLE, reals(6)), Call(_WHOLE, reals(5))),
}
_VARIABLES, _TIMES, _SHARES = reals(2, 3), np.array([1, 2, 1]), reals(3)
_COVARIANCES = {
    "a_stack": refusal("runtime", Call(reals(1, 2, 3)), Call(_VARIABLES)),
    "a_frequency_too_few": refusal(
        "runtime", Call(_VARIABLES, fweights=_TIMES[:2]), Call(_VARIABLES, fweights=_TIMES)
    ),
    "frequencies_of_rank_2": refusal(
        "runtime", Call(_VARIABLES, fweights=_TIMES[None]), Call(_VARIABLES, fweights=_TIMES)
    ),
    "a_weight_too_few": refusal(
        "runtime", Call(_VARIABLES, aweights=_SHARES[:2]), Call(_VARIABLES, aweights=_SHARES)
    ),
    "frequencies_that_are_fractions": refusal(
        "runtime", Call(_VARIABLES, fweights=_SHARES), Call(_VARIABLES, fweights=_TIMES)
    ),
    "weights_that_are_whole": refusal(
        "runtime", Call(_VARIABLES, aweights=_TIMES), Call(_VARIABLES, aweights=_SHARES)
    ),
    "a_negative_frequency": refusal(
        "runtime",
        Call(_VARIABLES, fweights=np.array([1, -1, 2])),
        Call(_VARIABLES, fweights=np.array([1, 0, 2])),
    ),
    "a_negative_weight": refusal(
        "runtime",
        Call(_VARIABLES, aweights=np.array([1, -0.5, 2], "float32")),
        Call(_VARIABLES, aweights=np.array([1, 0, 2], "float32")),
    ),
}
_CORRELATIONS = {
    "a_stack": refusal("runtime", Call(reals(1, 2, 3)), Call(_VARIABLES)),
}
_QUANTILES = {
    "an_unknown_interpolation": refusal(
        "runtime", Call(_X, 0.5, interpolation="cubic"), Call(_X, 0.5, interpolation="lower")
    ),
    "whole_numbers": refusal("runtime", Call(_WHOLE, 0.5), Call(_X, 0.5)),
    "a_half_type": refusal(
        "runtime", Call(reals(5, dtype="float16"), 0.5), Call(reals(5, dtype="float64"), 0.5)
    ),
    "no_elements": refusal("runtime", Call(reals(0), 0.5), Call(reals(1), 0.5)),
    "a_negative_share": refusal("runtime", Call(_X, -0.1), Call(_X, 0.0)),
    "a_share_above_1": refusal("runtime", Call(_X, 1.1), Call(_X, 1.0)),
    "a_complex_share": refusal("runtime", Call(_X, 0.5j), Call(_X, 0.5)),
    "shares_of_another_dtype": refusal("runtime", Call(_X, reals(2, dtype="float64")), Call(_X, reals(2))),
    "shares_of_rank_2": refusal("runtime", Call(_X, reals(1, 2)), Call(_X, reals(2))),
    "a_negative_one_of_the_shares": refusal(
        "runtime", Call(_X, np.array([0.5, -0.1], "float32")), Call(_X, np.array([0.5, 0], "float32"))
    ),
    "one_of_the_shares_above_1": refusal(
        "runtime", Call(_X, np.array([0.5, 1.1], "float32")), Call(_X, np.array([0.5, 1], "float32"))
    ),
    "a_share_that_is_nan": refusal(
        "runtime", Call(_X, np.array([0.5, math.nan], "float32")), Call(_X, np.array([0.5, 1], "float32"))
    ),
    "dim_above": refusal("index", Call(_ROWS, 0.5, 2), Call(_ROWS, 0.5, 1)),
    "dim_below": refusal("index", Call(_ROWS, 0.5, -3), Call(_ROWS, 0.5, -2)),
}
_CHOSEN = {
    "dim_above": refusal("index", Call(_ROWS, 2), Call(_ROWS, 1)),
    "dim_below": refusal("index", Call(_ROWS, -3), Call(_ROWS, -2)),
    "dim_above_of_a_number": refusal("index", Call(reals(), 1), Call(reals(), 0)),
    "dim_below_of_a_number": refusal("index", Call(reals(), -2), Call(reals(), -1)),
    "nothing_along_the_dim": refusal("index", Call(reals(2, 0), 1), Call(reals(2, 0), 0)),
}
_KTH = {
    "below_the_first": refusal("runtime", Call(_ROWS, 0, 0), Call(_ROWS, 1, 0)),
    "beyond_the_last": refusal("runtime", Call(_ROWS, 6, 0), Call(_ROWS, 5, 0)),
    "beyond_a_number": refusal("runtime", Call(reals(), 2), Call(reals(), 1)),
    "dim_above": refusal("index", Call(_ROWS, 1, 2), Call(_ROWS, 1, 1)),
    "dim_below": refusal("index", Call(_ROWS, 1, -3), Call(_ROWS, 1, -2)),
    "nothing_along_the_dim": refusal("index", Call(reals(2, 0), 1, 1), Call(reals(2, 0), 1, 0)),
}
_SORTED, _VALUES = reals(2, 4), reals(2, 3)
_SEARCHES = {
    "an_unknown_side": refusal("runtime", Call(_EDGES, _X, side="middle"), Call(_EDGES, _X, side="left")),
    "left_and_right": refusal(
        "runtime", Call(_EDGES, _X, right=True, side="left"), Call(_EDGES, _X, right=True, side="right")
    ),
    "a_number_to_search_in": refusal("runtime", Call(reals(), _X), Call(reals(1), _VALUES)),
    "rows_of_another_number": refusal("runtime", Call(_SORTED, reals(3, 3)), Call(_SORTED, _VALUES)),
    "one_row_for_two": refusal("runtime", Call(_SORTED, reals(1, 3)), Call(_SORTED[:1], reals(1, 3))),
    "values_of_a_lower_rank": refusal("runtime", Call(_SORTED, reals(3)), Call(_SORTED[0], reals(3))),
    "an_order_of_another_shape": refusal(
        "shape",
        Call(_EDGES, _X, sorter=np.array([[0, 1, 2, 3]])),
        Call(_EDGES, _X, sorter=np.array([0, 1, 2, 3])),
    ),
}
_UNIQUE = {
    "dim_above": refusal("index", Call(_ROWS, dim=2), Call(_ROWS, dim=1)),
    "dim_below": refusal("index", Call(_ROWS, dim=-3), Call(_ROWS, dim=-2)),
    "rows_without_elements": refusal("runtime", Call(reals(2, 0), dim=0), Call(reals(2, 0), dim=1)),
    "columns_without_elements": refusal("runtime", Call(reals(0, 2), dim=1), Call(reals(0, 2))),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "histc": _HISTC,
    "histogram": _HISTOGRAM,
    "histogramdd": _HISTOGRAMDD,
    "bincount": _COUNTS,
    "cov": _COVARIANCES,
    "corrcoef": _CORRELATIONS,
    "quantile": _QUANTILES,
    "nanquantile": _QUANTILES,
    "median_dim": _CHOSEN,
    "nanmedian_dim": _CHOSEN,
    "mode": _CHOSEN,
    "kthvalue": _KTH,
    "searchsorted": _SEARCHES,
    "bucketize": {
        "edges_of_rank_2": refusal("runtime", Call(_X, _SORTED), Call(_X, _EDGES)),
        "a_number_as_edges": refusal("runtime", Call(_X, reals()), Call(_X, reals(1))),
    },
    "isin": {
        "two_numbers": refusal("type", Call(1, 2), Call(1, _WHOLE)),
        "two_fractions": refusal("type", Call(0.5, 1.5), Call(_WHOLE, 1.5)),
    },
    "unique": _UNIQUE,
    "unique_consecutive": _UNIQUE,
    "equal": {
        "a_number_first": refusal("type", Call(1, _WHOLE), Call(_WHOLE, _WHOLE)),
        "a_number_second": refusal("type", Call(_WHOLE, 1), Call(_WHOLE, _WHOLE)),
    },
}
