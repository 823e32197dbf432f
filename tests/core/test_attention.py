"""Attention against PyTorch: the function with all its masks, and the layer of several heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from draws import numbers

import tenora

pytestmark = pytest.mark.oracle


MASK = np.triu(np.ones((4, 4), bool), 1)
PADDING = np.array([[False, False, True, False], [False, False, False, True], [False] * 4])
LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "without bias": {"bias": False},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "other sizes": {"kdim": 3, "vdim": 5},
}
CALLS: dict[str, dict[str, Any]] = {
    "no masks": {},
    "causal": {"attn_mask": MASK, "is_causal": True},
    "padding": {"key_padding_mask": PADDING},
    "both, each head": {"attn_mask": MASK, "key_padding_mask": PADDING, "average_attn_weights": False},
    "without weights": {"need_weights": False},
    "floating mask": {"attn_mask": numbers(4, 4, seed=9)},
}


def outcome(f: Any, options: dict[str, Any], call: dict[str, Any], cross: bool) -> list[Any]:
    layer = f.nn.MultiheadAttention(6, 2, **options).double()
    with f.no_grad():
        for seed, parameter in enumerate(layer.parameters()):
            parameter.copy_(f.tensor(numbers(*parameter.shape, seed=seed)))
    sizes = (6, options.get("kdim", 6), options.get("vdim", 6))
    turned = (1, 0, 2) if options.get("batch_first") else (0, 1, 2)
    inputs = [
        f.tensor(np.transpose(numbers(4, 3, size, seed=20 + i), turned).copy(), requires_grad=True)
        for i, size in enumerate(sizes)
    ]
    given = inputs if cross else [inputs[0]] * 3
    masks = {k: f.tensor(v) if isinstance(v, np.ndarray) else v for k, v in call.items()}
    result, weights = layer(*given, **masks)
    (result * f.tensor(numbers(*result.shape, seed=3))).sum().backward()
    found = [result.detach().numpy(), None if weights is None else weights.detach().numpy()]
    found += [x.grad.numpy() for x in inputs if x.grad is not None]
    return [*found, *[p.grad.numpy() for p in layer.parameters()], list(layer.state_dict()), repr(layer)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, call: str, backend: str) -> None:
    for cross in (True, False):
        if not cross and name == "other sizes":
            continue
        ours, theirs = (outcome(f, LAYERS[name], CALLS[call], cross) for f in (tenora, torch))
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
            else:
                assert a == b


def test_one_sequence_alone(backend: str) -> None:
    layer = tenora.nn.MultiheadAttention(6, 2)
    x = tenora.tensor(numbers(4, 6)).float()
    alone, weights = layer(x, x, x)
    batched, _ = layer(*[x.unsqueeze(1)] * 3)
    assert tuple(weights.shape) == (4, 4)
    np.testing.assert_allclose(
        alone.detach().numpy(), batched.squeeze(1).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_a_query_that_sees_nothing_gets_zero(backend: str) -> None:
    """And its gradient is zero, not NaN."""
    q, k, v = (tenora.tensor(numbers(3, 4, seed=i), requires_grad=True) for i in range(3))
    mask = tenora.tensor(np.array([[True] * 3, [False] * 3, [True, False, True]]))
    out = tenora.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    assert out[1].tolist() == [0.0] * 4
    out.sum().backward()
    assert q.grad[1].tolist() == [0.0] * 4
    assert all(x.grad.isfinite().all().item() for x in (q, k, v))


def test_dropout_falls_on_the_weights(backend: str) -> None:
    q, k = tenora.zeros(1, 200, 8), tenora.zeros(1, 50, 8)
    out = tenora.nn.functional.scaled_dot_product_attention(q, k, tenora.ones(1, 50, 1), dropout_p=0.5)
    assert abs(out.mean().item() - 1) < 0.05 and out.std().item() > 0.05
    nothing = tenora.nn.functional.scaled_dot_product_attention(q, k, tenora.ones(1, 50, 1), dropout_p=1.0)
    assert nothing.abs().sum().item() == 0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"attn_mask": "mask", "is_causal": True}, RuntimeError, "two masks"),
        ({"attn_mask": "long"}, RuntimeError, "do not broadcast"),
        ({"dropout_p": 2.0}, ValueError, "dropout_p"),
        ({"enable_gqa": True}, RuntimeError, "heads"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], words: str) -> None:
    masks = {"mask": tenora.zeros(3, 3), "long": tenora.zeros(3, 4)}
    given = {k: masks.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
    x = tenora.ones(3, 4)
    with pytest.raises(error, match=words):
        tenora.nn.functional.scaled_dot_product_attention(x, x, x, **given)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_are_joined_by_a_view(causal: bool, backend: str) -> None:
    """The result lies in memory as the query does, as in PyTorch."""
    found = []
    for module in (tenora, torch):
        x = module.tensor(numbers(2, 4, 15)).float()
        q, k, v = (x.view(2, 4, 3, 5).transpose(1, 2) for _ in range(3))
        result = module.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        dense = module.nn.functional.scaled_dot_product_attention(q.contiguous(), k, v, is_causal=causal)
        joined = result.transpose(1, 2).view(2, 4, 15)
        found.append((joined.numpy(), result.stride(), dense.stride()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-6)
    assert found[0][1:] == found[1][1:]
