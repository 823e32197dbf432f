"""Random numbers: dtypes, bounds, probabilities, rates and weights."""

from __future__ import annotations

import math
from typing import Any

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.samples import Seed

_X, _WHOLE, _COMPLEX = reals(3), wholes(3), reals(3, dtype="complex64")
_BOOL = wholes(3, dtype="bool")


def _call(*arguments: Any, **options: Any) -> Call:
    return Call(*arguments, generator=Seed(7), **options)


def _numbers(*values: float, dtype: str = "float32") -> Any:
    return np.array(values, dtype)


_SHAPES = {
    "whole_numbers": refusal("runtime", _call((2, 3), dtype="int64"), _call((2, 3), dtype="float64")),
    "bool": refusal("runtime", _call((2, 3), dtype="bool"), _call((2, 3), dtype="complex64")),
    "a_negative_length": refusal("runtime", _call((2, -1), dtype="float32"), _call((2, 0), dtype="float32")),
}
_BOUNDS = {
    "no_number_between": refusal(
        "runtime", _call(3, 3, (2,), dtype="int64"), _call(3, 4, (2,), dtype="int64")
    ),
    "complex_numbers": refusal(
        "runtime", _call(0, 3, (2,), dtype="complex64"), _call(0, 3, (2,), dtype="float32")
    ),
    "below_bytes": refusal("runtime", _call(-1, 3, (2,), dtype="uint8"), _call(0, 3, (2,), dtype="uint8")),
    "beyond_bytes": refusal(
        "runtime", _call(0, 257, (2,), dtype="uint8"), _call(0, 256, (2,), dtype="uint8")
    ),
    "below_int8": refusal("runtime", _call(-129, 3, (2,), dtype="int8"), _call(-128, 3, (2,), dtype="int8")),
    "beyond_int8": refusal("runtime", _call(0, 129, (2,), dtype="int8"), _call(0, 128, (2,), dtype="int8")),
    "beyond_bool": refusal("runtime", _call(0, 3, (2,), dtype="bool"), _call(0, 2, (2,), dtype="bool")),
    "beyond_float16": refusal(
        "runtime", _call(0, 65506, (2,), dtype="float16"), _call(0, 65505, (2,), dtype="float16")
    ),
}
_LIKE = {
    "no_number_between": refusal("runtime", _call(_WHOLE, 3, 3), _call(_WHOLE, 3, 4)),
    "complex_numbers": refusal("runtime", _call(_COMPLEX, 0, 3), _call(_X, 0, 3)),
    "beyond_bytes": refusal(
        "runtime", _call(wholes(3, dtype="uint8"), 0, 257), _call(wholes(3, dtype="uint8"), 0, 256)
    ),
    "below_bytes": refusal(
        "runtime", _call(wholes(3, dtype="uint8"), -1, 5), _call(wholes(3, dtype="uint8"), 0, 5)
    ),
}
_POSITIVE_LIKE = {
    "whole_numbers": refusal("runtime", _call(_WHOLE), _call(_X)),
    "complex_numbers": refusal("runtime", _call(_COMPLEX), _call(_X)),
}
_ROWS = reals(2, 3)
_WEIGHTS = {
    "a_number": refusal("runtime", _call(reals(), 1), _call(reals(1), 1)),
    "a_stack": refusal("runtime", _call(reals(1, 2, 3), 1), _call(_ROWS, 1)),
    "whole_weights": refusal("runtime", _call(np.array([1, 1]), 1), _call(_X, 1)),
    "no_category": refusal("runtime", _call(reals(2, 0), 1), _call(reals(0, 2), 1)),
    "no_samples": refusal("runtime", _call(_X, 0), _call(_X, 1)),
    "a_negative_weight": refusal("runtime", _call(_numbers(1, -0.5), 1), _call(_numbers(1, 0), 1)),
    "an_infinite_weight": refusal("runtime", _call(_numbers(1, math.inf), 1), _call(_numbers(1, 1e30), 1)),
    "a_weight_that_is_nan": refusal("runtime", _call(_numbers(1, math.nan), 1), _call(_numbers(1, 0), 1)),
    "weights_of_zero": refusal("runtime", _call(_numbers(0, 0), 1, True), _call(_numbers(0, 1), 1, True)),
    "a_row_of_zeros": refusal(
        "runtime",
        _call(np.array([[1, 1], [0, 0]], "float32"), 1, True),
        _call(np.array([[0, 1], [0, 1]], "float32"), 1, True),
    ),
    "more_samples_than_categories": refusal("runtime", _call(_X, 4), _call(_X, 3)),
    "more_samples_than_categories_of_a_row": refusal("runtime", _call(_ROWS, 4), _call(_ROWS, 4, True)),
    "more_samples_than_positive_weights": refusal(
        "runtime", _call(_numbers(1, 0, 1), 3), _call(_numbers(1, 0, 1), 2)
    ),
    "more_samples_than_positive_weights_of_a_row": refusal(
        "runtime",
        _call(np.array([[1, 0], [1, 1], [1, 1]], "float32"), 2),
        _call(np.array([[1, 0], [1, 1], [1, 1]], "float32"), 2, True),
    ),
}
_COUNTS, _SHARES = _numbers(3, 0), _numbers(0.5, 1)
_BINOMIAL = {
    "whole_counts": refusal("runtime", _call(np.array([3, 0]), _SHARES), _call(_COUNTS, _SHARES)),
    "whole_probabilities": refusal("runtime", _call(_COUNTS, np.array([0, 1])), _call(_COUNTS, _SHARES)),
    "a_negative_count": refusal("runtime", _call(_numbers(3, -1), _SHARES), _call(_numbers(3, 0), _SHARES)),
    "a_negative_probability": refusal(
        "runtime", _call(_COUNTS, _numbers(0.5, -0.1)), _call(_COUNTS, _numbers(0.5, 0))
    ),
    "a_probability_above_1": refusal(
        "runtime", _call(_COUNTS, _numbers(0.5, 1.1)), _call(_COUNTS, _numbers(0.5, 1))
    ),
    "too_many": refusal("runtime", _call(_numbers(2e9), _numbers(0.5)), _call(_numbers(), _numbers(0.5))),
}
_DEVIATIONS = {
    "a_negative_deviation": refusal("runtime", _call(_X, -0.5), _call(_X, 0.0)),
    "a_deviation_that_is_nan": refusal("runtime", _call(_X, math.nan), _call(_X, 0.5)),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "rand": {name: _SHAPES[name] for name in ("whole_numbers", "bool")},
    "randn": _SHAPES,
    "randint": _BOUNDS,
    "randint_high": {
        "no_number_between": refusal("runtime", _call(0, (2,), dtype="int64"), _call(1, (2,), dtype="int64")),
        "beyond_bytes": refusal("runtime", _call(257, (2,), dtype="uint8"), _call(256, (2,), dtype="uint8")),
    },
    "randint_like": _LIKE,
    "randint_like_high": {"no_number_between": refusal("runtime", _call(_WHOLE, 0), _call(_WHOLE, 1))},
    "random_range": _LIKE,
    "random_to": {"no_number_between": refusal("runtime", _call(_WHOLE, 0), _call(_WHOLE, 1))},
    "randperm": {
        "fewer_than_none": refusal("runtime", _call(-1, dtype="int64"), _call(0, dtype="int64")),
        "more_than_bytes": refusal("runtime", _call(257, dtype="uint8"), _call(256, dtype="uint8")),
        "more_than_float16_tells_apart": refusal(
            "runtime", _call(2**11 + 2, dtype="float16"), _call(2**11 + 1, dtype="float16")
        ),
        "complex_numbers": refusal("runtime", _call(1, dtype="complex64"), _call(1, dtype="float32")),
    },
    "uniform": {
        "bounds_the_wrong_way": refusal("runtime", _call(_X, 1.0, 0.5), _call(_X, 1.0, 1.0)),
        "a_bound_that_is_nan": refusal("runtime", _call(_X, 0.0, math.nan), _call(_X, 0.0, 1.0)),
        "whole_numbers": refusal("runtime", _call(_WHOLE), _call(_COMPLEX)),
    },
    "normal": {
        "a_negative_deviation": refusal("runtime", _call(_X, 0.0, -0.5), _call(_X, 0.0, 0.0)),
        "a_deviation_that_is_nan": refusal("runtime", _call(_X, 0.0, math.nan), _call(_X, 0.0, 0.5)),
        "whole_numbers": refusal("runtime", _call(_WHOLE), _call(_COMPLEX)),
    },
    "bernoulli": {
        "a_negative_probability": refusal("runtime", _call(_numbers(0.5, -0.1)), _call(_numbers(0.5, 0))),
        "a_probability_above_1": refusal("runtime", _call(_numbers(0.5, 1.1)), _call(_numbers(0.5, 1))),
        "a_probability_that_is_nan": refusal(
            "runtime", _call(_numbers(0.5, math.nan)), _call(_numbers(0.5, 1))
        ),
    },
    "bernoulli_p": {
        "a_negative_probability": refusal("runtime", _call(_X, -0.1), _call(_X, 0.0)),
        "a_probability_above_1": refusal("runtime", _call(_X, 1.1), _call(_X, 1.0)),
        "complex_numbers": refusal("runtime", _call(_COMPLEX, 0.5), _call(_WHOLE, 0.5)),
    },
    "bernoulli_of": {
        "a_negative_probability": refusal(
            "runtime", _call(_X, _numbers(0.5, -0.1, 1)), _call(_X, _numbers(0.5, 0, 1))
        ),
        "a_probability_above_1": refusal(
            "runtime", _call(_X, _numbers(0.5, 1.1, 0)), _call(_X, _numbers(0.5, 1, 0))
        ),
    },
    "exponential": {
        **_POSITIVE_LIKE,
        "no_rate": refusal("runtime", _call(_X, 0.0), _call(_X, 0.1)),
        "a_rate_that_is_nan": refusal("runtime", _call(_X, math.nan), _call(_X, 0.1)),
    },
    "cauchy": {**_POSITIVE_LIKE, "no_width": refusal("runtime", _call(_X, 0.0, 0.0), _call(_X, 0.0, 0.1))},
    "log_normal": {
        **_POSITIVE_LIKE,
        "no_deviation": refusal("runtime", _call(_X, 0.0, 0.0), _call(_X, 0.0, 0.1)),
    },
    "geometric": {
        "a_probability_of_0": refusal("runtime", _call(_X, 0.0), _call(_X, 0.1)),
        "a_probability_of_1": refusal("runtime", _call(_X, 1.0), _call(_X, 0.9)),
        "complex_numbers": refusal("runtime", _call(_COMPLEX, 0.5), _call(_X, 0.5)),
        "bool": refusal("runtime", _call(_BOOL, 0.5), _call(_WHOLE, 0.5)),
    },
    "normal_mean": _DEVIATIONS,
    "normal_std": {
        "whole_numbers": refusal("runtime", _call(_WHOLE, _WHOLE), _call(_X, _WHOLE)),
        "a_negative_deviation": refusal(
            "runtime", _call(_X, _numbers(1, 0, -0.5)), _call(_X, _numbers(1, 0, 0.5))
        ),
        "a_deviation_that_is_nan": refusal(
            "runtime", _call(0.0, _numbers(1, math.nan)), _call(0.0, _numbers(1, 0))
        ),
    },
    "normal_size": {
        "a_negative_deviation": refusal("runtime", _call(0.0, -0.5, (2,)), _call(0.0, 0.0, (2,))),
        "a_deviation_that_is_nan": refusal("runtime", _call(0.0, math.nan, (2,)), _call(0.0, 0.5, (2,))),
    },
    "poisson": {
        "whole_numbers": refusal("runtime", Call(_WHOLE, Seed(7)), Call(_X, Seed(7))),
        "a_negative_rate": refusal(
            "runtime", Call(_numbers(1, -0.5), Seed(7)), Call(_numbers(1, 0), Seed(7))
        ),
        "a_rate_that_is_nan": refusal(
            "runtime", Call(_numbers(1, math.nan), Seed(7)), Call(_numbers(1, 0), Seed(7))
        ),
        "too_many": refusal("runtime", Call(_numbers(1, 2e9), Seed(7)), Call(_numbers(), Seed(7))),
    },
    "binomial": _BINOMIAL,
    "multinomial": _WEIGHTS,
}
