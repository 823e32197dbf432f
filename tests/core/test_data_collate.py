"""How samples become batches: values, dtypes, container types and exception types as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, namedtuple
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data as theirs
from data_outcomes import outcome
from torch.utils.data._utils import collate as their_collate

import tenora
import tenora.utils.data as ours
from tenora.utils.data._utils import collate as our_collate

Point = namedtuple("Point", "x y")


class OwnArray(np.ndarray):
    """As memory-mapped arrays are: a subclass."""


class Tagged(dict):
    """A mapping with more to it than its elements."""

    tag = ""


BATCHES: dict[str, Any] = {
    "tensors": lambda f: [f.ones(2, 3), f.zeros(2, 3)],
    "numbers of tensors": lambda f: [f.tensor(1), f.tensor(2)],
    "shapes": lambda f: [f.ones(2), f.ones(3)],
    "dtypes": lambda f: [f.ones(2), f.ones(2, dtype=f.float64)],
    "floats": lambda f: [1.5, 2.5],
    "ints": lambda f: [1, -2],
    "bools": lambda f: [True, False],
    "bool and int": lambda f: [True, 2],
    "int and float": lambda f: [1, 2.5],
    "float and int": lambda f: [2.5, 1],
    "complex": lambda f: [1j],
    "strings": lambda f: ["a", "b"],
    "bytes": lambda f: [b"a", b"b"],
    "none": lambda f: [None],
    "sets": lambda f: [{1}],
    "string and int": lambda f: ["a", 1],
    "int and string": lambda f: [1, "a"],
    "arrays": lambda f: [np.ones(2, np.int16), np.zeros(2, np.int16)],
    "arrays without dimension": lambda f: [np.array(1.5), np.array(2.5)],
    "arrays of strings": lambda f: [np.array(["a"])],
    "arrays of objects": lambda f: [np.array([None])],
    "arrays of dates": lambda f: [np.array(["2020"], "M8[D]")],
    "arrays backwards": lambda f: [np.arange(4)[::-1].copy(), np.arange(4)],
    "arrays, transposed": lambda f: [np.ones((2, 3)).T, np.zeros((3, 2))],
    "arrays and numbers": lambda f: [np.ones(()), 2.0],
    "arrays of bools": lambda f: [np.array([True]), np.array([False])],
    "array subclass": lambda f: [np.ones(2).view(OwnArray), np.ones(2)],
    "half": lambda f: [np.float16(1), np.float16(2)],
    "single": lambda f: [np.float32(1), np.float32(2)],
    "double": lambda f: [np.float64(1), np.float64(2)],
    "int8": lambda f: [np.int8(1), np.int8(2)],
    "uint16": lambda f: [np.uint16(1)],
    "numpy bools": lambda f: [np.bool_(True), np.bool_(False)],
    "complex64": lambda f: [np.complex64(1j)],
    "int16 and double": lambda f: [np.int16(3), np.float64(2)],
    "int8 and int32": lambda f: [np.int8(3), np.int32(2)],
    "half and single": lambda f: [np.float16(3), np.float32(2)],
    "int8 and float": lambda f: [np.int8(2), 3.5],
    "single and int": lambda f: [np.float32(1), 2],
    "numpy strings": lambda f: [np.str_("a")],
    "dates": lambda f: [np.datetime64("2020")],
    "array and tensor": lambda f: [np.ones(2), f.ones(2)],
    "tensor and array": lambda f: [f.ones(2), np.ones(2)],
    "tuples": lambda f: [(f.ones(2), 1), (f.zeros(2), 2)],
    "lists": lambda f: [[1, "a"], [2, "b"]],
    "ranges": lambda f: [range(2), range(2)],
    "bytearrays": lambda f: [bytearray(b"ab"), bytearray(b"cd")],
    "user lists": lambda f: [UserList([1, 2]), UserList([3, 4])],
    "lengths": lambda f: [(1, 2), (3,)],
    "empty tuples": lambda f: [(), ()],
    "empty lists": lambda f: [[], []],
    "dicts": lambda f: [{"x": 1, "y": f.ones(1)}, {"x": 2, "y": f.zeros(1)}],
    "ordered": lambda f: [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "user dicts": lambda f: [UserDict(a=1), UserDict(a=2)],
    "read-only": lambda f: [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "more keys": lambda f: [{"a": 1}, {"a": 2, "b": 3}],
    "empty dicts": lambda f: [{}, {}],
    "named": lambda f: [Point(1, f.ones(1)), Point(2, f.zeros(1))],
    "nested": lambda f: [{"a": [(1, {"b": Point(1.5, "s")})]}, {"a": [(2, {"b": Point(2.5, "t")})]}],
    "tuple and int": lambda f: [(1, 2), 5],
    "dict and int": lambda f: [{"a": 1}, 5],
}


def named(value: Any) -> Any:
    """A batch with the names of its containers' types."""
    if isinstance(value, tenora.Tensor | torch.Tensor):
        return value.tolist(), str(value.dtype).split(".")[1], list(value.shape)
    if isinstance(value, np.ndarray):
        return type(value).__name__, value.tolist()
    if isinstance(value, dict | UserDict | MappingProxyType):
        return type(value).__name__, {key: named(part) for key, part in value.items()}
    if isinstance(value, list | tuple | UserList):
        return type(value).__name__, [named(part) for part in value]
    return value


