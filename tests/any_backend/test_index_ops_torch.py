"""The ops that read and write by indices and masks, on drawn calls, against PyTorch: values, gradients, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import index_op_cases as drawn
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from index_cases import filled, shapes

import tenora

pytestmark = pytest.mark.oracle

NAMES = sorted(drawn.STRATEGIES)
SMALL = ("int16", "uint8")
DTYPES = ("float64", "int64", "float32", "bool", "complex64", "int8")
#: Ops that PyTorch has no kernel of for a dtype, or that mean nothing there.
WITHOUT = {
    ("scatter_reduce", "complex64"),
    ("scatter_reduce", "bool"),
    ("index_add", "bool"),
    ("put", "bool"),
    ("scatter_add", "bool"),
}


def told(value: Any, module: Any) -> Any:
    return module.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def run(name: str, call: drawn.Call, module: Any, leaves: list[Any] | None = None) -> Any:
    arguments = [told(a, module) for a in call.arguments]
    if leaves is not None:
        leaves += [
            a.requires_grad_() for a in arguments if isinstance(a, module.Tensor) and a.is_floating_point()
        ]
    if not hasattr(module, name):
        return getattr(arguments[0], name)(*arguments[1:], **call.options)
    return getattr(module, name)(*arguments, **call.options)


@examples(40)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_values(backend: str, name: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from([d for d in DTYPES if (name, d) not in WITHOUT]))
    call = data.draw(drawn.STRATEGIES[name](dtype))
    ours, theirs = run(name, call, tenora), run(name, call, torch)
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype)[7:] == str(theirs.dtype)[6:]
    drawn.close(name, ours.numpy(), theirs.numpy())


@examples(25)
@pytest.mark.parametrize("name", [n for n in NAMES if n != "nonzero"])
@given(data=st.data())
def test_gradients(backend: str, name: str, data: Any) -> None:
    """First gradients of a weighted sum of cubes, and second ones where PyTorch has them."""
    call = with_fitting_source(name, data.draw(drawn.STRATEGIES[name]("float64")))
    twice = not (
        name == "scatter_reduce" and call.arguments[-1] == "prod"
    )  # PyTorch has no second gradient of it
    found = []
    for module in (tenora, torch):
        leaves: list[Any] = []
        out = run(name, call, module, leaves)
        weight = told(filled(tuple(out.shape), "float64", seed=2) / 50, module)
        first = module.autograd.grad((out**3 * weight).sum(), leaves, create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None and g.requires_grad)
        second: Any = [None] * len(leaves)
        if twice and not isinstance(total, int):
            second = module.autograd.grad(total, leaves, allow_unused=True)
        found.append([*first, *second])
    for ours, theirs in zip(*found, strict=True):
        left = np.zeros(()) if ours is None else ours.detach().numpy()
        right = np.zeros(()) if theirs is None else theirs.detach().numpy()
        np.testing.assert_allclose(*np.broadcast_arrays(left, right), rtol=1e-10, atol=1e-9)


def with_fitting_source(name: str, call: drawn.Call) -> drawn.Call:
    """A scatter whose source has the index's shape: the gradient of a larger one is refused, as in PyTorch."""
    if not name.startswith("scatter") or not isinstance(call.arguments[3], np.ndarray):
        return call
    x, dim, index, source, *rest = call.arguments
    return drawn.Call((x, dim, index, source[tuple(map(slice, index.shape))], *rest), call.options)


@st.composite
def spoiled(draw: Any, name: str) -> drawn.Call:
    """A call with one argument that may be wrong: an index beyond its dim, another dtype, shape, dim."""
    call = draw(drawn.STRATEGIES[name]("float32"))
    arguments = list(call.arguments)
    number = draw(st.integers(0, len(arguments) - 1))
    value = arguments[number]
    if not isinstance(value, np.ndarray):
        arguments[number] = draw(st.sampled_from([7, -8]))
        return drawn.Call(tuple(arguments), call.options)
    how = draw(st.sampled_from(["element", "dtype", "shape"]))
    if how == "element" and value.size and value.dtype.kind == "i":
        value = value.copy()
        value.reshape(-1)[draw(st.integers(0, value.size - 1))] = draw(st.sampled_from([100, -100]))
    elif how == "dtype":
        value = np.asarray(value).astype(draw(st.sampled_from(["float64", "int16", "bool", "uint8"])))
    else:
        shape = draw(shapes(0, 3))
        value = np.resize(value, shape) if value.size else np.zeros(shape, value.dtype)
    arguments[number] = np.asarray(value)
    return drawn.Call(tuple(arguments), call.options)


def outcome(name: str, call: drawn.Call, module: Any) -> Any:
    """The result, or the exception."""
    try:
        return run(name, call, module)
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        return error


def lenient(name: str, call: drawn.Call) -> bool:
    """Where one side may take what the other refuses.

    Either checks less where nothing is read or written; tenora broadcasts the value of masked_fill; PyTorch refuses
    some calls on 0-d tensors.
    """
    arrays = [a for a in call.arguments if isinstance(a, np.ndarray)]
    value = name == "masked_fill" and np.ndim(call.arguments[2]) > 0
    return value or any(not a.size for a in arrays) or not arrays[0].ndim


@examples(60)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_what_one_refuses_the_other_refuses(backend: str, name: str, data: Any) -> None:
    """With an error that names the op; out of range is an IndexError here, a RuntimeError in some of PyTorch's ops."""
    call = data.draw(spoiled(name))
    ours, theirs = outcome(name, call, tenora), outcome(name, call, torch)
    if isinstance(ours, Exception):
        assert str(ours).startswith("["), ours
        assert isinstance(theirs, Exception) or lenient(name, call), ours
        return
    if isinstance(theirs, Exception):
        assert lenient(name, call), theirs
        return
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype)[7:] == str(theirs.dtype)[6:]
    drawn.close(name, ours.numpy(), theirs.numpy())


#: Name -> a call with a mask.
MASKED: dict[str, Callable[[Any, Any], Any]] = {
    "masked_fill": lambda x, mask: x.masked_fill(mask, 9.0),
    "masked_fill_": lambda x, mask: x.masked_fill_(mask, 9.0),
    "masked_select": lambda x, mask: x.masked_select(mask),
    "masked_scatter": lambda x, mask: x.masked_scatter(mask, x),
}


@pytest.mark.filterwarnings("ignore:masked_scatter_ received")
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("name", MASKED)
def test_masks_are_bool(backend: str, name: str, dtype: str) -> None:
    """uint8, too, which `where` and brackets still take."""
    for m in (torch, tenora):
        x, mask = m.arange(3.0), m.tensor([1, 0, 2], dtype=getattr(m, dtype))
        with pytest.raises(RuntimeError) as refused:
            MASKED[name](x, mask)
        assert x.tolist() == [0.0, 1.0, 2.0]
    wanted = f"[{name.rstrip('_')}] wrong dtype of the mask: got {dtype}, expected bool."
    assert str(refused.value).startswith(wanted)
