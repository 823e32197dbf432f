"""Reading and writing `x[key]` for every combination of items, values and gradients, against NumPy."""

from __future__ import annotations

from typing import Any

import index_cases as keyed
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from index_cases import Array

import tenora

CASES = keyed.cases()


def tensor(array: Any) -> Any:
    return tenora.from_numpy(np.array(array))


def check_written(before: Any, found: Any, places: Any, values: Any) -> None:
    """Every place holds what was written there, one of the values where it was named more than once."""
    written = (
        np.broadcast_to(values, places.shape)
        if places.ndim >= np.ndim(values)
        else values.reshape(places.shape)
    )
    candidates: dict[int, set[Any]] = {}
    for place, value in zip(places.reshape(-1).tolist(), written.reshape(-1).tolist(), strict=True):
        candidates.setdefault(place, set()).add(value)
    for place, (old, new) in enumerate(
        zip(before.reshape(-1).tolist(), found.reshape(-1).tolist(), strict=True)
    ):
        assert new in candidates.get(place, {old}), (
            f"element {place}: {new}, expected {candidates.get(place, old)}"
        )


@given(CASES, st.sampled_from(keyed.DTYPES))
def test_read(backend: str, case: Any, dtype: str) -> None:
    shape, items = case
    array = keyed.filled(shape, dtype)
    x = tensor(array)
    found = x[keyed.spelled(items)]
    expected = array.reshape(-1)[keyed.places(shape, items)]
    assert tuple(found.shape) == expected.shape and found.dtype == x.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
    if keyed.is_view(items) and found.numel():
        assert found.storage_offset() >= 0 and found._version == x._version
        found.fill_(1)
        check_written(array, x.numpy(), keyed.places(shape, items), np.ones((), array.dtype))


@given(CASES)
def test_the_oracle_is_numpys_own_where_ints_stand_alone(case: Any) -> None:
    """The two steps are NumPy's one, wherever no int meets an index array."""
    shape, items = case
    ints = any(
        keyed.index_shape(i) is None and keyed.dims_of(i) == 1 and not isinstance(i, slice) for i in items
    )
    assume(keyed.is_view(items) or not ints)
    numbers = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    key = tuple(i.value if isinstance(i, Array) else i for i in items)
    np.testing.assert_array_equal(numbers[key], keyed.places(shape, items))


@given(CASES, st.sampled_from(keyed.DTYPES), st.integers(0, 1))
def test_write_a_number(backend: str, case: Any, dtype: str, number: int) -> None:
    shape, items = case
    array = keyed.filled(shape, dtype)
    x = tensor(array)
    x[keyed.spelled(items)] = number
    check_written(array, x.numpy(), keyed.places(shape, items), np.array(number, array.dtype))


@given(CASES, st.sampled_from(keyed.DTYPES), st.data())
def test_write_a_tensor(backend: str, case: Any, dtype: str, data: Any) -> None:
    shape, items = case
    array = keyed.filled(shape, dtype)
    places = keyed.places(shape, items)
    values = keyed.filled(data.draw(keyed.broadcastable(places.shape)), dtype, seed=1)
    x = tensor(array)
    x[keyed.spelled(items)] = tensor(values)
    check_written(array, x.numpy(), places, values)


@given(
    CASES,
    st.sampled_from(["float32", "int64", "bool", "float16"]),
    st.sampled_from(["float64", "int32", "uint8"]),
)
def test_write_a_tensor_of_another_dtype(backend: str, case: Any, dtype: str, other: str) -> None:
    """A view is written like `copy_`, with a cast, and one number where a mask holds like `masked_fill_`; index arrays
    and several numbers ask for the same dtype, as in PyTorch."""
    shape, items = case
    array = keyed.filled(shape, dtype)
    places = keyed.places(shape, items)
    values = np.abs(keyed.filled(places.shape, other)) % 100
    x = tensor(array)
    if keyed.is_view(items) or (keyed.is_mask_alone(items) and values.size == 1):
        x[keyed.spelled(items)] = tensor(values)
        check_written(array, x.numpy(), places, values.astype(dtype))
    else:
        with pytest.raises(RuntimeError, match=r"^\[setitem\] .*dtype"):
            x[keyed.spelled(items)] = tensor(values)
        np.testing.assert_array_equal(x.numpy(), array)


