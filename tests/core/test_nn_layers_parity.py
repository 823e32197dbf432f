"""Normalisation, activations, dropout, embeddings and losses as modules against PyTorch.

Each layer is made twice from one line; same parameters, same inputs: the same repr, state_dict keys, results, gradients
and, where it has any, buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

Maker = Callable[[Any], Any]
LAYERS: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda f: f.nn.BatchNorm1d(3), (5, 3)),
    "BatchNorm1d of sequences": (lambda f: f.nn.BatchNorm1d(3, momentum=None), (5, 3, 2)),
    "BatchNorm2d": (lambda f: f.nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), (2, 3, 2, 4)),
    "BatchNorm2d bare": (
        lambda f: f.nn.BatchNorm2d(3, affine=False, track_running_stats=False),
        (2, 3, 2, 4),
    ),
    "BatchNorm3d": (lambda f: f.nn.BatchNorm3d(2), (2, 2, 2, 2, 3)),
    "GroupNorm": (lambda f: f.nn.GroupNorm(2, 4), (2, 4, 3)),
    "GroupNorm bare": (lambda f: f.nn.GroupNorm(2, 4, affine=False), (2, 4, 3)),
    "LayerNorm": (lambda f: f.nn.LayerNorm((3, 4)), (2, 3, 4)),
    "LayerNorm without bias": (lambda f: f.nn.LayerNorm(4, bias=False), (2, 3, 4)),
    "RMSNorm": (lambda f: f.nn.RMSNorm(4), (2, 3, 4)),
    "InstanceNorm1d": (lambda f: f.nn.InstanceNorm1d(3), (2, 3, 4)),
    "InstanceNorm2d": (lambda f: f.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 2, 4)),
    "InstanceNorm2d alone": (lambda f: f.nn.InstanceNorm2d(3), (3, 2, 4)),
    "InstanceNorm3d": (lambda f: f.nn.InstanceNorm3d(2), (1, 2, 2, 2, 3)),
    "LocalResponseNorm": (lambda f: f.nn.LocalResponseNorm(2, alpha=0.5), (2, 4, 3)),
    "LeakyReLU": (lambda f: f.nn.LeakyReLU(0.2), (3, 4)),
    "ReLU6": (lambda f: f.nn.ReLU6(), (3, 4)),
    "ELU": (lambda f: f.nn.ELU(0.5), (3, 4)),
    "CELU": (lambda f: f.nn.CELU(0.5), (3, 4)),
    "SELU": (lambda f: f.nn.SELU(), (3, 4)),
    "SiLU": (lambda f: f.nn.SiLU(), (3, 4)),
    "GLU": (lambda f: f.nn.GLU(0), (4, 3)),
    "Hardtanh": (lambda f: f.nn.Hardtanh(-0.5, 0.25), (3, 4)),
    "Hardsigmoid": (lambda f: f.nn.Hardsigmoid(), (3, 4)),
    "Hardswish": (lambda f: f.nn.Hardswish(), (3, 4)),
    "Hardshrink": (lambda f: f.nn.Hardshrink(0.3), (3, 4)),
    "Softshrink": (lambda f: f.nn.Softshrink(0.3), (3, 4)),
    "Softsign": (lambda f: f.nn.Softsign(), (3, 4)),
    "Tanhshrink": (lambda f: f.nn.Tanhshrink(), (3, 4)),
    "Threshold": (lambda f: f.nn.Threshold(0.1, 20), (3, 4)),
    "LogSigmoid": (lambda f: f.nn.LogSigmoid(), (3, 4)),
    "Mish": (lambda f: f.nn.Mish(), (3, 4)),
    "PReLU": (lambda f: f.nn.PReLU(), (3, 4)),
    "PReLU of channels": (lambda f: f.nn.PReLU(3, init=0.1), (2, 3, 4)),
    "RReLU at rest": (lambda f: f.nn.RReLU().eval(), (3, 4)),
    "Softmin": (lambda f: f.nn.Softmin(1), (3, 4)),
    "Softmax2d": (lambda f: f.nn.Softmax2d(), (2, 3, 2, 2)),
    "Softplus": (lambda f: f.nn.Softplus(2.0), (3, 4)),
    "Dropout1d at rest": (lambda f: f.nn.Dropout1d(0.3).eval(), (2, 3, 4)),
    "Dropout2d at rest": (lambda f: f.nn.Dropout2d(0.3).eval(), (2, 3, 2, 2)),
    "Dropout3d of nothing": (lambda f: f.nn.Dropout3d(0.0), (2, 3, 1, 2, 2)),
    "AlphaDropout of nothing": (lambda f: f.nn.AlphaDropout(0.0), (3, 4)),
    "FeatureAlphaDropout at rest": (lambda f: f.nn.FeatureAlphaDropout().eval(), (3, 4)),
}
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


#: PyTorch's kernel for double takes 1 / 6 in float.
ROUGH = {"Hardsigmoid": 1e-7}


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


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


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, backend: str) -> None:
    make, shape = LAYERS[name]
    agree(make, [numbers(*shape) * 2], calls=2, tolerance=ROUGH.get(name, 1e-9))


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


LABELS = np.array([0, 2, 1, 0, 3])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
CHANCES = 1 / (1 + np.exp(-numbers(5, 4, seed=5)))
LOSSES: dict[str, tuple[Maker, list[Any]]] = {
    "L1Loss": (lambda f: f.nn.L1Loss(), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "SmoothL1Loss": (lambda f: f.nn.SmoothL1Loss(beta=0.5), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "HuberLoss": (lambda f: f.nn.HuberLoss("sum", 0.5), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "BCELoss": (lambda f: f.nn.BCELoss(f.tensor(CHANCES[0])), [CHANCES, CHANCES[::-1].copy()]),
    "BCEWithLogitsLoss": (
        lambda f: f.nn.BCEWithLogitsLoss(reduction="none", pos_weight=f.tensor(CHANCES[1])),
        [numbers(5, 4), CHANCES],
    ),
    "KLDivLoss": (lambda f: f.nn.KLDivLoss(reduction="batchmean"), [np.log(CHANCES), CHANCES[::-1].copy()]),
    "PoissonNLLLoss": (lambda f: f.nn.PoissonNLLLoss(full=True), [numbers(5, 4), CHANCES * 5]),
    "GaussianNLLLoss": (
        lambda f: f.nn.GaussianNLLLoss(full=True),
        [numbers(5, 4), numbers(5, 4, seed=1), CHANCES],
    ),
    "GaussianNLLLoss of rows": (
        lambda f: f.nn.GaussianNLLLoss(),
        [numbers(5, 4), numbers(5, 4, seed=1), CHANCES[:, 0].copy()],
    ),
    "SoftMarginLoss": (lambda f: f.nn.SoftMarginLoss(reduction="sum"), [numbers(5), SIGNS]),
    "HingeEmbeddingLoss": (lambda f: f.nn.HingeEmbeddingLoss(0.5), [numbers(5), SIGNS]),
    "MarginRankingLoss": (lambda f: f.nn.MarginRankingLoss(0.5), [numbers(5), numbers(5, seed=1), SIGNS]),
    "CosineEmbeddingLoss": (
        lambda f: f.nn.CosineEmbeddingLoss(0.1),
        [numbers(5, 4), numbers(5, 4, seed=1), SIGNS],
    ),
    "MultiMarginLoss": (
        lambda f: f.nn.MultiMarginLoss(2, 0.7, f.tensor(CHANCES[2])),
        [numbers(5, 4), LABELS],
    ),
    "MultiLabelMarginLoss": (
        lambda f: f.nn.MultiLabelMarginLoss(),
        [numbers(2, 4), np.array([[3, 0, -1, 1], [2, -1, 0, 0]])],
    ),
    "MultiLabelSoftMarginLoss": (
        lambda f: f.nn.MultiLabelSoftMarginLoss(reduction="none"),
        [numbers(5, 4), np.round(CHANCES).astype(np.int64)],
    ),
    "TripletMarginLoss": (
        lambda f: f.nn.TripletMarginLoss(swap=True),
        [numbers(5, 4), numbers(5, 4, seed=1), numbers(5, 4, seed=2)],
    ),
    "TripletMarginWithDistanceLoss": (
        lambda f: f.nn.TripletMarginWithDistanceLoss(swap=True),
        [numbers(5, 4), numbers(5, 4, seed=1), numbers(5, 4, seed=2)],
    ),
    "CosineSimilarity": (lambda f: f.nn.CosineSimilarity(), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "PairwiseDistance": (
        lambda f: f.nn.PairwiseDistance(1.0, keepdim=True),
        [numbers(5, 4), numbers(5, 4, seed=1)],
    ),
    "Bilinear": (lambda f: f.nn.Bilinear(4, 3, 2), [numbers(5, 4), numbers(5, 3, seed=1)]),
}
#: PyTorch has no gradient for these targets, or gives none.
WITHOUT_TARGETS = {"SoftMarginLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "CosineEmbeddingLoss"}


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str, backend: str) -> None:
    make, arrays = LOSSES[name]
    if name in WITHOUT_TARGETS:
        arrays = [*arrays[:-1], arrays[-1].astype(np.int64)]
    agree(make, arrays)


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
