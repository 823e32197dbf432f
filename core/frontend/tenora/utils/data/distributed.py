"""One process's part of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import cycle, islice

from tenora_dispatch import errors
from tenora_engine import Generator

from .sampler import Sampler, permutation


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on, of one order that all processes share.

    `shuffle`: the order is drawn from `seed + epoch`, so all processes must agree on both; `set_epoch` before each
    epoch gives it an order of its own. Lengths that do not divide: indices from the beginning are repeated, or with
    `drop_last` the tail is left out, so that all processes get equally many. ValueError for a rank outside
    0 to `num_replicas - 1`; RuntimeError where the number of processes or the rank is not given.

    >>> from tenora.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(5), num_replicas=2, rank=r, shuffle=False)) for r in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise errors.OperationError(
                f"[DistributedSampler] process group: got num_replicas={num_replicas}, rank={rank} and no group of "
                "processes to ask, expected both. Pass num_replicas and rank."
            )
        if not 0 <= rank < num_replicas:
            raise errors.ArgumentValueError(
                f"[DistributedSampler] rank: got {rank}, expected 0 to {num_replicas - 1}. "
                "Pass this process's number among num_replicas."
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            indices = permutation(len(indices), Generator(device="cpu").manual_seed(self.seed + self.epoch))
        shared = list(islice(cycle(indices), self.total_size))
        return iter(shared[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Gives the next iterations the order of `epoch`.

        >>> from tenora.utils.data import DistributedSampler
        >>> sampler = DistributedSampler(range(100), num_replicas=2, rank=0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1)
        >>> list(sampler) == first
        False
        """
        self.epoch = epoch
