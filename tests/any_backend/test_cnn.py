"""Convolutional networks train as PyTorch's do: losses, gradients and running statistics of several steps; and an
infinite weight spreads no further."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tenora
import tenora_ops

pytestmark = pytest.mark.oracle


def plain(f: Any) -> Any:
    """Dense convolutions, normalised, with both poolings."""
    nn = f.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2, ceil_mode=True),
        nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def depthwise(f: Any) -> Any:
    """Groups, dilation, a transposed convolution, and a mean over what is left."""
    nn = f.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1, groups=1, bias=False), nn.GroupNorm(2, 6), nn.ReLU(),
        nn.Conv2d(6, 6, 3, stride=2, padding=2, dilation=2, groups=6), nn.BatchNorm2d(6), nn.ReLU(),
        nn.ConvTranspose2d(6, 4, 2, stride=2, groups=2), nn.AdaptiveAvgPool2d((3, 2)),
        nn.Flatten(), nn.Linear(24, 4),
    )  # fmt: skip


def data(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def trained(f: Any, build: Any, steps: int = 4) -> list[np.ndarray]:
    """Losses, then the gradients and state of the last step; in double precision, which rounds far below 1e-9."""
    net = build(f).to(f.float64)
    with f.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(f.tensor(data(*parameter.shape, seed=number) * 0.3))
    optimizer = f.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = f.tensor(data(5, 1, 8, 8, seed=99)), f.tensor(np.arange(5) % 4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = f.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    kept = [*(p.grad for p in net.parameters()), *net.state_dict().values()]
    return [np.array(losses), *(np.asarray(t.detach()) for t in kept)]


@pytest.mark.parametrize("build", [plain, depthwise])
def test_trains_as_pytorch(backend: str, build: Any) -> None:
    ours, theirs = trained(tenora, build), trained(torch, build)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_shapes_outlive_dropped_tensors(backend: str) -> None:
    """The gradient of batch_norm drops its input, which nobody else holds, before it asks for the shape again."""
    x = tenora.tensor(data(6, 4, 3, 5), requires_grad=True)
    out = tenora.nn.functional.batch_norm(x * 2.0, None, None, training=True)
    (out * tenora.tensor(data(6, 4, 3, 5, seed=1))).sum().backward()
    assert x.grad.shape == x.shape
    kept = tenora.tensor(data(6, 4, 3, 5), requires_grad=True)
    held = kept * 2.0
    out = tenora.nn.functional.batch_norm(held, None, None, training=True)
    (out * tenora.tensor(data(6, 4, 3, 5, seed=1))).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), kept.grad.numpy(), rtol=1e-6)


#: Calls of the gradients as ops whose gradient, sizes or groups fit no forward call.
MISFITS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = {
    "no groups": ("conv2d_weight", (1, 2, 3, 3), (1, 2, 4, 4), ((2, 2, 2, 2), 1, 0, 1, 0)),
    "another batch in size": ("conv2d_input", (1, 2, 3, 3), (2, 2, 2, 2), ((5, 2, 4, 4),)),
    "other channels in size": ("conv2d_input", (1, 2, 3, 3), (2, 2, 2, 2), ((1, 7, 4, 4),)),
    "more windows than fit": ("conv2d_input", (1, 2, 9, 3), (2, 2, 2, 2), ((1, 2, 4, 4),)),
    "another rank in size": ("conv1d_input", (1, 2, 3), (2, 2, 2), ((1, 2, 4, 4),)),
    "a kernel larger than the input": ("conv3d_weight", (1, 2, 1, 1, 1), (1, 2, 2, 2, 2), ((2, 2, 3, 3, 3),)),
    "another batch of the gradient": ("conv2d_weight", (3, 2, 3, 3), (1, 2, 4, 4), ((2, 2, 2, 2),)),
    "a smaller gradient of a mean": ("avg_pool2d_backward", (1, 1, 1, 1), (40, 10, 6, 6), (2,)),
    "a larger gradient of a mean": ("avg_pool1d_backward", (1, 2, 4), (1, 2, 6), (2,)),
    "other channels of an adaptive mean": ("adaptive_avg_pool2d_backward", (1, 3, 2, 2), (1, 2, 4, 4), ()),
}


@pytest.mark.parametrize("name", MISFITS)
def test_gradients_that_fit_no_call_are_refused(backend: str, name: str) -> None:
    op, grad, other, rest = MISFITS[name]
    with pytest.raises(
        RuntimeError, match=r"^\[(conv|avg_pool|adaptive_avg_pool)\dd(_\w+)?\] .*got .*, expected "
    ):
        getattr(tenora_ops, op)(tenora.ones(grad), tenora.ones(other), *rest)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 1, 1), (1, 2, 2), (1, 3, 1)])
def test_an_infinite_weight(n: int, stride: int, padding: int, dilation: int, backend: str) -> None:
    """It makes no NaN in the gradient for the input, nor in the transposed convolution: nothing lies around those."""
    weight = np.random.default_rng(1).standard_normal((2, 2, *[3] * n))
    weight.flat[0] = np.inf
    found = []
    for f in (tenora, torch):
        x, w = f.ones([1, 2, *[5] * n], dtype=f.float64, requires_grad=True), f.tensor(weight)
        y = getattr(f.nn.functional, f"conv{n}d")(x, w, None, stride, padding, dilation)
        y.backward(f.ones_like(y))
        transposed = getattr(f.nn.functional, f"conv_transpose{n}d")
        back = transposed(x.detach(), w, None, stride, padding, dilation=dilation)
        found.append([np.asarray(x.grad), np.asarray(back)])
    for ours, theirs in zip(*found, strict=True):
        assert not np.isnan(theirs).any()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
