"""Composites with a kernel or gradient of their own against PyTorch: edges that their records' samples leave out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import special

import tenora

Arrays = list[np.ndarray[Any, Any]]


def both(run: Callable[[Any], Arrays]) -> None:
    """Results and gradients of a function of the framework are those of PyTorch."""
    for ours, theirs in zip(run(tenora), run(torch), strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def differentiated(
    f: Any, function: Callable[..., Any], *arrays: np.ndarray[Any, Any], twice: bool = True
) -> Arrays:
    """A result, its gradients, and the gradients of a sum of their squares."""
    leaves = [f.tensor(a).requires_grad_() for a in arrays]
    result = function(*leaves)
    first = f.autograd.grad((result * result * result).sum(), leaves, create_graph=True)
    second = f.autograd.grad(sum((g * g).sum() for g in first), leaves) if twice else ()
    return [v.detach().numpy() for v in (result, *first, *second)]


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(len(shape)).standard_normal(shape)


INDEX = np.array([[1, 4, 1, 0], [2, 2, 2, 3], [4, 1, 0, 0]])


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}], ids=str)
def test_embedding(backend: str, options: dict[str, Any]) -> None:
    """PyTorch's second gradients leave out the frequencies."""
    twice = "scale_grad_by_freq" not in options
    both(
        lambda f: differentiated(
            f, lambda w: f.nn.functional.embedding(f.tensor(INDEX), w, **options), draw(5, 3), twice=twice
        )
    )


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(backend: str, mode: str, padding: int | None, flat: bool) -> None:
    def run(f: Any) -> Arrays:
        index = f.tensor(INDEX.reshape(-1) if flat else INDEX)
        offsets = f.tensor(np.array([0, 3, 3, 7])) if flat else None
        w = f.tensor(draw(5, 3)).requires_grad_()
        bags = f.nn.functional.embedding_bag(index, w, offsets, mode=mode, padding_idx=padding)
        (bags * bags).sum().backward()
        return [bags.detach().numpy(), w.grad.numpy()]

    both(run)


def test_weighted_bags(backend: str) -> None:
    def run(f: Any) -> Arrays:
        w, shares = (f.tensor(draw(*shape)).requires_grad_() for shape in ((5, 3), (3, 4)))
        bags = f.nn.functional.embedding_bag(f.tensor(INDEX), w, per_sample_weights=shares, mode="sum")
        (bags * bags).sum().backward()
        return [v.numpy() for v in (bags.detach(), w.grad, shares.grad)]

    both(run)


NORMS: dict[str, tuple[Callable[..., Any], int]] = {
    "layer_norm": (lambda f, x, w, b: f.nn.functional.layer_norm(x, [x.shape[-1]], w, b), -1),
    "rms_norm": (lambda f, x, w, b: f.nn.functional.rms_norm(x, [x.shape[-1]], w, 1e-5) + b, -1),
    "group_norm": (lambda f, x, w, b: f.nn.functional.group_norm(x, 3, w, b), 1),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("shape", [(4, 6, 5), (2, 6, 33), (3, 6)], ids=str)
def test_norms(backend: str, shape: tuple[int, ...], name: str) -> None:
    function, dim = NORMS[name]
    scale = draw(shape[dim])
    both(lambda f: differentiated(f, lambda *leaves: function(f, *leaves), draw(*shape), scale, scale + 1))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms_of_strided_input(backend: str, name: str) -> None:
    x = draw(6, 5, 4)
    both(
        lambda f: [
            getattr(f.nn.functional, name)(f.tensor(x).permute(2, 0, 1)[:, ::2], [3, 5], eps=1e-5).numpy()
        ]
    )


def test_vector_norm_where_squares_leave_the_range(backend: str) -> None:
    for scale in (1e-300, 1e-160, 1e-80, 1.0, 1e80, 1e160, 1e300):
        x = draw(3, 40) * scale
        found = tenora.linalg.vector_norm(tenora.tensor(x), 2, 1).numpy()
        np.testing.assert_allclose(found / scale, np.linalg.norm(x / scale, axis=1), rtol=1e-12)
    odd = np.array([[np.inf, 1.0], [np.nan, 1.0], [0.0, 0.0], [-np.inf, np.nan]])
    for dtype in ("float32", "float64"):
        found = tenora.linalg.vector_norm(tenora.tensor(odd.astype(dtype)), 2, 1).numpy()
        np.testing.assert_array_equal(found, torch.linalg.vector_norm(torch.tensor(odd), 2, 1).numpy())


def test_bincount_refuses_what_it_cannot_count(backend: str) -> None:
    with pytest.raises(RuntimeError, match="bincount"):
        tenora.bincount(tenora.tensor([1, -1]))
    x = np.random.default_rng(0).integers(0, 50, 3000)
    both(lambda f: [f.bincount(f.tensor(x)).numpy(), f.bincount(f.tensor(x), minlength=99).numpy()])


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_long_lines_keep_the_order_of_equal_elements(backend: str, dtype: str) -> None:
    """Keys of eight bytes: all digits, few of them, none; the extremes and what is not finite."""
    rng = np.random.default_rng(0)
    lines = [rng.integers(-(2**63), 2**63 - 1, 1000), rng.integers(0, 7, 1000), np.full(200, 3)]
    lines.append(np.concatenate([rng.integers(-3, 3, 200), [2**63 - 1, -(2**63)] * 60]))
    lines.append(2 ** rng.integers(0, 62, 500))
    for line in lines:
        x = line.astype(dtype)
        if dtype == "float64":
            x[::50], x[7::60], x[9::70] = np.nan, np.inf, -0.0
        order = tenora.sort(tenora.tensor(x), stable=True)
        np.testing.assert_array_equal(order.indices.numpy(), np.argsort(x, kind="stable"))
        np.testing.assert_array_equal(order.values.numpy(), np.sort(x, kind="stable"))


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-13), ("float32", 4e-7)])
def test_special_functions_far_and_near(backend: str, dtype: str, rtol: float) -> None:
    x = np.concatenate([np.linspace(-40, 40, 801), np.geomspace(1e-6, 3e4, 200)]).astype(dtype)
    for name in ("i0e", "i1e"):
        found = getattr(tenora.special, name)(tenora.tensor(x)).numpy()
        np.testing.assert_allclose(found, getattr(special, name)(x.astype(float)), rtol=rtol, atol=1e-300)
    up = x[x > 1e-2]
    for n in (1, 2, 3, 7, 20):
        found = tenora.polygamma(n, tenora.tensor(up[up > 0.3])).numpy()
        np.testing.assert_allclose(
            found, special.polygamma(n, up[up > 0.3].astype(float)), rtol=rtol * 20, atol=1e-37
        )
    below = np.array([-0.3, -1.5, -7.25, -30.75, 0.0], dtype=dtype)
    found = tenora.polygamma(1, tenora.tensor(below)).numpy()
    theirs = torch.polygamma(1, torch.tensor(below)).numpy()
    np.testing.assert_allclose(found, theirs, rtol=1e-5 if dtype == "float32" else 1e-9)
