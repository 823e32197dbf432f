"""Calls that PyTorch and tenora answer alike: with tensors of the same dtype, shape and numbers, or with an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import tenora

Call = Callable[[Any], Any]
#: What Python code is told by: an error of these is an answer too, and its kind is compared; any other fails the test.
ANSWERS = (RuntimeError, ValueError, TypeError, IndexError)


def answer(call: Call, library: Any) -> Any:
    """What the call gives with a library: its error, or dtype, shape and numbers of each result."""
    try:
        found = call(library)
    except ANSWERS as error:
        return error
    parts = found if isinstance(found, tuple | list) else (found,)
    return [(str(t.dtype).split(".")[-1], tuple(t.shape), t.tolist()) for t in parts]


def agree(call: Call, atol: float) -> None:
    """Both libraries answer alike; tenora's error is of PyTorch's kind."""
    theirs, mine = answer(call, torch), answer(call, tenora)
    if isinstance(theirs, Exception):
        own = isinstance(theirs, torch.linalg.LinAlgError)
        assert isinstance(mine, tenora.linalg.LinAlgError if own else type(theirs)), (theirs, mine)
        return
    assert not isinstance(mine, Exception), mine
    for a, b in zip(mine, theirs, strict=True):
        assert a[:2] == b[:2]
        torch.testing.assert_close(
            torch.tensor(a[2]), torch.tensor(b[2]), equal_nan=True, rtol=1e-5, atol=atol
        )
