"""The same random numbers for both frameworks, and generators of a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Normally distributed doubles of a shape."""
    return np.asarray(np.random.default_rng(seed).standard_normal(shape))


def generator(seed: int) -> tenora.Generator:
    return tenora.Generator().manual_seed(seed)
