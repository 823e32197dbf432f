"""Tensor.set_: other memory below a tensor, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

SET: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a storage": lambda x, s, lib: x.set_(s),
    "a window of a storage": lambda x, s, lib: x.set_(s, 2, (2, 3), (1, 4)),
    "row-major by default": lambda x, s, lib: x.set_(s, 1, (2, 2)),
    "a storage by name": lambda x, s, lib: x.set_(source=s, storage_offset=3, size=(4,), stride=(2,)),
    "nothing of it": lambda x, s, lib: x.set_(s, 0, (0,)),
    "a number of it": lambda x, s, lib: x.set_(s, 5, ()),
    "a tensor": lambda x, s, lib: x.set_(lib.arange(8.0).view(2, 4).t()),
    "a window of a tensor": lambda x, s, lib: x.set_(lib.arange(12.0)[4:], 1, (2,), (3,)),
    "no source": lambda x, s, lib: x.set_(),
}


@pytest.mark.parametrize("name", SET)
def test_other_memory_is_shown(name: str) -> None:
    """The values, the window, and that the memory is shared."""
    seen = []
    for lib in (tenora, torch):
        source, x = lib.arange(12.0), lib.ones(2)
        assert SET[name](x, source.untyped_storage(), lib) is x
        shown = x.tolist()
        x.fill_(-1.0)
        seen.append((shown, tuple(x.shape), x.stride(), x.storage_offset(), source.tolist()))
    assert seen[0] == seen[1]
