"""An error begins with the op that was called, whatever part of it found the mistake; the part is named once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenora


def x() -> Any:
    return tenora.arange(12.0).reshape(3, 4)


WRONG: dict[str, Callable[[], Any]] = {
    "take_along_dim": lambda: tenora.take_along_dim(x(), tenora.tensor([12])),
    "take": lambda: tenora.take(x(), tenora.tensor([12])),
    "put": lambda: x().put_(tenora.tensor([12]), tenora.ones(1)),
    "masked_select": lambda: tenora.masked_select(x(), x()),
    "index_fill": lambda: x().index_fill_(0, tenora.tensor([3]), 1.0),
    "index_copy": lambda: tenora.index_copy(x(), 0, tenora.tensor([3]), tenora.ones(1, 4)),
    "index_add": lambda: tenora.index_add(x(), 0, tenora.tensor([3]), tenora.ones(1, 4)),
    "scatter_reduce": lambda: x().scatter_reduce(0, tenora.tensor([[3]]), tenora.ones(1, 1), "amax"),
    "index_reduce": lambda: x().index_reduce(0, tenora.tensor([3]), tenora.ones(1, 4), "prod"),
    "clamp_min": lambda: tenora.clamp_min(x(), 1j),
    "embedding": lambda: tenora.nn.functional.embedding(tenora.tensor([0.5]), x()),
    "where": lambda: x().where(tenora.tensor([1.0]), 0.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_op_that_was_called_is_named(backend: str, name: str) -> None:
    with pytest.raises((RuntimeError, IndexError)) as error:
        WRONG[name]()
    told = str(error.value)
    assert told.startswith(f"[{name}] "), told
    assert told.count("(In its part ") <= 1, told
    assert getattr(error.value, "op", name) in (name, None), told


def test_out_and_method_too(backend: str) -> None:
    with pytest.raises(IndexError, match=r"^\[take\] .*\(In its part 'index'\.\)$"):
        tenora.take(x(), tenora.tensor([12]), out=tenora.empty(1))
    with pytest.raises(IndexError, match=r"^\[take\] .*\(In its part 'index'\.\)$"):
        x().take(tenora.tensor([12]))


def test_an_error_of_the_caller_keeps_its_text(backend: str) -> None:
    """Only names of ops are replaced: an `__index__` of a program may raise what it likes."""

    class Odd:
        def __index__(self) -> int:
            raise RuntimeError("[mine] no number")

    with pytest.raises(RuntimeError, match=r"^\[mine\] no number$"):
        tenora.take(x(), tenora.tensor([0])).sum(dim=Odd())
