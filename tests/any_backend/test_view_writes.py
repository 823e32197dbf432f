"""Writes through views, against PyTorch: values of the base, and gradients with its history rebased.

Each case runs on `y = 2 x + 1`: a view of y is made, written in place, and the sum of squares of y (or of a sibling
view made before the write) goes backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda lib, y: y[0],
    "slice": lambda lib, y: y[1:, ::2],
    "view": lambda lib, y: y.view(-1),
    "flatten": lambda lib, y: y.flatten(),
    "ravel": lambda lib, y: y.ravel(),
    "view_as": lambda lib, y: y.view_as(lib.ones(6, 2)),
    "reshape_as": lambda lib, y: y.reshape_as(lib.ones(6, 2)),
    "unflatten": lambda lib, y: y.unflatten(1, (2, 2)),
    "unsqueeze": lambda lib, y: y.unsqueeze(0).squeeze(0),
    "t": lambda lib, y: y.t(),
    "T": lambda lib, y: y.T[1],
    "mT": lambda lib, y: y.mT,
    "H": lambda lib, y: y.H,
    "adjoint": lambda lib, y: lib.adjoint(y),
    "permute": lambda lib, y: y.permute(1, 0),
    "movedim": lambda lib, y: y.movedim(0, 1),
    "swapaxes": lambda lib, y: y.swapaxes(0, 1),
    "diagonal": lambda lib, y: y.diagonal(),
    "narrow": lambda lib, y: y.narrow(1, 1, 2),
    "as_strided": lambda lib, y: y.as_strided((2, 2), (4, 1), 1),
    "unfold": lambda lib, y: y.unfold(1, 2, 2),
    "unfold of t": lambda lib, y: y.t().unfold(0, 2, 2),
    "tensor_split": lambda lib, y: y.tensor_split(2)[0],
    "hsplit": lambda lib, y: lib.hsplit(y, 2)[0],
    "atleast_3d": lambda lib, y: lib.atleast_3d(y),
    "broadcast_tensors": lambda lib, y: lib.broadcast_tensors(y, lib.ones(4))[0],
    "real": lambda lib, y: y.real,
}
#: Copies: a write into them leaves y alone.
COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "repeat": lambda lib, y: y.repeat(1, 1),
    "tile": lambda lib, y: y.tile(1),
    "roll": lambda lib, y: y.roll(0, 0),
    "flip": lambda lib, y: y.flip(0),
    "rot90": lambda lib, y: y.rot90(0),
    "diag": lambda lib, y: y.diag(),
    "repeat_interleave": lambda lib, y: y.repeat_interleave(1, 0),
    "take": lambda lib, y: y.take(lib.arange(3)),
    "masked_scatter": lambda lib, y: y.masked_scatter(y > 100, y),
    "index_fill": lambda lib, y: y.index_fill(0, lib.tensor([0]), 1.0),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "index_fill_": lambda lib, y: y.index_fill_(0, lib.tensor([0, 2]), 2.0),
    "index_fill_ of a view": lambda lib, y: y[1:].index_fill_(1, lib.tensor([0, 2]), 2.0),
    "index_copy_": lambda lib, y: y.index_copy_(1, lib.tensor([0, 2]), y.clone()[:, :2]),
    "index_add_": lambda lib, y: y.index_add_(1, lib.tensor([0, 2]), y.clone()[:, :2], alpha=2),
    "scatter_": lambda lib, y: y.scatter_(0, lib.tensor([[0, 1, 2, 0]]), y.clone()[:1]),
    "scatter_ of a number": lambda lib, y: y.scatter_(0, lib.tensor([[0, 1, 2, 0]]), 5.0),
    "scatter_reduce_": lambda lib, y: y.scatter_reduce_(0, lib.tensor([[0, 1, 2, 0]]), y.clone()[:1], "prod"),
    "index_reduce_": lambda lib, y: y.index_reduce_(0, lib.tensor([0, 0]), y.clone()[:2], "amax"),
    "masked_scatter_": lambda lib, y: y.masked_scatter_(y > 1, y.clone() * 3),
    "masked_fill_": lambda lib, y: y.masked_fill_(y > 1, 0.5),
    "put_": lambda lib, y: y.put_(lib.tensor([0, 5]), y.clone()[0, :2]),
    "put_ that adds": lambda lib, y: y.put_(lib.tensor([0, 0]), y.clone()[0, :2], accumulate=True),
    "addmv_": lambda lib, y: y[:, 0].addmv_(y.clone(), lib.ones(4, dtype=lib.float64)),
    "addr_": lambda lib, y: y.addr_(y.clone()[:, 0], y.clone()[0]),
    "fill_diagonal_": lambda lib, y: y.fill_diagonal_(3.0),
    "setitem": lambda lib, y: y.__setitem__((0, slice(None)), y.clone()[1] * 2),
    "setitem by a mask": lambda lib, y: y.__setitem__(y > 1, 0.0),
}


def outcome(lib: Any, program: Callable[[Any, Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The written tensor and the gradient of x."""
    values = np.random.default_rng(0).normal(size=(3, 4)).tolist()
    x = lib.tensor(values, dtype=lib.float64, requires_grad=True)
    y = x * 2 + 1
    result = program(lib, y)
    (result * result).sum().backward()
    return np.array(y.detach().tolist()), np.array(x.grad.tolist())


def compare(program: Callable[[Any, Any], Any]) -> None:
    for ours, theirs in zip(outcome(tenora, program), outcome(torch, program), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", VIEWS)
def test_write_through_a_view(name: str, backend: str) -> None:
    def program(lib: Any, y: Any) -> Any:
        view = VIEWS[name](lib, y)
        view.mul_(3)
        view.add_(1)
        return y

    compare(program)


@pytest.mark.parametrize("name", VIEWS)
def test_sibling_of_a_written_view(name: str, backend: str) -> None:
    def program(lib: Any, y: Any) -> Any:
        view, sibling = VIEWS[name](lib, y), VIEWS[name](lib, y)
        view.mul_(3)
        return sibling.sum() * y

    compare(program)


@pytest.mark.parametrize("name", COPIES)
def test_write_into_a_copy(name: str, backend: str) -> None:
    def program(lib: Any, y: Any) -> Any:
        copy = COPIES[name](lib, y)
        copy.mul_(3)
        return y * copy.sum()

    compare(program)


@pytest.mark.parametrize("name", WRITES)
def test_write_in_place(name: str, backend: str) -> None:
    def program(lib: Any, y: Any) -> Any:
        WRITES[name](lib, y)
        return y

    compare(program)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_storage_and_version(name: str, backend: str) -> None:
    y = tenora.zeros(3, 4)
    view = VIEWS[name](tenora, y)
    before = y._version
    view.add_(1)
    assert y._version == view._version == before + 1
    assert y.sum().item() == view.numel()
    assert y.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()


def test_write_through_a_view_without_elements(backend: str) -> None:
    """The window of `y[2]` begins beyond the empty buffer."""
    x = tenora.zeros(3, 0, 2, requires_grad=True)
    y = x * 2
    y[2] = 1.5
    y.sum().backward()
    assert tuple(x.grad.shape) == (3, 0, 2)
