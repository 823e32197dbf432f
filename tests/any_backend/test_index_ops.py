"""The ops that read and write by indices and masks, on drawn calls, against loops in NumPy (`index_op_cases.py`)."""

from __future__ import annotations

from typing import Any

import index_op_cases as drawn
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples

import tenora

NAMES = sorted(drawn.STRATEGIES)
IN_PLACE = [name for name in NAMES if hasattr(tenora.Tensor, f"{name}_")]
DTYPES = ("float64", "int64", "float32", "uint8")


def told(value: Any) -> Any:
    return tenora.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def run(name: str, call: drawn.Call, *, method: str = "") -> Any:
    arguments = [told(a) for a in call.arguments]
    if method or not hasattr(tenora, name):
        return getattr(arguments[0], method or name)(*arguments[1:], **call.options)
    return getattr(tenora, name)(*arguments, **call.options)


@examples(40)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_values(backend: str, name: str, data: Any) -> None:
    call = data.draw(drawn.STRATEGIES[name](data.draw(st.sampled_from(DTYPES))))
    with np.errstate(all="ignore"):
        expected = drawn.ORACLES[name](*call.arguments, **call.options)
    found = run(name, call)
    assert tuple(found.shape) == expected.shape and str(found.dtype) == f"tenora.{expected.dtype}"
    drawn.close(name, found.numpy(), expected)


@examples(20)
@pytest.mark.parametrize("name", IN_PLACE)
@given(data=st.data())
def test_in_place(backend: str, name: str, data: Any) -> None:
    """The in-place form leaves in its target what the function answers, also through a strided view."""
    call = data.draw(drawn.STRATEGIES[name]("float64"))
    x, *rest = call.arguments
    room = np.zeros([2 * n + 1 for n in x.shape])
    base = tenora.from_numpy(room)
    target = base[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)] if x.ndim else base
    if x.ndim:
        target.copy_(told(x))
    else:
        target.fill_(float(x))
    expected = run(name, call).numpy()
    before = target._version
    assert getattr(target, f"{name}_")(*[told(a) for a in rest], **call.options) is target
    np.testing.assert_array_equal(target.numpy(), expected)
    assert target._version > before


@pytest.mark.parametrize(
    "name",
    [
        "gather",
        "scatter",
        "scatter_add",
        "index_select",
        "index_add",
        "index_copy",
        "index_fill",
        "take",
        "put",
        "take_along_dim",
    ],
)
@examples(25)
@given(data=st.data())
def test_an_index_beyond_its_dim(backend: str, name: str, data: Any) -> None:
    """Refused, naming the op, and nothing is written."""
    call = data.draw(drawn.STRATEGIES[name]("float32"))
    if name == "take_along_dim":
        call = drawn.Call(call.arguments[:2])  # with a dim it takes the remainder, as PyTorch
    number = next(i for i, a in enumerate(call.arguments) if i and isinstance(a, np.ndarray))
    index = call.arguments[number].copy()
    assume(index.size and call.arguments[0].size)  # nothing else is read or written
    index.reshape(-1)[data.draw(st.integers(0, index.size - 1))] = data.draw(st.sampled_from([300, -400]))
    wrong = drawn.Call((*call.arguments[:number], index, *call.arguments[number + 1 :]), call.options)
    x = told(wrong.arguments[0])
    before = x.numpy().copy()
    with pytest.raises((IndexError, RuntimeError), match=r"^\[[a-z_.]+\] .*(300|-400)"):
        run(name, wrong)
    if name in IN_PLACE:
        with pytest.raises((IndexError, RuntimeError), match=r"^\[[a-z_.]+\] "):
            getattr(x, f"{name}_")(*[told(a) for a in wrong.arguments[1:]], **wrong.options)
        np.testing.assert_array_equal(x.numpy(), before)


@pytest.mark.parametrize(
    "name", ["gather", "index_select", "index_add", "index_copy", "index_fill", "take", "put"]
)
def test_a_mask_is_no_index(backend: str, name: str) -> None:
    """As integers it would name the places 0 and 1, as a mask others: refused."""
    x, mask, one = tenora.ones(2), tenora.tensor([True, False]), tenora.ones(2)
    given: dict[str, tuple[Any, ...]] = {"take": (mask,), "put": (mask, one), "index_fill": (0, mask, 1)}
    given |= {"index_add": (0, mask, one), "index_copy": (0, mask, one)}
    with pytest.raises(RuntimeError, match="dtype"):
        getattr(x, name)(*given.get(name, (0, mask)))
