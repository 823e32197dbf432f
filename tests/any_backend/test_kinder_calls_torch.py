"""Calls that PyTorch refuses and tenora answers (docs/differences.md): what they give, and that PyTorch refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


def places(m: Any) -> Any:
    return m.tensor([1, 0, 2])


#: Name -> a call on the first three of six elements that writes into given ones.
READS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda m, x, out: m.gather(x, 0, places(m), out=out),
    "take": lambda m, x, out: m.take(x, places(m), out=out),
    "take_along_dim": lambda m, x, out: m.take_along_dim(x, places(m), 0, out=out),
    "index_select": lambda m, x, out: m.index_select(x, 0, places(m), out=out),
    "cat": lambda m, x, out: m.cat([x[1:], x[:1]], out=out),
    "stack": lambda m, x, out: m.stack([x[2], x[0], x[1]], out=out),
    "masked_select": lambda m, x, out: m.masked_select(x, m.ones(3) > 0, out=out),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", READS)
def test_out_that_shares_memory_with_what_is_read(backend: str, name: str, first: int) -> None:
    memory = torch.arange(6.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        READS[name](torch, memory[:3], memory[first : first + 3])
    wanted = READS[name](torch, torch.arange(3.0), torch.empty(3)).tolist()
    ours = tenora.arange(6.0)
    result = READS[name](tenora, ours[:3], ours[first : first + 3])
    assert result.tolist() == wanted == ours[first : first + 3].tolist()


#: Name -> a call with a mask.
MASKED: dict[str, Callable[[Any, Any], Any]] = {
    "masked_fill": lambda x, mask: x.masked_fill(mask, 9.0),
    "masked_fill_": lambda x, mask: x.masked_fill_(mask, 9.0),
    "masked_select": lambda x, mask: x.masked_select(mask),
}


@pytest.mark.parametrize("name", MASKED)
def test_masks_of_uint8(backend: str, name: str) -> None:
    with pytest.raises(RuntimeError, match=r"boolean masks|BoolTensor"):
        MASKED[name](torch.arange(3.0), torch.tensor([1, 0, 2], dtype=torch.uint8))
    wanted = MASKED[name](torch.arange(3.0), torch.tensor([True, False, True]))
    mask = tenora.tensor([1, 0, 2], dtype=tenora.uint8)
    assert MASKED[name](tenora.arange(3.0), mask).tolist() == wanted.tolist()
