"""Batches of a TensorDataset, or of a Subset of one, by one gather per tensor instead of row by row.

The result is what `default_collate` makes of the rows. Wherever that is not certain (a subclass with its own way of
reading, subclasses of Tensor, indices that are no plain ints or out of range), the rows are read one by one.
"""

from __future__ import annotations

from typing import Any

from tenora_engine import Tensor, int64
from tenora_ops import index_select

from ....creation import tensor
from ..dataset import Subset, TensorDataset


def can_gather(dataset: Any) -> bool:
    """Whether reading the dataset means no more than indexing its tensors."""
    kind = type(dataset)
    if isinstance(dataset, Subset):
        read = (kind.__getitem__, kind.__getitems__)
        return read == (Subset.__getitem__, Subset.__getitems__) and can_gather(dataset.dataset)
    if isinstance(dataset, TensorDataset):
        return kind.__getitem__ is TensorDataset.__getitem__ and not hasattr(dataset, "__getitems__")
    return False


def gather(dataset: Any, indices: Any) -> list[Tensor] | None:
    """The collated batch, or None if it has to be made row by row."""
    try:
        while isinstance(dataset, Subset):
            if set(map(type, indices)) != {int}:
                return None
            dataset, indices = dataset.dataset, [dataset.indices[index] for index in indices]
        tensors = dataset.tensors
        if set(map(type, indices)) != {int} or any(type(source) is not Tensor for source in tensors):
            return None
        places: dict[Any, Tensor] = {}
        for source in tensors:
            if source.device not in places:
                places[source.device] = tensor(indices, dtype=int64, device=source.device)
        return [index_select(source, 0, places[source.device]) for source in tensors]
    except IndexError:
        return None  # negative, or out of range: reading the row itself finds out
