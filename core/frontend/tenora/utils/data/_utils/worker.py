"""What a dataset can ask about the worker that it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker that loads: its number, how many there are, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


# Set in a worker by the way of loading that starts workers; the process of the program has none.
_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code; None in the process of the program, as when data is loaded in process.

    >>> from tenora.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _worker_info