@given(CASES, st.sampled_from(["float32", "int64", "int8", "complex64"]))
def test_change_in_place_through_a_key(backend: str, case: Any, dtype: str) -> None:
    shape, items = case
    array = keyed.filled(shape, dtype)
    places = keyed.places(shape, items)
    for name in ("add", "mul"):
        x = tensor(array)
        key = keyed.spelled(items)
        old = array.reshape(-1)[places]
        if name == "add":
            x[key] += 1
            new = old + np.ones((), dtype)
        else:
            x[key] *= tensor(np.array(2, dtype))
            new = old * np.full((), 2, dtype)
        check_written(array, x.numpy(), places, new)


@given(CASES)
def test_gradient_of_a_read(backend: str, case: Any) -> None:
    shape, items = case
    array = keyed.filled(shape, "float64") / 8
    places = keyed.places(shape, items)
    weight = keyed.filled(places.shape, "float64", seed=2)
    x = tensor(array).requires_grad_()
    read = x[keyed.spelled(items)]
    (first,) = tenora.autograd.grad((read**3 * tensor(weight)).sum(), [x], create_graph=True)
    sums = np.bincount(places.reshape(-1), weight.reshape(-1), minlength=array.size).reshape(shape)
    np.testing.assert_allclose(first.detach().numpy(), 3 * array**2 * sums)
    (second,) = tenora.autograd.grad(first.sum(), [x])
    np.testing.assert_allclose(second.numpy(), 6 * array * sums)


@given(CASES, st.data())
def test_gradient_of_a_write(backend: str, case: Any, data: Any) -> None:
    shape, items = case
    places = keyed.places(shape, items)
    value = keyed.filled(data.draw(keyed.broadcastable(places.shape)), "float64", seed=1)
    weight = keyed.filled(shape, "float64", seed=2)
    x, v = tensor(keyed.filled(shape, "float64")).requires_grad_(), tensor(value).requires_grad_()
    z = x * 2
    z[keyed.spelled(items)] = v
    (z * tensor(weight)).sum().backward()
    left = weight.reshape(-1).copy()
    left[places.reshape(-1)] = 0
    if x.grad is None:  # nothing of it is left
        assert not left.any()
    else:
        np.testing.assert_allclose(x.grad.numpy(), 2 * left.reshape(shape))
    np.testing.assert_allclose(v.grad.numpy(), summed(weight.reshape(-1)[places], value.shape))


def summed(array: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of broadcasting `shape` to the array's."""
    if len(shape) > array.ndim:
        return array.reshape(shape)
    array = array.sum(tuple(range(array.ndim - len(shape)))) if array.ndim > len(shape) else array
    axes = tuple(d for d, n in enumerate(shape) if n == 1 and array.shape[d] != 1)
    return array.sum(axes, keepdims=True) if axes else array


@given(keyed.array_lists(), st.sampled_from(["float64", "int64", "int16"]), st.booleans())
def test_index_put(backend: str, case: Any, dtype: str, accumulate: bool) -> None:
    """`index_put_` takes tensors alone; `accumulate` adds as often as a place is named."""
    shape, arrays = case
    places = keyed.places(shape, arrays)
    array, values = keyed.filled(shape, dtype), keyed.filled(places.shape, dtype, seed=1)
    x = tensor(array)
    indices = tuple(tensor(i.value) for i in arrays)
    assert x.index_put_(indices, tensor(values), accumulate=accumulate) is x
    if accumulate:
        expected = array.reshape(-1).copy()
        np.add.at(expected, places.reshape(-1), values.reshape(-1))
        np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))
    else:
        check_written(array, x.numpy(), places, values)


