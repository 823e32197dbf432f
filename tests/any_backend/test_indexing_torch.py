"""Reading and writing `x[key]` against PyTorch: values, shapes, gradients, and what both refuse, with which exception.

Left out, because PyTorch means something else: negative steps (it refuses them), uint8 index arrays (masks there), the
other integer dtypes (it takes int32 and int64). `test_indexing.py` judges these by NumPy.
"""

from __future__ import annotations

from typing import Any

import index_cases as keyed
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from index_cases import Array

import tenora

pytestmark = pytest.mark.oracle

OPTIONS: dict[str, Any] = {"negative_steps": False, "dtypes": ("int64", "int32")}
CASES = keyed.cases(**OPTIONS)
DTYPES = ("float32", "float64", "int64", "bool", "complex64", "uint8")


def both(array: Any) -> tuple[Any, Any]:
    return tenora.from_numpy(np.array(array)), torch.from_numpy(np.array(array))


def same(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).rsplit(".")[-1] == str(theirs.dtype).rsplit(".")[-1]
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


@given(CASES, st.sampled_from(DTYPES))
def test_read(backend: str, case: Any, dtype: str) -> None:
    shape, items = case
    x, y = both(keyed.filled(shape, dtype))
    ours, theirs = x[keyed.spelled(items)], y[keyed.spelled(items, torch)]
    same(ours, theirs)
    assert (ours.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) == (
        theirs.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    ) or not ours.numel()
    if keyed.is_view(items):
        assert ours.storage_offset() == theirs.storage_offset() or not ours.numel()
        steps = [(a, b) for a, b, n in zip(ours.stride(), theirs.stride(), ours.shape, strict=True) if n > 1]
        assert all(a == b for a, b in steps) or not ours.numel()


@given(CASES, st.sampled_from(DTYPES), st.sampled_from([0, 1, True, 1.0]))
def test_write_a_number(backend: str, case: Any, dtype: str, number: Any) -> None:
    shape, items = case
    x, y = both(keyed.filled(shape, dtype))
    x[keyed.spelled(items)] = number
    y[keyed.spelled(items, torch)] = number
    same(x, y)


@given(CASES, st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.data())
def test_write_a_tensor(backend: str, case: Any, dtype: str, other: str, data: Any) -> None:
    """Values of any dtype and of any shape that broadcasts, or that does not: the same result or the same exception."""
    shape, items = case
    places = keyed.places(shape, items)
    assume(dtype == "complex64" or other != "complex64")
    assume(np.unique(places).size == places.size)  # else any of the values may win
    fitting = data.draw(st.integers(0, 4))
    given_shape = data.draw(keyed.broadcastable(places.shape) if fitting else keyed.shapes(0, 3))
    # PyTorch casts one value for one mask, no others; tenora casts none.
    assume(keyed.is_view(items) or dtype == other or int(np.prod(given_shape)) != 1)
    (x, y), (v, w) = (
        both(keyed.filled(shape, dtype)),
        both(np.abs(keyed.filled(given_shape, other, seed=1)) % 2 > 0),
    )
    v, w = v.to(getattr(tenora, other)), w.to(getattr(torch, other))
    keyed.agree(
        lambda: x.__setitem__(keyed.spelled(items), v),
        lambda: y.__setitem__(keyed.spelled(items, torch), w),
    )
    same(x, y)


@given(CASES, st.sampled_from(["float32", "int64"]))
def test_change_in_place_through_a_key(backend: str, case: Any, dtype: str) -> None:
    shape, items = case
    places = keyed.places(shape, items)
    assume(np.unique(places).size == places.size)
    x, y = both(keyed.filled(shape, dtype))
    for module, target in ((tenora, x), (torch, y)):
        target[keyed.spelled(items, module)] += 3
        target[keyed.spelled(items, module)] *= 2
        target[keyed.spelled(items, module)].neg_()
    same(x, y)


