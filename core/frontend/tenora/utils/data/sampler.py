"""Samplers: in which order, and in which batches, a dataset is read.

- Draws come from `generator`; without one, RandomSampler seeds a generator of its own from the default generator
  at the start of each epoch, the others draw from the default generator.
- Draws are counter-based and made on the host (or on the generator's device), so a seed gives one order on every
  backend. The numbers are tenora's own; PyTorch's differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from tenora_dispatch import errors
from tenora_engine import Generator, Tensor, float64, int64
from tenora_ops import multinomial

from ...creation import as_tensor, empty
from ...creation_random import randint, randperm
from .checks import check_generator, check_iterable, length

T_co = TypeVar("T_co", covariant=True)

_CHUNK = 1024  # how many indices are drawn at once with replacement


def draw_seed(generator: Generator | None) -> int:
    """One whole number below 2**63 from `generator`, or from the default generator of the host."""
    place = "cpu" if generator is None else generator.device
    drawn: Any = empty((), dtype=int64, device=place).random_(generator=generator).item()
    return int(drawn)


def permutation(count: int, generator: Generator | None) -> list[int]:
    """The numbers 0 to `count - 1` in a drawn order."""
    place = "cpu" if generator is None else generator.device
    order: list[int] = randperm(count, generator=generator, device=place).tolist()
    return order


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Sampler(Generic[T_co]):
    """The base of samplers: an iterable of indices, or of lists of indices. `__len__` is optional.

    Any iterable serves as a sampler; the base class tells readers what is meant.

    >>> from tenora.utils.data import Sampler
    >>> class Backwards(Sampler[int]):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(Backwards())
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise errors.NotImplementedOperationError(
            f"[Sampler] __iter__: got {type(self).__name__}, expected a class that defines it. Define __iter__."
        )


class SequentialSampler(Sampler[int]):
    """The indices of `data_source` in order.

    >>> from tenora.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return length("SequentialSampler", "data_source", self.data_source)


class RandomSampler(Sampler[int]):
    """The indices of `data_source` in a drawn order.

    `replacement`: each index is drawn anew, so indices may repeat. `num_samples`: how many, default as many as there
    are; more than that without replacement means several permutations, one after the other. Without a `generator`
    the epoch's order comes from one draw of the default generator. TypeError if `replacement` is no bool, ValueError
    if there is nothing to draw.

    >>> import tenora
    >>> from tenora.utils.data import RandomSampler
    >>> sampler = RandomSampler(range(5), generator=tenora.Generator().manual_seed(1))
    >>> sorted(sampler)
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise errors.ArgumentTypeError(
                f"[RandomSampler] replacement: got {replacement!r}, expected True or False. Pass a bool."
            )
        check_generator("RandomSampler", generator)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise errors.ArgumentValueError(
                f"[RandomSampler] num_samples: got {self.num_samples!r}, expected a positive int. "
                "Pass num_samples, or a data_source that is not empty."
            )

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has.

        >>> from tenora.utils.data import RandomSampler
        >>> RandomSampler(range(5)).num_samples
        5
        """
        if self._num_samples is None:
            return length("RandomSampler", "data_source", self.data_source)
        return self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator(device="cpu").manual_seed(draw_seed(None))
        count, left = length("RandomSampler", "data_source", self.data_source), self.num_samples
        if count == 0:
            raise errors.ArgumentValueError(
                "[RandomSampler] data_source: got no samples, expected at least one. Pass a data_source with samples."
            )
        while left > 0:
            drawn = self._drawn(count, left, generator)
            yield from drawn[:left]
            left -= len(drawn)

    def _drawn(self, count: int, left: int, generator: Generator) -> list[int]:
        if not self.replacement:
            return permutation(count, generator)
        size = (min(left, _CHUNK),)
        drawn = randint(0, count, size, generator=generator, dtype=int64, device=generator.device)
        return list(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given `indices` in a drawn order, without replacement.

    >>> from tenora.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([7, 3, 5]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        check_generator("SubsetRandomSampler", generator)
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in permutation(len(self), self.generator):
            yield self.indices[position]

    def __len__(self) -> int:
        return length("SubsetRandomSampler", "indices", self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, index i with a probability proportional to `weights[i]`.

    The weights need not sum to 1. `replacement=False`: no index twice, so at least `num_samples` weights must be
    positive. ValueError for a count that is no positive int, a `replacement` that is no bool, weights that are not
    one-dimensional.

    >>> from tenora.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0, 0.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not _is_count(num_samples):
            raise errors.ArgumentValueError(
                f"[WeightedRandomSampler] num_samples: got {num_samples!r}, expected a positive int. Pass a count."
            )
        if not isinstance(replacement, bool):
            raise errors.ArgumentValueError(
                f"[WeightedRandomSampler] replacement: got {replacement!r}, expected True or False. Pass a bool."
            )
        check_generator("WeightedRandomSampler", generator)
        place = None if isinstance(weights, Tensor) else "cpu"
        self.weights = as_tensor(weights, dtype=float64, device=place)
        if self.weights.ndim != 1:
            raise errors.ArgumentValueError(
                f"[WeightedRandomSampler] weights: got shape {list(self.weights.shape)}, expected one dimension. "
                "Pass one weight per sample."
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler, any iterable; the last list may be shorter.

    `drop_last`: a last list that is shorter is left out. ValueError for a size that is no positive int or a
    `drop_last` that is no bool.

    >>> from tenora.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise errors.ArgumentValueError(
                f"[BatchSampler] batch_size: got {batch_size!r}, expected a positive int. Pass a size."
            )
        if not isinstance(drop_last, bool):
            raise errors.ArgumentValueError(
                f"[BatchSampler] drop_last: got {drop_last!r}, expected True or False. Pass a bool."
            )
        check_iterable("BatchSampler", "sampler", sampler, "an iterable of indices")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        sampler: Any = self.sampler  # a TypeError of its own where it has no length
        if self.drop_last:
            return len(sampler) // self.batch_size
        return -(-len(sampler) // self.batch_size)
