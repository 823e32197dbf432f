"""Layers against PyTorch beside their training: normalisation at rest, writing in place, embeddings, dropout, refusals.

Training of every layer is in test_module_training.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from draws import numbers
from layer_cases import LAYERS, ROUGH, Maker

import tenora

pytestmark = pytest.mark.oracle

INPLACE = (
    "LeakyReLU",
    "ReLU6",
    "ELU",
    "CELU",
    "SELU",
    "SiLU",
    "Hardtanh",
    "Hardsigmoid",
    "Hardswish",
    "Mish",
    "RReLU",
)


def twins(make: Maker) -> tuple[Any, Any]:
    """The layer of both libraries with the same random parameters, in double precision."""
    ours, theirs = make(tenora).double(), make(torch).double()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    with tenora.no_grad(), torch.no_grad():
        for seed, (a, b) in enumerate(zip(ours.parameters(), theirs.parameters(), strict=True)):
            np.testing.assert_array_equal(a.shape, b.shape)
            values = numbers(*b.shape, seed=seed + 7)
            a.copy_(tenora.tensor(values))
            b.copy_(torch.tensor(values))
    return ours, theirs


def outcome(f: Any, layer: Any, arrays: list[Any]) -> list[Any]:
    """Result, gradients of inputs and parameters, buffers."""
    inputs = [f.tensor(a, requires_grad=a.dtype == np.float64) for a in arrays]
    result = layer(*inputs)
    (result * f.tensor(numbers(*result.shape, seed=3))).sum().backward()
    found = [result.detach().numpy()]
    found += [x.grad.numpy() for x in inputs if x.requires_grad]
    found += [p.grad.numpy() for p in layer.parameters()]
    return found + [b.numpy().copy() for b in layer.buffers()]


def agree(make: Maker, arrays: list[Any], calls: int = 1, tolerance: float = 1e-9) -> None:
    ours, theirs = twins(make)
    assert repr(ours) == repr(theirs)
    for _ in range(calls):
        for a, b in zip(outcome(tenora, ours, arrays), outcome(torch, theirs, arrays), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "name", [n for n in LAYERS if n.split()[0].rstrip("123d") in ("BatchNorm", "InstanceNorm")]
)
def test_evaluation_uses_what_training_left(name: str, backend: str) -> None:
    make, shape = LAYERS[name]
    results = []
    for f, layer in zip((tenora, torch), twins(make), strict=True):
        layer(f.tensor(numbers(*shape, seed=1)))
        layer.eval()
        results.append(layer(f.tensor(numbers(*shape, seed=2))).detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_writes_into_the_input(name: str, backend: str) -> None:
    ours, theirs = getattr(tenora.nn, name)(inplace=True), getattr(torch.nn, name)(inplace=True)
    assert repr(ours) == repr(theirs)
    x = tenora.tensor(numbers(3, 4), requires_grad=True)
    y = x * 1.0
    z = ours.eval()(y)
    assert z is y
    z.sum().backward()
    w = torch.tensor(numbers(3, 4), requires_grad=True)
    theirs.eval()(w * 1.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), w.grad.numpy(), rtol=ROUGH.get(name, 1e-12))


TABLES: dict[str, Maker] = {
    "plain": lambda f: f.nn.Embedding(6, 3),
    "padded": lambda f: f.nn.Embedding(6, 3, padding_idx=-4),
    "by frequency": lambda f: f.nn.Embedding(6, 3, scale_grad_by_freq=True),
    "bounded": lambda f: f.nn.Embedding(6, 3, max_norm=0.5),
}


@pytest.mark.parametrize("name", TABLES)
def test_embedding(name: str, backend: str) -> None:
    agree(TABLES[name], [np.array([[0, 2, 2], [5, 2, 1]])])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str, backend: str) -> None:
    agree(lambda f: f.nn.EmbeddingBag(6, 3, mode=mode), [np.array([[0, 2, 3], [5, 2, 1]])])
    agree(
        lambda f: f.nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2),
        [np.array([0, 2, 3, 5, 2, 1]), np.array([0, 0, 4])],
    )


def test_channels_are_dropped_whole(backend: str) -> None:
    x = tenora.ones(50, 20, 3, 3)
    y = tenora.nn.Dropout2d(0.25)(x)
    per_channel = y.reshape(1000, 9)
    assert (
        set(per_channel.amax(1).tolist())
        == set(per_channel.amin(1).tolist())
        == {0.0, float(np.float32(1 / 0.75))}
    )
    assert (per_channel.amax(1) == per_channel.amin(1)).all()
    assert 0.2 < (per_channel.amax(1) == 0).float().mean().item() < 0.3


def test_alpha_dropout_keeps_mean_and_variance(backend: str) -> None:
    tenora.manual_seed(0)
    for drop in (tenora.nn.AlphaDropout(0.3), tenora.nn.FeatureAlphaDropout(0.3)):
        y = drop(tenora.randn(300, 100))
        assert abs(y.mean().item()) < 0.03 and abs(y.var().item() - 1) < 0.05


def test_table_starts_normal_with_a_zero_row() -> None:
    table = tenora.nn.Embedding(2000, 3, padding_idx=5)
    assert table.weight[5].tolist() == [0.0, 0.0, 0.0]
    assert abs(table.weight.std().item() - 1) < 0.05


def test_tables_that_are_given() -> None:
    frozen = tenora.nn.Embedding.from_pretrained(tenora.eye(3))
    assert not frozen.weight.requires_grad and frozen(tenora.tensor(1)).tolist() == [0.0, 1.0, 0.0]
    options = {
        "max_norm": 1.5,
        "norm_type": 1.0,
        "mode": "sum",
        "include_last_offset": True,
        "padding_idx": 2,
    }
    found = []
    for f in (tenora, torch):
        table = f.tensor(numbers(4, 3))
        bags = f.nn.EmbeddingBag.from_pretrained(table, False, **options)
        sums = bags(f.tensor([0, 2, 3, 1]), f.tensor([0, 3, 4]))
        sums.sum().backward()
        found.append((repr(bags), sums.detach().numpy(), bags.weight.grad.numpy()))
        assert not f.nn.EmbeddingBag.from_pretrained(table).weight.requires_grad
        with pytest.raises(AssertionError):
            f.nn.EmbeddingBag.from_pretrained(table[0])
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tenora.nn.BatchNorm2d(3)(tenora.ones(2, 3)), ValueError, "expected 4"),
        (lambda: tenora.nn.BatchNorm1d(3)(tenora.ones(2, 4)), RuntimeError, "4 channels"),
        (lambda: tenora.nn.BatchNorm1d(3)(tenora.ones(1, 3)), ValueError, "one value per channel"),
        (lambda: tenora.nn.GroupNorm(3, 4), ValueError, "divisor"),
        (lambda: tenora.nn.Dropout2d(1.5), ValueError, "probability"),
        (lambda: tenora.nn.Embedding(3, 2, padding_idx=3), AssertionError, "padding_idx"),
        (lambda: tenora.nn.Embedding(3, 2)(tenora.tensor([3])), IndexError, "out of bounds"),
        (lambda: tenora.nn.BCELoss()(tenora.ones(3), tenora.ones(4)), ValueError, "does not fit"),
        (lambda: tenora.nn.L1Loss(reduction="median"), ValueError, "reduction"),
        (lambda: tenora.nn.functional.one_hot(tenora.tensor([-1])), RuntimeError, "negative class"),
        (lambda: tenora.nn.functional.glu(tenora.ones(3)), RuntimeError, "odd size"),
        (lambda: tenora.nn.functional.softshrink(tenora.ones(3), -1.0), RuntimeError, "lambd"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss(reduction: str, backend: str) -> None:
    """Through log_softmax, as PyTorch's gradient expects; lengths as tuples; one label row is empty."""
    results = []
    for f in (tenora, torch):
        x = f.tensor(numbers(6, 3, 4), requires_grad=True)
        targets = f.tensor(np.array([[1, 2, 2], [3, 1, 0], [0, 0, 0]]))
        loss = f.nn.CTCLoss(reduction=reduction)(f.log_softmax(x, 2), targets, (6, 4, 5), (3, 2, 0))
        (loss * f.tensor(numbers(*loss.shape, seed=1))).sum().backward()
        results.append((loss.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
