"""What may stand in `x[...]` and as an index argument, and how it is refused, against PyTorch.

- A value must equal PyTorch's; where PyTorch warns, tenora warns; a refusal must be of PyTorch's built-in class.
- `KINDER` names what PyTorch 2.13 refuses and tenora answers on purpose, with the answer it must give.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

Call = Callable[[Any], Any]


def x(m: Any) -> Any:
    return m.arange(24.0).reshape(2, 3, 4)


def u8(m: Any, *values: int) -> Any:
    return m.tensor(list(values), dtype=m.uint8)


def written(m: Any, key: Any, value: Any) -> Any:
    target = x(m)
    target[key] = value
    return target


def item(tensor: Any) -> Any:
    return tensor.tolist() if hasattr(tensor, "tolist") else tensor


def outcome(call: Call, m: Any) -> tuple[Any, bool]:
    """The value or the exception, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = call(m)
            return (tuple(found.shape), str(found.dtype).split(".")[-1], item(found)), bool(said)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            return error, bool(said)


def agree(call: Call) -> None:
    ours, theirs = outcome(call, tenora), outcome(call, torch)
    if isinstance(theirs[0], Exception):
        assert isinstance(ours[0], type(theirs[0])), (ours, theirs)
        assert isinstance(ours[0], tenora.TenoraError), ours
    else:
        assert ours[0] == theirs[0]
    assert ours[1] == theirs[1], "one of them warns"


