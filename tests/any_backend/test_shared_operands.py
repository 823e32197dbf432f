"""In-place writes whose operands lie in the memory that is written: values and gradients are those of a copy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tenora
from tenora import Tensor


def permutation(n: int) -> Tensor:
    return (tenora.arange(n) * 7 + 3) % n


def assign(target: Tensor, index: Tensor, source: Tensor) -> Tensor:
    target[index] = source
    return target


#: target, source, index: every write at indices.
WRITES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "x[i] = y": lambda x, y, i: assign(x, i, y),
    "index_put_": lambda x, y, i: x.index_put_((i,), y),
    "index_put_ accumulate": lambda x, y, i: x.index_put_((i,), y, accumulate=True),
    "scatter_": lambda x, y, i: x.scatter_(0, i, y),
    "scatter_add_": lambda x, y, i: x.scatter_add_(0, i, y),
    "scatter_reduce_": lambda x, y, i: x.scatter_reduce_(0, i, y, "amax"),
    "index_copy_": lambda x, y, i: x.index_copy_(0, i, y),
    "index_add_": lambda x, y, i: x.index_add_(0, i, y),
    "put_": lambda x, y, i: x.put_(i, y),
    "masked_scatter_": lambda x, y, i: x.masked_scatter_(i > 3, y),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_at_indices_reads_its_target_as_it_was(backend: str, write: str, dtype: str) -> None:
    with tenora.use_backend(backend):
        old = tenora.arange(12).to(getattr(tenora, dtype)) * 5 % 12 + 1
        apart, shared = old.clone(), old.clone()
        WRITES[write](apart, old, permutation(12))
        WRITES[write](shared, shared, permutation(12))
        assert shared.tolist() == apart.tolist() != old.tolist()


@pytest.mark.parametrize("write", [name for name in WRITES if name != "masked_scatter_"])
def test_indices_are_read_before_they_are_overwritten(backend: str, write: str) -> None:
    with tenora.use_backend(backend):
        old = permutation(12)
        apart, shared = old.clone(), old.clone()
        WRITES[write](apart, old.flip(0), old)
        WRITES[write](shared, old.flip(0), shared)
        assert shared.tolist() == apart.tolist()


def times_base(x: Tensor) -> Tensor:
    x.view(-1).mul_(x)
    return x


def times_view(x: Tensor) -> Tensor:
    x.mul_(x.view(-1))
    return x


def view_that_was_read(x: Tensor) -> Tensor:
    view = x.view(-1)
    x.mul_(view)
    return view


def added_view(x: Tensor) -> Tensor:
    view = x.view(-1)
    x.add_(view)
    return view


def two_views(x: Tensor) -> Tensor:
    one, other = x.view(-1), x.view(-1)
    one.add_(other)
    return x + one + other


def fused(x: Tensor) -> Tensor:
    view = x.view(-1)
    view.addcmul_(x, x)
    return x + view


def times_detached(x: Tensor) -> Tensor:
    return x.mul_(x.detach())


def moved_along(x: Tensor) -> Tensor:
    source = x[:-1]
    x[1:] = source
    return source


#: At x = (2, 3): the gradient of the sum, computed by hand.
GRADIENTS: dict[Callable[[Tensor], Tensor], list[float]] = {
    times_base: [4, 6],
    times_view: [4, 6],
    view_that_was_read: [4, 6],
    added_view: [2, 2],
    two_views: [6, 6],
    fused: [10, 14],
    times_detached: [2, 3],
    moved_along: [1, 0],
}


@pytest.mark.parametrize("write", GRADIENTS)
def test_gradients_of_operands_that_share_memory(backend: str, write: Callable[[Tensor], Tensor]) -> None:
    with tenora.use_backend(backend):
        leaf = tenora.tensor([2.0, 3.0], requires_grad=True)
        write(leaf * 1).sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.tolist() == GRADIENTS[write]


def test_a_leaf_that_is_written_behind_its_back(backend: str) -> None:
    """The copy that is saved keeps the leaf's place in the tape."""
    with tenora.use_backend(backend):
        leaf = tenora.tensor([2.0, 3.0], requires_grad=True)
        product = leaf.detach().mul_(leaf)
        product.sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.tolist() == [2, 3]
