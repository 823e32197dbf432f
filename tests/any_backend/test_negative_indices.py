"""Which ops count negative indices from the end, as PyTorch does, and which refuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "embedding": lambda f, i: f.nn.functional.embedding(i, f.ones(3, 3)),
    "embedding_padding": lambda f, i: f.nn.functional.embedding(i, f.ones(3, 3), padding_idx=1),
    "embedding_bag": lambda f, i: f.nn.functional.embedding_bag(i.reshape(1, 1), f.ones(3, 3)),
    "index_select": lambda f, i: f.index_select(f.arange(3.0), 0, i),
    "index_select_of_a_number": lambda f, i: f.index_select(f.tensor(2.0), 0, i),
    "index_copy": lambda f, i: f.index_copy(f.zeros(3), 0, i, f.ones(1)),
    "index_add": lambda f, i: f.index_add(f.zeros(3), 0, i, f.ones(1)),
    "index_fill": lambda f, i: f.index_fill(f.zeros(3), 0, i, 2.0),
    "gather": lambda f, i: f.gather(f.zeros(3), 0, i),
    "scatter": lambda f, i: f.scatter(f.zeros(3), 0, i, f.ones(1)),
    "take": lambda f, i: f.take(f.arange(3.0), i),
    "put": lambda f, i: f.zeros(3).put(i, f.ones(1)),
    "index_put": lambda f, i: f.zeros(3).index_put((i,), f.ones(1)),
    "brackets": lambda f, i: f.arange(3.0)[i],
}


@pytest.mark.parametrize("place", [-4, -1, 0, 2, 3])
@pytest.mark.parametrize("name", CALLS)
def test_negative_indices(backend: str, name: str, place: int) -> None:
    try:
        expected = CALLS[name](torch, torch.tensor([place])).tolist()
    except (IndexError, RuntimeError):
        with pytest.raises(IndexError, match=rf"index {place} is out of bounds|got {place}"):
            CALLS[name](tenora, tenora.tensor([place]))
    else:
        assert CALLS[name](tenora, tenora.tensor([place])).tolist() == expected
