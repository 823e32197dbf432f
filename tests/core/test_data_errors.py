"""An error while loading keeps its type and tells the index and the dataset; nothing is left of a broken epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenora
import tenora.utils.data as data


class BrokenFileError(Exception):
    """An error of a user's own."""


class Pictures(data.Dataset):
    """Sample 5 cannot be read."""

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise BrokenFileError("cat.png")
        return tenora.ones(index % 2 + 1)

    def __len__(self) -> int:
        return 8


class Stream(data.IterableDataset):
    """The third sample cannot be read."""

    def __iter__(self) -> Any:
        yield from (1, 2)
        raise BrokenFileError("socket")


def notes(call: Callable[[], Any], kind: type[BaseException] = BrokenFileError) -> list[str]:
    with pytest.raises(kind) as caught:
        call()
    return list(caught.value.__notes__)


PICTURES = Pictures()
PLACES = {
    "batch": (
        lambda: list(data.DataLoader(PICTURES, sampler=[1, 3, 5], batch_size=3)),
        ["[data] raised by Pictures[5]"],
    ),
    "sample": (
        lambda: list(data.DataLoader(PICTURES, batch_size=None)),
        ["[data] raised by Pictures[5]"],
    ),
    "subset": (
        lambda: list(data.DataLoader(data.Subset(PICTURES, [0, 2, 5]), batch_size=2)),
        ["[data] raised by Pictures[5]", "[data] raised by Subset.__getitems__([2])"],
    ),
    "concat": (
        lambda: list(data.DataLoader(data.ConcatDataset([[1] * 3, PICTURES]), sampler=[0, 8])),
        ["[data] raised by Pictures[5]", "[data] raised by ConcatDataset[8]"],
    ),
    "stack": (
        lambda: data.StackDataset(x=PICTURES)[5],
        ["[data] raised by Pictures[5]"],
    ),
    "stream": (
        lambda: list(data.DataLoader(Stream())),
        ["[data] raised by Stream for sample 2 of its iteration"],
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_sample_is_named(name: str) -> None:
    call, expected = PLACES[name]
    assert notes(call) == expected


def test_rows_beyond_the_end_are_named(backend: str) -> None:
    rows = data.TensorDataset(tenora.zeros(4))
    found = notes(lambda: list(data.DataLoader(rows, batch_size=3, sampler=[0, 9, 1])), IndexError)
    assert found == ["[data] raised by TensorDataset[9]"]
    part = data.Subset(rows, [1, 4])
    found = notes(lambda: list(data.DataLoader(part, batch_size=2)), IndexError)
    assert found == ["[data] raised by TensorDataset[4]", "[data] raised by Subset.__getitems__([0, 1])"]


def test_samples_that_do_not_fit_are_named() -> None:
    found = notes(lambda: list(data.DataLoader(PICTURES, batch_size=3)), RuntimeError)
    assert found == ["[data] raised by default_collate from samples [0, 1, 2] of Pictures"]
    found = notes(lambda: list(data.DataLoader([None] * 20, batch_size=20)), TypeError)
    assert found == [
        "[data] raised by default_collate from samples [0, 1, 2, 3, 4, 5, 6, 7, ...] of list",
    ]


def test_collating_is_named() -> None:
    class Collate:
        def __call__(self, batch: Any) -> Any:
            raise BrokenFileError("no batch")

    found = notes(lambda: list(data.DataLoader("ab", collate_fn=Collate())))
    assert found == ["[data] raised by Collate from samples [0] of str"]
    found = notes(lambda: list(data.DataLoader("ab", batch_size=None, collate_fn=Collate())))
    assert found == ["[data] raised by Collate from sample 0 of str"]
    found = notes(lambda: list(data.DataLoader(Stream(), batch_size=2, collate_fn=Collate())))
    assert found == ["[data] raised by Collate from samples 0 to 1 of Stream"]


def test_reading_several_is_named() -> None:
    class Several(Pictures):
        def __getitems__(self, indices: Any) -> Any:
            raise BrokenFileError("archive")

    found = notes(lambda: list(data.DataLoader(Several(), batch_size=2)))
    assert found == ["[data] raised by Several.__getitems__([0, 1])"]


def test_a_wrong_number_of_samples_is_told() -> None:
    class Several(Pictures):
        def __getitems__(self, indices: Any) -> Any:
            return [0]

    stack = data.StackDataset(Several(), "abcdefgh")
    with pytest.raises(ValueError, match=r"Several.__getitems__: got 1, expected 2"):
        next(iter(data.DataLoader(stack, batch_size=2)))


def test_an_epoch_after_an_error_is_whole() -> None:
    readable = [False]

    class Sometimes(Pictures):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index) if not readable[0] else index

    loader = data.DataLoader(Sometimes(), batch_size=4, sampler=[4, 6, 5, 7, 0])
    notes(lambda: list(loader))
    readable[0] = True
    assert [batch.tolist() for batch in loader] == [[4, 6, 5, 7], [0]]


def test_an_iterator_goes_on_after_an_error() -> None:
    iterator = iter(data.DataLoader(PICTURES, sampler=[5, 0]))
    notes(lambda: next(iterator))
    assert next(iterator).tolist() == [[1.0]]


def test_the_end_of_a_program_passes_unchanged() -> None:
    class Stopped(Pictures):
        def __getitem__(self, index: int) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        list(data.DataLoader(Stopped()))
    assert not hasattr(caught.value, "__notes__")
