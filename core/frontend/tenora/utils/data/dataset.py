"""Datasets: what can be indexed (`Dataset`) or iterated (`IterableDataset`), and ways to put them together."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import accumulate
from typing import Any, Generic, TypeVar

from tenora_dispatch import errors
from tenora_engine import Generator, Tensor

from ._utils.blame import sample_of, samples_of
from .checks import check_generator, check_indexable, length
from .sampler import permutation

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """The base of datasets with `__getitem__`; most users of one need `__len__` as well.

    A class may define `__getitems__(indices)` too: the list of the samples of a batch, read at once.

    >>> from tenora.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...     def __len__(self):
    ...         return 3
    >>> len(Squares() + Squares())
    6
    """

    def __getitem__(self, index: Any) -> T_co:
        raise errors.NotImplementedOperationError(
            f"[Dataset] __getitem__: got {type(self).__name__}, expected a class that defines it. Define __getitem__."
        )

    def __add__(self, other: Any) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """The base of datasets that are streams: they define `__iter__` and are read in their own order.

    >>> from tenora.utils.data import DataLoader, IterableDataset
    >>> class Stream(IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2, 3])
    >>> list(DataLoader(Stream(), batch_size=2))
    [tensor([1, 2]), tensor([3])]
    """

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample i is the tuple of their rows i.

    AssertionError if they are not equally long, IndexError for none and for one without dimensions, TypeError for what
    is no tensor.

    >>> import tenora
    >>> from tenora.utils.data import TensorDataset
    >>> TensorDataset(tenora.arange(3), tenora.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise errors.IndexRangeError(
                "[TensorDataset] tensors: got none, expected at least one. Pass tensors with equally many rows."
            )
        for position, tensor in enumerate(tensors):
            if not hasattr(tensor, "shape"):
                raise errors.ArgumentTypeError(
                    f"[TensorDataset] tensors: got {type(tensor).__name__} at position {position}, expected tensors. "
                    "Pass tenora.tensor(...) of it; several tensors one by one, not in a list."
                )
            if not tensor.shape:
                raise errors.IndexRangeError(
                    f"[TensorDataset] tensors: got one without dimensions at position {position}, expected rows. "
                    "Pass tensor[None] for a single row."
                )
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise errors.ConditionError(
                f"[TensorDataset] rows: got {[tensor.shape[0] for tensor in tensors]}, expected equal numbers. "
                "Pass tensors with the same first dimension."
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Datasets beside each other: a sample is the tuple of theirs, or a dict where they are given by name.

    ValueError for datasets of different lengths, for none, or for positions and names at once.

    >>> from tenora.utils.data import StackDataset
    >>> StackDataset("ab", [1, 2])[1]
    ('b', 2)
    >>> StackDataset(letter="ab", number=[1, 2])[0]
    {'letter': 'a', 'number': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise errors.ArgumentValueError(
                f"[StackDataset] datasets: got {len(args)} by position and {len(kwargs)} by name, expected one of the "
                "two ways. Pass all datasets alike, at least one."
            )
        self.datasets = args or kwargs
        lengths = [length("StackDataset", "datasets", dataset) for dataset in self._all()]
        if len(set(lengths)) > 1:
            raise errors.ArgumentValueError(
                f"[StackDataset] lengths: got {lengths}, expected equal ones. Pass datasets of one length."
            )
        self._length = lengths[0]

    def _all(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _joined(self, parts: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._joined([sample_of(dataset, index) for dataset in self._all()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        parts = []
        for dataset in self._all():
            samples = samples_of(dataset, indices)
            if len(samples) != len(indices):
                raise errors.ArgumentValueError(
                    f"[StackDataset] samples of {type(dataset).__name__}.__getitems__: got {len(samples)}, expected "
                    f"{len(indices)}. Return one sample per index."
                )
            parts.append(samples)
        return [self._joined(sample) for sample in zip(*parts, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other. AssertionError for none, or for an IterableDataset among them.

    >>> from tenora.utils.data import ConcatDataset
    >>> both = ConcatDataset(["ab", "cde"])
    >>> len(both), both[2], both[-1]
    (5, 'c', 'e')
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Sized]) -> list[int]:
        """Where each dataset ends.

        >>> from tenora.utils.data import ConcatDataset
        >>> ConcatDataset.cumsum([[10, 20], [30]])
        [2, 3]
        """
        return list(accumulate(length("ConcatDataset", "datasets", part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        if not hasattr(type(datasets), "__iter__") and not hasattr(type(datasets), "__getitem__"):
            raise errors.ArgumentTypeError(
                f"[ConcatDataset] datasets: got {type(datasets).__name__}, expected several datasets. Pass a list."
            )
        self.datasets = list(datasets)
        if not self.datasets:
            raise errors.ConditionError(
                "[ConcatDataset] datasets: got none, expected at least one. Pass datasets with __getitem__."
            )
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise errors.ConditionError(
                "[ConcatDataset] datasets: got an IterableDataset, expected datasets with __getitem__. "
                "Use ChainDataset for streams."
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < -len(self):
            raise errors.ArgumentValueError(
                f"[ConcatDataset] index: got {idx}, expected {-len(self)} to {len(self) - 1}. "
                "Use an index inside the dataset."
            )
        if idx >= len(self):
            raise errors.IndexRangeError(
                f"[ConcatDataset] index: got {idx}, expected {-len(self)} to {len(self) - 1}. "
                "Use an index inside the dataset."
            )
        idx = idx + len(self) if idx < 0 else idx
        which = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        sample: T_co = sample_of(self.datasets[which], idx - start)
        return sample


class ChainDataset(IterableDataset[T_co]):
    """Streams one after the other; each must be an IterableDataset, else AssertionError when it is reached.

    >>> from tenora.utils.data import ChainDataset, IterableDataset
    >>> class Stream(IterableDataset):
    ...     def __iter__(self):
    ...         return iter("ab")
    >>> list(ChainDataset([Stream(), Stream()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise errors.ConditionError(
                    f"[ChainDataset] datasets: got {type(dataset).__name__}, expected IterableDataset. "
                    "Use ConcatDataset for datasets with __getitem__."
                )
            yield dataset

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`, in that order.

    A subclass that defines `__getitem__` must define `__getitems__` too, since loaders read batches by it:
    NotImplementedError otherwise.

    >>> from tenora.utils.data import Subset
    >>> list(Subset("abcd", [3, 1]))
    ['d', 'b']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        check_indexable("Subset", "indices", indices)
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise errors.NotImplementedOperationError(
                f"[Subset] __getitems__: got {kind.__name__} with a __getitem__ of its own, expected both. "
                "Define __getitems__, for example as [self[i] for i in indices]."
            )

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            several: T_co = sample_of(self.dataset, [self._place(i) for i in idx])
            return several
        sample: T_co = sample_of(self.dataset, self._place(idx))
        return sample

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        samples: list[T_co] = samples_of(self.dataset, [self._place(i) for i in indices])
        return samples

    def _place(self, index: Any) -> Any:
        """Where a sample of the subset lies in the dataset."""
        try:
            return self.indices[index]
        except IndexError as error:
            raise errors.IndexRangeError(
                f"[Subset] index: got {index!r}, expected {-len(self)} to {len(self) - 1}. "
                "Use an index inside the subset."
            ) from error

    def __len__(self) -> int:
        return len(self.indices)


def _lengths_of_fractions(count: int, fractions: Sequence[float]) -> list[int]:
    for position, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise errors.ArgumentValueError(
                f"[random_split] lengths: got {fraction} at position {position}, expected fractions from 0 to 1. "
                "Pass fractions that sum to 1."
            )
    lengths = [math.floor(count * fraction) for fraction in fractions]
    for position in range(count - sum(lengths)):
        lengths[position % len(lengths)] += 1
    for position, size in enumerate(lengths):
        if size == 0:
            warnings.warn(f"[random_split] part {position} gets no sample of {count}", stacklevel=3)
    return lengths


def _numbers(lengths: Any) -> list[Any]:
    numbers = list(lengths) if hasattr(type(lengths), "__iter__") else [None]
    if not all(hasattr(size, "__float__") for size in numbers):
        raise errors.ArgumentTypeError(
            f"[random_split] lengths: got {lengths!r:.60}, expected numbers in a row. Pass a list of lengths, or of "
            "fractions that sum to 1."
        )
    return numbers


def _check_lengths(lengths: list[Any], count: int) -> None:
    total = sum(lengths)
    if total != count:
        raise errors.ArgumentValueError(
            f"[random_split] lengths: got {lengths} that sum to {total}, expected {count}, the length of the dataset, "
            "or 1 in fractions. Pass lengths or fractions of all samples."
        )
    for position, size in enumerate(lengths):
        if not hasattr(size, "__index__"):
            raise errors.ArgumentTypeError(
                f"[random_split] lengths: got {size} at position {position}, expected whole numbers, or fractions "
                "that sum to 1. Round it with int()."
            )
        if size < 0:
            raise errors.ArgumentValueError(
                f"[random_split] lengths: got {size} at position {position}, expected 0 or more. Leave it out."
            )


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """`dataset` cut into subsets of drawn samples without overlap, of the given lengths.

    Lengths that sum to 1 are fractions: each part gets the whole number below its share, what is left goes to the
    parts one by one from the first on; a part without samples is warned about. The order is drawn from `generator`,
    or from the default generator. ValueError if the lengths do not sum to the dataset's or one is negative, TypeError
    if they are neither whole numbers nor fractions that sum to 1.

    >>> import tenora
    >>> from tenora.utils.data import random_split
    >>> parts = random_split(range(10), [0.7, 0.3], generator=tenora.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    check_generator("random_split", generator)
    count, whole = length("random_split", "dataset", dataset), _numbers(lengths)
    total = sum(whole)
    if math.isclose(total, 1) and total <= 1:
        whole = _lengths_of_fractions(count, whole)
    _check_lengths(whole, count)
    order = permutation(count, generator)
    return [
        Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(whole), whole, strict=True)
    ]
