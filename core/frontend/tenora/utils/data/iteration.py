"""Ways of loading: one iterator class each.

- `LoaderIterator` is what they share: the order of the draws, counting, the warning about lengths.
- At its start an iterator takes an iterator of the loader's index sampler, then draws one base seed from the loader's
  generator (or the default generator), whether or not it needs it: every way of loading leaves the generators alike.
  A shuffling sampler draws its order after that, when the first batch is asked for. Workers will be seeded
  `base_seed + worker id`.
- `InProcessIterator` loads each batch when it is asked for, in the thread that asks.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tenora_dispatch import errors

from ...accelerator import served_type
from ._utils.fetch import Fetcher, IterableFetcher, MapFetcher
from ._utils.pin_memory import pin_memory
from .dataset import IterableDataset
from .sampler import draw_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader


class LoaderIterator(Iterator[Any]):
    """One pass over a loader. A way of loading defines `_next_data`, and what else `_reset` has to begin anew."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._iterable = isinstance(loader.dataset, IterableDataset)
        self._index_sampler = loader._index_sampler
        self._pin_device = self._pinning(loader) if loader.pin_memory else None
        self._base_seed: int | None = None
        self._reset(loader)

    def _pinning(self, loader: DataLoader[Any]) -> str | None:
        if loader.pin_memory_device:
            warnings.warn(
                f"[DataLoader] pin_memory_device={loader.pin_memory_device!r} is ignored: memory is pinned for the "
                "accelerator there is",
                stacklevel=6,
            )
        accelerator = served_type()
        if accelerator is None:
            warnings.warn("[DataLoader] pin_memory=True has no effect: there is no accelerator", stacklevel=6)
        return accelerator

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Begins a pass; a loader with persistent workers calls it again for each epoch."""
        self._sampler_iter = iter(self._index_sampler)
        if self._base_seed is None:
            self._base_seed = draw_seed(loader.generator)
        self._yielded = 0
        self._expected = loader._IterableDataset_len_called

    def _next_data(self) -> Any:
        raise errors.NotImplementedOperationError(
            f"[DataLoader] _next_data: got {type(self).__name__}, expected a way of loading that defines it. "
            "Define _next_data."
        )

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._yielded += 1
        if self._expected is not None and self._iterable and self._yielded > self._expected:
            warnings.warn(
                f"[DataLoader] {type(self._dataset).__name__} told len() {self._expected}, but {self._yielded} "
                "samples or batches have been loaded",
                stacklevel=2,
            )
        return data

    def __len__(self) -> int:
        sampler: Any = self._index_sampler
        return len(sampler)

    def __getstate__(self) -> Any:
        raise errors.NotImplementedOperationError(
            f"[DataLoader] pickling: got {type(self).__name__}, expected a loader. Pickle the DataLoader, not its "
            "iterator."
        )


class InProcessIterator(LoaderIterator):
    """Loads in the process of the program; no seed is set and no worker is told of."""

    _fetcher: Fetcher

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.num_workers == 0 and loader.timeout != 0:
            raise errors.ConditionError(
                f"[DataLoader] timeout: got {loader.timeout} without workers, expected 0. Pass num_workers."
            )
        super().__init__(loader)

    def _reset(self, loader: DataLoader[Any]) -> None:
        super()._reset(loader)
        kind = IterableFetcher if self._iterable else MapFetcher
        self._fetcher = kind(self._dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        data = self._fetcher.fetch(next(self._sampler_iter))
        return data if self._pin_device is None else pin_memory(data, self._pin_device)
