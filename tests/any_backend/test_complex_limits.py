"""Elementary functions of complex numbers at infinities, zeros of both signs and numbers whose squares overflow.

NumPy's answers are those of C's annex G; parts that it leaves open (NaN) are not compared.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import tenora

PARTS = {
    "complex128": (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, 1e200, -1e200),
    "complex64": (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, 1e25, -1e25),
}
FUNCTIONS = {
    **{n: getattr(np, n) for n in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt")},
    **{n: getattr(np, n) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{n: getattr(np, f"arc{n[1:]}") for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
}


@pytest.mark.parametrize("dtype", PARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_limits(backend: str, name: str, dtype: str) -> None:
    numbers = np.array([complex(x, y) for x, y in itertools.product(PARTS[dtype], repeat=2)], dtype)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](numbers)
    open_ended = np.isnan(expected)
    assert not open_ended.all()
    with tenora.use_backend(backend):
        found = getattr(tenora, name)(tenora.from_numpy(numbers)).numpy()
    rtol = 1e-12 if dtype == "complex128" else 1e-5
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(found)[~open_ended], part(expected)[~open_ended], rtol, atol=1e-20)


def test_nan_stays_nan_beside_infinity(backend: str) -> None:
    with tenora.use_backend(backend):
        assert math.isnan(tenora.atanh(tenora.tensor(complex(math.inf, math.nan))).item().imag)
        assert math.isnan(tenora.atan(tenora.tensor(complex(math.nan, math.inf))).item().real)
