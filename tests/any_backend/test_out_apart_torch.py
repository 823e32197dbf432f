"""`out=` that shares memory with what is read here and there: refused and taken where PyTorch refuses and takes it.

What is refused has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::UserWarning")]

Call = Callable[[Any, Any, Any], Any]


def places(m: Any) -> Any:
    return m.tensor([1, 0, 2])


#: Name -> a call that reads x, three numbers, and writes into out.
READS: dict[str, Call] = {
    "gather": lambda m, x, out: m.gather(x, 0, places(m), out=out),
    "gather with sparse_grad": lambda m, x, out: m.gather(x, 0, places(m), sparse_grad=False, out=out),
    "take": lambda m, x, out: m.take(x, places(m), out=out),
    "take_along_dim": lambda m, x, out: m.take_along_dim(x, places(m), 0, out=out),
    "index_select": lambda m, x, out: m.index_select(x, 0, places(m), out=out),
    "masked_select": lambda m, x, out: m.masked_select(x, m.ones(3) > 0, out=out),
    "cat": lambda m, x, out: m.cat([x[1:], x[:1]], out=out),
    "concat": lambda m, x, out: m.concat([x[1:], x[:1]], out=out),
    "stack": lambda m, x, out: m.stack([x[2], x[0], x[1]], out=out),
    "hstack": lambda m, x, out: m.hstack([x[1:], x[:1]], out=out),
    "vstack": lambda m, x, out: m.vstack([x], out=out.view(1, 3)),
    "dstack": lambda m, x, out: m.dstack([x], out=out.view(1, 3, 1)),
    "column_stack": lambda m, x, out: m.column_stack([x], out=out.view(3, 1)),
    "scatter": lambda m, x, out: m.scatter(m.zeros(3, dtype=x.dtype), 0, places(m), x, out=out),
    "scatter with reduce": lambda m, x, out: m.scatter(
        m.zeros(3, dtype=x.dtype), 0, places(m), x, reduce="add", out=out
    ),
    "scatter_add": lambda m, x, out: m.scatter_add(m.zeros(3, dtype=x.dtype), 0, places(m), x, out=out),
    "scatter_reduce": lambda m, x, out: m.scatter_reduce(
        m.zeros(3, dtype=x.dtype), 0, places(m), x, "sum", out=out
    ),
    "index_add": lambda m, x, out: m.index_add(m.zeros(3, dtype=x.dtype), 0, places(m), x, out=out),
    "index_copy": lambda m, x, out: m.index_copy(m.zeros(3, dtype=x.dtype), 0, places(m), x, out=out),
    "index_reduce": lambda m, x, out: m.index_reduce(
        m.zeros(3, dtype=x.dtype), 0, places(m), x, "prod", out=out
    ),
}
#: Name -> a call with indices x.
INDICES: dict[str, Call] = {
    "take": lambda m, x, out: m.take(m.arange(6), x, out=out),
    "index_select": lambda m, x, out: m.index_select(m.arange(6), 0, x, out=out),
    "scatter of a number": lambda m, x, out: m.scatter(m.zeros(6, dtype=m.int64), 0, x, 7, out=out),
    "scatter": lambda m, x, out: m.scatter(m.zeros(6, dtype=m.int64), 0, x, places(m), out=out),
    "scatter_add": lambda m, x, out: m.scatter_add(m.zeros(6, dtype=m.int64), 0, x, places(m), out=out),
    "index_add": lambda m, x, out: m.index_add(m.zeros(6, dtype=m.int64), 0, x, places(m), out=out),
    "index_copy": lambda m, x, out: m.index_copy(m.zeros(6, dtype=m.int64), 0, x, places(m), out=out),
    "nonzero": lambda m, x, out: m.nonzero(x, out=out),
}


def refused_alike(call: Call, make: Callable[[Any], tuple[Any, Any]]) -> None:
    x, out = make(torch)
    with pytest.raises(RuntimeError, match="single memory location"):
        call(torch, x, out)
    x, out = make(tenora)
    before = x.tolist()
    with pytest.raises(
        RuntimeError, match=r"^\[[a-z_]+\] out= shares memory with what is read: got .*, expected "
    ):
        call(tenora, x, out)
    assert x.tolist() == before


PARTLY: dict[str, Call] = {
    "index of gather": lambda m, x, out: m.gather(m.arange(6) * 10, 0, x, out=out),
    "input of scatter": lambda m, x, out: m.scatter(x, 0, places(m), 7, out=out),
    "input of scatter_add": lambda m, x, out: m.scatter_add(x, 0, places(m), places(m), out=out),
    "input of index_add": lambda m, x, out: m.index_add(x, 0, places(m), places(m), out=out),
    "input of index_copy": lambda m, x, out: m.index_copy(x, 0, places(m), places(m), out=out),
}


@pytest.mark.parametrize("size", [3, 1])
@pytest.mark.parametrize("name", PARTLY)
def test_what_may_be_the_target_is_all_of_it_or_nothing(backend: str, name: str, size: int) -> None:
    """One of another size takes the room behind it."""
    for m in (torch, tenora):
        memory = m.arange(6)
        with pytest.raises(RuntimeError, match=r"single memory location|share some of their memory"):
            PARTLY[name](m, memory[:3], memory[1 : 1 + size])
        assert memory.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["take", "index_select", "masked_select"])
def test_a_target_that_grows_into_what_is_read_is_refused(backend: str, name: str) -> None:
    """PyTorch looks before it grows, and then writes over what it has not read yet."""
    memory = tenora.arange(6.0)
    with pytest.raises(RuntimeError, match="out= shares memory with what is read"):
        READS[name](tenora, memory[:3], memory[1:1])
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", READS)
def test_what_is_read(backend: str, name: str, first: int) -> None:
    def make(m: Any) -> tuple[Any, Any]:
        memory = m.arange(6.0)
        return memory[:3], memory[first : first + 3]

    refused_alike(READS[name], make)


@pytest.mark.parametrize("name", INDICES)
def test_indices(backend: str, name: str) -> None:
    def make(m: Any) -> tuple[Any, Any]:
        memory = m.arange(6)
        return memory[:3], memory

    refused_alike(INDICES[name], make)


@pytest.mark.parametrize("name", READS)
def test_memory_beside_it_and_windows_with_gaps_are_taken(backend: str, name: str) -> None:
    """What is certain is refused alone: PyTorch looks no closer at windows with gaps."""
    for cut in (lambda x: (x[:3], x[3:]), lambda x: (x[::2], x[1::2])):
        found = []
        for m in (torch, tenora):
            x, out = cut(m.arange(6.0))
            READS[name](m, x, out)
            found.append(out.tolist())
        assert found[0] == found[1]


def test_the_target_of_a_scatter_may_be_its_result(backend: str) -> None:
    for m in (torch, tenora):
        x = m.arange(3.0)
        assert m.scatter(x, 0, m.tensor([0]), m.tensor([9.0]), out=x).tolist() == [9.0, 1.0, 2.0]
        assert m.gather(m.arange(3), 0, i := m.tensor([2, 1, 0]), out=i).tolist() == [2, 1, 0]
        assert m.cat([m.ones(2), x[:0]], out=x[:2]).tolist() == [1.0, 1.0]
