"""Infinite and NaN elements beside padding: every backend has them where the oracles have them.

The zeros around the input of a convolution are elements, so an infinite weight makes NaN of them. Nothing lies around
a gradient: the adjoint for the input, and with it the transposed convolution, only adds what there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import op_cases
import pytest

import tenora_ops

WHERE = {
    "padded": (1, 1, 1),
    "strided": (2, 1, 1),
    "dilated": (1, 2, 2),
    "padded beyond the kernel": (1, 3, 1),
}
SPECIAL = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def numbers(*shape: int, seed: int, special: float | None = None, dtype: str = "float64") -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    if special is not None:
        values.flat[0] = special
    return values


def agree(name: str, *arguments: Any, dtype: str, **options: Any) -> list[np.ndarray]:
    """The results of an op, equal to its oracle's."""
    record = op_cases.judged(name, (dtype,))
    if dtype not in op_cases.dtypes_of(record):
        pytest.skip(f"the backend does not claim {dtype}")
    sample = tenora_ops.samples.sample(*arguments, **options)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = record.oracle(*arguments, **options)
    found = op_cases.call(record, sample)
    results = found if isinstance(found, tuple) else (found,)
    answers = wanted if isinstance(wanted, tuple) else (wanted,)
    for ours, theirs in zip(results, answers, strict=True):
        np.testing.assert_allclose(op_cases.as_numpy(ours), theirs, rtol=1e-5, atol=1e-5, equal_nan=True)
    return [np.asarray(answer) for answer in answers]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution(n: int, where: str, groups: int, special: str, dtype: str, backend: str) -> None:
    """All three operands of y = conv(x, w) in turn, and each of the three products."""
    rest = (*WHERE[where], groups)
    shapes = {"x": (2, 2, *[5] * n), "w": (2, 2 // groups, *[3] * n)}
    y = tenora_ops.record(f"conv{n}d").oracle(*(np.ones(shape) for shape in shapes.values()), None, *rest)
    shapes["g"] = y.shape
    for infinite in shapes:
        x, w, g = (
            numbers(
                *shapes[key], seed=seed, dtype=dtype, special=SPECIAL[special] if key == infinite else None
            )
            for seed, key in enumerate("xwg")
        )
        agree(f"conv{n}d", x, w, None, *rest, dtype=dtype)
        agree(f"conv{n}d_weight", g, x, w.shape, *rest, dtype=dtype)
        (slopes,) = agree(f"conv{n}d_input", g, w, x.shape, *rest, dtype=dtype)
        if special != "nan":
            assert not np.isnan(slopes).any(), "the oracle itself multiplied zeros"


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize(
    "kernel, stride, padding, ceil", [(3, 1, 1, False), (3, 2, 1, True), (2, 3, 1, False)]
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pooling(
    n: int, kernel: int, stride: int, padding: int, ceil: bool, special: str, backend: str
) -> None:
    x = numbers(1, 2, *[7] * n, seed=0, special=SPECIAL[special])
    where = (kernel, stride, padding)
    agree(f"max_pool{n}d_with_indices", x, *where, 1, ceil, dtype="float64")
    for counts in (True, False):
        (mean,) = agree(f"avg_pool{n}d", x, *where, ceil, counts, dtype="float64")
        g = numbers(*mean.shape, seed=1, special=SPECIAL[special])
        agree(f"avg_pool{n}d_backward", g, np.zeros(x.shape), *where, ceil, counts, dtype="float64")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_padding_is_not_the_largest_of_a_window(n: int, backend: str) -> None:
    """Where all elements are -inf the position is one of the input's."""
    x = np.full((1, 1, *[4] * n), -np.inf)
    agree(f"max_pool{n}d_with_indices", x, 3, 2, 1, dtype="float64")
