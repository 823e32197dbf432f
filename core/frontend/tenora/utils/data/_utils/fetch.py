"""Fetching one batch from a dataset, alike for every way of loading.

- A fetcher belongs to one iteration; `fetch` takes what the index sampler gives and raises StopIteration at the end.
- An error of the dataset or of collating keeps its type and gets notes: which sample of which dataset it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_dispatch import errors

from .blame import sample_of, samples_of, shortened
from .collate import default_collate, is_built_in
from .rows import can_gather, gather

CollateFunction = Callable[[Any], Any]


class Fetcher:
    """One iteration's way from indices to a batch.

    `auto_collation`: indices come as lists, samples are collated; else each index is one sample.
    """

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: CollateFunction, drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The batch, or the sample, of an index."""
        raise errors.NotImplementedOperationError(
            f"[DataLoader] fetch: got {type(self).__name__}, expected a fetcher that defines it. Define fetch."
        )

    def collated(self, data: Any, what: str) -> Any:
        """`data` as `collate_fn` makes it."""
        try:
            return self.collate_fn(data)
        except Exception as error:
            name = getattr(self.collate_fn, "__name__", type(self.collate_fn).__name__)
            error.add_note(f"[data] raised by {name} from {what} of {type(self.dataset).__name__}")
            raise


class MapFetcher(Fetcher):
    """Fetches from a dataset with `__getitem__`."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: CollateFunction, drop_last: bool
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        plain = auto_collation and collate_fn is default_collate and is_built_in()
        self._gathers = plain and can_gather(dataset)

    def fetch(self, index: Any) -> Any:
        if not self.auto_collation:
            return self.collated(sample_of(self.dataset, index), f"sample {index!r}")
        if self._gathers and (batch := gather(self.dataset, index)) is not None:
            return batch
        return self.collated(samples_of(self.dataset, index), f"samples {shortened(index)}")


class IterableFetcher(Fetcher):
    """Fetches from a dataset with `__iter__`."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: CollateFunction, drop_last: bool
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.samples = iter(dataset)
        self.count = 0
        self.ended = False

    def fetch(self, index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collated(self._next(), f"sample {self.count - 1}")
        start = self.count
        data = []
        for _ in index:
            try:
                data.append(self._next())
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(index)):
            raise StopIteration
        return self.collated(data, f"samples {start} to {self.count - 1}")

    def _next(self) -> Any:
        try:
            sample = next(self.samples)
        except StopIteration:
            raise
        except Exception as error:
            error.add_note(
                f"[data] raised by {type(self.dataset).__name__} for sample {self.count} of its iteration"
            )
            raise
        self.count += 1
        return sample
