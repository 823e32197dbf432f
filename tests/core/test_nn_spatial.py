"""Layers over pictures beside their training: unpooling, starts, refusals, Programs, and a small CNN that learns.

Training of every layer is in test_module_training.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from draws import numbers
from layer_cases import Maker

import tenora
from tenora_engine import _engine

pytestmark = pytest.mark.oracle


def paired(make: Maker) -> tuple[Any, Any]:
    """The layer in both frameworks, in double precision, with PyTorch's parameters."""
    theirs = make(torch).double()
    mine = make(tenora).double()
    state = theirs.state_dict()
    assert list(mine.state_dict()) == list(state)
    assert all(tuple(mine.state_dict()[k].shape) == tuple(v.shape) for k, v in state.items())
    mine.load_state_dict({name: tenora.tensor(value.numpy()) for name, value in state.items()})
    return mine, theirs


def test_unpooling_undoes_pooling() -> None:
    for f in (tenora, torch):
        x = f.tensor(numbers(1, 2, 4, 6).tolist(), dtype=f.float64)
        values, indices = f.nn.MaxPool2d(2, return_indices=True)(x)
        whole = f.nn.MaxUnpool2d(2)(values, indices)
        assert repr(f.nn.MaxUnpool2d(2)) == "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"
        assert tuple(whole.shape) == (1, 2, 4, 6)
        kept = np.asarray(whole) != 0
        np.testing.assert_array_equal(np.asarray(whole)[kept], np.asarray(x)[kept])
        assert kept.sum() == 12


def test_initial_values_follow_the_fan_in() -> None:
    layer = tenora.nn.Conv2d(6, 40, 5, groups=2)
    bound = 1 / np.sqrt(3 * 25)
    for parameter in (layer.weight, layer.bias):
        values = np.abs(parameter.detach().numpy())
        assert 0.8 * bound < values.max() <= bound


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tenora.nn.Conv2d(3, 4, 3, groups=2), ValueError, "groups"),
        (lambda: tenora.nn.Conv2d(3, 4, 3, padding="same", stride=2), ValueError, "same"),
        (lambda: tenora.nn.Conv2d(3, 4, 3, padding_mode="mirror"), ValueError, "padding_mode"),
        (lambda: tenora.nn.Conv2d(3, 4, 3)(tenora.ones(2, 5, 8, 8)), RuntimeError, "channels"),
        (
            lambda: tenora.nn.Conv2d(3, 4, 9)(tenora.ones(2, 3, 8, 8)),
            RuntimeError,
            "larger than the padded input",
        ),
        (lambda: tenora.nn.Conv2d(3, 4, 3)(tenora.ones(8, 8)), RuntimeError, "rank of input"),
        (lambda: tenora.nn.MaxPool2d(2, padding=2)(tenora.ones(1, 1, 4, 4)), RuntimeError, "at most half"),
        (lambda: tenora.nn.AvgPool2d(2)(tenora.ones(1, 1, 4, 4).int()), RuntimeError, "floating"),
        (lambda: tenora.nn.ReflectionPad1d(3)(tenora.ones(1, 3)), RuntimeError, "too large"),
        (lambda: tenora.nn.Upsample(size=4, mode="cubic")(tenora.ones(1, 1, 3)), NotImplementedError, "mode"),
        (lambda: tenora.nn.functional.interpolate(tenora.ones(1, 1, 3)), ValueError, "exactly one"),
        (
            lambda: tenora.nn.functional.grid_sample(tenora.ones(1, 1, 2, 2), tenora.ones(1, 2, 2, 3)),
            RuntimeError,
            "does not fit",
        ),
    ],
)
def test_mistakes_are_named(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def network(f: Any) -> Any:
    return f.nn.Sequential(
        f.nn.Conv2d(1, 6, 3, padding=1),
        f.nn.ReLU(),
        f.nn.MaxPool2d(2),
        f.nn.Conv2d(6, 12, 3, padding="same", groups=2),
        f.nn.ReLU(),
        f.nn.AdaptiveAvgPool2d(2),
        f.nn.Flatten(),
        f.nn.Linear(48, 4),
    )


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch's threads would wait for each other on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_a_small_cnn_learns_as_pytorch_does() -> None:
    """Which quarter of an 8 x 8 picture is bright: loss and gradients step by step."""
    mine, theirs = paired(network)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 64)
    images = rng.standard_normal((64, 1, 8, 8)) * 0.3
    for image, label in zip(images, labels, strict=True):
        row, column = 4 * (label // 2), 4 * (label % 2)
        image[0, row : row + 4, column : column + 4] += 1
    ours = tenora.optim.SGD(mine.parameters(), lr=0.2, momentum=0.9)
    other = torch.optim.SGD(theirs.parameters(), lr=0.2, momentum=0.9)
    losses: list[float] = []
    for _ in range(30):
        loss = tenora.nn.functional.cross_entropy(mine(tenora.tensor(images)), tenora.tensor(labels))
        expected = torch.nn.functional.cross_entropy(theirs(torch.tensor(images)), torch.tensor(labels))
        ours.zero_grad()
        other.zero_grad()
        loss.backward()
        expected.backward()
        for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-6, atol=1e-9)
        ours.step()
        other.step()
        losses.append(float(loss))
        np.testing.assert_allclose(losses[-1], expected.item(), rtol=1e-7)
    assert losses[-1] < 0.2 * losses[0]


def test_other_sizes_trace_no_new_programs() -> None:
    weight = tenora.rand(4, 2, 3, 3, requires_grad=True)

    def run(i: int) -> None:
        x = tenora.rand(1 + i % 3, 2, 7 + i % 5, 8 + i % 4, requires_grad=True)
        y = tenora.nn.functional.conv2d(x, weight, None, 1 + i % 2, (i % 3, 1))
        y = tenora.nn.functional.max_pool2d(y, 2, 1 + i % 2, i % 2)
        tenora.nn.functional.adaptive_avg_pool2d(y, 1 + i % 3).sum().backward()

    run(0)
    run(5)  # the last pooling keeps the size here: a structure of its own
    before = _engine.trace_count()
    for i in range(60):
        run(i)
    assert _engine.trace_count() == before


def test_padding_never_wins_a_maximum() -> None:
    lowest = [[[[-np.inf] * 4] * 4]]
    found = [f.nn.MaxPool2d(3, 2, 1, return_indices=True)(f.tensor(lowest))[1] for f in (tenora, torch)]
    assert found[0].tolist() == found[1].tolist()
