"""Products of two matrices take a short way past rules and launch while nobody records events; both ways are one."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

import numpy as np
import pytest

import tenora

LAYOUTS: dict[str, Callable[[tenora.Tensor], tenora.Tensor]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "strided": lambda x: tenora.stack([x, x], dim=-1)[..., 0],
    "columns of a wider one": lambda x: tenora.cat([x, x], dim=1)[:, : x.shape[1]],
    "expanded": lambda x: x[:1].expand(x.shape),
    "backwards": lambda x: tenora.flip(x, (0, 1))[::-1, ::-1],
}


def _matrix(rows: int, columns: int, seed: int, dtype: str = "float32") -> tenora.Tensor:
    values = np.random.default_rng(seed).integers(-4, 5, (rows, columns))
    return tenora.tensor(values.astype(dtype))


def _step(a: tenora.Tensor, b: tenora.Tensor) -> list[np.ndarray]:
    """Two products that share `b`, so that its gradient is added to, and both gradients."""
    a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
    result = a @ b
    again = (a * 2) @ b
    (result * tenora.tensor(3.0, dtype=a.dtype) + again).sum().backward()
    assert a.grad is not None and b.grad is not None
    return [result.detach().numpy(), again.detach().numpy(), a.grad.numpy(), b.grad.numpy()]


@pytest.mark.parametrize(
    "shape", [(8, 8, 8), (3, 5, 2), (1, 4, 1), (4, 0, 3), (0, 2, 3), (2, 3, 0), (33, 17, 9)]
)
@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=2)), ids="-".join)
def test_both_ways_agree(shape: tuple[int, int, int], layouts: tuple[str, str]) -> None:
    m, k, n = shape
    a, b = LAYOUTS[layouts[0]](_matrix(m, k, 1)), LAYOUTS[layouts[1]](_matrix(k, n, 2))
    with contextlib.ExitStack() as recording:
        recording.enter_context(tenora.profiler.profile())
        expected = _step(a, b)
    for got, want in zip(_step(a, b), expected, strict=True):  # small whole numbers: exact in any order
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape and got.dtype == want.dtype
