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


def key_errors() -> list[Any]:
    """Keys that do not fit x(), each found by another part of indexing."""
    return [
        3,
        -4,
        (0, 4),
        (0, 0, 0),
        slice(0, 2, 0),
        slice(0.5, 2),
        tenora.tensor([3]),
        (slice(None), [4]),
        tenora.ones(2) > 0,
        tenora.ones(2),
        ([0, 1], [0, 1, 2]),
        "a",
        0.5,
    ]


@pytest.mark.parametrize("place", range(len(key_errors())))
def test_an_item_is_told_as_the_program_wrote_it(backend: str, place: int) -> None:
    """Which op an index becomes is nothing that `x[3]` says."""

    def write() -> None:
        x()[key] = 1.0

    key = key_errors()[place]
    for name, call in {"getitem": lambda: x()[key], "setitem": write}.items():
        with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as error:
            call()
        told = str(error.value)
        assert told.startswith(f"[{name}] ") and "(In its part " not in told, told
        assert getattr(error.value, "op", "") == name


def test_what_an_item_cannot_hold_is_told_so_too(backend: str) -> None:
    leaf = tenora.ones(3, 4, requires_grad=True)
    for target, key, value in (
        (x(), 0, tenora.ones(3)),
        (x(), True, tenora.ones(3)),
        (x(), x() > 5, tenora.ones(3)),
        (x(), 0, "a"),
        (x().expand(2, 3, 4), 0, "a"),
        (x()[:, :1].expand(3, 4), 0, 1.0),
        (leaf, 0, 1.0),
        (leaf, leaf.detach() > 0, 1.0),
    ):
        with pytest.raises((RuntimeError, TypeError), match=r"^\[setitem\] .*: got "):
            target[key] = value
    with pytest.raises(TypeError, match=r"^\[delitem\] .*: got "):
        del leaf[0]


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
