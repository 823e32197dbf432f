"""What datasets, samplers, loaders and collating are given by mistake: the argument, or the sample, is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
import tenora.utils.data as data
from tenora.utils.data import DataLoader, Subset, TensorDataset, default_collate, random_split

SIX = list(range(6))


class Stream(data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(SIX)


class Endless(data.Dataset):
    """Has no length."""

    def __getitem__(self, index: int) -> int:
        return index


def load(dataset: Any = SIX, **options: Any) -> Callable[[], Any]:
    return lambda: list(DataLoader(dataset, **options))


def split(lengths: Any, dataset: Any = SIX, **options: Any) -> Callable[[], Any]:
    return lambda: random_split(dataset, lengths, **options)


def made(name: str, *arguments: Any, **options: Any) -> Callable[[], Any]:
    return lambda: list(getattr(data, name)(*arguments, **options))


CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (load(generator=3), TypeError, r"[DataLoader] generator: got int, expected a tenora.Generator"),
    (load(generator=np.random.default_rng(0)), TypeError, "[DataLoader] generator: got Generator"),
    (load(sampler=3), TypeError, "[DataLoader] sampler: got int, expected an iterable of indices"),
    (load(sampler=lambda: SIX), TypeError, "[DataLoader] sampler: got function"),
    (load(batch_sampler=3), TypeError, "[DataLoader] batch_sampler: got int, expected an iterable of lists"),
    (load(batch_sampler=SIX), TypeError, "[DataLoader] batch_sampler: got 0 where a batch's indices belong"),
    (load(batch_size="x"), ValueError, "[BatchSampler] batch_size: got 'x', expected a positive int"),
    (load(drop_last="x"), ValueError, "[BatchSampler] drop_last: got 'x'"),
    (load(num_workers="x"), TypeError, "[DataLoader] num_workers: got 'x', expected a whole number"),
    (load(num_workers=None), TypeError, "[DataLoader] num_workers: got None"),
    (load(num_workers=1.5), TypeError, "[DataLoader] num_workers: got 1.5"),
    (load(timeout=None), TypeError, "[DataLoader] timeout: got None, expected seconds"),
    (load(collate_fn="x"), TypeError, "[DataLoader] collate_fn: got str, expected a function"),
    (load(worker_init_fn=3), TypeError, "[DataLoader] worker_init_fn: got int"),
    (load(3), TypeError, "[DataLoader] dataset: got int, expected something with __getitem__"),
    (load(None), TypeError, "[DataLoader] dataset: got NoneType"),
    (load(iter(SIX)), TypeError, "[DataLoader] dataset: got list_iterator"),
    (load({1, 2}), TypeError, "[DataLoader] dataset: got set"),
    (load(TensorDataset), TypeError, "[DataLoader] dataset: got type"),
    (load(Endless()), TypeError, "[SequentialSampler] data_source: got Endless without a length"),
    (load(Endless(), shuffle=True), TypeError, "[RandomSampler] data_source: got Endless without a length"),
    (lambda: len(DataLoader(Stream())), TypeError, "[DataLoader] dataset: got Stream without a length"),
    (made("TensorDataset", tenora.tensor(1.0)), IndexError, "one without dimensions at position 0"),
    (made("TensorDataset", tenora.ones(2), tenora.tensor(1.0)), IndexError, "dimensions at position 1"),
    (made("TensorDataset"), IndexError, "[TensorDataset] tensors: got none"),
    (made("TensorDataset", [1, 2]), TypeError, "[TensorDataset] tensors: got list at position 0"),
    (made("TensorDataset", tenora.ones(2), tenora.ones(3)), AssertionError, "got [2, 3], expected equal"),
    (made("StackDataset", 3), TypeError, "[StackDataset] datasets: got int without a length"),
    (made("ConcatDataset", 3), TypeError, "[ConcatDataset] datasets: got int, expected several"),
    (made("ConcatDataset", [3]), TypeError, "[ConcatDataset] datasets: got int without a length"),
    (
        made("Subset", SIX, {1, 2}),
        TypeError,
        "[Subset] indices: got set, expected something with __getitem__",
    ),
    (lambda: Subset(SIX, [0, 1])[2], IndexError, "[Subset] index: got 2, expected -2 to 1"),
    (made("SequentialSampler", 5), TypeError, "[SequentialSampler] data_source: got int without a length"),
    (made("RandomSampler", 5), TypeError, "[RandomSampler] data_source: got int without a length"),
    (made("RandomSampler", SIX, generator=3), TypeError, "[RandomSampler] generator: got int"),
    (made("SubsetRandomSampler", 5), TypeError, "[SubsetRandomSampler] indices: got int without a length"),
    (made("SubsetRandomSampler", SIX, generator=3), TypeError, "[SubsetRandomSampler] generator: got int"),
    (made("WeightedRandomSampler", [1.0], 1, generator=3), TypeError, "generator: got int"),
    (made("BatchSampler", 5, 2, False), TypeError, "[BatchSampler] sampler: got int"),
    (split([3, 2]), ValueError, "got [3, 2] that sum to 5, expected 6, the length of the dataset, or 1 in"),
    (split([0.5, 0.4]), ValueError, "got [0.5, 0.4] that sum to 0.9"),
    (split([1.2, -0.2]), ValueError, "got 1.2 at position 0, expected fractions from 0 to 1"),
    (split([4.8, 1.2]), TypeError, "got 4.8 at position 0, expected whole numbers, or fractions"),
    (split([7, -1]), ValueError, "got -1 at position 1, expected 0 or more"),
    (split([float("nan"), 1]), ValueError, "that sum to nan"),
    (split(3), TypeError, "[random_split] lengths: got 3, expected numbers in a row"),
    (split(["a", 2]), TypeError, "[random_split] lengths: got ['a', 2]"),
    (split([3, 3], generator=3), TypeError, "[random_split] generator: got int"),
    (split([3, 3], Endless()), TypeError, "[random_split] dataset: got Endless without a length"),
]


@pytest.mark.parametrize(("call", "kind", "says"), CASES, ids=[case[2] for case in CASES])
def test_the_argument_is_named(call: Callable[[], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert says in str(caught.value)
    assert isinstance(caught.value, tenora.TenoraError | AssertionError)


one, two, three = tenora.ones(2), tenora.ones(2), tenora.ones(3)
BATCHES: list[tuple[Any, type[Exception], str, list[str]]] = [
    ([one, two, three], RuntimeError, "got (3,) at position 2, expected (2,) as at position 0", []),
    ([(one, 0), (three, 1)], RuntimeError, "got (3,) at position 1", ["0"]),
    ([{"x": {"y": [one]}}, {"x": {"y": [three]}}], RuntimeError, "position 1", ["0", "'y'", "'x'"]),
    ([np.ones(2), np.ones(3)], RuntimeError, "got (3,) at position 1", []),
    ([one, 3], TypeError, "got int at position 1, expected a tensor", []),
    ([1, "a"], TypeError, "got str at position 1, expected a number", []),
    ([1.0, None], TypeError, "got NoneType at position 1, expected a number", []),
    ([(1, 2), 3], TypeError, "got int at position 1, expected a sequence", []),
    ([[1, 2], [1]], RuntimeError, "got length 1 at position 1, expected 2 as at position 0", []),
    ([{"a": 1}, None], TypeError, "got NoneType at position 1, expected a mapping", []),
    ([{"a": 1}, {"b": 1}], KeyError, "got ['b'] at position 1, expected 'a' too", []),
    ([{"a": 1, "b": 1}, {"a": 1}], KeyError, "got ['a'] at position 1, expected 'b' too", []),
    ([], IndexError, "got no samples", []),
    (3, TypeError, "[default_collate] batch: got int", []),
]


@pytest.mark.parametrize(("batch", "kind", "says", "parts"), BATCHES, ids=[case[2] for case in BATCHES])
def test_the_sample_that_is_not_like_the_first_is_named(
    batch: Any, kind: type[Exception], says: str, parts: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        default_collate(batch)
    assert says in str(caught.value.args[0]) and str(caught.value.args[0]).startswith("[default_collate] ")
    notes = [f"[data] in the part {part} of the samples" for part in parts]
    assert getattr(caught.value, "__notes__", []) == notes


def test_the_loader_adds_which_samples_they_were() -> None:
    with pytest.raises(RuntimeError) as caught:
        list(DataLoader([one, two, three], batch_size=3))
    assert caught.value.__notes__ == ["[data] raised by default_collate from samples [0, 1, 2] of list"]


def test_what_pytorch_takes_is_taken() -> None:
    assert default_collate([[1, 2], (3, 4)])[0].tolist() == [1, 3]
    assert default_collate([1, 2.5, np.float32(1)]).tolist() == [1.0, 2.5, 1.0]
    assert default_collate([{"a": 1}, {"a": 2, "b": 1}])["a"].tolist() == [1, 2]
    assert [len(part) for part in random_split(SIX, [np.int64(2), 4])] == [2, 4]
    assert len(list(DataLoader(np.arange(4), num_workers=np.int64(0), timeout=0.0))) == 4
