"""DataLoader against PyTorch's: batches, lengths, refusals, warnings; order apart, which is tenora's own."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data as theirs
from data_outcomes import outcome, plain, stream
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples

import tenora
import tenora.utils.data as ours

ROWS = 7


def rows(f: Any, d: Any) -> Any:
    return d.TensorDataset(f.arange(ROWS * 2).reshape(ROWS, 2), f.arange(ROWS) * 0.5)


def batches(loader: Any) -> list[Any]:
    return [plain(batch) for batch in loader]


LOADED = {
    "default": lambda f, d: d.DataLoader(rows(f, d)),
    "batches": lambda f, d: d.DataLoader(rows(f, d), batch_size=3),
    "drop": lambda f, d: d.DataLoader(rows(f, d), batch_size=3, drop_last=True),
    "larger": lambda f, d: d.DataLoader(rows(f, d), batch_size=10),
    "larger drop": lambda f, d: d.DataLoader(rows(f, d), batch_size=10, drop_last=True),
    "no batches": lambda f, d: d.DataLoader(rows(f, d), batch_size=None),
    "list": lambda f, d: d.DataLoader([3, 1, 2], batch_size=2),
    "strings": lambda f, d: d.DataLoader("abcde", batch_size=2),
    "dict": lambda f, d: d.DataLoader({"a": 1, "b": 2}, batch_size=2, sampler=["b", "a", "a"]),
    "arrays": lambda f, d: d.DataLoader(np.arange(6.0).reshape(3, 2), batch_size=2),
    "arrays, no batches": lambda f, d: d.DataLoader(np.arange(6.0).reshape(3, 2), batch_size=None),
    "tensor": lambda f, d: d.DataLoader(f.arange(6).reshape(3, 2), batch_size=2),
    "sampler": lambda f, d: d.DataLoader(rows(f, d), batch_size=2, sampler=[4, 4, -1]),
    "batch sampler": lambda f, d: d.DataLoader(rows(f, d), batch_sampler=[[0, 1], [5], [2, -2, 2]]),
    "sampler of lists": lambda f, d: d.DataLoader(rows(f, d), batch_size=None, sampler=[[0, 2], [1]]),
    "sampler of tensors": lambda f, d: d.DataLoader(rows(f, d), batch_size=2, sampler=f.tensor([2, 0, 1])),
    "sampler of bools": lambda f, d: d.DataLoader([5, 6], batch_size=2, sampler=[True, False]),
    "collate": lambda f, d: d.DataLoader("abcde", batch_size=2, collate_fn="".join),
    "collate, no batches": lambda f, d: d.DataLoader("abc", batch_size=None, collate_fn=str.upper),
    "convert": lambda f, d: d.DataLoader([(1, "a")], batch_size=None),
    "subset": lambda f, d: d.DataLoader(d.Subset(rows(f, d), [6, 0, 3]), batch_size=2),
    "subset of subset": lambda f, d: d.DataLoader(d.Subset(d.Subset(rows(f, d), [6, 0, 3]), [2, 0]), 2),
    "subset, negative": lambda f, d: d.DataLoader(d.Subset(rows(f, d), [-1, 0]), 2),
    "subset by tensor": lambda f, d: d.DataLoader(d.Subset(rows(f, d), f.tensor([3, 1])), 2),
    "stack": lambda f, d: d.DataLoader(d.StackDataset(x=rows(f, d), y=range(ROWS)), 4),
    "concat": lambda f, d: d.DataLoader(rows(f, d) + rows(f, d), batch_size=4),
    "stream": lambda f, d: d.DataLoader(stream(d, 1, 2, 3), batch_size=2),
    "stream drop": lambda f, d: d.DataLoader(stream(d, 1, 2, 3), batch_size=2, drop_last=True),
    "stream, no batches": lambda f, d: d.DataLoader(stream(d, 1, 2, 3), batch_size=None),
    "stream even": lambda f, d: d.DataLoader(stream(d, 1, 2), batch_size=2),
    "stream empty": lambda f, d: d.DataLoader(stream(d), batch_size=2),
    "stream shuffle": lambda f, d: d.DataLoader(stream(d, 1), shuffle=False),
    "empty": lambda f, d: d.DataLoader([]),
    "one column": lambda f, d: d.DataLoader(d.TensorDataset(f.arange(3)), batch_size=2),
    "transposed": lambda f, d: d.DataLoader(d.TensorDataset(f.arange(6).reshape(2, 3).t()), batch_size=2),
    "beyond": lambda f, d: d.DataLoader(rows(f, d), batch_size=2, sampler=[0, ROWS]),
    "abstract": lambda f, d: d.DataLoader(d.Dataset(), sampler=[1]),
    "shapes": lambda f, d: d.DataLoader([f.ones(1), f.ones(2)], batch_size=2),
}
LENGTHS = {
    **LOADED,
    "stream with length": lambda f, d: d.DataLoader(stream(d, length=7), batch_size=3),
    "stream with length drop": lambda f, d: d.DataLoader(stream(d, length=7), batch_size=3, drop_last=True),
    "stream with length, no batches": lambda f, d: d.DataLoader(stream(d, length=7), batch_size=None),
    "unsized sampler": lambda f, d: d.DataLoader("abc", sampler=iter([0])),
    "unsized": lambda f, d: d.DataLoader(d.Dataset()),
}


@pytest.mark.parametrize("name", LOADED)
def test_loads_as_pytorch(name: str, backend: str) -> None:
    assert outcome(lambda f, d: batches(LOADED[name](f, d)), tenora, ours) == outcome(
        lambda f, d: batches(LOADED[name](f, d)), torch, theirs
    )


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_as_pytorch(name: str) -> None:
    assert outcome(lambda f, d: len(LENGTHS[name](f, d)), tenora, ours) == outcome(
        lambda f, d: len(LENGTHS[name](f, d)), torch, theirs
    )


@given(st.integers(0, 30), st.integers(1, 9), st.booleans(), st.booleans())
@examples(60)
def test_every_sample_once(count: int, size: int, drop_last: bool, shuffle: bool) -> None:
    if shuffle and count == 0:
        return
    sizes = []
    for f, d in ((tenora, ours), (torch, theirs)):
        loader = d.DataLoader(d.TensorDataset(f.arange(count)), size, shuffle, drop_last=drop_last)
        found = [batch.tolist() for (batch,) in loader]
        sizes.append([len(batch) for batch in found])
        seen = sum(found, [])
        assert len(loader) == len(found)
        assert len(set(seen)) == len(seen) == (count // size * size if drop_last else count)
    assert sizes[0] == sizes[1]


FORK = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
ARGUMENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "workers": ("ab", {"num_workers": -1}),
    "timeout": ("ab", {"timeout": -1}),
    "prefetch": ("ab", {"prefetch_factor": 2}),
    "prefetch negative": ("ab", {"prefetch_factor": -2, "num_workers": 1}),
    "persistent": ("ab", {"persistent_workers": True}),
    "context": ("ab", {"multiprocessing_context": FORK}),
    "context name": ("ab", {"multiprocessing_context": "none", "num_workers": 1}),
    "context type": ("ab", {"multiprocessing_context": 1, "num_workers": 1}),
    "sampler and shuffle": ("ab", {"sampler": [0], "shuffle": True}),
    "batch sampler and size": ("ab", {"batch_sampler": [[0]], "batch_size": 2}),
    "batch sampler and shuffle": ("ab", {"batch_sampler": [[0]], "shuffle": True}),
    "batch sampler and sampler": ("ab", {"batch_sampler": [[0]], "sampler": [0]}),
    "batch sampler and drop": ("ab", {"batch_sampler": [[0]], "drop_last": True}),
    "drop without batches": ("ab", {"batch_size": None, "drop_last": True}),
    "size zero": ("ab", {"batch_size": 0}),
    "size fraction": ("ab", {"batch_size": 1.5}),
    "size bool": ("ab", {"batch_size": True}),
    "drop": ("ab", {"drop_last": 1}),
    "shuffle nothing": ("", {"shuffle": True}),
    "stream and shuffle": (None, {"shuffle": True}),
    "stream and sampler": (None, {"sampler": [0]}),
    "stream and batch sampler": (None, {"batch_sampler": [[0]]}),
    "unknown": ("ab", {"batchsize": 2}),
    "positional beyond": ("ab", {}),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_refuses_as_pytorch(name: str) -> None:
    dataset, arguments = ARGUMENTS[name]
    extra = [1, None, None, None, 0, None, False, False, 0, None, None, None, 2] if "beyond" in name else []

    def make(f: Any, d: Any) -> Any:
        return d.DataLoader(stream(d, 1) if dataset is None else dataset, *extra, **arguments)

    mine = outcome(make, tenora, ours)
    assert mine == outcome(make, torch, theirs)
    assert mine[0] == "raises"


def test_timeout_needs_workers() -> None:
    for d in (ours, theirs):
        with pytest.raises(AssertionError):
            iter(d.DataLoader("ab", timeout=1))


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_fixed_attributes(name: str) -> None:
    for d in (ours, theirs):
        loader = d.DataLoader("ab")
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, getattr(loader, name))
        loader.collate_fn = len  # others may change
        assert list(loader) == [1, 1]


def test_attributes_are_those_of_pytorch() -> None:
    arguments = {
        "batch_size": 2,
        "shuffle": True,
        "drop_last": True,
        "pin_memory_device": "x",
        "in_order": False,
    }
    mine, its = ours.DataLoader("abc", **arguments), theirs.DataLoader("abc", **arguments)
    for name, value in vars(its).items():
        if not name.startswith("_") and not name.endswith("sampler") and name != "collate_fn":
            assert getattr(mine, name) == value, name
    assert type(mine.sampler).__name__ == type(its.sampler).__name__
    assert type(mine.batch_sampler).__name__ == type(its.batch_sampler).__name__
    assert mine.collate_fn is ours.default_collate
    assert ours.DataLoader("a", batch_size=None).collate_fn is ours.default_convert
    assert ours.DataLoader("a", batch_sampler=[[0]]).batch_size is None


def test_iterates_again_and_twice_at_once() -> None:
    loader = ours.DataLoader([1, 2, 3])
    assert batches(loader) == batches(loader)
    pairs = [(a.item(), b.item()) for a, b in zip(loader, loader, strict=True)]
    assert pairs == [(1, 1), (2, 2), (3, 3)]
    iterator = iter(loader)
    assert (len(iterator), iter(iterator) is iterator) == (3, True)
    assert len(list(iterator)) == 3
    assert list(iterator) == []
    with pytest.raises(NotImplementedError, match="Pickle the DataLoader"):
        pickle.dumps(iterator)


def test_a_loader_pickles() -> None:
    loader = pickle.loads(pickle.dumps(ours.DataLoader([1, 2, 3], batch_size=2)))
    assert batches(loader) == batches(ours.DataLoader([1, 2, 3], batch_size=2))


@pytest.mark.parametrize("asked", [False, True])
def test_more_than_the_length_that_was_told(asked: bool) -> None:
    def load(f: Any, d: Any) -> Any:
        loader = d.DataLoader(stream(d, 1, 2, 3, length=2), batch_size=None)
        if asked:
            len(loader)
        return batches(loader)

    mine = outcome(load, tenora, ours)
    assert mine == outcome(load, torch, theirs)
    assert mine[1][1] == (1 if asked else 0)


@pytest.mark.parametrize("name", ["_reads", "_several", "_tensor"])
def test_what_reads_rows_its_own_way_is_asked(name: str) -> None:
    """Gathering rows at once must not pass over what a subclass does."""

    def load(f: Any, d: Any) -> Any:
        class Reads(d.TensorDataset):
            def __getitem__(self, index: int) -> Any:
                return index * 10

        class Several(d.TensorDataset):
            def __getitems__(self, indices: Any) -> Any:
                return [index * 100 for index in indices]

        class Half(d.Subset):
            def __getitem__(self, idx: Any) -> Any:
                return 7

            def __getitems__(self, indices: Any) -> Any:
                return [7 for _ in indices]

        data = {"_reads": Reads, "_several": Several, "_tensor": d.TensorDataset}[name](f.arange(4))
        inner = d.Subset(data, [3, 1])
        return [batches(d.DataLoader(each, batch_size=2)) for each in (data, inner, Half(data, [0, 1]))]

    assert outcome(load, tenora, ours) == outcome(load, torch, theirs)


def test_gathered_rows_have_gradients(backend: str) -> None:
    source = tenora.arange(6.0).reshape(3, 2).requires_grad_()
    for (x,) in ours.DataLoader(ours.TensorDataset(source), batch_size=2, sampler=[0, 2, 2]):
        assert x.is_contiguous()
        (x * x).sum().backward()
    assert source.grad.tolist() == [[0.0, 2.0], [0.0, 0.0], [16.0, 20.0]]


def test_a_batch_is_a_copy() -> None:
    source = tenora.zeros(3)
    for (x,) in ours.DataLoader(ours.TensorDataset(source), batch_size=3):
        x.add_(1)
    assert source.tolist() == [0.0, 0.0, 0.0]