FORMS: dict[str, Call] = {
    "uint8 mask": lambda m: x(m)[u8(m, 1, 0)],
    "uint8 mask of several dims": lambda m: x(m)[m.tensor([[1, 0, 1]] * 2, dtype=m.uint8)],
    "uint8 mask beside a number": lambda m: x(m)[u8(m, 1, 0), 0],
    "uint8 mask behind a slice": lambda m: x(m)[:, u8(m, 1, 0, 2)],
    "uint8 mask of a wrong size": lambda m: x(m)[u8(m, 1, 0, 1)],
    "uint8 number": lambda m: x(m)[m.tensor(1, dtype=m.uint8)],
    "uint8 number behind a slice": lambda m: x(m)[:, m.tensor(0, dtype=m.uint8)],
    "uint8 array": lambda m: x(m)[np.array([1, 0], np.uint8)],
    "uint8 mask written": lambda m: written(m, u8(m, 0, 1), m.ones(1, 3, 4)),
    "uint8 mask in index_put": lambda m: m.index_put(x(m), (u8(m, 0, 1),), m.ones(1, 3, 4)),
    "int16 tensor": lambda m: x(m)[m.tensor([1, 0], dtype=m.int16)],
    "int8 tensor": lambda m: x(m)[m.tensor([1, 0], dtype=m.int8)],
    "int16 number": lambda m: x(m)[m.tensor(1, dtype=m.int16)],
    "int32 tensor": lambda m: x(m)[m.tensor([1, 0], dtype=m.int32)],
    "float tensor": lambda m: x(m)[m.tensor([1.0])],
    "int16 in index_put": lambda m: m.index_put(x(m), (m.tensor([1], dtype=m.int16),), m.tensor(1.0)),
    "int16 array": lambda m: x(m)[np.array([1, 0], np.int16)],
    "array": lambda m: x(m)[:, np.array([2, 0])],
    "array of bools": lambda m: x(m)[np.array([[True, False, True]] * 2)],
    "NumPy numbers": lambda m: x(m)[np.int64(1), np.int8(2)],
    "list of NumPy numbers": lambda m: x(m)[[np.int64(1), np.int64(0)]],
    "range": lambda m: x(m)[range(2)],
    "ranges": lambda m: x(m)[range(2), range(2)],
    "empty range": lambda m: x(m)[range(0)],
    "range written": lambda m: written(m, range(1), 1.0),
    "list of bools": lambda m: x(m)[[True, False]],
    "short list of bools": lambda m: x(m)[[True]],
    "bools and numbers": lambda m: x(m)[[True, 0]],
    "list": lambda m: x(m)[[1, 0]],
    "empty list": lambda m: x(m)[[]],
    "list of lists": lambda m: x(m)[[[0, 1], [1, 0]]],
    "list of one list": lambda m: x(m)[[[1, 0]]],
    "list of lists of lists": lambda m: x(m)[[[[0, 1], [1, 0]]]],
    "list of lists written": lambda m: written(m, [[0, 1], [1, 0]], 7.0),
    "lists of different lengths": lambda m: x(m)[[[0, 1], [0]]],
    "list of tuples": lambda m: x(m)[[(0, 1), (1, 0)]],
    "list of tuples written": lambda m: written(m, [(0, 1), (1, 0)], 7.0),
    "tuple of tuples": lambda m: x(m)[(0, 1), (1, 0)],
    "tuple of a list": lambda m: x(m)[([[0, 1], [1, 0]],)],
    "list of tensors": lambda m: x(m)[[m.tensor([0, 1]), m.tensor([1, 0])]],
    "list of a number tensor": lambda m: x(m)[[m.tensor(1)]],
    "list of arrays": lambda m: x(m)[[np.array([0, 1]), np.array([1, 0])]],
    "list with a slice": lambda m: x(m)[[slice(0, 1), 0]],
    "list with None": lambda m: x(m)[[None, 0]],
    "list with an Ellipsis": lambda m: x(m)[[..., 0]],
    "long list of numbers": lambda m: x(m)[[0] * 40],
    "long list of lists": lambda m: x(m)[[[0]] * 40],
    "two Ellipses": lambda m: x(m)[..., ...],
    "two Ellipses behind a number": lambda m: x(m)[0, ..., ...],
    "two Ellipses around a number": lambda m: x(m)[..., 0, ...],
    "a number behind two Ellipses": lambda m: x(m)[..., ..., 0],
    "two Ellipses between numbers": lambda m: x(m)[..., 0, ..., 0],
    "two Ellipses for nothing": lambda m: x(m)[..., 0, 0, ..., 0],
    "two Ellipses around None": lambda m: x(m)[..., None, ...],
    "two Ellipses around a tensor": lambda m: x(m)[..., m.tensor([0]), ...],
    "two Ellipses written": lambda m: written(m, (..., ...), 1.0),
    "too many lists": lambda m: x(m)[[[0]] * 4],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_index(backend: str, form: str) -> None:
    agree(FORMS[form])


#: PyTorch sends a number for a uint8 mask to masked_fill, which then refuses the dtype.
KINDER: dict[str, tuple[Call, list[float]]] = {
    "a number where a uint8 mask holds": (
        lambda m: written(m, u8(m, 0, 1), 9.0),
        [*map(float, range(12)), *[9.0] * 12],
    ),
    "a number in the second dim": (
        lambda m: written(m, (0, u8(m, 0, 1, 0)), 9.0),
        [0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 9.0, 9.0, *map(float, range(8, 24))],
    ),
}


@pytest.mark.parametrize("form", KINDER)
def test_taken_though_pytorch_refuses(backend: str, form: str) -> None:
    call, wanted = KINDER[form]
    with pytest.raises(RuntimeError, match="boolean masks"):
        call(torch)
    with pytest.warns(UserWarning, match="uint8"):
        assert call(tenora).flatten().tolist() == wanted


def test_a_mask_of_uint8_is_told_once(backend: str) -> None:
    y = x(tenora).requires_grad_() * 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        y[u8(tenora, 0, 1)] = 9.0
        tenora.where(u8(tenora, 0, 1).reshape(2, 1, 1), y, 0.0).sum().backward()
    assert ["indexing" in str(told[0].message), "where" in str(told[1].message)] == [True, True]
    assert len(told) == 2


def test_a_warning_may_be_an_error(backend: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="bool"):
            x(tenora)[u8(tenora, 1, 0)]
        with pytest.raises(UserWarning, match="tuple"):
            x(tenora)[[[0, 1], [1, 0]]]


def rows(m: Any) -> Any:
    return m.arange(12.0).reshape(3, 4)


OPS: dict[str, Callable[[Any, Any], Any]] = {
    "gather": lambda m, i: m.gather(rows(m), 0, i.reshape(1, -1)),
    "scatter": lambda m, i: m.scatter(rows(m), 0, i.reshape(1, -1), m.ones(1, 4)),
    "scatter of a number": lambda m, i: rows(m).scatter_(0, i.reshape(1, -1), 5.0),
    "scatter_add": lambda m, i: m.scatter_add(rows(m), 0, i.reshape(1, -1), m.ones(1, 4)),
    "scatter_reduce": lambda m, i: m.scatter_reduce(rows(m), 0, i.reshape(1, -1), m.ones(1, 4), "amax"),
    "take_along_dim": lambda m, i: m.take_along_dim(rows(m), i.reshape(-1, 1), 0),
    "take_along_dim of all": lambda m, i: m.take_along_dim(rows(m), i),
    "index_add": lambda m, i: m.index_add(rows(m), 0, i, m.ones(i.numel(), 4)),
    "index_copy": lambda m, i: m.index_copy(rows(m), 0, i, m.ones(i.numel(), 4)),
    "index_fill": lambda m, i: m.index_fill(rows(m), 0, i, 5.0),
    "index_select": lambda m, i: m.index_select(rows(m), 0, i),
    "index_reduce": lambda m, i: m.index_reduce(rows(m), 0, i, m.ones(i.numel(), 4), "amax"),
    "take": lambda m, i: m.take(rows(m), i),
    "put": lambda m, i: rows(m).put_(i, m.ones(i.numel())),
    "embedding": lambda m, i: m.nn.functional.embedding(i, rows(m)),
}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "float32", "bool"])
@pytest.mark.parametrize("name", OPS)
def test_dtypes_of_indices(backend: str, name: str, dtype: str) -> None:
    def call(m: Any) -> Any:
        return OPS[name](m, m.tensor([1, 0], dtype=getattr(m, dtype)))

    ours, theirs = outcome(call, tenora)[0], outcome(call, torch)[0]
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (ours, theirs)
        assert str(ours).startswith(f"[{name.split()[0]}]"), ours
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("index", [3, -1, -4, 12, -13])
@pytest.mark.parametrize("name", OPS)
def test_an_index_out_of_range(backend: str, name: str, index: int) -> None:
    """PyTorch's gather and scatter raise RuntimeError, its other ops IndexError: tenora's error is both."""

    def call(m: Any) -> Any:
        return OPS[name](m, m.tensor([0, index, 1]))

    ours, theirs = outcome(call, tenora)[0], outcome(call, torch)[0]
    if isinstance(theirs, Exception):
        assert isinstance(ours, IndexError), ours
        assert isinstance(ours, RuntimeError), ours
        assert isinstance(ours, type(theirs)), (ours, theirs)
        assert str(ours).startswith(f"[{name.split()[0]}]"), ours
    else:
        assert ours == theirs


def test_gradients_through_int32_indices(backend: str) -> None:
    for name in ("gather", "scatter", "scatter_add", "scatter_reduce", "index_add"):
        found = []
        for m in (tenora, torch):
            source = rows(m).requires_grad_()
            i = m.tensor([1, 0, 2, 1], dtype=m.int32)
            args = (0, i[:2], m.ones(2, 4)) if name == "index_add" else (0, i.reshape(1, 4))
            args += (m.ones(1, 4),) if name.startswith("scatter") else ()
            args += ("amax",) if name == "scatter_reduce" else ()
            (getattr(source, name)(*args) * 2).sum().backward()
            found.append(source.grad.tolist())
        assert found[0] == found[1], name
