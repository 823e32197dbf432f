"""Pickling, copying, deep copying."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tenora
from tenora_engine import _rebuild_tensor

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


class Named(tenora.Tensor):
    """A subclass that pickle finds by name."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "bfloat16", "float32", "complex128"])
def test_pickle_keeps_values_dtype_and_shape(protocol: int, dtype: str) -> None:
    x = tenora.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(tenora, dtype))
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())


def test_pickle_keeps_strides_and_sharing() -> None:
    base = tenora.arange(12.0).view(3, 4)
    a, b = pickle.loads(pickle.dumps((base.t(), base[1])))
    assert a.stride() == (1, 4)
    b[0] = 100.0
    assert a[0, 1].item() == 100.0
    assert base[1, 0].item() == 4.0


def test_pickle_keeps_type_flags_and_attributes() -> None:
    x = Named([1.0, 2.0]).requires_grad_()
    x.note = {"k": 1}
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Named and y.requires_grad and y.is_leaf and y.note == {"k": 1}


def test_results_become_leaves_in_pickles_and_copies_but_not_in_deep_copies() -> None:
    """As in PyTorch: a pool of processes sends losses back; a deep copy would pretend to keep the graph."""
    y = tenora.tensor([1.0], requires_grad=True) * 2
    for found in (pickle.loads(pickle.dumps(y)), copy.copy(y)):
        assert found.tolist() == [2.0] and found.requires_grad and found.is_leaf
    assert copy.copy(y).data_ptr() == y.data_ptr()
    with pytest.raises(RuntimeError, match=r"^\[deepcopy\] only leaf"):
        copy.deepcopy(y)


@pytest.mark.parametrize("value", ["float32", "Size", "device", "add"])
def test_small_types_are_pickled(value: str) -> None:
    objects: dict[str, Any] = {
        "float32": tenora.float32,
        "Size": tenora.tensor([[1.0]]).shape,
        "device": tenora.device("cpu"),
        "add": tenora.add,
    }
    again = pickle.loads(pickle.dumps(objects[value]))
    assert again == objects[value] and type(again) is type(objects[value])


def test_deepcopy_copies_memory_gradient_and_attributes() -> None:
    x = tenora.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.tags = ["a"]
    y = copy.deepcopy(x)
    assert y.data_ptr() != x.data_ptr() and y.requires_grad and y.is_leaf
    assert y.grad.tolist() == [2.0, 4.0] and y.grad is not x.grad
    y.tags.append("b")
    assert x.tags == ["a"]


def test_deepcopy_keeps_sharing_and_identity() -> None:
    base = tenora.arange(6.0)
    pair = copy.deepcopy([base, base[2:], base])
    assert pair[0] is pair[2]
    pair[1][0] = 50.0
    assert pair[0][2].item() == 50.0 and base[2].item() == 2.0


def test_deepcopy_of_a_cycle() -> None:
    x = tenora.tensor([1.0])
    x.me = x
    y = copy.deepcopy(x)
    assert y.me is y and y is not x
    del x.me, y.me


def test_deepcopy_refuses_results() -> None:
    x = tenora.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(x * 2)


def test_copy_shares_memory() -> None:
    x = tenora.tensor([1.0, 2.0])
    y = copy.copy(x)
    y[0] = 5.0
    assert x[0].item() == 5.0 and y is not x


def test_pickle_of_foreign_memory() -> None:
    array = np.arange(10.0)[2:8:2]
    x = tenora.from_numpy(array)
    assert pickle.loads(pickle.dumps(x)).tolist() == array.tolist()


@pytest.mark.parametrize(
    "arguments", [(), (1,), (tenora.Tensor, None, (1,), (1,), 0, None, None, None, None)]
)
def test_rebuild_refuses_nonsense(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        _rebuild_tensor(*arguments)


def test_rebuild_checks_bounds() -> None:
    x = tenora.tensor([1.0, 2.0])
    function, arguments = x.__reduce_ex__(4)
    broken = list(arguments)
    broken[2] = (1000,)
    broken[3] = (1,)
    with pytest.raises((RuntimeError, ValueError)):
        function(*broken)
