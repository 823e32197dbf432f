"""nn.utils beside PyTorch: clipping, vectors of parameters, the norms with hooks, fusing, functional_call."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from both import agree, refused
from draws import numbers

import tenora

pytestmark = pytest.mark.oracle
SHAPES = ((3, 4), (5,), (), (2, 1, 3), (0, 2), (150, 120))


def parameters(f: Any, scale: float = 1.0) -> list[Any]:
    made = []
    for i, shape in enumerate(SHAPES):
        made.append(f.nn.Parameter(f.zeros(shape, dtype=f.float64)))
        made[-1].grad = f.tensor(numbers(*shape, seed=i) * scale, dtype=f.float64)
    return [*made, f.nn.Parameter(f.zeros(2))]


def same(f: Any, ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_names_and_arguments_are_those_of_torch() -> None:
    missing = []
    for place in ("", "parametrize", "parametrizations", "prune", "stateless"):
        theirs = __import__(f"torch.nn.utils.{place}".rstrip("."), fromlist=["x"])
        ours = getattr(tenora.nn.utils, place) if place else tenora.nn.utils
        for name, function in vars(theirs).items():
            theirs_own = inspect.isfunction(function) and function.__module__.startswith("torch.nn.utils")
            if theirs_own and not name.startswith("_") and "memory_format" not in name:
                mine = getattr(ours, name, None)
                if mine is None or list(inspect.signature(mine).parameters) != list(
                    inspect.signature(function).parameters
                ):
                    missing.append(f"{place}.{name}")
    assert missing == []  # memory formats, which tenora has not, are left out above


@pytest.mark.parametrize("order", [2.0, 1, 3.5, 0, "inf", -math.inf, -1.0])
def test_total_norm_of_any_order(order: Any, backend: str) -> None:
    def norm(f: Any) -> Any:
        tensors = [p.grad for p in parameters(f)[:-1] if order in (2.0, 1, 3.5, 0) or p.numel()]
        return f.nn.utils.get_total_norm(tensors, order)

    same(None, norm(tenora), norm(torch))


@pytest.mark.parametrize("order", [2.0, 1.0, math.inf])
@pytest.mark.parametrize("max_norm", [0.5, 3, 1e6, 0.0])
@pytest.mark.parametrize("foreach", [None, False, True])
def test_clip_grad_norm(order: float, max_norm: float, foreach: bool | None, backend: str) -> None:
    found = []
    for f in (tenora, torch):
        made = [p for p in parameters(f) if p.numel()]
        norm = f.nn.utils.clip_grad_norm_(iter(made), max_norm, order, foreach=foreach)
        found.append([norm, *(p.grad for p in made if p.grad is not None)])
        assert made[-1].grad is None and not norm.requires_grad
    for ours, theirs in zip(*found, strict=True):
        same(None, ours, theirs)


def test_clipping_writes_in_place_and_only_when_it_must(backend: str) -> None:
    made = parameters(tenora)[:1]
    gradient = made[0].grad
    before = gradient._version
    tenora.nn.utils.clip_grad_norm_(made, 1e3)
    assert made[0].grad is gradient and gradient._version == before
    tenora.nn.utils.clip_grad_norm_(made[0], 1.0)
    assert made[0].grad is gradient and gradient._version > before


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_clipping_of_what_is_not_finite(bad: float, backend: str) -> None:
    def clipped(f: Any) -> Any:
        made = parameters(f)[:2]
        made[0].grad[0, 0] = bad
        first = refused(lambda: f.nn.utils.clip_grad_norm_(made, 1.0, error_if_nonfinite=True))
        kept = made[1].grad.tolist()
        f.nn.utils.clip_grad_norm_(made, 1.0)
        return first, kept, [p.grad for p in made]

    assert clipped(tenora)[0] == "RuntimeError"
    agree(clipped)


def test_clipping_edges() -> None:
    agree(lambda f: f.nn.utils.get_total_norm([]))
    agree(lambda f: f.nn.utils.clip_grad_norm_([f.nn.Parameter(f.zeros(2))], 1.0))
    agree(lambda f: f.nn.utils.clip_grads_with_norm_([], 1.0, f.tensor(2.0)))
    agree(lambda f: f.nn.utils.clip_grad_norm_(parameters(f), "a"))
    for f in (tenora, torch):
        with pytest.warns(UserWarning, match="empty generator|generator without elements"):
            f.nn.utils.clip_grad_norm_((p for p in ()), 1.0)
        with pytest.warns(FutureWarning):
            f.nn.utils.clip_grad_norm(parameters(f)[:2], 1.0)


def test_clipping_of_several_dtypes(backend: str) -> None:
    def clipped(f: Any) -> Any:
        made = parameters(f)[:2]
        made[1] = f.nn.Parameter(f.zeros(5))
        made[1].grad = f.full((5,), 2.0)
        norm = f.nn.utils.clip_grad_norm_(made, 1.0)
        return norm.dtype, float(norm), [p.grad.double().tolist() for p in made]

    (dtype, norm, ours), (_, their_norm, theirs) = clipped(tenora), clipped(torch)
    assert dtype == tenora.float64
    np.testing.assert_allclose(norm, their_norm, rtol=1e-6)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("bound", [0.5, 1, 1e9])
def test_clip_grad_value(bound: float, backend: str) -> None:
    def clipped(f: Any) -> Any:
        made = parameters(f, 2.0)[:4]
        return f.nn.utils.clip_grad_value_(made, bound), [p.grad for p in made]

    agree(clipped)


def test_vectors_of_parameters(backend: str) -> None:
    def there_and_back(f: Any) -> Any:
        net = f.nn.Sequential(f.nn.Linear(2, 3), f.nn.Linear(3, 1)).double()
        vector = f.tensor(numbers(13), requires_grad=True)
        f.nn.utils.vector_to_parameters(vector, net.parameters())
        back = f.nn.utils.parameters_to_vector(net.parameters())
        (back * 2).sum().backward()
        shared = vector.detach()
        shared[0] = 7.0
        return back, net[0].weight.grad, net[0].weight, net[0].weight.is_leaf

    agree(there_and_back)
    agree(lambda f: f.nn.utils.vector_to_parameters([1.0], []))
    agree(lambda f: f.nn.utils.vector_to_parameters(f.zeros(3), f.nn.Linear(2, 2).parameters()))


LAYERS = {
    "linear": (lambda f: f.nn.Linear(4, 3), (5, 4)),
    "conv": (lambda f: f.nn.Conv2d(2, 3, 3), (2, 2, 5, 5)),
    "transposed": (lambda f: f.nn.ConvTranspose1d(2, 3, 3), (2, 2, 5)),
}


def pair(make: Any, wrap: Any) -> tuple[Any, Any]:
    """The same wrapped layer on both sides: PyTorch's state is loaded into ours, through its keys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ours, theirs = wrap(tenora, make(tenora).double()), wrap(torch, make(torch).double())
    state = {key: tenora.tensor(value.numpy().copy()) for key, value in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    return ours, theirs


def three_steps(ours: Any, theirs: Any, shape: tuple[int, ...]) -> None:
    """Trains both layers and compares outputs, gradients and the state after each step."""
    for step in range(3):
        for f, layer in ((tenora, ours), (torch, theirs)):
            layer.zero_grad()
            (layer(f.tensor(numbers(*shape, seed=step))) ** 2).sum().backward()
            with f.no_grad():
                for parameter in layer.parameters():
                    parameter -= 0.01 * parameter.grad
        for (name, mine), (other, their) in zip(
            ours.named_parameters(), theirs.named_parameters(), strict=True
        ):
            assert name == other
            same(None, mine.grad, their.grad)
        for key, value in theirs.state_dict().items():
            same(None, ours.state_dict()[key], value)
    ours.eval(), theirs.eval()
    x = numbers(*shape, seed=9)
    same(None, ours(tenora.tensor(x)), theirs(torch.tensor(x)))
    torch.nn.Module.load_state_dict(
        theirs, {k: torch.tensor(v.numpy().copy()) for k, v in ours.state_dict().items()}
    )


WRAPPED = {
    "weight_norm": lambda f, layer: f.nn.utils.weight_norm(layer),
    "weight_norm dim 1": lambda f, layer: f.nn.utils.weight_norm(layer, dim=1),
    "weight_norm whole": lambda f, layer: f.nn.utils.weight_norm(layer, dim=None),
    "weight_norm of bias": lambda f, layer: f.nn.utils.weight_norm(layer, "bias"),
    "spectral_norm": lambda f, layer: f.nn.utils.spectral_norm(layer),
    "spectral_norm dim 1": lambda f, layer: f.nn.utils.spectral_norm(layer, n_power_iterations=3, dim=1),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("wrap", WRAPPED)
def test_norms_with_hooks_train_as_in_torch(layer: str, wrap: str, backend: str) -> None:
    make, shape = LAYERS[layer]
    three_steps(*pair(make, WRAPPED[wrap]), shape)


@pytest.mark.filterwarnings("ignore:.*old form:FutureWarning", "ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
def test_norms_with_hooks_come_off(kind: str) -> None:
    def on_and_off(f: Any) -> Any:
        layer = getattr(f.nn.utils, kind)(f.nn.Linear(3, 2))
        weight = layer.eval()(f.ones(3)) * 0 + layer.weight.sum()
        twice = refused(lambda: getattr(f.nn.utils, kind)(layer))
        getattr(f.nn.utils, f"remove_{kind}")(layer)
        still = refused(lambda: getattr(f.nn.utils, f"remove_{kind}")(layer))
        unknown = refused(lambda: getattr(f.nn.utils, kind)(layer, "nothing"))
        hooks = (layer._forward_pre_hooks, layer._state_dict_hooks, layer._load_state_dict_pre_hooks)
        return (
            list(layer.state_dict()),
            bool((weight[0] - layer.weight.sum()).abs() < 1e-6),
            twice,
            still,
            unknown != "",
            len(hooks[0]) + len(hooks[1]),  # PyTorch forgets its loading hook
            type(layer.weight).__name__,
        )

    agree(on_and_off)
    layer = getattr(tenora.nn.utils, kind)(tenora.nn.Linear(3, 2))
    getattr(tenora.nn.utils, f"remove_{kind}")(layer)
    assert not layer._load_state_dict_pre_hooks


def test_states_of_spectral_norm_before_version_1(backend: str) -> None:
    found = []
    for f in (tenora, torch):
        layer = f.nn.utils.spectral_norm(f.nn.Linear(3, 2).double())
        assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
        u = numbers(2, seed=2) / np.linalg.norm(numbers(2, seed=2))
        given = {
            "weight_orig": numbers(2, 3),
            "weight": numbers(2, 3) / 1.7,
            "weight_u": u,
            "bias": np.ones(2),
        }
        layer.load_state_dict({key: f.tensor(value) for key, value in given.items()})
        found.append(layer.weight_v)
        assert refused(lambda f=f, layer=layer: layer.load_state_dict({"bias": f.ones(2)})) == "RuntimeError"
    same(None, *found)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_fused_batch_norms(kind: str, bias: bool, affine: bool, backend: str) -> None:
    def fused(f: Any) -> Any:
        if kind == "linear":
            layer, x = f.nn.Linear(4, 3, bias=bias), f.tensor(numbers(5, 4))
        elif kind == "conv":
            layer, x = f.nn.Conv2d(4, 3, 2, bias=bias), f.tensor(numbers(2, 4, 3, 3))
        else:
            layer, x = f.nn.ConvTranspose2d(4, 3, 2, bias=bias), f.tensor(numbers(2, 4, 3, 3))
        bn = (f.nn.BatchNorm1d if kind == "linear" else f.nn.BatchNorm2d)(
            3, affine=affine or kind == "linear"
        )
        layer, bn = layer.double(), bn.double()
        with f.no_grad():
            for i, tensor in enumerate([*layer.parameters(), *bn.parameters(), bn.running_mean]):
                tensor.copy_(f.tensor(numbers(*tensor.shape, seed=i)))
        bn.running_var.copy_(f.tensor(numbers(3) ** 2))
        layer.eval(), bn.eval()
        utils = f.nn.utils
        if kind == "linear":
            one = utils.fuse_linear_bn_eval(layer, bn)
        else:
            one = utils.fuse_conv_bn_eval(layer, bn, transpose=kind == "transposed")
        flags = (one is layer, one.weight.requires_grad, bool((one(x) - bn(layer(x))).abs().max() < 1e-12))
        layer.train()
        return flags, refused(lambda: utils.fuse_conv_bn_eval(layer, bn)), one.weight.shape

    agree(fused)


def test_skip_init_draws_nothing() -> None:
    tenora.manual_seed(1)
    expected = tenora.rand(1).item()
    tenora.manual_seed(1)
    layer = tenora.nn.utils.skip_init(tenora.nn.Conv2d, 2, 3, 3, dtype=tenora.float64, device="cpu")
    assert tenora.rand(1).item() == expected
    assert layer.weight.dtype == tenora.float64 and layer.weight.requires_grad
    assert tenora.nn.init.ones_(tenora.zeros(1)).item() == 1.0
    agree(lambda f: refused(lambda: f.nn.utils.skip_init(f.nn.ReLU)))
    agree(lambda f: refused(lambda: f.nn.utils.skip_init(f.nn.Module)))


def test_the_room_is_loaded_late_and_tells_its_names() -> None:
    assert "prune" in dir(tenora.nn.utils)
    with pytest.raises(AttributeError, match="clip_grad_norm_"):
        tenora.nn.utils.clip_grad_nrm_  # noqa: B018 - the look-up is the test


def test_norms_of_a_parameter_that_is_not_there() -> None:
    """As PyTorch's kinds of errors, with the names that are."""
    for name, error in (("spectral_norm", KeyError), ("weight_norm", AttributeError)):
        for f in (tenora, torch):
            with warnings.catch_warnings(), pytest.raises(error) as caught:
                warnings.simplefilter("ignore")
                getattr(f.nn.utils, name)(f.nn.Linear(2, 2), "x")
            if f is tenora:
                assert (
                    f"[{name}] name: got 'x', expected one of Linear's parameters ['weight', 'bias']"
                    in str(caught)
                )
