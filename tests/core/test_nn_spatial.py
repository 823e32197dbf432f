"""Convolution, pooling, padding and resizing layers against PyTorch, and a small CNN that learns.

Each layer is made twice from one line; same parameters, same inputs: the same repr, state_dict keys, results and
gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tenora
from tenora_engine import _engine

pytestmark = pytest.mark.oracle

Maker = Callable[[Any], Any]
LAYERS: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "Conv1d": (lambda f: f.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
    "Conv1d unbatched": (lambda f: f.nn.Conv1d(4, 2, 2, dilation=2), (4, 9)),
    "Conv2d": (lambda f: f.nn.Conv2d(3, 4, (3, 2), padding=(1, 2), bias=False), (2, 3, 5, 6)),
    "Conv2d same": (lambda f: f.nn.Conv2d(2, 4, 3, padding="same", dilation=2), (2, 2, 7, 6)),
    "Conv2d reflect": (lambda f: f.nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (1, 2, 4, 5)),
    "Conv2d circular same": (
        lambda f: f.nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode="circular"),
        (1, 2, 4, 5),
    ),
    "Conv3d": (lambda f: f.nn.Conv3d(2, 3, 2, stride=(1, 2, 1)), (1, 2, 4, 5, 3)),
    "ConvTranspose1d": (
        lambda f: f.nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2),
        (2, 4, 5),
    ),
    "ConvTranspose2d": (
        lambda f: f.nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, dilation=2),
        (2, 3, 4, 5),
    ),
    "ConvTranspose3d": (lambda f: f.nn.ConvTranspose3d(2, 1, 2), (1, 2, 3, 2, 3)),
    "MaxPool1d": (lambda f: f.nn.MaxPool1d(3, stride=2, padding=1), (2, 3, 8)),
    "MaxPool2d": (lambda f: f.nn.MaxPool2d((3, 2), stride=2, ceil_mode=True), (2, 3, 8, 7)),
    "MaxPool3d": (lambda f: f.nn.MaxPool3d(2, dilation=(1, 2, 1)), (1, 2, 4, 5, 4)),
    "AvgPool1d": (lambda f: f.nn.AvgPool1d(3, 2, 1, count_include_pad=False), (2, 3, 8)),
    "AvgPool2d": (lambda f: f.nn.AvgPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 7)),
    "AvgPool3d": (lambda f: f.nn.AvgPool3d(2, divisor_override=5), (1, 2, 4, 5, 4)),
    "LPPool1d": (lambda f: f.nn.LPPool1d(2, 3), (2, 3, 8)),
    "LPPool2d": (lambda f: f.nn.LPPool2d(2, (3, 2), 2), (2, 3, 8, 7)),
    "LPPool3d": (lambda f: f.nn.LPPool3d(2, 2), (1, 2, 4, 5, 4)),
    "LPPool2d of the largest": (lambda f: f.nn.LPPool2d(float("inf"), (3, 2), 2), (2, 3, 8, 7)),
    "LPPool1d of the smallest": (lambda f: f.nn.LPPool1d(-float("inf"), 3, ceil_mode=True), (2, 3, 8)),
    "AdaptiveAvgPool1d": (lambda f: f.nn.AdaptiveAvgPool1d(3), (2, 3, 8)),
    "AdaptiveAvgPool2d": (lambda f: f.nn.AdaptiveAvgPool2d((5, None)), (2, 3, 8, 7)),
    "AdaptiveAvgPool3d": (lambda f: f.nn.AdaptiveAvgPool3d(2), (2, 4, 5, 3)),
    "AdaptiveMaxPool1d": (lambda f: f.nn.AdaptiveMaxPool1d(3), (2, 3, 8)),
    "AdaptiveMaxPool2d": (lambda f: f.nn.AdaptiveMaxPool2d((None, 3)), (2, 3, 8, 7)),
    "AdaptiveMaxPool3d": (lambda f: f.nn.AdaptiveMaxPool3d(2), (2, 4, 5, 3)),
    "ConstantPad1d": (lambda f: f.nn.ConstantPad1d((1, 2), 3.5), (2, 3)),
    "ConstantPad2d": (lambda f: f.nn.ConstantPad2d(1, 3.5), (2, 3, 4)),
    "ConstantPad3d": (lambda f: f.nn.ConstantPad3d((1, 0, 2, 1, -1, 0), 3.5), (2, 3, 4, 2)),
    "ZeroPad1d": (lambda f: f.nn.ZeroPad1d(2), (2, 3)),
    "ZeroPad2d": (lambda f: f.nn.ZeroPad2d((1, 0, 2, 1)), (2, 3, 4)),
    "ZeroPad3d": (lambda f: f.nn.ZeroPad3d(1), (1, 2, 3, 4, 2)),
    "ReflectionPad1d": (lambda f: f.nn.ReflectionPad1d((2, 1)), (2, 3)),
    "ReflectionPad2d": (lambda f: f.nn.ReflectionPad2d((2, 1, 0, 1)), (2, 3, 4)),
    "ReflectionPad3d": (lambda f: f.nn.ReflectionPad3d(1), (1, 2, 3, 4, 2)),
    "ReplicationPad1d": (lambda f: f.nn.ReplicationPad1d((5, 1)), (2, 3)),
    "ReplicationPad2d": (lambda f: f.nn.ReplicationPad2d(3), (2, 3, 4)),
    "ReplicationPad3d": (lambda f: f.nn.ReplicationPad3d(1), (1, 2, 3, 4, 2)),
    "CircularPad1d": (lambda f: f.nn.CircularPad1d((3, 1)), (2, 3)),
    "CircularPad2d": (lambda f: f.nn.CircularPad2d(2), (2, 3, 4)),
    "CircularPad3d": (lambda f: f.nn.CircularPad3d(1), (1, 2, 3, 4, 2)),
    "Upsample": (lambda f: f.nn.Upsample(scale_factor=2), (1, 2, 3, 4)),
    "Upsample to a size": (lambda f: f.nn.Upsample((5, 7), mode="bicubic", align_corners=True), (1, 2, 3, 4)),
    "Upsample by two factors": (
        lambda f: f.nn.Upsample(scale_factor=(1.5, 2.3), mode="bilinear"),
        (1, 2, 3, 4),
    ),
    "UpsamplingNearest2d": (lambda f: f.nn.UpsamplingNearest2d(scale_factor=2), (1, 2, 3, 4)),
    "UpsamplingBilinear2d": (lambda f: f.nn.UpsamplingBilinear2d((5, 6)), (1, 2, 3, 4)),
    "PixelShuffle": (lambda f: f.nn.PixelShuffle(2), (2, 8, 3, 2)),
    "PixelUnshuffle": (lambda f: f.nn.PixelUnshuffle(2), (2, 3, 4, 2)),
    "ChannelShuffle": (lambda f: f.nn.ChannelShuffle(2), (2, 6, 4)),
    "Unfold": (lambda f: f.nn.Unfold((2, 3), dilation=2, padding=1, stride=2), (2, 3, 6, 7)),
    "Fold": (lambda f: f.nn.Fold((4, 5), (2, 3), padding=1), (2, 12, 25)),
}


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def paired(make: Maker) -> tuple[Any, Any]:
    """The layer in both frameworks, in double precision, with PyTorch's parameters."""
    theirs = make(torch).double()
    mine = make(tenora).double()
    state = theirs.state_dict()
    assert list(mine.state_dict()) == list(state)
    assert all(tuple(mine.state_dict()[k].shape) == tuple(v.shape) for k, v in state.items())
    mine.load_state_dict({name: tenora.tensor(value.numpy()) for name, value in state.items()})
    return mine, theirs


def same(a: Any, b: Any, where: str) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=where)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    make, shape = LAYERS[name]
    mine, theirs = paired(make)
    assert repr(mine) == repr(theirs)
    x = tenora.tensor(drawn(*shape), requires_grad=True)
    t = torch.tensor(drawn(*shape), requires_grad=True)
    got, expected = mine(x), theirs(t)
    same(got, expected, name)
    (got * got).sum().backward()
    (expected * expected).sum().backward()
    same(x.grad, t.grad, f"{name}: gradient of the input")
    for (key, p), q in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        same(p.grad, q.grad, f"{name}: gradient of {key}")


def test_unpooling_undoes_pooling() -> None:
    for f in (tenora, torch):
        x = f.tensor(drawn(1, 2, 4, 6).tolist(), dtype=f.float64)
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
