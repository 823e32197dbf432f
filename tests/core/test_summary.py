"""`tenora.summary`: what the table says, and that the model stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

import tenora
from tenora import nn


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)
    )


def test_rows_and_totals() -> None:
    model = network()
    model[0].requires_grad_(False)
    found = tenora.summary(model, (2, 1, 8, 8))
    rows = [
        (r.path, r.kind, r.output_shape, r.parameters, r.trainable, r.memory, r.calls) for r in found.layers
    ]
    assert rows == [
        ("", "Sequential", (2, 10), 0, 0, 0, 1),
        ("0", "Conv2d", (2, 4, 6, 6), 40, 0, 160, 1),
        ("1", "BatchNorm2d", (2, 4, 6, 6), 8, 8, 8 * 4 + 8 * 4 + 8, 1),
        ("2", "ReLU", (2, 4, 6, 6), 0, 0, 0, 1),
        ("3", "Flatten", (2, 144), 0, 0, 0, 1),
        ("4", "Linear", (2, 10), 1450, 1450, 5800, 1),
    ]
    assert found.parameters == sum(p.numel() for p in model.parameters()) == 1498
    assert (found.trainable, found.memory) == (1458, 160 + 72 + 5800)


def test_the_table() -> None:
    lines = str(tenora.summary(network(), (2, 1, 8, 8))).splitlines()
    assert lines[0].split() == ["Layer", "Class", "Output", "shape", "Parameters", "Trainable", "Memory"]
    assert lines[7].split() == ["4", "Linear", "[2,", "10]", "1,450", "1,450", "5.7", "KiB"]
    assert lines[-1].startswith("Parameters: 1,498 (trainable 1,498, frozen 0).")
    assert len(lines) == 10 and max(map(len, lines[1:-1])) == len(lines[1])


class Restless(nn.Module):
    """Draws, counts and changes buffers whatever its mode."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped = nn.Dropout(0.5)
        self.register_buffer("count", tenora.zeros(2))
        self.register_buffer("other", tenora.zeros(1))
        self.seen_modes: list[bool] = []

    def forward(self, x: Any) -> Any:
        self.count.add_(1)
        self.other = tenora.ones(1)
        self.seen_modes.append(self.training or tenora.is_grad_enabled())
        return self.dropped(x) + tenora.rand(x.shape)


def test_the_model_stays_as_it_was() -> None:
    model = nn.Sequential(Restless(), nn.BatchNorm1d(3), nn.Linear(3, 1))
    model[1].eval()
    modes = [module.training for module in model.modules()]
    state = {name: (value, value.tolist()) for name, value in model.state_dict(keep_vars=True).items()}
    tenora.manual_seed(5)
    expected = tenora.rand(3).tolist()
    tenora.manual_seed(5)
    tenora.summary(model, tenora.ones(4, 3))
    assert tenora.rand(3).tolist() == expected
    assert model[0].seen_modes == [False]
    assert [module.training for module in model.modules()] == modes
    for name, value in model.state_dict(keep_vars=True).items():
        assert value is state[name][0] and value.tolist() == state[name][1]
    assert not any(module._forward_hooks for module in model.modules())
    assert all(p.grad is None for p in model.parameters())


def test_a_failed_forward_leaves_the_model_too() -> None:
    model = network()
    with pytest.raises(RuntimeError):
        tenora.summary(model, (2, 7, 8, 8))
    assert all(module.training and not module._forward_hooks for module in model.modules())


def test_shared_layers_are_told_and_counted_once() -> None:
    layer = nn.Linear(3, 3)
    found = tenora.summary(nn.Sequential(layer, nn.ReLU(), layer), (1, 3))
    assert [(r.path, r.parameters, r.calls, r.shared_with) for r in found.layers[1:]] == [
        ("0", 12, 2, None),
        ("1", 0, 1, None),
        ("2", 0, 2, "0"),
    ]
    assert found.parameters == 12
    assert "called 2 times" in str(found) and "same as 0" in str(found)


def test_shared_parameters_are_counted_once() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    found = tenora.summary(model, (1, 3))
    assert (
        [r.parameters for r in found.layers] == [0, 12, 12] and found.parameters == 15 and found.memory == 60
    )


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 4)
        self.unused = nn.ReLU()

    def forward(self, tokens: Any, scale: Any = None) -> Any:
        found = self.words(tokens)
        return {"words": found, "pair": (found if scale is None else found * scale, 3)}


@pytest.mark.parametrize(
    "given",
    [
        tenora.zeros(2, 5, dtype=tenora.int64),
        (2, 5),
        [2, 5],
        tenora.Size([2, 5]),
        ((2, 5),),
        [(2, 5), 1.5],
        {"tokens": (2, 5)},
        {"tokens": tenora.zeros(2, 5, dtype=tenora.int64), "scale": 2.0},
    ],
)
def test_forms_of_input(given: Any) -> None:
    found = tenora.summary(Named(), given, dtype=tenora.int64)
    assert found.layers[0].output_shape == {"words": (2, 5, 4), "pair": [(2, 5, 4), "int"]}
    assert found.layers[1].output_shape == (2, 5, 4)
    assert found.layers[2].calls == 0 and "not called" in str(found)
    assert "{words: [2, 5, 4], pair: ([2, 5, 4], int)}" in str(found)


def test_lazy_layers_stay_lazy() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
    found = tenora.summary(model, (2, 6))
    assert found.layers[1].parameters == 28 and model[0].has_uninitialized_params()


def test_errors() -> None:
    with pytest.raises(TypeError, match="Module"):
        tenora.summary(lambda x: x, (1,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="input"):
        tenora.summary(network(), 3)


class Unused(nn.Module):
    """Has a lazy layer that its forward leaves out."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.LazyLinear(2)
        self.unused = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d())

    def forward(self, x: tenora.Tensor) -> Any:
        return self.used(x)


def test_lazy_layers_that_are_not_called_have_no_size() -> None:
    model = Unused()
    found = tenora.summary(model, (1, 3))
    assert found.parameters == 8 and "not called" in str(found)
    assert "LazyConv2d" in str(found) and isinstance(model.used.weight, nn.UninitializedParameter)