@pytest.mark.parametrize("name", BATCHES)
def test_collates_as_pytorch(name: str, backend: str) -> None:
    def collate(framework: Any, data: Any) -> Any:
        return named(data.default_collate(BATCHES[name](framework)))

    assert outcome(collate, tenora, ours) == outcome(collate, torch, theirs)


@pytest.mark.parametrize("name", BATCHES)
def test_converts_as_pytorch(name: str) -> None:
    def convert(framework: Any, data: Any) -> Any:
        return named(data.default_convert(BATCHES[name](framework)))

    assert outcome(convert, tenora, ours) == outcome(convert, torch, theirs)


def test_a_mapping_keeps_what_else_it_has() -> None:
    samples = [Tagged(a=1), Tagged(a=2)]
    samples[0].tag = "kept"
    batch = ours.default_collate(samples)
    assert (type(batch), batch.tag, batch["a"].tolist()) == (Tagged, "kept", [1, 2])
    assert samples[0] == {"a": 1}


def test_a_missing_key_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        ours.default_collate([{"a": 1}, {"b": 1}])


@pytest.mark.parametrize(("framework", "module"), [(tenora, our_collate), (torch, their_collate)])
def test_a_map_of_functions(framework: Any, module: Any) -> None:
    def shifted(batch: Any, *, collate_fn_map: Any = None) -> Any:
        return framework.stack(list(batch)) + 1

    def total(batch: Any, *, collate_fn_map: Any = None) -> Any:
        return sum(batch)

    class Special(int):
        pass

    table = {framework.Tensor: shifted, (int, complex): total}
    batch = module.collate([(framework.zeros(1), Special(2), 1j)] * 2, collate_fn_map=table)
    assert [named(batch[0])[0], *batch[1:]] == [[[1.0], [1.0]], 4, 2j]
    with pytest.raises(TypeError):
        module.collate([np.ones(1)], collate_fn_map=table)
    with pytest.raises(TypeError):
        module.collate([1])


@pytest.mark.parametrize(("data", "module"), [(ours, our_collate), (theirs, their_collate)])
def test_default_collate_is_extended_in_place(data: Any, module: Any) -> None:
    module.default_collate_fn_map[complex] = lambda batch, *, collate_fn_map=None: sum(batch)
    try:
        assert data.default_collate([(1j, "a"), (2j, "b")]) == [3j, ("a", "b")]
        assert list(data.DataLoader([1j, 2j, 3j], batch_size=2)) == [3j, 3j]
    finally:
        del module.default_collate_fn_map[complex]
    with pytest.raises(TypeError):
        data.default_collate([1j])


@pytest.mark.parametrize(
    ("framework", "data", "module"), [(tenora, ours, our_collate), (torch, theirs, their_collate)]
)
def test_another_way_with_tensors_holds_for_rows_too(framework: Any, data: Any, module: Any) -> None:
    usual = module.default_collate_fn_map[framework.Tensor]
    module.default_collate_fn_map[framework.Tensor] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        rows = data.TensorDataset(framework.zeros(3), framework.zeros(3))
        assert list(data.DataLoader(rows, batch_size=2)) == [[2, 2], [1, 1]]
    finally:
        module.default_collate_fn_map[framework.Tensor] = usual


def test_an_entry_for_arrays_comes_first() -> None:
    our_collate.default_collate_fn_map[np.ndarray] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        assert ours.default_collate([np.ones(1), np.ones(1)]) == 2
    finally:
        del our_collate.default_collate_fn_map[np.ndarray]


def test_errors_say_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"got samples of <class 'NoneType'>, expected .* Pass a collate_fn"):
        ours.default_collate([None])
    with pytest.raises(RuntimeError, match="got length 1 at position 1, expected 2 as at position 0"):
        ours.default_collate([(1, 2), (3,)])


def test_gradients_reach_the_samples() -> None:
    samples = [tenora.ones(2, requires_grad=True) for _ in range(2)]
    ours.default_collate(samples).sum().backward()
    assert [sample.grad.tolist() for sample in samples] == [[1.0, 1.0]] * 2
