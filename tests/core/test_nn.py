"""Modules: registration, listing, state, copying, hooks, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tenora
from tenora import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])
        self.scale = nn.Parameter(tenora.ones(1))
        self.register_buffer("steps", tenora.zeros(1, dtype=tenora.int64))
        self.register_buffer("scratch", tenora.zeros(2), persistent=False)

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x * self.scale


NAMES = ["scale", "first.weight", "first.bias", "layers.0.weight", "layers.0.bias"]


def test_listing_follows_registration() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_buffers()] == ["steps", "scratch"]
    assert list(net.state_dict()) == ["scale", "steps", *NAMES[1:]]
    assert [name for name, _ in net.named_modules()] == ["", "first", "layers", "layers.0", "layers.1"]


def test_a_shared_parameter_is_listed_once() -> None:
    net = Net()
    net.again = net.first
    assert [name for name, _ in net.named_parameters()] == NAMES


def test_assignment_moves_between_kinds() -> None:
    net = Net()
    with pytest.raises(TypeError, match="expected a Parameter or None"):
        net.scale = tenora.ones(1)
    net.scale = None
    assert "scale" not in dict(net.named_parameters()) and net.scale is None
    del net.first
    assert not hasattr(net, "first")


def test_modules_need_super_init_first() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Early()


def test_state_goes_round_and_shares_nothing(backend: str) -> None:
    a, b = Net(), Net()
    assert b.load_state_dict(a.state_dict()) == ([], [])
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert x.tolist() == y.tolist() and x.data_ptr() != y.data_ptr()


def test_a_state_that_does_not_fit_changes_nothing(backend: str) -> None:
    net = Net()
    before = net.first.weight.tolist()
    state = dict(net.state_dict())
    state["first.weight"] = tenora.zeros(3, 3)
    del state["scale"]
    state["extra"] = tenora.zeros(1)
    with pytest.raises(
        RuntimeError,
        match=r'(?s)Unexpected key\(s\).*"extra".*Missing key\(s\).*"scale".*size mismatch for first\.weight.*\(3, 3\)',
    ):
        net.load_state_dict(state)
    assert net.first.weight.tolist() == before


def test_deepcopy_and_pickle_are_independent(backend: str) -> None:
    net = Net().eval()
    x = tenora.rand(2, 3)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other(x).tolist() == net(x).tolist()
        assert not other.training
        with tenora.no_grad():
            other.first.weight.zero_()
        assert net.first.weight.abs().sum().item() > 0
        assert isinstance(other.scale, nn.Parameter) and list(dict(other.named_parameters())) == NAMES


def test_hooks_change_input_and_output_until_removed(backend: str) -> None:
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    after = layer.register_forward_hook(lambda module, args, output: output * 10)
    assert layer(tenora.ones(1)).item() == 20.0
    before.remove()
    assert layer(tenora.ones(1)).item() == 10.0
    after.remove()
    assert layer(tenora.ones(1)).item() == 1.0


def test_train_eval_and_zero_grad(backend: str) -> None:
    net = Net()
    assert not net.eval().layers[0].training and net.train().layers[0].training
    net(tenora.ones(1, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_to_casts_floating_members_only(backend: str) -> None:
    net = Net().double()
    assert {p.dtype for p in net.parameters()} == {tenora.float64} and net.steps.dtype == tenora.int64


def test_repr_is_pytorchs() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    assert repr(net) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)"
    )


def test_the_list_behaves_like_one() -> None:
    layers = nn.ModuleList(nn.Linear(n + 1, 1) for n in range(3))
    del layers[0]
    layers.insert(0, nn.ReLU())
    assert [type(layer).__name__ for layer in layers] == ["ReLU", "Linear", "Linear"]
    assert list(layers.state_dict()) == ["1.weight", "1.bias", "2.weight", "2.bias"]
    with pytest.raises(IndexError, match="got 3"):
        layers[3]


def test_a_wrong_input_names_the_op_and_the_shapes(backend: str) -> None:
    with pytest.raises(RuntimeError, match=r"\[linear\].*5.*3"):
        Net()(tenora.ones(2, 5))


@pytest.mark.parametrize(
    ("optimizer", "option"),
    [
        (tenora.optim.SGD, "differentiable"),
        (tenora.optim.Adam, "differentiable"),
        (tenora.optim.AdamW, "capturable"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(optimizer: Any, option: str) -> None:
    weight = tenora.ones(1, requires_grad=True)
    assert not optimizer([weight], **{option: False}).defaults[option]
    with pytest.raises(ValueError, match=option):
        optimizer([weight], **{option: True})
