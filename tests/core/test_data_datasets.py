"""Kinds of datasets and random_split against PyTorch's: samples, lengths, exception types, warnings."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.data as theirs
from data_outcomes import outcome, stream

import tenora
import tenora.utils.data as ours


def kinds(data: Any) -> Any:
    """A subclass of Subset that lacks `__getitems__`."""

    class Half(data.Subset):
        def __getitem__(self, idx: Any) -> Any:
            return 0

    return Half


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "tensor row": lambda f, d: d.TensorDataset(f.arange(6).reshape(3, 2), f.ones(3))[1],
    "tensor negative": lambda f, d: d.TensorDataset(f.arange(3))[-1],
    "tensor slice": lambda f, d: d.TensorDataset(f.arange(3))[1:],
    "tensor beyond": lambda f, d: d.TensorDataset(f.arange(3))[3],
    "tensor length": lambda f, d: len(d.TensorDataset(f.zeros(4, 2))),
    "tensor unequal": lambda f, d: d.TensorDataset(f.zeros(4), f.zeros(3)),
    "tensor iterated": lambda f, d: list(d.TensorDataset(f.arange(3))),
    "stack tuple": lambda f, d: d.StackDataset("abc", [1, 2, 3])[2],
    "stack dict": lambda f, d: d.StackDataset(x="abc", y=[1, 2, 3])[2],
    "stack several": lambda f, d: d.StackDataset(d.TensorDataset(f.arange(3)), "abc").__getitems__([2, 0]),
    "stack several dict": lambda f, d: d.StackDataset(x=d.Subset("abc", [2, 1]), y=[5, 6]).__getitems__([1]),
    "stack unequal": lambda f, d: d.StackDataset("abc", [1]),
    "stack none": lambda f, d: d.StackDataset(),
    "stack both": lambda f, d: d.StackDataset("a", b="b"),
    "concat": lambda f, d: [d.ConcatDataset(["ab", "", "cde"])[i] for i in (0, 1, 2, 4, -1, -5)],
    "concat length": lambda f, d: (
        len(d.ConcatDataset(["ab", "cde"])),
        d.ConcatDataset.cumsum(["ab", "cde"]),
    ),
    "concat below": lambda f, d: d.ConcatDataset(["ab"])[-3],
    "concat beyond": lambda f, d: d.ConcatDataset(["ab"])[2],
    "concat none": lambda f, d: d.ConcatDataset([]),
    "concat stream": lambda f, d: d.ConcatDataset([stream(d, 1)]),
    "plus": lambda f, d: list(d.TensorDataset(f.arange(2)) + d.TensorDataset(f.arange(1))),
    "chain": lambda f, d: list(stream(d, 1, 2) + stream(d, 3)),
    "chain length": lambda f, d: len(d.ChainDataset([stream(d, length=2), stream(d, length=3)])),
    "chain without length": lambda f, d: len(d.ChainDataset([stream(d, 1)])),
    "chain other": lambda f, d: list(d.ChainDataset(["ab"])),
    "subset": lambda f, d: (list(d.Subset("abcd", [3, 1])), len(d.Subset("abcd", [3, 1]))),
    "subset several": lambda f, d: d.Subset("abcd", [3, 1, 2]).__getitems__([2, 0]),
    "subset list": lambda f, d: d.Subset(d.TensorDataset(f.arange(5) * 2), [3, 1, 2])[[0, 2]],
    "subset beyond": lambda f, d: d.Subset("abcd", [3])[1],
    "subset half": lambda f, d: kinds(d)("abcd", [1]),
    "abstract": lambda f, d: d.Dataset()[0],
    "abstract length": lambda f, d: len(d.Dataset()),
    "split": lambda f, d: [len(part) for part in d.random_split(range(10), [3, 7])],
    "split generic": lambda f, d: [len(part) for part in d.random_split(range(10), (0, 10))],
    "split wrong": lambda f, d: d.random_split(range(10), [3, 6]),
    "split fractions": lambda f, d: [len(part) for part in d.random_split(range(10), [0.33, 0.33, 0.34])],
    "split thirds": lambda f, d: [len(part) for part in d.random_split(range(11), [1 / 3, 1 / 3, 1 / 3])],
    "split rest": lambda f, d: [len(part) for part in d.random_split(range(7), [0.25] * 4)],
    "split empty part": lambda f, d: [len(part) for part in d.random_split(range(2), [0.9, 0.1, 0.0])],
    "split empty": lambda f, d: [len(part) for part in d.random_split([], [0.5, 0.5])],
    "split one": lambda f, d: [len(part) for part in d.random_split(range(5), [1])],
    "split single": lambda f, d: [len(part) for part in d.random_split(range(1), [1])],
    "split fraction outside": lambda f, d: d.random_split(range(5), [1.5, -0.5]),
    "split little": lambda f, d: d.random_split(range(10), [0.5, 0.4]),
    "split much": lambda f, d: d.random_split(range(10), [0.5, 0.6]),
    "split by generator": lambda f, d: sorted(
        i for part in d.random_split(range(9), [4, 5], f.Generator().manual_seed(1)) for i in part
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name: str, backend: str) -> None:
    assert outcome(CASES[name], tenora, ours) == outcome(CASES[name], torch, theirs)


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 100, 1001])
@pytest.mark.parametrize("fractions", [[0.5, 0.5], [0.7, 0.2, 0.1], [1 / 7] * 7, [0.29, 0.71], [0.05] * 20])
def test_fractions_round_as_pytorch(count: int, fractions: list[float]) -> None:
    def lengths(framework: Any, data: Any) -> list[int]:
        return [len(part) for part in data.random_split(range(count), fractions)]

    assert outcome(lengths, tenora, ours) == outcome(lengths, torch, theirs)


def test_a_split_covers_all_and_its_seed_fixes_it(backend: str) -> None:
    def split(seed: int) -> list[list[int]]:
        generator = tenora.Generator().manual_seed(seed)
        return [list(part) for part in ours.random_split(range(50), [0.4, 0.6], generator)]

    assert sorted(sum(split(3), [])) == list(range(50))
    assert split(3) == split(3) != split(4)


def test_a_split_warns_where_it_is_called() -> None:
    with pytest.warns(UserWarning, match="part 1 gets no sample of 1") as caught:
        ours.random_split([0], [0.5, 0.5])
    assert caught[0].filename == __file__


def test_names_are_those_of_pytorch() -> None:
    pipes = {name for name in theirs.__all__ if "Pipe" in name or "pipe" in name or "validation" in name}
    missing = set(theirs.__all__) - set(ours.__all__) - pipes
    assert missing == {"DataChunk", "_DatasetKind", "non_deterministic"}


MODULES = "collate pin_memory worker".split()
MODULES = ["dataloader", "dataset", "distributed", "sampler", *(f"_utils.{name}" for name in MODULES)]


@pytest.mark.parametrize(
    "name", ["utils.data", *(f"utils.data.{name}" for name in MODULES), "utils.progress_bar"]
)
def test_examples_of_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tenora.{name}"))
    assert result.failed == 0
    assert result.attempted > 0
