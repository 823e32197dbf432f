"""`x[...]` and `x[...] = v` against NumPy, and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenora
from tenora_engine._engine import trace_count

BASIC: list[Any] = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2],
    np.s_[:, 1],
    np.s_[..., 1],
    np.s_[0, ..., 1],
    np.s_[None],
    np.s_[:, None, 1:],
    np.s_[::2],
    np.s_[::-1],
    np.s_[:, ::-2],
    np.s_[5:2],
    np.s_[-100:100],
    np.s_[...],
    np.s_[()],
    np.s_[1, 2, 3],
    np.s_[1:, -3:-1, ::3],
]
ADVANCED: list[Any] = [
    [1, 0],
    ([[0, 1], [1, 0]],),
    (slice(None), [2, 0, 1]),
    ([0, 1], [2, 0]),
    ([0, 1], slice(None), [3, 0]),
    (..., [0, 3]),
    (0, [1, 2]),
    (None, [0, 1]),
    [-1, -2],
    ([[0], [1]], [0, 2]),
    (slice(None), slice(None, None, -1), [0, 0]),
    [],
    True,
    False,
    (True, 0),
    (False, 0),
    (0, False),
    (None, False),
    (True, True),
    (True, False),
    (slice(None), True),
    (..., True),
    ([0, 1], True),
    (True, [0, 1]),
    (True, None, slice(0, 1)),
    (np.True_, slice(None), 1, [0, 1]),
    (..., np.False_, None),
]


def data() -> np.ndarray[Any, Any]:
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_reads_are_views(backend: str, key: Any) -> None:
    array = data()
    x = tenora.from_numpy(array)
    y = x[key]
    np.testing.assert_array_equal(y.numpy(), array[key])
    if y.numel():
        assert np.shares_memory(y.numpy(), array)


@pytest.mark.parametrize("key", ADVANCED, ids=str)
def test_advanced_reads(backend: str, key: Any) -> None:
    array = data()
    index = np.array(key, np.int64) if key == [] else key
    np.testing.assert_array_equal(tenora.from_numpy(array)[key].numpy(), array[index])


@pytest.mark.parametrize("shape", [(2, 3, 4), (2,), (2, 3)])
def test_masks(backend: str, shape: tuple[int, ...]) -> None:
    array = data()
    mask = np.random.default_rng(0).random(shape) > 0.4
    x = tenora.from_numpy(array)
    np.testing.assert_array_equal(x[tenora.from_numpy(mask)].numpy(), array[mask])
    np.testing.assert_array_equal(x[mask].numpy(), array[mask])


@pytest.mark.parametrize("key", BASIC + [key for key in ADVANCED if key != []], ids=str)
def test_writes_of_numbers_and_tensors(backend: str, key: Any) -> None:
    array, other = data(), data()
    x = tenora.from_numpy(other)
    array[key] = -1
    x[key] = -1
    np.testing.assert_array_equal(other, array)
    values = np.arange(array[key].size, dtype=np.float32).reshape(array[key].shape)
    array[key] = values
    x[key] = tenora.from_numpy(values)
    np.testing.assert_array_equal(other, array)


def test_masked_writes(backend: str) -> None:
    array, other = data(), data()
    x = tenora.from_numpy(other)
    array[array > 5] = 0
    x[x > 5] = 0
    np.testing.assert_array_equal(other, array)
    array[array < 3] = [7, 8, 9][: (array < 3).sum()] if (array < 3).sum() == 3 else 7
    x[x < 3] = tenora.tensor([7.0, 8.0, 9.0]) if (other < 3).sum() == 3 else 7.0
    np.testing.assert_array_equal(other, array)


def test_zero_dimensional_index_tensor_is_a_view(backend: str) -> None:
    x = tenora.from_numpy(data())
    y = x[tenora.tensor(1)]
    assert y.shape == (3, 4)
    y[0, 0] = 99.0
    assert x[1, 0, 0].item() == 99.0


def test_values_are_converted(backend: str) -> None:
    x = tenora.zeros(3)
    x[0] = 2
    x[1:] = [3, 4]
    assert x.tolist() == [2.0, 3.0, 4.0]
    x[:] = np.float64(1.5)
    assert x.tolist() == [1.5, 1.5, 1.5]


def test_iteration_and_containment(backend: str) -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert [row.tolist() for row in x] == x.tolist()
    assert 3 in x and 5.0 not in x
    with pytest.raises(TypeError, match="0-d"):
        iter(tenora.tensor(1.0))
    with pytest.raises(TypeError, match="0-d"):
        len(tenora.tensor(1.0))


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (5, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        ("a", TypeError),
        (1.5, IndexError),
        ([0, 9], IndexError),
        (slice(0, 1, 0), ValueError),
        (slice("a"), TypeError),
        (np.array([1.5]), IndexError),
        ({}, IndexError),
    ],
)
def test_bad_keys(backend: str, key: Any, error: type[Exception]) -> None:
    x = tenora.zeros(2, 3)
    with pytest.raises(error):
        x[key]
    with pytest.raises(error):
        x[key] = 1.0
    assert x.tolist() == [[0.0] * 3] * 2


def test_elements_cannot_be_deleted() -> None:
    x = tenora.zeros(2)
    with pytest.raises(TypeError, match="deleted"):
        del x[0]


def test_gradients_through_reads_and_writes(backend: str) -> None:
    x = tenora.arange(6.0).view(2, 3).requires_grad_()
    (x[0, 1] * 2 + x[1].sum() + x[[0, 1], [2, 2]].sum()).backward()
    assert x.grad.tolist() == [[0.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    w = tenora.ones(2, requires_grad=True)
    y = tenora.zeros(4)
    y[1:3] = w * 3
    y[[0, 3]] = w * 5
    y.sum().backward()
    assert w.grad.tolist() == [8.0, 8.0]


def test_loop_over_indices_traces_once(backend: str) -> None:
    x = tenora.arange(50.0).requires_grad_()
    x[0].backward()
    before = trace_count()
    for i in range(1, 50):
        x[i].backward()
    assert x.grad.tolist() == [1.0] * 50
    assert trace_count() == before
