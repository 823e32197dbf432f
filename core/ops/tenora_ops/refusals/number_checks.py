"""Ops on single numbers: dtypes, orders, degrees and modes; gradients of samples."""

from __future__ import annotations

import math

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_X, _DOUBLE, _COMPLEX, _WHOLE = reals(3), reals(3, dtype="float64"), reals(3, dtype="complex64"), wholes(3)
_BOOL = wholes(3, dtype="bool")

_WHOLE_ONLY = {
    "a_floating_first": refusal("not_implemented", Call(_X, _WHOLE), Call(_WHOLE, _WHOLE)),
    "a_floating_second": refusal("not_implemented", Call(_WHOLE, _X), Call(_WHOLE, _WHOLE)),
    "complex_numbers": refusal("not_implemented", Call(_COMPLEX, _COMPLEX), Call(_WHOLE, _WHOLE)),
    "bool": refusal(
        "not_implemented", Call(_BOOL, _BOOL), Call(wholes(3, dtype="uint8"), wholes(3, dtype="uint8"))
    ),
}
_POLYNOMIALS = {
    "two_numbers": refusal("type", Call(0.5, 3), Call(_X, 3)),
    "two_numbers_of_which_the_second_could_be_one": refusal("type", Call(0.5, 2), Call(0.5, _X)),
    "complex_numbers": refusal("runtime", Call(_COMPLEX, 3), Call(_X, 3)),
    "a_complex_degree": refusal("runtime", Call(_X, _COMPLEX), Call(_X, _X)),
}
_PARTS = {
    "a_half_type": refusal(
        "dtype", Call(reals(3, dtype="bfloat16"), reals(3, dtype="bfloat16")), Call(_X, _X)
    ),
    "whole_numbers": refusal("dtype", Call(_WHOLE, _WHOLE), Call(_DOUBLE, _DOUBLE)),
    "dtypes_apart": refusal("dtype", Call(_X, _DOUBLE), Call(_X, _X)),
}
_SAMPLES = reals(3, 4)
_GRADIENTS = {
    "edges_of_order_0": refusal("runtime", Call(_SAMPLES, edge_order=0), Call(_SAMPLES, edge_order=1)),
    "edges_of_order_3": refusal("runtime", Call(_SAMPLES, edge_order=3), Call(_SAMPLES, edge_order=2)),
    "a_spacing_too_few": refusal(
        "runtime", Call(_SAMPLES, spacing=[0.5]), Call(_SAMPLES, spacing=[0.5, 2.0])
    ),
    "a_spacing_too_many": refusal(
        "runtime", Call(_SAMPLES, spacing=[0.5, 2.0], dim=[0]), Call(_SAMPLES, spacing=[0.5, 2.0], dim=[0, 1])
    ),
    "one_sample": refusal("runtime", Call(reals(1)), Call(reals(2))),
    "two_samples_for_order_2": refusal("runtime", Call(reals(2), edge_order=2), Call(reals(3), edge_order=2)),
    "one_sample_along_the_second_dim": refusal("runtime", Call(reals(3, 1)), Call(reals(3, 1), dim=[0])),
    "places_of_rank_2": refusal(
        "runtime", Call(_SAMPLES, spacing=[reals(1, 4)], dim=[1]), Call(_SAMPLES, spacing=[reals(4)], dim=[1])
    ),
    "dim_above": refusal("index", Call(_SAMPLES, dim=[2]), Call(_SAMPLES, dim=[1])),
    "dim_below": refusal("index", Call(_SAMPLES, dim=[-3]), Call(_SAMPLES, dim=[-2])),
    "a_dim_twice": refusal("runtime", Call(_SAMPLES, dim=[0, -2]), Call(_SAMPLES, dim=[0, -1])),
}
_TIME, _KERNELS = reals(4, 1, 2), reals(2, 2, 3)  # (T, B, C), (kernel, C, out)

REFUSED: dict[str, dict[str, Refusal]] = {
    "gcd": _WHOLE_ONLY,
    "lcm": _WHOLE_ONLY,
    "frexp": {
        "whole_numbers": refusal("runtime", Call(_WHOLE), Call(_X)),
        "complex_numbers": refusal("runtime", Call(_COMPLEX), Call(_DOUBLE)),
    },
    "nextafter": {
        "whole_numbers": refusal("runtime", Call(_WHOLE, _WHOLE), Call(_WHOLE, _X)),
        "complex_numbers": refusal("dtype", Call(_COMPLEX, _COMPLEX), Call(_X, _DOUBLE)),
    },
    "gradient": _GRADIENTS,
    "zeta": {
        "two_numbers": refusal("type", Call(2.0, 3.0), Call(_X + 1, 3.0)),
        "two_numbers_of_which_the_second_could_be_one": refusal("type", Call(2.0, 1.0), Call(2.0, _X)),
    },
    "polygamma": {"a_negative_order": refusal("runtime", Call(-1, _X), Call(0, _X))},
    "polygamma_of": {"a_negative_order": refusal("runtime", Call(_X, -1), Call(_X, 0))},
    "mvlgamma": {"no_dimension": refusal("runtime", Call(_X + 2, 0), Call(_X + 2, 1))},
    "div_mode": {
        "an_unknown_mode": refusal(
            "runtime", Call(_X, 0.5, rounding_mode="nearest"), Call(_X, 0.5, rounding_mode="trunc")
        ),
    },
    "round_decimals": {
        "whole_numbers": refusal("not_implemented", Call(_WHOLE, decimals=1), Call(_X, decimals=1)),
        "complex_numbers": refusal("not_implemented", Call(_COMPLEX, decimals=1), Call(_X, decimals=-1)),
    },
    "clamp": {
        "no_bound": refusal("runtime", Call(_X), Call(_X, 0.5)),
        "no_bound_of_whole_numbers": refusal("runtime", Call(_WHOLE), Call(_WHOLE, None, 1)),
    },
    "complex": _PARTS,
    "polar": _PARTS,
    **{
        f"{name}_polynomial_{kind}": _POLYNOMIALS
        for name, kind in (("chebyshev", "t"), ("hermite", "h"), ("laguerre", "l"), ("legendre", "p"))
    },
    "shifted_chebyshev_polynomial_w": _POLYNOMIALS,
    "hermite_polynomial_he": {
        **_POLYNOMIALS,
        "a_degree_beyond_all_patience": refusal("runtime", Call(_X, 10_001), Call(_X, 5)),
        "a_degree_of_minus_infinity": refusal("runtime", Call(_X, -math.inf), Call(_X, -1.0)),
    },
    "conv_tbc": {
        "a_matrix": refusal(
            "runtime", Call(reals(4, 2), _KERNELS, reals(3)), Call(_TIME, _KERNELS, reals(3))
        ),
        "rank_4": refusal("runtime", Call(_TIME[None], _KERNELS, reals(3)), Call(_TIME, _KERNELS, reals(3))),
        "a_weight_of_rank_2": refusal(
            "runtime", Call(_TIME, reals(2, 3), reals(3)), Call(_TIME, _KERNELS, reals(3))
        ),
        "a_weight_of_rank_4": refusal(
            "runtime", Call(_TIME, _KERNELS[None], reals(3)), Call(_TIME, _KERNELS, reals(3))
        ),
    },
}
