"""Samplers: what they promise for every size and argument, and PyTorch's lengths, batches and exception types."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
import torch.utils.data as theirs
from data_outcomes import outcome
from draws import generator
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples

import tenora
import tenora.utils.data as ours

SIZES = st.integers(1, 40)


@given(SIZES, st.integers(0, 2**40))
@examples(60)
def test_each_index_once(count: int, seed: int) -> None:
    sampler = ours.RandomSampler(range(count), generator=generator(seed))
    assert len(sampler) == count
    assert sorted(sampler) == list(range(count))
    subset = ours.SubsetRandomSampler(range(5, 5 + count), generator=generator(seed))
    assert sorted(subset) == list(range(5, 5 + count))


@given(SIZES, st.integers(1, 200))
@examples(60)
def test_more_samples_than_there_are(count: int, number: int) -> None:
    drawn = list(ours.RandomSampler(range(count), num_samples=number, generator=generator(1)))
    times = Counter(drawn)
    assert len(drawn) == number == len(ours.RandomSampler(range(count), num_samples=number))
    assert max(times.values()) - min(times.get(index, 0) for index in range(count)) <= 1
    for start in range(0, number, count):
        piece = drawn[start : start + count]
        assert len(set(piece)) == len(piece)


@pytest.mark.parametrize("number", [1, 31, 32, 33, 1023, 1024, 1025, 3000])
def test_with_replacement(number: int, backend: str) -> None:
    drawn = list(ours.RandomSampler(range(3), replacement=True, num_samples=number, generator=generator(2)))
    assert len(drawn) == number
    assert set(drawn) == {0, 1, 2} or number == 1
    if number >= 1023:
        assert max(Counter(drawn).values()) < 1.25 * number / 3


@given(st.integers(0, 40), st.integers(1, 12), st.booleans())
@examples(100)
def test_batches(count: int, size: int, drop_last: bool) -> None:
    mine, its = (data.BatchSampler(range(count), size, drop_last) for data in (ours, theirs))
    assert list(mine) == list(its)
    assert len(mine) == len(its) == len(list(mine))


@given(st.integers(1, 40), st.integers(1, 7), st.booleans(), st.booleans(), st.integers(0, 3))
@examples(100)
def test_replicas_share_a_dataset(
    count: int, replicas: int, drop_last: bool, shuffle: bool, epoch: int
) -> None:
    def parts(data: Any) -> list[list[int]]:
        found = []
        for rank in range(replicas):
            sampler = data.DistributedSampler(range(count), replicas, rank, shuffle, 3, drop_last)
            sampler.set_epoch(epoch)
            found.append(list(sampler))
            assert len(sampler) == len(found[-1])
        return found

    mine, its = parts(ours), parts(theirs)
    assert [len(part) for part in mine] == [len(part) for part in its]
    if not shuffle:
        assert mine == its
    seen = Counter(index for part in mine for index in part)
    if drop_last:
        assert max(seen.values(), default=0) <= 1
        assert len(seen) == count // replicas * replicas
    else:
        assert set(seen) == set(range(count))


def test_epochs_of_replicas_differ_and_repeat() -> None:
    def order(epoch: int, seed: int = 0) -> list[int]:
        sampler = ours.DistributedSampler(range(50), 1, 0, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(1) == order(1) != order(2)
    assert order(1) == order(0, seed=1)


def test_weights_decide(backend: str) -> None:
    sampler = ours.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=generator(5))
    times = Counter(sampler)
    assert set(times) == {0, 2}
    assert 2.6 < times[2] / times[0] < 3.4
    alone = ours.WeightedRandomSampler([0.2, 0.9, 0.4, 0.0], 3, replacement=False, generator=generator(5))
    assert sorted(alone) == [0, 1, 2]


REFUSED = {
    "random replacement": lambda f, d: d.RandomSampler(range(3), replacement=1),
    "random zero": lambda f, d: d.RandomSampler(range(3), num_samples=0),
    "random fraction": lambda f, d: d.RandomSampler(range(3), num_samples=1.5),
    "random empty": lambda f, d: d.RandomSampler([]),
    "random unsized": lambda f, d: d.RandomSampler(iter([])),
    "weighted zero": lambda f, d: d.WeightedRandomSampler([1.0], 0),
    "weighted bool": lambda f, d: d.WeightedRandomSampler([1.0], True),
    "weighted replacement": lambda f, d: d.WeightedRandomSampler([1.0], 1, 1),
    "weighted matrix": lambda f, d: d.WeightedRandomSampler([[1.0]], 1),
    "weighted too many": lambda f, d: list(d.WeightedRandomSampler([1.0], 2, False)),
    "weighted negative": lambda f, d: list(d.WeightedRandomSampler([1.0, -1.0], 2)),
    "batch zero": lambda f, d: d.BatchSampler(range(3), 0, False),
    "batch bool": lambda f, d: d.BatchSampler(range(3), True, False),
    "batch drop": lambda f, d: d.BatchSampler(range(3), 1, 1),
    "batch unsized": lambda f, d: len(d.BatchSampler(iter([]), 1, False)),
    "replica beyond": lambda f, d: d.DistributedSampler(range(3), 2, 2),
    "replica negative": lambda f, d: d.DistributedSampler(range(3), 2, -1),
    "abstract": lambda f, d: iter(d.Sampler()),
    "abstract length": lambda f, d: len(d.Sampler()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_pytorch(name: str) -> None:
    mine = outcome(REFUSED[name], tenora, ours)
    assert mine == outcome(REFUSED[name], torch, theirs)
    assert mine[0] == "raises"


def test_replicas_need_their_number() -> None:
    with pytest.raises(RuntimeError, match="Pass num_replicas and rank"):
        ours.DistributedSampler(range(3))


def test_a_dataset_that_became_empty_is_told() -> None:
    data = [1]
    sampler = ours.RandomSampler(data, num_samples=2)
    data.clear()
    with pytest.raises(ValueError, match="got no samples"):
        list(sampler)


def test_draws_stay_on_the_host_whatever_the_default_device() -> None:
    weights = tenora.tensor([1.0, 2.0])
    assert ours.WeightedRandomSampler(weights, 1).weights.device.type == "cpu"
    before = tenora.get_default_device()
    tenora.set_default_device("meta")
    try:
        assert sorted(ours.RandomSampler(range(4))) == [0, 1, 2, 3]
        assert len(list(ours.RandomSampler(range(4), replacement=True))) == 4
        assert len(list(ours.WeightedRandomSampler([1.0, 2.0], 3))) == 3
    finally:
        tenora.set_default_device(before)
