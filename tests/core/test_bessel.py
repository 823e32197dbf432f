"""Bessel and Airy functions against SciPy over their whole range, and at their special points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import tenora

pytestmark = pytest.mark.oracle

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    # name: (oracle, least argument, largest argument, value at 0)
    "bessel_j0": (lambda x: special.jv(0, x), -100.0, 100.0, 1.0),
    "bessel_j1": (lambda x: special.jv(1, x), -100.0, 100.0, 0.0),
    "bessel_y0": (lambda x: special.yv(0, x), 1e-6, 100.0, -math.inf),
    "bessel_y1": (lambda x: special.yv(1, x), 1e-6, 100.0, -math.inf),
    "modified_bessel_k0": (lambda x: special.kv(0, x), 1e-6, 100.0, math.inf),
    "modified_bessel_k1": (lambda x: special.kv(1, x), 1e-6, 100.0, math.inf),
    "scaled_modified_bessel_k0": (lambda x: special.kve(0, x), 1e-6, 100.0, math.inf),
    "scaled_modified_bessel_k1": (lambda x: special.kve(1, x), 1e-6, 100.0, math.inf),
    "spherical_bessel_j0": (lambda x: special.spherical_jn(0, x), -100.0, 100.0, 1.0),
    "airy_ai": (lambda x: special.airy(x)[0], -50.0, 50.0, special.airy(0.0)[0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_whole_range(name: str) -> None:
    oracle, low, high, _ = FUNCTIONS[name]
    x = np.concatenate([np.linspace(low, high, 4001), np.linspace(max(low, -9.0), 9.0, 2001)])
    found = getattr(tenora.special, name)(tenora.from_numpy(x)).numpy()
    expected = oracle(x)
    # Where a function oscillates its zeros have no relative accuracy: errors count against the amplitude.
    amplitude = np.abs(expected) if "modified" in name else np.maximum(np.abs(expected), 0.1)
    assert (np.abs(found - expected) <= (1e-13 if name == "airy_ai" else 2e-14) * amplitude + 1e-300).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_points(name: str) -> None:
    _, low, _, zero = FUNCTIONS[name]
    found = getattr(tenora.special, name)(
        tenora.tensor([0.0, math.inf, math.nan], dtype=tenora.float64)
    ).tolist()
    assert found[0] == pytest.approx(zero, rel=1e-15)
    assert found[1] == 0.0 and math.isnan(found[2])
    if low > 0:
        assert math.isnan(getattr(tenora.special, name)(tenora.tensor([-1.0])).item())
