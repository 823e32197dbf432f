"""Calls that PyTorch refuses and tenora answers (docs/differences.md): what they give, and that PyTorch refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


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
    with pytest.warns(UserWarning, match="uint8 is deprecated"):
        assert MASKED[name](tenora.arange(3.0), mask).tolist() == wanted.tolist()