# ---- what is refused ---------------------------------------------------------------------------------------------
@given(keyed.cases(smallest=1), st.sampled_from([5, 100, -6, -100]), st.integers(0, 3))
def test_an_index_out_of_range(backend: str, case: Any, far: int, which: int) -> None:
    shape, items = case
    assume(shape)
    guilty = [n for n, i in enumerate(items) if isinstance(i, int) and not isinstance(i, bool)]
    guilty += [
        n for n, i in enumerate(items) if isinstance(i, Array) and i.value.dtype != bool and i.value.size
    ]
    if not guilty or not keyed.places(shape, items).size:
        items, guilty = [0], [0]
    number = guilty[which % len(guilty)]
    item = items[number]
    if isinstance(item, Array):
        wrong = item.value.astype(np.int64)
        wrong.reshape(-1)[-1] = far
        item = Array(wrong, item.form)
    else:
        item = far
    x = tensor(keyed.filled(shape, "float32"))
    before = x.numpy().copy()
    key = keyed.spelled([*items[:number], item, *items[number + 1 :]])
    with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
        x[key]
    with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
        x[key] = 1
    np.testing.assert_array_equal(x.numpy(), before)


@given(CASES)
def test_too_many_indices(backend: str, case: Any) -> None:
    shape, items = case
    items = [i for i in items if i is not Ellipsis]
    extra = [slice(None)] * (len(shape) - sum(map(keyed.dims_of, items)) + 1)
    x = tensor(keyed.filled(shape, "float32"))
    for key in (keyed.spelled([*items, *extra]), keyed.spelled([*extra, *items])):
        with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
            x[key]


@given(keyed.shapes(1, smallest=1), st.data())
def test_a_mask_of_another_shape(backend: str, shape: tuple[int, ...], data: Any) -> None:
    wrong = tuple(n + data.draw(st.integers(0, 1)) for n in shape)
    assume(wrong != shape)
    x = tensor(keyed.filled(shape, "float32"))
    mask = tensor(np.ones(wrong, dtype=bool))
    with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
        x[mask]
    with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
        x[mask] = 1


@given(keyed.shapes(2, smallest=2), st.sampled_from(["float32", "complex64", "float16"]))
def test_indices_that_are_no_integers(backend: str, shape: tuple[int, ...], dtype: str) -> None:
    x = tensor(keyed.filled(shape, "float32"))
    for key in (
        tensor(np.zeros(2, dtype)),
        (0, tensor(np.zeros((), dtype))),
        np.zeros(1, dtype),
        [0.5, 1.0],
        1.5,
    ):
        with pytest.raises(IndexError, match=r"^\[getitem\] "):
            x[key]
        with pytest.raises(IndexError, match=r"^\[setitem\] "):
            x[key] = 1


@given(keyed.shapes(2, smallest=2))
def test_index_arrays_that_do_not_broadcast(backend: str, shape: tuple[int, ...]) -> None:
    x = tensor(keyed.filled(shape, "float32"))
    for key in (([0, 1], [0, 1, 0]), (tensor(np.zeros((2, 3), int)), tensor(np.zeros(2, int)))):
        with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
            x[key]
        with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
            x[key] = 1


@given(CASES, st.data())
def test_values_that_do_not_broadcast(backend: str, case: Any, data: Any) -> None:
    shape, items = case
    target = keyed.places(shape, items).shape
    assume(target and 0 not in target)
    dim = data.draw(st.integers(0, len(target) - 1))
    wrong = tuple(n + 2 if d == dim else n for d, n in enumerate(target))
    x = tensor(keyed.filled(shape, "float32"))
    before = x.numpy().copy()
    with pytest.raises(RuntimeError, match=r"^\[[a-z_]+\] "):
        x[keyed.spelled(items)] = tensor(keyed.filled(wrong, "float32"))
    np.testing.assert_array_equal(x.numpy(), before)
