"""Datasets, samplers and the loader, under PyTorch's names.

>>> import tenora
>>> from tenora.utils.data import DataLoader, TensorDataset
>>> data = TensorDataset(tenora.arange(5), tenora.arange(5) ** 2)
>>> for x, y in DataLoader(data, batch_size=2, drop_last=True):
...     print(x.tolist(), y.tolist())
[0, 1] [0, 1]
[2, 3] [4, 9]
"""

from .dataloader import DataLoader, default_collate, default_convert, get_worker_info
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
