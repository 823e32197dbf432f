"""Complex numbers as pairs of real ones in one memory."""

from __future__ import annotations

import pytest

import tenora


def test_pairs_are_windows(backend: str) -> None:
    x = tenora.tensor([1 + 2j, 3 + 4j])
    pairs = tenora.view_as_real(x)
    pairs[0, 1] = 9.0
    assert x.tolist() == [1 + 9j, 3 + 4j] and pairs.data_ptr() == x.data_ptr()
    back = tenora.view_as_complex(pairs)
    back *= 2
    assert x.tolist() == [2 + 18j, 6 + 8j]
    x.real = tenora.zeros(2)
    x.imag[1] = 5.0
    assert x.tolist() == [18j, 5j]
    with pytest.raises(RuntimeError, match="pairs"):
        tenora.view_as_complex(tenora.ones(2, 2, 3)[..., :2])
    with pytest.raises(RuntimeError, match="size 2"):
        tenora.view_as_complex(tenora.ones(3))
    with pytest.raises(RuntimeError, match="complex"):
        tenora.view_as_real(tenora.ones(3))


def test_parts_of_real_numbers(backend: str) -> None:
    assert tenora.angle(tenora.tensor([-2, 0, 3])).tolist() == [pytest.approx(3.14159265), 0.0, 0.0]
    x = tenora.ones(2)
    x.real = tenora.zeros(2)
    assert x.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="imaginary"):
        x.imag = 1.0
    with pytest.raises(AttributeError):
        x.mT = x


def test_infinite_parts_stay_apart(backend: str) -> None:
    made = tenora.complex(tenora.tensor([1.0, float("inf")]), tenora.tensor([float("inf"), 0.0]))
    assert made.real.tolist() == [1.0, float("inf")] and made.imag.tolist() == [float("inf"), 0.0]
