"""newbackend's own tests: it is found, it computes, and its kernels write nothing but their outputs.

What every backend has to do is judged by `tenora-conformance run newbackend`.
"""

from collections.abc import Iterator

import pytest

import tenora


@pytest.fixture(autouse=True)
def computing() -> Iterator[None]:
    """Every test computes with newbackend, each kernel under guard."""
    with tenora.use_backend("newbackend"), tenora.debug.guard("newbackend"):
        yield


def test_it_computes() -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x @ x.t() + 1).tolist() == [[6.0, 12.0], [12.0, 26.0]]
    assert x.sum(dim=0).tolist() == [4.0, 6.0]


def test_layouts_and_indices() -> None:
    x = tenora.arange(12).reshape(3, 4)
    assert x.t()[::2].flip(1).tolist() == [[8, 4, 0], [10, 6, 2]]
    x[1:, ::2] += 100
    assert x[tenora.tensor([2, 0])].tolist() == [[108, 9, 110, 11], [0, 1, 2, 3]]
    with pytest.raises(IndexError):
        x[tenora.tensor([3])]


def test_it_trains() -> None:
    tenora.manual_seed(0)
    net = tenora.nn.Sequential(tenora.nn.Linear(2, 8), tenora.nn.Tanh(), tenora.nn.Linear(8, 1))
    optimizer = tenora.optim.SGD(net.parameters(), lr=0.1)
    inputs = tenora.rand(64, 2)
    losses = []
    for _ in range(50):
        loss = ((net(inputs) - inputs.sum(dim=1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
