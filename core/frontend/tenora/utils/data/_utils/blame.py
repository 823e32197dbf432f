"""Taking samples so that an error tells where it came from: the error keeps its type and gets a note per dataset."""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors

_SHOWN = 8


def shortened(indices: Any) -> str:
    """Indices as text, the first few of many."""
    try:
        shown = [repr(index) for index in indices]
    except TypeError:
        return repr(indices)
    return f"[{', '.join(shown[:_SHOWN])}{', ...' if len(shown) > _SHOWN else ''}]"


def sample_of(dataset: Any, index: Any) -> Any:
    """`dataset[index]`; an error is told the dataset and the index."""
    try:
        return dataset[index]
    except Exception as error:
        error.add_note(f"[data] raised by {type(dataset).__name__}[{index!r}]")
        raise


def samples_of(dataset: Any, indices: Any) -> Any:
    """The samples of several indices: by the dataset's `__getitems__` if it has one, else one after the other."""
    if not hasattr(type(indices), "__iter__") and not hasattr(type(indices), "__getitem__"):
        raise errors.ArgumentTypeError(
            f"[DataLoader] batch_sampler: got {indices!r:.60} where a batch's indices belong, expected a list of them. "
            "Pass lists of indices, or single indices as sampler."
        )
    several = getattr(dataset, "__getitems__", None)
    if not several:
        return [sample_of(dataset, index) for index in indices]
    try:
        return several(indices)
    except Exception as error:
        error.add_note(f"[data] raised by {type(dataset).__name__}.__getitems__({shortened(indices)})")
        raise
