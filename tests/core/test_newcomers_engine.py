"""What the engine says to a newcomer from PyTorch: the old constructor, `.grad` of a result, strangers' tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tenora
from tenora import nn


class Plain(tenora.Tensor):
    pass


@pytest.mark.parametrize("kind", [tenora.Tensor, Plain])
@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ((), (0,)),
        ((3,), (3,)),
        ((0,), (0,)),
        ((2, 3), (2, 3)),
        ((np.int64(3),), (3,)),
        ((tenora.Size([2, 3]),), (2, 3)),
        ((tenora.Size([]),), ()),
        (([2, 3],), (2,)),
        (((2, 3),), (2,)),
        ((range(3),), (3,)),
        ((np.zeros((2, 1)),), (2, 1)),
        ((np.array(3.0),), ()),
    ],
)
def test_the_old_constructor(kind: Any, arguments: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    made = kind(*arguments)
    assert type(made) is kind and tuple(made.shape) == shape
    assert nn.Parameter(tenora.Tensor(*arguments)).shape == shape


def test_the_old_constructor_has_the_default_dtype_and_shares_a_tensor() -> None:
    assert tenora.Tensor([1, 2]).dtype == tenora.Tensor(2).dtype == tenora.float32
    tenora.set_default_dtype(tenora.float64)
    try:
        assert tenora.Tensor(2, 3).dtype == tenora.Tensor(tenora.Size([2])).dtype == tenora.float64
    finally:
        tenora.set_default_dtype(tenora.float32)
    x = tenora.tensor([1, 2])
    assert tenora.Tensor(x).data_ptr() == x.data_ptr() and tenora.Tensor(data=[1.0]).tolist() == [1.0]
    count = tenora.tensor(2)
    assert tenora.Tensor(count).shape == () and tenora.Tensor(count, 3).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((3.0,), {}, TypeError, r"\[Tensor\] data is a number: got float, .*tenora\.tensor"),
        ((True,), {}, TypeError, "got bool"),
        ((np.float64(3),), {}, TypeError, "got float64"),
        (
            (2, 2.0),
            {},
            TypeError,
            r"\[Tensor\] no such constructor: got \(int, float\), .*sizes, Tensor\(2, 3\)",
        ),
        (([1], 2), {}, TypeError, r"got \(list, int\)"),
        ((2,), {"dtype": tenora.int32}, TypeError, r"got \(int, dtype=dtype\).*tenora\.empty"),
        ((-1,), {}, RuntimeError, "negative dimension"),
        ((2, -1), {}, RuntimeError, "negative dimension"),
        ((2**62, 4), {}, RuntimeError, "overflows"),
    ],
)
def test_the_old_constructor_refuses(
    arguments: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tenora.Tensor(*arguments, **keywords)


def test_a_subclass_may_take_more_than_the_data() -> None:
    class Labelled(tenora.Tensor):
        def __init__(self, data: Any, label: str) -> None:
            self.label = label

    assert Labelled([1.0, 2.0], "a").tolist() == [1.0, 2.0]


def test_grad_of_a_result_warns() -> None:
    x = tenora.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match=r"\[grad\] .*retain_grad\(\)") as said:
        assert y.grad is None
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="retain_grad"):
        assert x[0].grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="retain_grad"):
            _ = y.grad
        y.retain_grad()
        assert y.grad is None
        y.sum().backward()
        assert y.grad is not None and x.grad is not None
        given = x * 3
        given.grad = tenora.ones(2)
        assert given.grad is not None
        with tenora.no_grad():
            assert (x * 2).grad is None
        assert y.detach().grad is None and tenora.ones(2, requires_grad=True).grad is None


class Stranger:
    """Called Tensor, as other libraries' classes are."""


Stranger.__name__ = Stranger.__qualname__ = "Tensor"
Stranger.__module__ = "elsewhere"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tenora.relu(x),
        lambda x: tenora.cat([x, x]),
        lambda x: tenora.add(tenora.ones(1), x),
        lambda x: nn.functional.conv2d(x, tenora.ones(1, 1, 3, 3)),
        lambda x: nn.functional.conv2d(tenora.ones(1, 1, 3, 3), weight=x),
        lambda x: nn.Conv2d(1, 1, 3)(x),
        lambda x: nn.Linear(1, 1)(x),
    ],
)
def test_a_strangers_tensor_is_named_and_how_it_is_converted(call: Any) -> None:
    with pytest.raises(TypeError, match=r"elsewhere\.Tensor") as found:
        call(Stranger())
    assert "tenora.from_dlpack(x), or tenora.from_numpy(x.numpy())" in str(found.value)


def test_an_index_of_another_dtype_is_told_of_masks_only_where_it_is_one() -> None:
    table = tenora.ones(2, 2)
    with pytest.raises(RuntimeError, match=r"Cast it with \.to\(tenora\.int64\)") as found:
        nn.functional.embedding(tenora.ones(2), table)
    assert "mask" not in str(found.value)
    with pytest.raises(RuntimeError, match=r"Use x\[mask\] for a mask"):
        tenora.index_select(table, 0, tenora.tensor([True, False]))


def test_class_numbers_of_a_floating_dtype_are_told_of_long() -> None:
    with pytest.raises(RuntimeError, match=r"or whole class numbers: \.long\(\)"):
        nn.functional.cross_entropy(tenora.ones(2, 2), tenora.ones(2))