@given(CASES, st.data())
def test_gradients(backend: str, case: Any, data: Any) -> None:
    """Of a read, a write after it, and a change in place; first and second."""
    shape, items = case
    places = keyed.places(shape, items)
    assume(np.unique(places).size == places.size)
    value = keyed.filled(data.draw(keyed.broadcastable(places.shape)), "float64", seed=1) / 16
    value, weight = np.asarray(value), np.asarray(keyed.filled(shape, "float64", seed=2) / 32)
    found = []
    for module in (tenora, torch):
        key = keyed.spelled(items, module)
        x = module.from_numpy(np.asarray(keyed.filled(shape, "float64") / 8)).requires_grad_()
        v = module.from_numpy(value.copy()).requires_grad_()
        z = x * 2
        old = z[key].clone() ** 2
        z[key] = v * v
        z[key] *= 3
        loss = (z * z * module.from_numpy(weight.copy())).sum() + old.sum()
        first = module.autograd.grad(loss, [x, v], create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None and g.requires_grad)
        second = [None, None]
        if not isinstance(total, int):
            second = module.autograd.grad(total, [x, v], allow_unused=True)
        found.append([*first, *second])
    for ours, theirs in zip(*found, strict=True):
        left = np.zeros(()) if ours is None else ours.detach().numpy()
        right = np.zeros(()) if theirs is None else theirs.detach().numpy()
        np.testing.assert_allclose(*np.broadcast_arrays(left, right), rtol=1e-12, atol=1e-12)


# ---- what is refused ---------------------------------------------------------------------------------------------
#: Left out, as PyTorch says that it will change: lists in lists (tuples there), lists of floats (truncated there).
JUNK = (5, -7, 1.5, "a", {}, [0, 9], slice("a"), slice(0, 1, 0), slice(1.0), 1j, b"0")


@given(CASES, st.sampled_from(range(len(JUNK))), st.integers(0, 4))
def test_wrong_items(backend: str, case: Any, number: int, place: int) -> None:
    """A wrong item in the place of a right one, or alone."""
    shape, items = case
    x, y = both(keyed.filled(shape, "float32"))
    wrong = [n for n, i in enumerate(items) if keyed.dims_of(i) == 1]
    if not wrong:
        assume(shape)
    place = wrong[place % len(wrong)] if wrong else 0

    def key(module: Any) -> Any:
        told = [keyed.hand_over(i, module) if isinstance(i, Array) else i for i in items]
        return (*told[:place], JUNK[number], *told[place + 1 :]) if wrong else JUNK[number]

    if JUNK[number] == [0, 9]:  # PyTorch takes it where nothing is read, and writes before it refuses
        with pytest.raises(IndexError, match=r"^\[[a-z_]+\] "):
            x[key(tenora)]
        return
    if keyed.agree(lambda: x[key(tenora)], lambda: y[key(torch)]):
        same(x[key(tenora)], y[key(torch)])
    keyed.agree(lambda: x.__setitem__(key(tenora), 1), lambda: y.__setitem__(key(torch), 1))
    same(x, y)


@given(CASES, keyed.shapes(1, 3), st.booleans())
def test_masks_and_index_arrays_of_any_shape(
    backend: str, case: Any, shape: tuple[int, ...], mask: bool
) -> None:
    """Masks that may not fit, index arrays that may not broadcast."""
    size, items = case
    extra = np.ones(shape, dtype=bool) if mask else np.zeros(shape, dtype=np.int64)
    x, y = both(keyed.filled(size, "float32"))

    def key(module: Any) -> Any:
        told = [keyed.hand_over(i, module) if isinstance(i, Array) else i for i in items[1:]]
        return (module.from_numpy(extra.copy()), *told)

    if keyed.agree(lambda: x[key(tenora)], lambda: y[key(torch)]):
        same(x[key(tenora)], y[key(torch)])
    keyed.agree(lambda: x.__setitem__(key(tenora), 1), lambda: y.__setitem__(key(torch), 1))
    same(x, y)
