"""`DataLoader`: batches of a dataset, in an order that a seed fixes."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from tenora_dispatch import errors
from tenora_engine import Generator

from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .checks import check_function, check_generator, check_indexable, check_iterable, length
from .dataset import IterableDataset
from .iteration import InProcessIterator, LoaderIterator
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

# What the samplers and the way of loading were made from cannot change under them.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

_told_of_workers = False


def _tell_of_workers(num_workers: int) -> None:
    global _told_of_workers
    if not _told_of_workers:
        _told_of_workers = True
        warnings.warn(
            f"[DataLoader] num_workers={num_workers}: loading in worker processes is not there yet, so data is loaded "
            "in this process. The batches and their order are the same.",
            stacklevel=3,
        )


class _Endless(Sampler[None]):
    """The index sampler of streams, which have no indices."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over `dataset` in batches; each `iter()` begins an epoch.

    - `batch_size`, `drop_last`: samples per batch, and whether a shorter last one is left out. `batch_size=None`:
      single samples, not collated.
    - `shuffle`, `sampler`, `batch_sampler`: the order; at most one of them. Any iterable of indices, or of lists of
      indices, will do. A stream (IterableDataset) has its own order and takes none.
    - `collate_fn`: makes a batch of a list of samples, default `default_collate` (`default_convert` for single ones).
    - `generator`: where the order is drawn from, default the default generator. Each epoch draws one base seed and
      then, if it shuffles, its order: from `generator` itself, or, without one, through one more draw of the
      default generator. So the same seed gives the same orders, epoch by epoch, on every backend.
    - `num_workers`, `worker_init_fn`, `multiprocessing_context`, `prefetch_factor`, `persistent_workers`, `timeout`,
      `in_order`: for worker processes. These are checked, but for now data is loaded in process.
    - `pin_memory`: batches in pinned memory where there is an accelerator.

    Contradicting arguments are a ValueError. An error of the dataset or of `collate_fn` keeps its type and has notes
    with the index and the dataset. The main attributes cannot be set later (ValueError).

    >>> import tenora
    >>> from tenora.utils.data import DataLoader
    >>> [batch.tolist() for batch in DataLoader([1, 2, 3], batch_size=2)]
    [[1, 2], [3]]
    >>> loader = DataLoader(range(100), batch_size=10, shuffle=True, generator=tenora.Generator())
    >>> len(loader), sorted(tenora.cat(list(loader)).tolist()) == list(range(100))
    (10, True)
    """

    _initialized = False
    _iterator: LoaderIterator | None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_order(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last)
        check_generator("DataLoader", generator)
        check_function("DataLoader", "collate_fn", collate_fn)
        check_function("DataLoader", "worker_init_fn", worker_init_fn)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.batch_size = batch_size if batch_sampler is None else None
        self.drop_last = drop_last
        self.sampler = self._default_sampler(bool(shuffle)) if sampler is None else sampler
        if self.batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, self.batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self._initialized = True
        if num_workers > 0:
            _tell_of_workers(num_workers)

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if isinstance(self.dataset, IterableDataset):
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def _get_iterator(self) -> LoaderIterator:
        """The way of loading; one in worker processes will be chosen here by `num_workers`."""
        return InProcessIterator(self)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How worker processes are started; by name or as a context of `multiprocessing`, None without workers.

        ValueError for an unknown name, and for any context without workers; TypeError for something else.

        >>> from tenora.utils.data import DataLoader
        >>> DataLoader([1, 2, 3]).multiprocessing_context is None
        True
        """
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        if context is None:
            self._multiprocessing_context = None
            return
        if self.num_workers == 0:
            raise errors.ArgumentValueError(
                f"[DataLoader] multiprocessing_context: got {context!r} without workers, expected None. "
                "Pass num_workers."
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise errors.ArgumentValueError(
                    f"[DataLoader] multiprocessing_context: got {context!r}, expected one of {methods}. "
                    "Pass a start method that this system has."
                )
            context = multiprocessing.get_context(context)
        if not isinstance(context, BaseContext):
            raise errors.ArgumentTypeError(
                f"[DataLoader] multiprocessing_context: got {type(context).__name__}, expected a name or a context. "
                "Pass what multiprocessing.get_context returns."
            )
        self._multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise errors.ArgumentValueError(
                f"[DataLoader] {name}: got an assignment after {type(self).__name__} was made, expected none. "
                "Make a new loader."
            )
        super().__setattr__(name, value)

    def __iter__(self) -> LoaderIterator:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        dataset: Any = self.dataset  # a TypeError of its own where it has no length
        count = self._IterableDataset_len_called = length("DataLoader", "dataset", dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    for name, value, method, expected in (
        ("num_workers", num_workers, "__index__", "a whole number"),
        ("timeout", timeout, "__float__", "seconds"),
    ):
        if not hasattr(value, method):
            raise errors.ArgumentTypeError(
                f"[DataLoader] {name}: got {value!r:.60}, expected {expected}. Pass 0, or leave it out."
            )
    if num_workers < 0:
        raise errors.ArgumentValueError(
            f"[DataLoader] num_workers: got {num_workers}, expected 0 or more. Pass 0 for no workers."
        )
    if timeout < 0:
        raise errors.ArgumentValueError(
            f"[DataLoader] timeout: got {timeout}, expected 0 or more. Pass 0 for no limit."
        )
    if prefetch_factor is not None and (num_workers == 0 or prefetch_factor < 0):
        raise errors.ArgumentValueError(
            f"[DataLoader] prefetch_factor: got {prefetch_factor} with num_workers={num_workers}, expected None "
            "without workers and 0 or more with them. Pass num_workers, or leave prefetch_factor out."
        )
    if persistent_workers and num_workers == 0:
        raise errors.ArgumentValueError(
            "[DataLoader] persistent_workers: got True without workers, expected num_workers > 0. Pass num_workers."
        )


def _check_order(
    dataset: Any,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: object,
    batch_sampler: object,
    drop_last: bool,
) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    names = [name for name, value in given.items() if value is not None]
    if not isinstance(dataset, IterableDataset):
        check_indexable("DataLoader", "dataset", dataset)
    if sampler is not None:
        check_iterable("DataLoader", "sampler", sampler, "an iterable of indices")
    if batch_sampler is not None:
        check_iterable("DataLoader", "batch_sampler", batch_sampler, "an iterable of lists of indices")
    if isinstance(dataset, IterableDataset) and names:
        raise errors.ArgumentValueError(
            f"[DataLoader] {names[0]}: got {given[names[0]]!r} for an IterableDataset, expected none. "
            "Let the dataset itself decide its order."
        )
    if sampler is not None and shuffle:
        raise errors.ArgumentValueError(
            "[DataLoader] shuffle: got True beside a sampler, expected one of them. Leave shuffle out."
        )
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise errors.ArgumentValueError(
            "[DataLoader] batch_sampler: got batch_size, shuffle, sampler or drop_last beside it, expected none of "
            "them. Leave them to the batch_sampler."
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise errors.ArgumentValueError(
            "[DataLoader] drop_last: got True without batches, expected False. Pass a batch_size or leave it out."
        )
